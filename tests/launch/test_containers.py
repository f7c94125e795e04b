"""The containers, imitated: their commands on a file system that is read-only, without any capability of root's."""

import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.client import Client
from tests.support.platform import ROOT
from tests.support.ports import free_port
from tests.support.processes import Process
from tests.support.valkey import Valkey
from tests.support.waiting import wait_until

COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
SERVICES = ("web", "worker", "flower")

ENCLOSE = """
mount -t tmpfs tmpfs /mnt
mount -o remount,bind,ro /
export TMPDIR=/mnt
exec setpriv --bounding-set=-all --inh-caps=-all --no-new-privs "$@"
"""
"""Runs a command as the containers are run: `read_only`, `tmpfs`, `cap_drop`, `no-new-privileges`."""


def enclosed(command: list[str]) -> list[str]:
    """Return the command that runs this one so."""
    return ["unshare", "--mount", "sh", "-euc", ENCLOSE, "sh", *command]


def python(command: list[str], ports: Mapping[str, int]) -> list[str]:
    """Return a command of an image with this interpreter and these ports."""
    first, *words = command
    for shown, port in ports.items():
        words = [word.replace(shown, str(port)) for word in words]
    return {"coatcheck": [sys.executable, "-m", "coatcheck"], "python": [sys.executable]}[first] + words


@pytest.fixture(scope="module")
def ports() -> dict[str, int]:
    """Free ports in place of those in the file."""
    return {"8000": free_port(), "5555": free_port()}


@pytest.fixture(scope="module")
def containers(tmp_path_factory: pytest.TempPathFactory, ports: dict[str, int]) -> Iterator[dict[str, Process]]:
    """The services of the compose file with the tools of the example, by name."""
    folder = tmp_path_factory.mktemp("containers")
    with Valkey() as valkey, ExitStack() as stack:
        started = {}
        for name in SERVICES:
            env = {
                "PYTHONPATH": str(ROOT),
                "PYTHONDONTWRITEBYTECODE": "1",
                **COMPOSE["services"][name]["environment"],
                "COATCHECK_HOST": "127.0.0.1",
                "FLOWER_ADDRESS": "127.0.0.1",
                "REDIS_URL": valkey.url,
                "PORT": str(ports["8000"]),
                "FLOWER_PORT": str(ports["5555"]),
                "COATCHECK_TOOLS": "shop_tools",
                "COATCHECK_EXPOSE": "",
                "COATCHECK_PUBLIC_URL": "",
            }
            command = enclosed(python(COMPOSE["services"][name]["command"], ports))
            cwd = ROOT / "examples" / "container"
            process = Process(command, name=name, folder=folder, cwd=cwd, env=env)
            started[name] = stack.enter_context(process)
        yield started


def test_a_tool_of_an_image_is_called_and_every_service_is_healthy(
    containers: dict[str, Process], ports: dict[str, int]
) -> None:
    def is_healthy(name: str) -> bool:
        assert containers[name].is_running, containers[name].log
        kind, *test = COMPOSE["services"][name]["healthcheck"]["test"]
        if kind == "CMD-SHELL":
            return " ready." in containers[name].log  # `celery inspect ping`, which asks by the name of the machine
        return subprocess.run(python(test, ports), check=False, capture_output=True).returncode == 0

    for name in SERVICES:
        wait_until(lambda name=name: is_healthy(name), 60.0, f"a healthy {name}: {containers[name].log}")  # type: ignore[misc]
    with Client(f"http://127.0.0.1:{ports['8000']}/mcp") as client:
        task_id = client.start("price_of", {"article": "tea"})
        assert client.wait_for(task_id)["result"]["structuredContent"] == 4.5


def test_the_image_is_built_from_files_that_reach_it_and_has_its_commands() -> None:
    ignored = (ROOT / ".dockerignore").read_text().splitlines()
    assert ignored[0] == "*"
    reach = {line.removeprefix("!") for line in ignored if line.startswith("!")}
    links = {path.name for path in (ROOT / "coatcheck").iterdir() if path.is_symlink()}
    assert reach == {"LICENSE", "README.md", "coatcheck", "pyproject.toml", "requirements.txt", *links}
    assert all((ROOT / name).exists() for name in reach)
    dockerfile = (ROOT / "Dockerfile").read_text()
    assert "\nUSER coatcheck\n" in dockerfile
    assert "\nHEALTHCHECK " in dockerfile


@pytest.mark.parametrize("name", SERVICES)
def test_no_service_can_write_to_its_image_or_gain_rights(name: str) -> None:
    service = COMPOSE["services"][name]
    assert service["read_only"] is True
    assert service["tmpfs"] == ["/tmp"]
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert service["healthcheck"]["test"]
    assert {"COATCHECK_TOOLS", "COATCHECK_EXPOSE"} <= service["environment"].keys()


def test_the_enclosure_is_one(tmp_path: Path) -> None:
    """What the first test stands on."""
    tried = subprocess.run(enclosed(["touch", str(tmp_path / "file")]), check=False, capture_output=True, text=True)
    assert "Read-only file system" in tried.stderr
