"""The settings of the front door, read from the environment once."""
