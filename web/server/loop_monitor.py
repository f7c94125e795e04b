"""Report a blocked event loop: code that computes without yielding delays every request of its process."""

import logging
import warnings
from typing import Final

import gevent
from gevent.events import EventLoopBlocked, subscribers

from coatcheck.workers.telemetry.metrics import Measures

logger = logging.getLogger(__name__)

BLOCKED_S: Final = 1.0
"""Seconds without a switch after which the loop counts as blocked."""

BLOCKED: Final = "event_loop_blocked"
"""Counter of reports."""


def start_loop_monitor(measures: Measures) -> None:
    """Watch this thread's event loop from another thread; log and count each time that it is blocked.

    Source: gevent, "Configuring gevent", monitor_thread.
    """
    gevent.config.monitor_thread = True
    gevent.config.max_blocking_time = BLOCKED_S
    gevent.config.print_blocking_reports = False
    hub = gevent.get_hub()

    def report(event: object) -> None:
        """Called on the monitor's thread."""
        if isinstance(event, EventLoopBlocked) and event.hub is hub:
            logger.warning("the event loop was blocked for a second\n%s", "\n".join(event.info))
            hub.loop.run_callback_threadsafe(gevent.spawn, measures.count, BLOCKED)

    subscribers.append(report)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it would watch memory too, if psutil were there
        hub.start_periodic_monitoring_thread()
