"""Runs asynchronous work in a thread of its own, and what that work calls back in the thread that waits for it.

So callbacks may prompt, block and be interrupted like any other code of the caller, one at a time.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from concurrent.futures import Future
from functools import partial
from queue import SimpleQueue
from typing import Any, Final, TypeVar

from anyio.from_thread import BlockingPortal, BlockingPortalProvider

T = TypeVar("T")

PORTALS: Final = BlockingPortalProvider()
"""One thread with an event loop for all clients of the process, for as long as there is one."""


class Relay:
    """Work in progress, and the callbacks it waits for."""

    def __init__(self, portal: BlockingPortal) -> None:
        self._portal = portal
        self._due: SimpleQueue[Callable[[], None]] = SimpleQueue()

    def here(self, function: Callable[..., T]) -> Callable[..., Coroutine[Any, Any, T]]:
        """What an asynchronous caller awaits while `function` runs in the thread that waits."""

        async def called(*arguments: Any) -> T:
            answer: Future[T] = Future()
            self._due.put(partial(_settle, answer, partial(function, *arguments)))
            return await asyncio.wrap_future(answer)

        return called

    def run(self, jobs: Sequence[Callable[[], Awaitable[T]]]) -> list[T | Exception]:
        """What each job returned or raised, once all have ended. An interrupt cancels those that have not."""
        futures = [self._portal.start_task_soon(job) for job in jobs]
        for future in futures:
            future.add_done_callback(lambda _: self._due.put(_nothing))
        try:
            while not all(future.done() for future in futures):
                self._due.get()()
        except BaseException:
            for future in futures:
                future.cancel()
            raise
        outcomes: list[T | Exception] = []
        for future in futures:
            try:
                outcomes.append(future.result())
            except Exception as error:  # noqa: BLE001 - one job's error is not the other jobs'
                outcomes.append(error)
        return outcomes


def _nothing() -> None:
    """Wakes the thread that waits."""


def _settle(answer: "Future[T]", call: Callable[[], T]) -> None:
    """An error of the callback belongs to the job that called it; an interrupt to the thread that it ran in."""
    if not answer.set_running_or_notify_cancel():
        return  # nobody waits for it any more
    try:
        answer.set_result(call())
    except Exception as error:  # noqa: BLE001 - handed on to the job, which raises it
        answer.set_exception(error)
