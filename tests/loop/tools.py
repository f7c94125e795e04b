"""Tools whose code does not yield, or keeps a connection between two calls."""

import os
import time
from functools import cache
from typing import Annotated

from pydantic import AfterValidator
from redis import Redis

from coatcheck import Elicit, tool


@tool(mode="inline")
def spin(seconds: float) -> str:
    """Compute without a pause."""
    ends_at = time.monotonic() + seconds
    while time.monotonic() < ends_at:
        sum(range(1_000))
    return "done"


@cache
def client() -> Redis:
    """Return the client that all calls share."""
    return Redis.from_url(os.environ["REDIS_URL"])


@tool(mode="inline")
def wait_for_a_word(key: str) -> str:
    """Wait for a word in Redis, by the client that all calls share."""
    found = client().blpop([key], timeout=10)
    return found[1].decode() if found else "nothing"


def pondered(value: int) -> int:
    """Check an argument for a while."""
    spin(seconds=1.5)
    return value


@tool(mode="inline")
def checked(value: Annotated[int, AfterValidator(pondered)]) -> str:
    """Take what its author's own function has checked."""
    return str(value)


def spun(content: dict[str, object]) -> None:
    """Check an answer for a while."""
    spin(seconds=1.5)


@tool(ask_first={"sure": Elicit("Sure?", {"yes": bool}, validate=spun)})
def asks_first() -> str:
    """Ask before there is a task."""
    return "done"
