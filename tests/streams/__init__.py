"""What clients hear who listen to their tasks."""
