"""Flower shows what runs and stops it, so strangers must not reach it."""

import re
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
from flower.utils.authentication import authenticate, validate_auth_option

from coatcheck.workers.telemetry.flower_guard import is_open_to_strangers, login_fault
from tests.support.platform import Platform
from tests.support.ports import free_port
from tests.support.valkey import Valkey
from tests.support.waiting import wait_until

LOGIN = ("operator", "let-me-in")


def options(**given: Any) -> Any:
    """Flower's options when nothing is set but these."""
    nothing: dict[str, Any] = {"address": "", "unix_socket": "", "basic_auth": [], "auth": "", "auth_provider": None}
    return SimpleNamespace(**{**nothing, **given})


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"address": "0.0.0.0"},
        {"address": "::"},
        {"address": "192.0.2.1"},
        {"address": "flower.example.test"},
        {"auth": ".*@example.test"},
        {"auth_provider": "flower.views.auth.GoogleAuth2LoginHandler"},
    ],
    ids=str,
)
def test_what_everybody_may_use_is_open(given: dict[str, Any]) -> None:
    """C33: no address at all is every address, and half of a login is none."""
    assert is_open_to_strangers(options(**given))


@pytest.mark.parametrize(
    "given",
    [
        {"address": "127.0.0.1"},
        {"address": "127.1.2.3"},
        {"address": "::1"},
        {"address": "localhost"},
        {"unix_socket": "/run/flower.sock"},
        {"basic_auth": ["a:b"]},
        {"auth": ".*@example.test", "auth_provider": "flower.views.auth.GoogleAuth2LoginHandler"},
    ],
    ids=str,
)
def test_what_is_for_this_machine_or_for_known_people_is_not(given: dict[str, Any]) -> None:
    assert not is_open_to_strangers(options(**given))


@pytest.mark.parametrize(
    "logins", [[":"], [""], ["user:"], [":password"], ["user"], [" : "], ["user: "], ["a:b", ""], ["a:b", ":"]], ids=str
)
def test_a_login_with_an_empty_part_is_named_as_such(logins: list[str]) -> None:
    """K2.6: each of several has both, since Flower takes any of them."""
    fault = login_fault(logins)
    assert fault.startswith("FLOWER_BASIC_AUTH ")


def test_a_login_of_user_and_password_is_none() -> None:
    assert login_fault([]) == login_fault(["a:b"]) == login_fault(["a:b:c", "d:e"]) == ""


@pytest.mark.parametrize("email", ["a@example.com.evil.test", "x@example.comx", "a@b@example.com\n", "a@exampleXcom"])
def test_an_address_that_only_begins_like_an_allowed_one_is_not(email: str) -> None:
    """C33, of the version that is locked: the pattern is matched whole."""
    pattern = ".*@example.com"
    assert validate_auth_option(pattern)
    assert authenticate(pattern, "a@example.com")
    assert not authenticate(pattern, email)


@pytest.fixture(scope="module")
def platform() -> Iterator[Platform]:
    """A worker that is busy for as long as a test wants."""
    with Platform(tools="tests.auth.tools,tests.web.tools", valkey=Valkey()) as platform:
        yield platform.start(concurrency=1)


@pytest.mark.parametrize("address", ["127.0.0.1", "0.0.0.0"])
def test_flower_does_not_start_with_a_login_that_is_none(platform: Platform, address: str) -> None:
    """K2.6: wherever it listens, since somebody meant to protect it."""
    command = ["celery", "-A", "coatcheck.workers", "flower", f"--address={address}", f"--port={free_port()}"]
    with platform.process(f"flower-login-{address}", command, {"FLOWER_BASIC_AUTH": ":"}) as flower:
        assert flower.wait(60) != 0
        assert "FLOWER_BASIC_AUTH holds a login without user or password" in flower.log
        assert "Traceback" not in flower.log


@pytest.mark.parametrize("where", ["--address=0.0.0.0", "FLOWER_ADDRESS"])
def test_flower_does_not_start_where_strangers_could_use_it(platform: Platform, where: str) -> None:
    """C33: wherever the address comes from."""
    command = ["celery", "-A", "coatcheck.workers", "flower", f"--port={free_port()}"]
    command += [where] if where.startswith("--") else []
    env = {} if where.startswith("--") else {"FLOWER_ADDRESS": "0.0.0.0"}
    with platform.process(f"flower-{where.strip('-')[:7]}", command, env) as flower:
        assert flower.wait(60) != 0
        assert "FLOWER_BASIC_AUTH" in flower.log
        assert "Traceback" not in flower.log


def is_kept_out_of_frames(page: httpx.Response) -> bool:
    """K2.7: no other site can show it in a frame, and have its visitors press the buttons."""
    policy, older = page.headers.get("Content-Security-Policy", ""), page.headers.get("X-Frame-Options")
    return "frame-ancestors 'none'" in policy and older == "DENY"


def test_flower_lives_under_a_prefix(platform: Platform) -> None:
    """C35, K2.7: behind a proxy that leaves the prefix in place, its pages load with all they need, in no frame."""
    port = free_port()
    command = ["celery", "-A", "coatcheck.workers", "flower", "--address=127.0.0.1", f"--port={port}"]
    proxied = {"Host": "ops.example.test", "X-Forwarded-Proto": "https"}
    with platform.process("flower-prefix", command, {"FLOWER_URL_PREFIX": "ops/flower"}) as flower:

        def page(path: str) -> httpx.Response | None:
            assert flower.is_running, flower.log
            try:
                return httpx.get(f"http://127.0.0.1:{port}{path}", headers=proxied, trust_env=False)
            except httpx.TransportError:
                return None

        first = wait_until(lambda: page("/ops/flower/workers"), 40.0, "Flower")
        assert first is not None
        needed = re.findall(r'(?:href|src)="([^"#]+)"', first.text)
        assert any(path.endswith(".css?v=" + path.partition("?v=")[2]) for path in needed)
        for path in (
            "/ops/flower/",
            "/ops/flower/tasks",
            "/ops/flower/nothing-here",
            "/elsewhere",
            "/ops/flower/metrics",
        ):
            found = page(path)
            assert found is not None
            assert is_kept_out_of_frames(found), path
        for path in needed:
            found = page(path) if path.startswith("/") else None
            assert path.startswith(("/ops/flower/", "http")), path
            assert found is None or (found.status_code == 200 and is_kept_out_of_frames(found)), path


def test_a_login_is_asked_of_everybody_and_a_revoke_ends_the_task(platform: Platform, tmp_path: Path) -> None:
    """C33: who has one stops what runs, and the record says so."""
    port = free_port()
    command = ["celery", "-A", "coatcheck.workers", "flower", "--address=0.0.0.0", f"--port={port}"]
    url = f"http://127.0.0.1:{port}"
    with platform.process("flower", command, {"FLOWER_BASIC_AUTH": ":".join(LOGIN)}) as flower:

        def answers() -> int:
            assert flower.is_running, flower.log
            try:
                return httpx.get(f"{url}/api/workers?refresh=1", auth=LOGIN, trust_env=False, timeout=20).status_code
            except httpx.TransportError:
                return 0

        wait_until(lambda: answers() == 200, 40.0, "Flower")
        with platform.client() as client:
            holding = client.start("hold", {"path": str(tmp_path / "mark")})
            wait_until((tmp_path / "mark").exists, 20.0, "the run that keeps the worker busy")
            task_id = client.start("whoami")
            revoke = f"{url}/api/task/revoke/{task_id}.1"
            for page in ("/", "/tasks", f"/task/{task_id}.1", "/api/tasks"):
                refused = httpx.get(url + page, trust_env=False)
                assert refused.status_code == 401, page
                assert is_kept_out_of_frames(refused), page
            assert httpx.post(revoke, trust_env=False).status_code == 401
            assert httpx.post(revoke, auth=("operator", "guess"), trust_env=False).status_code == 401
            assert httpx.post(revoke, auth=LOGIN, trust_env=False, timeout=20).status_code == 200
            platform.workers[0].wait_for_line(f"{task_id}.1", 20.0)  # the worker has heard
            client.cancel(holding)
            task = client.wait_for(task_id)
    assert task["status"] == "cancelled"
    assert not task.keys() & {"result", "error", "inputRequests"}
