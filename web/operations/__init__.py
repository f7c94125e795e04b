"""Pages and programs for operators: health, metrics, the check of a deployment, tokens, the home page."""
