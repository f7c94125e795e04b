"""Celery tasks of another application, run by its own worker in its own environment, called through the front door."""
