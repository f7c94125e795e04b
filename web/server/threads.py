"""Where code runs that may not yield: in real threads, so that it never stops the event loop of its process.

Connections that gevent patches belong to the loop of the thread that made them. So all code of tools' authors runs in
one thread, on a loop of its own: what it keeps between two calls, such as a client of a database, can be used by both.
"""

from __future__ import annotations

import logging
import os
import signal
from collections.abc import Callable
from contextvars import ContextVar, copy_context
from functools import partial
from typing import Any, Final, TypeVar, cast

import gevent
from gevent.event import AsyncResult, Event
from gevent.threadpool import ThreadPool

from coatcheck.web.errors import AuthorCodeTooSlow

logger = logging.getLogger(__name__)

T = TypeVar("T")


LARGE_BODY_BYTES: Final = 32 * 1024
"""Bytes of a message from which checking it takes more than a millisecond, and holding it counts; what is smaller is
bounded by the number of connections."""

is_large_request: Final[ContextVar[bool]] = ContextVar("is_large", default=False)
"""The request that is served has so large a body."""


AUTHOR_CODE_LIMIT_S: Final = 25.0
"""How long code of tools' authors can take here. What takes longer belongs on a worker."""

THREAD_CHECK_S: Final = 2.0
"""How long their thread can go without a look at its loop, once a call took too long."""


def compute(function: Callable[..., T], *args: Any, size: int = 0) -> T:
    """Return what the function gives, which uses its arguments alone; from another thread where these are large.

    They are where the request is, or where `size` in bytes says so.
    """
    if size <= LARGE_BODY_BYTES and not is_large_request.get():
        return function(*args)
    result: AsyncResult[Any] = AsyncResult()
    gevent.get_hub().threadpool.apply(_finish, (result, partial(copy_context().run, function, *args)))
    return cast("T", result.get())


class AuthorCodeThread:
    """Runs code of tools' authors. Calls that wait for the network run side by side; calls that compute take turns.

    The thread is made for the first call, so after a fork.
    """

    def __init__(self) -> None:
        self._by_pid: dict[int, AsyncResult[Any]] = {}

    def run(self, function: Callable[[], T]) -> T:
        """Return what the function gives, or raise what it raises."""
        pid = os.getpid()
        if pid not in self._by_pid:
            self._by_pid[pid] = AsyncResult()
            ThreadPool(1).spawn(_serve, self._by_pid[pid])
        result: AsyncResult[Any] = AsyncResult()
        in_context = partial(copy_context().run, function)
        hub: Any = self._by_pid[pid].get()
        hub.loop.run_callback_threadsafe(gevent.spawn, _finish, result, in_context)
        try:
            value: Any = result.get(timeout=AUTHOR_CODE_LIMIT_S)
        except gevent.Timeout as fault:
            self._check_alive(hub)
            raise AuthorCodeTooSlow(f"A tool's code did not end within {AUTHOR_CODE_LIMIT_S:g} seconds") from fault
        return cast("T", value)

    def _check_alive(self, hub: Any) -> None:
        """End the process, so that it is replaced, when something in the thread never yields: all calls would wait."""
        answered = Event()
        hub.loop.run_callback_threadsafe(answered.set)
        if not answered.wait(THREAD_CHECK_S):
            logger.error("a tool's code keeps its thread for good; this process ends and is replaced")
            os.kill(os.getpid(), signal.SIGTERM)


def _serve(started: AsyncResult[Any]) -> None:
    """Run a loop on this thread for as long as the process lives."""
    hub = gevent.get_hub()
    keeps_it_running = hub.loop.async_()
    keeps_it_running.start(lambda: None)
    started.set(hub)
    Event().wait()


def _finish(result: AsyncResult[T], function: Callable[[], T]) -> None:
    try:
        value = function()
    except BaseException as fault:  # noqa: BLE001 - whatever it is, it is raised where the call waits
        result.set_exception(fault)
    else:
        result.set(value)
