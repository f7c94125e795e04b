"""Celery tasks of another application as tools: handed over, watched, and brought to their end."""
