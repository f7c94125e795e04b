"""The gunicorn worker, and what bounds the time and the memory of each connection."""
