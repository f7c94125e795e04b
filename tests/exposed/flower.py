"""Flower as the Procfile starts it, and as an operator has it before him."""

import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx

from coatcheck.launch.process_list import read_procfile
from tests.support.platform import ROOT, Platform
from tests.support.ports import free_port
from tests.support.waiting import wait_until

USER, PASSWORD = "operator", "a long password"
COLUMNS = ("name", "uuid", "state", "result", "kwargs")
"""What is looked at of a row."""


def shipped() -> list[str]:
    """The command of the Procfile, behind `python -m`."""
    python, option, *command = shlex.split(read_procfile(ROOT / "Procfile")["flower"])
    assert (python, option) == ("python", "-m")
    return command


@contextmanager
def for_this_machine(platform: Platform, *options: str, **env: str) -> Iterator[str]:
    """The address of Flower as `make run` has it: on loopback, without a login; gone afterwards."""
    port = free_port()
    command = [*shipped(), f"--port={port}", *options]
    with platform.process("flower-here", command, env) as process:
        address = f"http://127.0.0.1:{port}"
        with httpx.Client(base_url=address, trust_env=False, timeout=30.0) as anybody:
            wait_until(lambda: is_up(anybody), 30.0, f"an answer of Flower, which printed {process.log}")
        yield address


@contextmanager
def logged_in(platform: Platform, *options: str, prefix: str = "", **variables: str) -> Iterator[httpx.Client]:
    """Flower as an operator has it before him; gone afterwards."""
    port = free_port()
    command = [*shipped(), f"--port={port}", *options]
    address = f"http://127.0.0.1:{port}{prefix}"
    with (
        platform.process("flower", command, {"FLOWER_BASIC_AUTH": f"{USER}:{PASSWORD}", **variables}) as process,
        httpx.Client(base_url=address, auth=(USER, PASSWORD), trust_env=False, timeout=30.0) as operator,
    ):
        wait_until(lambda: is_up(operator), 30.0, f"an answer of Flower, which printed {process.log}")
        yield operator


def is_up(flower: httpx.Client) -> bool:
    """Flower answers."""
    try:
        return flower.get("/healthcheck").is_success
    except httpx.TransportError:
        return False


def rows(flower: httpx.Client, search: str) -> list[dict[str, Any]]:
    """The rows that the page of tasks shows for what stands in its search field."""
    query = {
        "draw": 1,
        "start": 0,
        "length": 1000,
        "search[value]": search,
        "order[0][column]": 0,
        "order[0][dir]": "asc",
    }
    answer = flower.get("/tasks/datatable", params={**query, "columns[0][data]": "uuid"})
    assert answer.status_code == 200, answer.text
    found: list[dict[str, Any]] = answer.json()["data"]
    return [{name: row[name] for name in COLUMNS} for row in found]
