"""Run tools in the workers of a team's own Celery application."""

from importlib import import_module
from typing import Any

from celery import Celery, signals


def install(app: Celery) -> None:
    """Let the workers of this Celery application also run tools, beside its own Celery tasks.

    No setting of the application changes. When a worker starts, it reads the settings and imports the tools after the
    application's own modules; a worker that cannot run tools exits with a sentence for each reason.

    Raises:
        TypeError: `app` is not a Celery application.
    """
    if not isinstance(app, Celery):
        raise TypeError(f"coatcheck.install takes a Celery application, and was given {type(app).__name__}")

    def begin(instance: Any, **_: Any) -> None:
        if instance.app == app:
            # Processes that only send import the application too, and must not import this.
            import_module("coatcheck.workers.process.in_their_worker").begin(instance.app)

    signals.celeryd_init.connect(begin, weak=False, dispatch_uid=f"coatcheck.install:{id(app)}")
