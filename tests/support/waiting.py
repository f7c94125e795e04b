"""Waits for what other threads and processes do, instead of sleeping."""

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

PAUSE_SECONDS = 0.01
"""The pause between two looks."""


def wait_until(predicate: Callable[[], T], timeout: float = 10.0, what: str = "") -> T:
    """The first truthy value of `predicate`.

    Raises:
        AssertionError: there was none within `timeout` seconds; `what` tells what was waited for.
    """
    end = time.monotonic() + timeout
    while True:
        value = predicate()
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError(f"not within {timeout:g} s: {what or predicate}")
        time.sleep(PAUSE_SECONDS)
