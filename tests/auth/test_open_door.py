"""`COATCHECK_AUTH=none`: for this machine alone, unless the operator says otherwise."""

from collections.abc import Iterator

import pytest

from tests.support.platform import Platform
from tests.support.ports import free_port
from tests.support.valkey import Valkey

COMMAND = ["gunicorn", "--config", "web/gunicorn.conf.py", "web.wsgi:app"]


@pytest.fixture(scope="module")
def platform() -> Iterator[Platform]:
    """A store; the front doors are started over it."""
    with Platform(tools="tests.auth.tools", valkey=Valkey()) as platform:
        platform.valkey.start()
        yield platform


@pytest.mark.parametrize("way", ["COATCHECK_HOST", "--bind"])
def test_an_open_door_does_not_open_to_strangers(platform: Platform, way: str) -> None:
    """Wherever the address comes from."""
    options = ["--bind", f"0.0.0.0:{free_port()}"] if way == "--bind" else []
    env = {} if options else {"COATCHECK_HOST": "0.0.0.0", "PORT": str(free_port())}
    with platform.process(f"web{way[:3]}", [*COMMAND, *options], env) as web:
        assert web.wait(60) != 0
        assert "COATCHECK_AUTH=none lets everybody in" in web.log
        assert "Traceback" not in web.log


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
