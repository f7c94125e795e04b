"""What some tests need of the machine beyond what `make run` needs.

A test that needs what is not there is skipped, and the last line of the run says what brings it. With `CI=true` nothing
may be missing: the test fails.
"""

import os
import re
import shutil
from typing import Final

import pytest

PACKAGES: Final = {
    "chromium": ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable"),
    "curl": ("curl",),
    "rabbitmq-server": ("/usr/lib/rabbitmq/bin/rabbitmq-server",),
}
"""Debian's package, and the programs of which one is enough: names on the path, or files."""

MISSING: Final = "not installed: "
"""What the reason of such a skip begins with; the package follows."""


def program_of(package: str) -> str:
    """Return the program of a package, or skip the test that calls this, and with `CI=true` fail it."""
    for name in PACKAGES[package]:
        if found := shutil.which(name):
            return found
    if os.environ.get("CI") == "true":
        pytest.fail(MISSING + package)
    pytest.skip(MISSING + package)


def closing_line(reasons: list[str]) -> str:
    """Return what is to be installed for the tests that were skipped for these reasons; nothing if there is nothing."""
    packages = sorted({package for reason in reasons for package in re.findall(MISSING + r"([\w-]+)", reason)})
    if not packages:
        return ""
    return f"Some tests were skipped because this machine lacks what they need: apt-get install {' '.join(packages)}"
