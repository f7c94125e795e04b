"""What crosses the broker: the Celery application, the dispatcher, and other applications as seen from outside."""
