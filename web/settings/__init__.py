"""The settings of the web server, read from the environment once."""
