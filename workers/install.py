"""Tools in the workers of a team's own Celery application."""

from importlib import import_module
from typing import Any

from celery import Celery, signals


def install(app: Celery) -> None:
    """Let the workers of this Celery application run tools too, beside the Celery tasks that it has.

    No setting of the application changes. Settings are read and tools imported when a worker starts, after the
    application's own modules; a worker that cannot run tools ends then, with a sentence for each reason.

    Raises:
        TypeError: this is no Celery application.
    """
    if not isinstance(app, Celery):
        raise TypeError(f"coatcheck.install takes a Celery application, and was given {type(app).__name__}")

    def begin(instance: Any, **_: Any) -> None:
        if instance.app == app:
            # The application is imported by processes that only send, too, which need nothing of this.
            import_module("coatcheck.workers.process.in_their_worker").begin(instance.app)

    signals.celeryd_init.connect(begin, weak=False, dispatch_uid=f"coatcheck.install:{id(app)}")
