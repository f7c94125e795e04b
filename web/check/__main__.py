"""`python -m web.check`: every part is tried, and what is wrong is said with how to mend it.

Its exit code is 1 when anything is wrong. With `--release`, as in the Procfile, what only a running deployment has is
left out.
"""

import argparse
import logging
import sys

from environs import Env

from tasks_store import StoreError
from web.check.flower import FlowerSettings
from web.check.parts import PARTS, RUNNING, Deployment, Wrong, deployment_of
from web.errors import InvalidSettings
from web.settings import read_settings


def main() -> int:
    """The exit code."""
    parser = argparse.ArgumentParser(prog="python -m web.check", description="Tries every part of this deployment.")
    parser.add_argument("--release", action="store_true", help="leave out what only a running deployment has")
    is_release = parser.parse_args().release
    logging.disable()  # what went wrong is said here, once
    try:
        settings = read_settings()
    except InvalidSettings as fault:
        for line in str(fault).splitlines():
            _say("wrong", "settings", line)
        return 1
    _say("ok", "settings", "can be read")
    try:
        deployment = deployment_of(settings, FlowerSettings.read(Env()))
    except (Wrong, StoreError) as fault:
        return _wrong("tools", fault)
    _say("ok", "tools", f"{len(deployment.catalogue)} can be called")
    try:
        tried = [_try(name, deployment) for name in PARTS if not (is_release and name in RUNNING)]
    finally:
        deployment.close()
    return max(tried)


def _try(name: str, deployment: Deployment) -> int:
    try:
        _say("ok", name, PARTS[name](deployment))
    except (Wrong, StoreError) as fault:
        return _wrong(name, fault)
    return 0


def _wrong(name: str, fault: Exception) -> int:
    _say("wrong", name, str(fault))
    if isinstance(fault, Wrong):
        _say("", "", f"→ {fault.mend}")
    return 1


def _say(verdict: str, name: str, message: str) -> None:
    print(f"{verdict:6}{name:16}{message}")  # noqa: T201 - for the person who asked


if __name__ == "__main__":
    sys.exit(main())
