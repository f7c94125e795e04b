"""Run tools in a worker of a team's own Celery application."""

import os
import sys
from collections.abc import Iterator
from typing import Any, Final

from celery import Celery, Task, signals
from kombu.utils.url import maybe_sanitize_url

from coatcheck.settings_file import left_as_it_was
from coatcheck.workers.addresses import address_of, broker_of, places
from coatcheck.workers.messages.celery_app import queue_of_tools
from coatcheck.workers.process.celery_tasks import register
from coatcheck.workers.process.pools import SignOfLife
from coatcheck.workers.process.tool_worker import CANNOT_START, ToolWorker
from coatcheck.workers.runs.shutdown import SigtermHeeded
from coatcheck.workers.settings import WorkerSettings

JSON: Final = frozenset({"json", "application/json"})
"""Names of the messages' content type in `accept_content`."""


def begin(app: Celery) -> None:
    """Let the starting worker of this application also run tools.

    Exits with a sentence for each reason why it cannot.
    """
    theirs = broker_of(app)  # first, because Celery would read our variables from the environment
    with left_as_it_was(os.environ):
        tools = ToolWorker.of_environment()
    if faults := list(_faults(app, theirs, tools)):
        sys.exit(CANNOT_START + "\n".join(faults))
    queue = queue_of_tools(tools.settings)
    queues: Any = app.amqp.queues
    if queue.name not in queues:
        queues[queue.name] = queue  # a worker without `--queues` consumes all of these

    dispatcher, sigterm = tools.dispatcher, SigtermHeeded(tools.drain)

    class ToolTask(Task):  # type: ignore[type-arg]  # generic only in its stubs
        """A Celery task of ours in the team's application."""

        abstract = True

        @property  # type: ignore[misc]  # read-only
        def backend(self) -> Any:
            """Our result backend, which resume chords need; the application's can be of any kind."""
            return dispatcher.backend

        def __call__(self, *args: Any, **kwargs: Any) -> Any:
            with sigterm.heeded():
                return self.run(*args, **kwargs)

    register(app, tools.catalogue, tools.runner, ToolTask)
    app.steps["consumer"].add(SignOfLife)
    for signal, receiver in (
        (signals.worker_init, tools.check),
        (signals.worker_ready, tools.start),
        (signals.worker_shutting_down, tools.hand_back),
        (signals.worker_process_shutdown, tools.close_measures),
        (signals.task_revoked, tools.cancel_revoked),
        (signals.task_unknown, tools.refuse_unknown),
    ):
        signal.connect(receiver, weak=False)


def _faults(app: Celery, theirs: str, tools: ToolWorker) -> Iterator[str]:
    """Yield a sentence for each reason why messages of the web server would not reach a worker of this application."""
    settings: WorkerSettings = tools.settings
    if places(theirs) != places(settings.broker_url):
        yield (
            f"The broker of {app.main} is {maybe_sanitize_url(theirs)}, and the front door sends to"
            f" {maybe_sanitize_url(settings.broker_url)}: set CELERY_BROKER_URL to the same broker for both"
        )
    prefix = str((app.conf.broker_transport_options or {}).get("global_keyprefix", ""))
    if address_of(settings.broker_url).is_redis and prefix != settings.broker_prefix:
        yield (
            f"The keys of the broker of {app.main} begin with {prefix!r} (global_keyprefix), and those of the front"
            f" door with {settings.broker_prefix!r}: set COATCHECK_BROKER_PREFIX={prefix} for both"
        )
    if (exchange := app.conf.control_exchange) != settings.control_exchange:
        yield (
            f"Workers of {app.main} listen to the control exchange {exchange}, and the front door sends to"
            f" {settings.control_exchange}: set COATCHECK_CONTROL_EXCHANGE={exchange} for both"
        )
    if not JSON & frozenset(app.conf.accept_content):
        yield f"Workers of {app.main} take no messages in JSON: add json to its accept_content"
