"""Celery tasks of somebody else's application as tools: handed over, watched, and brought to their end."""
