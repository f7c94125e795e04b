"""The Celery side of a worker process: tasks, pools, the consumer."""
