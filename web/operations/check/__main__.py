"""`python -m coatcheck.web.operations.check`: check every part, and report faults with their remedies.

The exit code is 1 when any part is faulty. With `--release`, as in the Procfile, parts that only a running deployment
has are left out. A faulty part does not prevent the others from being checked, except those that depend on it.
"""

import argparse
import logging
import os

from environs import Env

from coatcheck.variables import unknown_variables
from coatcheck.web.operations.check.flower import FlowerSettings
from coatcheck.web.operations.check.partial_settings import parts_at_fault, with_defaults
from coatcheck.web.operations.check.parts import PARTS, RUNNING, CheckFailed, CheckWarning, Deployment, catalogue_of
from coatcheck.web.operations.command_line import run_program
from coatcheck.web.settings.web import read_partial_settings
from coatcheck.workers.toolkit.tool import Catalogue


def main() -> int:
    """Run the check and return the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m coatcheck.web.operations.check", description="Tries every part of this deployment."
    )
    parser.add_argument("--release", action="store_true", help="leave out what only a running deployment has")
    is_release = parser.parse_args().release
    logging.disable()  # what went wrong is said here, once
    settings, fault = read_partial_settings()
    left_out = parts_at_fault(settings, fault.variables if fault else ())
    if fault is None:
        _say("ok", "settings", "can be read")
    for line in str(fault).splitlines() if fault else ():
        _say("wrong", "settings", line)
    for line in unknown_variables(os.environ):
        _say("warn", "settings", line)
    settings = with_defaults(settings)
    try:
        catalogue = catalogue_of(settings)
    except CheckFailed as wrong:
        code = _wrong("tools", wrong)
        catalogue = Catalogue([])
        left_out |= {"exposed"}
    else:
        code = int(fault is not None)
        _say("ok", "tools", f"{len(catalogue)} can be called")
    deployment = Deployment(settings, FlowerSettings.read(Env()), catalogue)
    try:
        for name in PARTS:
            if is_release and name in RUNNING:
                continue
            if name in left_out:
                _say("", name, "is not tried: see above")
            else:
                code |= _try(name, deployment)
    finally:
        deployment.close()
    return code


def _try(name: str, deployment: Deployment) -> int:
    try:
        _say("ok", name, PARTS[name](deployment))
    except CheckWarning as doubtful:
        _tell("warn", name, doubtful)
    except CheckFailed as wrong:
        return _wrong(name, wrong)
    except Exception as fault:  # noqa: BLE001 - whatever a library raises, the other parts are tried all the same
        return _wrong(name, CheckFailed(f"{type(fault).__name__}: {fault}", "correct the settings of this part"))
    return 0


def _wrong(name: str, wrong: CheckFailed) -> int:
    _tell("wrong", name, wrong)
    return 1


def _tell(verdict: str, name: str, wrong: CheckFailed) -> None:
    _say(verdict, name, str(wrong))
    how, *commands = wrong.remedy.splitlines()
    _say("", "", f"→ {how}")
    for command in commands:
        _say("", "", f"  {command}")


def _say(verdict: str, name: str, message: str) -> None:
    print(f"{verdict:6}{name:16}{message}")  # noqa: T201 - for the person who asked


if __name__ == "__main__":
    run_program(main)
