"""The Celery application: `celery -A shop worker`."""

import os

from celery import Celery

app = Celery("shop", broker=os.environ["BROKER_URL"], backend=os.environ["RESULT_URL"], include=["shop.tasks"])
app.conf.update(
    task_default_queue="shop",
    task_track_started=True,
    result_expires=3600,
    worker_send_task_events=True,
    broker_connection_retry_on_startup=True,
)
