"""The tools about tasks that the front door serves itself."""
