"""The Celery tasks that the team has."""

import os
import signal
import time
from datetime import date
from typing import Any, Literal

from celery import Task, shared_task

from shop.celery import app


class Counted(Task):
    """A base class of the team's."""

    abstract = True


@app.task
def add(one: int, other: int = 1) -> int:
    """Add two numbers."""
    return one + other


@app.task(base=Counted, bind=True)
def whereabouts(self: Any) -> dict[str, Any]:
    """Tell how this process and this application are set."""
    conf = self.app.conf
    handler = signal.getsignal(signal.SIGTERM)
    return {
        "acks_late": self.acks_late,
        "prefetch": conf.worker_prefetch_multiplier,
        "serializer": conf.task_serializer,
        "hijack": conf.worker_hijack_root_logger,
        "consumer": conf.worker_consumer,
        "events": conf.worker_send_task_events,
        "default_queue": conf.task_default_queue,
        "broker": conf.broker_url,
        "results": conf.result_backend,
        "environment": sorted(name for name in os.environ if name.startswith("COATCHECK_")),
        "sigterm": getattr(handler, "__qualname__", str(handler)),
    }


@shared_task(name="shop.restock")
def restock(product: Literal["tea", "coffee"], count: int, *, express: bool = False, until: date | None = None) -> str:
    """Order from the warehouse.

    Waits until it has come.
    """
    time.sleep(0.01)
    return f"{count} {product}"


@app.task(ignore_result=True)
def odd(first, /, *rest, **more):
    return None
