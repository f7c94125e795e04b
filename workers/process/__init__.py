"""The Celery side of a worker: Celery tasks, pools and the consumer."""
