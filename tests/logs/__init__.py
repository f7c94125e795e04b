"""What the log looks like, and what every line says of the work that it is about."""
