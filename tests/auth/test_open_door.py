"""`COATCHECK_AUTH=none`: for this machine alone, unless the operator says otherwise."""

import socket
from collections.abc import Iterator

import httpx
import pytest

from tests.support.platform import Platform
from tests.support.ports import free_port
from tests.support.processes import Process
from tests.support.valkey import Valkey
from tests.support.waiting import wait_until

COMMAND = ["gunicorn", "--config", "web/gunicorn.conf.py", "coatcheck.web.wsgi:app"]


@pytest.fixture(scope="module")
def platform() -> Iterator[Platform]:
    """A store; the front doors are started over it."""
    with Platform(tools="tests.auth.tools", valkey=Valkey()) as platform:
        platform.valkey.start()
        yield platform


@pytest.mark.parametrize("way", ["COATCHECK_HOST", "--bind", "--reuse-port"])
def test_an_open_door_does_not_open_to_strangers(platform: Platform, way: str) -> None:
    """K2.5: wherever the address comes from."""
    options = ["--bind", f"0.0.0.0:{free_port()}"] if way != "COATCHECK_HOST" else []
    options += [way] if way == "--reuse-port" else []
    env = {} if options else {"COATCHECK_HOST": "0.0.0.0", "PORT": str(free_port())}
    with platform.process(f"web{way[:4]}", [*COMMAND, *options], env) as web:
        assert web.wait(60) != 0
        assert "COATCHECK_AUTH=none lets everybody in" in web.log
        assert "Traceback" not in web.log


@pytest.mark.parametrize("way", ["--bind", "LISTEN_FDS"])
@pytest.mark.parametrize(("address", "opens"), [("0.0.0.0", False), ("127.0.0.1", True)])
def test_an_inherited_socket_is_judged_by_where_it_listens(
    platform: Platform, way: str, address: str, opens: bool
) -> None:
    """K2.5: whoever made it, and however gunicorn hears of it."""
    with socket.create_server((address, 0)) as listener:
        number, port = str(listener.fileno()), listener.getsockname()[1]
        command = [*COMMAND, "--bind", f"fd://{number}"]
        if way == "LISTEN_FDS":
            command = ["tests.support.as_systemd", number, *COMMAND]
        started = platform.process(f"web-{way.strip('-')}-{opens}", command, {}, pass_fds=[listener.fileno()])
        with started as web:
            if opens:
                wait_until(lambda: is_served(port, web), 30.0, "the front door")
            else:
                assert web.wait(60) != 0
                assert f"{address} is not a loopback address" in web.log
                assert "COATCHECK_AUTH=none lets everybody in" in web.log
                assert "Traceback" not in web.log


def test_a_unix_socket_is_for_this_machine(platform: Platform) -> None:
    """K2.5: as a loopback address is."""
    path = platform.folder / "web.sock"
    with (
        platform.process("web-unix", [*COMMAND, "--bind", f"unix:{path}"], {}) as web,
        httpx.Client(transport=httpx.HTTPTransport(uds=str(path)), trust_env=False) as client,
    ):
        web.wait_for_line("Booting worker", 30.0)
        assert client.get("http://localhost/healthz").status_code == 200


def is_served(port: int, web: Process) -> bool:
    """A front door answers at this port."""
    assert web.is_running, web.log
    try:
        return httpx.get(f"http://127.0.0.1:{port}/healthz", trust_env=False, timeout=1.0).status_code == 200
    except httpx.TransportError:
        return False


def test_who_insists_is_warned_at_every_start(platform: Platform) -> None:
    env = {"COATCHECK_HOST": "0.0.0.0", "PORT": str(free_port()), "COATCHECK_ALLOW_ANONYMOUS": "true"}
    web = platform.process("web-insists", COMMAND, env)
    for start in (1, 2):
        web.start()
        printed = len(web.log)
        web.wait_for_line("COATCHECK_ALLOW_ANONYMOUS", 60.0, after=0 if start == 1 else printed)
        web.kill()


def test_nobody_has_to_prove_anything_to_an_open_door(platform: Platform) -> None:
    """A token is not looked at, and the list may be shared."""
    platform.start(workers=0)
    with platform.client(headers={"Authorization": "Bearer whatever"}) as client:
        listed = client.list().result
        assert listed["cacheScope"] == "public"
        assert {"secret_report", "peek"} <= {one["name"] for one in listed["tools"]}
        assert client.call("peek").status == 200
