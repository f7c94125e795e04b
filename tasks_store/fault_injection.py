"""Named places in our own code where a test can stop the world: kill the process, raise, or wait.

Nothing happens at any of them unless `COATCHECK_FAULTS` arms them, such as `claimed=kill@0.05,answered=wait:2`: a
point, an action (`kill`, `raise`, `wait:SECONDS`), and how probable it is (always, unless told).
"""

import os
import random
import re
import signal
import time
from dataclasses import dataclass
from enum import StrEnum

_RULE = re.compile(r"([a-z-]+)=(kill|raise|wait)(?::([0-9.]+))?(?:@([0-9.]+))?")


class Point(StrEnum):
    """Where a process may be stopped, and what is then true."""

    CREATED = "created"
    """The record is written; no message is sent."""
    CLAIMED = "claimed"
    """The run holds the lease; the tool has not begun."""
    IN_STEP = "in-step"
    """The step's function has returned; its result is not kept."""
    STEP_KEPT = "step-kept"
    """The step's result is kept; the run has not gone on."""
    PARKED = "parked"
    """The inputs are outstanding; the Celery task has not ended."""
    ANSWERED = "answered"
    """The answers are stored; the resume chord is not sent."""
    ACCEPTED = "accepted"
    """The verdict on an answer is stored; the chord has not counted it."""
    DELEGATED = "delegated"
    """Another application's broker has the message; the record does not say so."""
    ENDING = "ending"
    """The tool has returned; its ending is not stored."""
    FINISHED = "finished"
    """The task has ended; the Celery task has not."""


class InjectedFault(Exception):
    """What an armed point raises."""


@dataclass(frozen=True, slots=True)
class _Rule:
    action: str
    seconds: float
    probability: float


_armed: dict[Point, _Rule] = {}


def arm(text: str) -> None:
    """The points named in this text act when they are reached; all others do nothing.

    Raises:
        ValueError: the text cannot be understood.
    """
    _armed.clear()
    for part in filter(None, text.split(",")):
        rule = _RULE.fullmatch(part.strip())
        if rule is None:
            raise ValueError(f"{part!r} is not POINT=kill|raise|wait:SECONDS[@PROBABILITY]")
        point, action, seconds, probability = rule.groups()
        _armed[Point(point)] = _Rule(action, float(seconds or 1), float(probability or 1))


def reach(point: Point) -> None:
    """The armed rule of this point, if there is one, has acted."""
    rule = _armed.get(point)
    if rule is None or random.random() >= rule.probability:  # noqa: S311 - chance, not secrecy
        return
    if rule.action == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    if rule.action == "raise":
        raise InjectedFault(point)
    time.sleep(rule.seconds)
