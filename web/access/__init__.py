"""Who can call what, how often, and how much at a time."""
