"""What operators look at: health, metrics, the check of a deployment, the home page."""
