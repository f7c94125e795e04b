"""Messages through the broker: the Celery application, the dispatcher, and other Celery applications."""
