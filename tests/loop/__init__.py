"""The event loop of a web process, and what must not stop it."""
