"""A team's Celery application, with settings of its own."""

import os

from celery import Celery

import coatcheck

SERIALIZER = os.environ.get("SHOP_SERIALIZER", "json")

app = Celery("shop", broker=os.environ.get("SHOP_BROKER"), include=["shop.tasks"])
app.conf.update(
    result_backend=os.environ.get("SHOP_RESULTS"),
    task_serializer=SERIALIZER,
    result_serializer=SERIALIZER,
    accept_content=os.environ.get("SHOP_ACCEPTS", f"json,{SERIALIZER}").split(","),
    task_acks_late=True,
    task_track_started=True,
    worker_prefetch_multiplier=4,
    broker_transport_options={"global_keyprefix": os.environ.get("SHOP_PREFIX", "")},
    task_routes={"shop.restock": {"queue": "warehouse"}},
    broker_connection_retry_on_startup=True,
)

coatcheck.install(app)
