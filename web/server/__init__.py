"""gunicorn's worker class, and limits on the time and the memory of connections."""
