"""Tools, and the jobs that run them on Celery workers."""
