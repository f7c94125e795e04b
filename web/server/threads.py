"""Run code that does not yield in real threads, so that it never blocks the event loop.

Connections that gevent patches belong to the loop of the thread that opened them. So all code of tool authors runs in
one thread with its own loop, and a database client that it keeps between two calls works in both.
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
from gevent import monkey
from gevent.event import AsyncResult, Event
from gevent.threadpool import ThreadPool

from coatcheck.tasks_store.per_process import PerProcess
from coatcheck.web.errors import AuthorCodeTooSlow

logger = logging.getLogger(__name__)

T = TypeVar("T")


LARGE_BODY_BYTES: Final = 32 * 1024
"""Bytes of a message above which validating it takes more than a millisecond and its memory is counted. Smaller ones
are limited by the number of connections."""

is_large_request: Final[ContextVar[bool]] = ContextVar("is_large", default=False)
"""True when the current request has a large body."""


AUTHOR_CODE_LIMIT_S: Final = 25.0
"""Seconds that code of tool authors can take here. Longer work belongs on a worker."""

THREAD_CHECK_S: Final = 2.0
"""Seconds within which the thread's loop must respond, once a call has timed out."""


def is_cooperative() -> bool:
    """Tell whether the requests of this process share one thread, because gevent patched it, as in our own server.

    Under another server each request has a thread, which can block without harm to others, and there are few of them.
    """
    return monkey.is_module_patched("threading")


def compute(function: Callable[..., T], *args: Any, size: int = 0) -> T:
    """Call a function that uses its arguments alone; in another thread when these are large.

    They are large when the request is, or when `size` in bytes says so.
    """
    if (size <= LARGE_BODY_BYTES and not is_large_request.get()) or not is_cooperative():
        return function(*args)
    result: AsyncResult[Any] = AsyncResult()
    gevent.get_hub().threadpool.apply(_finish, (result, partial(copy_context().run, function, *args)))
    return cast("T", result.get())


class AuthorCodeThread:
    """Runs code of tool authors in one thread. Calls that wait for I/O run concurrently; calls that compute run one by
    one.

    The thread starts at the first call, so after a fork.
    """

    def __init__(self) -> None:
        self._hub = PerProcess(_start_thread)

    def run(self, function: Callable[[], T]) -> T:
        """Call the function in the thread; return or raise what it does."""
        if not is_cooperative():
            return function()
        result: AsyncResult[Any] = AsyncResult()
        in_context = partial(copy_context().run, function)
        hub: Any = self._hub.get().get()
        hub.loop.run_callback_threadsafe(gevent.spawn, _finish, result, in_context)
        try:
            value: Any = result.get(timeout=AUTHOR_CODE_LIMIT_S)
        except gevent.Timeout as fault:
            self._check_alive(hub)
            raise AuthorCodeTooSlow(f"A tool's code did not end within {AUTHOR_CODE_LIMIT_S:g} seconds") from fault
        return cast("T", value)

    def _check_alive(self, hub: Any) -> None:
        """End the process, so that it is replaced, when the thread's loop does not respond: later calls would wait."""
        answered = Event()
        hub.loop.run_callback_threadsafe(answered.set)
        if not answered.wait(THREAD_CHECK_S):
            logger.error("a tool's code keeps its thread for good; this process ends and is replaced")
            os.kill(os.getpid(), signal.SIGTERM)


def _start_thread() -> AsyncResult[Any]:
    """Start a thread with an event loop, and return what will be its hub."""
    started: AsyncResult[Any] = AsyncResult()
    ThreadPool(1).spawn(_serve, started)
    return started


def _serve(started: AsyncResult[Any]) -> None:
    """Run an event loop on this thread until the process ends."""
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
