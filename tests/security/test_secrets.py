"""What callers send and get stands in their own records, and nowhere else."""

import os
import re
from base64 import b64decode, b64encode
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest
from redis import Redis

from coatcheck.tasks_store import StoreSettings
from coatcheck.web.settings.auth import AuthSettings
from tests.auth.conftest import Tokens, client, start_door
from tests.support.client import Client
from tests.support.contents import contents, names
from tests.support.platform import Platform
from tests.support.ports import free_port
from tests.support.processes import Process
from tests.support.valkey import Valkey
from tests.support.waiting import wait_until

MARKERS = {
    place: f"M4RK3R{place}" for place in ("argument", "answer", "refused", "idle", "authorization", "header", "wrong")
}
OURS = re.compile(r"coatcheck:\{[0-7]\}:(task|inputs|steps):.*")
"""The records, which are there to hold it."""

BASE64 = re.compile(rb"[A-Za-z0-9+/]{16,}")

LOGIN = ("operator", "M4RK3Rflower")


class Deployment:
    """Everything that the Procfile starts, for one caller with a token."""

    def __init__(self, platform: Platform, flower: Process, flower_url: str, caller: Client, token: str) -> None:
        self.platform = platform
        self.flower = flower
        self.flower_url = flower_url
        self.caller = caller
        self.token = token

    @property
    def logs(self) -> str:
        """All that was printed."""
        return "".join(one.log for one in (*self.platform.webs, *self.platform.workers, self.flower))


@pytest.fixture(scope="module", params=["plain", "encrypted"])
def deployment(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    """With and without encryption at rest."""
    env = {"COATCHECK_LOG_EXCEPTIONS": "places"}
    if request.param == "encrypted":
        env["COATCHECK_ENCRYPTION_KEYS"] = b64encode(os.urandom(32)).decode()
    tokens = Tokens(tmp_path_factory.mktemp("tokens") / "tokens.toml")
    token = tokens.add("ann")
    with Platform(tools="tests.security.tools", env=env, valkey=Valkey()) as platform:
        platform.valkey.start()
        platform.start_worker()
        url = start_door(platform, COATCHECK_AUTH="tokens", COATCHECK_TOKENS_FILE=str(tokens.file))
        port = free_port()
        with flower_of(platform, port) as flower, client(url, token) as caller:
            deployment = Deployment(platform, flower, f"http://127.0.0.1:{port}", caller, token)
            wait_until(
                lambda: looks_at(deployment, "/api/workers?refresh=1") != b"{}", 30.0, "a worker on Flower's page"
            )
            plant(deployment)
            yield deployment


def flower_of(platform: Platform, port: int) -> Process:
    """Flower, as the Procfile starts it, but reachable from everywhere."""
    command = ["celery", "-A", "coatcheck.workers", "flower", "--address=0.0.0.0", f"--port={port}"]
    return platform.process("flower", command, {"FLOWER_BASIC_AUTH": ":".join(LOGIN)})


def looks_at(deployment: Deployment, path: str) -> bytes:
    """What Flower shows to its operator; nothing while it starts."""
    try:
        return httpx.get(deployment.flower_url + path, auth=LOGIN, trust_env=False, timeout=20.0).content
    except httpx.TransportError:
        return b"{}"


def plant(deployment: Deployment) -> None:
    """Every kind of secret has been everywhere that it goes."""
    caller = deployment.caller
    carried = caller.start("carry", {"secret": MARKERS["argument"]})
    caller.wait_for(carried, "input_required")
    wrong = caller.update(carried, {"more": {"action": "accept", "content": {"note": 7, "x": MARKERS["refused"]}}})
    assert wrong.error["code"] == -32602
    caller.update(carried, {"more": {"action": "accept", "content": {"note": MARKERS["answer"]}}})
    result = caller.wait_for(carried)["result"]["content"][0]["text"]
    assert result == f"result step {MARKERS['argument']} {MARKERS['answer']}"
    idle = caller.start("carry", {"secret": MARKERS["idle"]})
    caller.wait_for(idle, "input_required")
    for tool in ("choke", "reject"):
        assert caller.wait_for(caller.start(tool, {"secret": MARKERS["argument"]}))["result"]["isError"]
    assert caller.call("choke_at_once", {"secret": MARKERS["argument"]}).result["isError"]
    assert caller.call("carry", {"secret": [MARKERS["argument"]]}).result["isError"]
    for authorization in (f"Bearer {MARKERS['authorization']}", f"Basic {MARKERS['authorization']}"):
        assert caller.request("tools/list", headers={"Authorization": authorization}).status == 401
    assert caller.request("tools/list", headers={"X-Secret": MARKERS["header"]}).status == 200
    assert caller.request(MARKERS["wrong"]).status == 404
    assert caller.get(MARKERS["wrong"]).status == 400


def secrets_in(text: str | bytes, deployment: Deployment) -> list[str]:
    """Which of the secrets can be read in it."""
    octets = readable(text.encode() if isinstance(text, str) else text)
    return [secret for secret in (*MARKERS.values(), deployment.token, LOGIN[1]) if secret.encode() in octets]


def readable(octets: bytes) -> bytes:
    """With what stands in it in base64, as the bodies of Celery's messages do."""
    decoded = [b64decode(run + b"=" * (-len(run) % 4)) for run in BASE64.findall(octets) if len(run) % 4 != 1]
    return b"\n".join([octets, *decoded])


def test_no_log_holds_a_secret(deployment: Deployment) -> None:
    """CALL-3, AUTH-3: of the front door, of the worker, of Flower; also where an exception quotes one."""
    assert "the tool raised ValidationError [reference" in deployment.logs
    assert secrets_in(deployment.logs, deployment) == []


def test_nothing_in_the_store_holds_one_but_the_records_themselves(
    deployment: Deployment, request: pytest.FixtureRequest
) -> None:
    """And with encryption not even they: not Celery's messages and results, not a count, not an index."""
    is_encrypted = "encrypted" in request.node.name
    with closing(deployment.platform.valkey.client()) as records:
        everything = names(records)
        assert any(OURS.fullmatch(name) for name in everything)
        found = {name for name in everything if secrets_in(contents(records, name), deployment)}
    leaks = {name for name in found if is_encrypted or not OURS.fullmatch(name)}
    assert leaks == set()
    assert is_encrypted or found


def test_the_channels_between_processes_carry_none(deployment: Deployment) -> None:
    """What Celery publishes for Flower, and what the feed tells."""
    with closing(deployment.platform.valkey.client()) as records, closing(listener(records)) as heard:
        plant(deployment)
        messages = b""
        while (message := heard.get_message(timeout=0.5)) is not None:
            messages += repr(message["data"]).encode()
    assert b"task-succeeded" in readable(messages)
    assert secrets_in(messages, deployment) == []


def listener(records: Redis) -> Any:
    """Hears every channel."""
    heard: Any = records.pubsub()  # type: ignore[no-untyped-call]
    heard.psubscribe("*")
    return heard


def test_no_page_of_flower_shows_one(deployment: Deployment) -> None:
    """Nor what it hands out for machines."""
    tasks = wait_until(lambda: httpx.Response(200, content=looks_at(deployment, "/api/tasks")).json(), 20.0, "tasks")
    assert tasks
    pages = ["/api/tasks", "/tasks", "/workers", "/broker", "/metrics", "/api/workers"]
    pages += [f"/task/{task}" for task in tasks] + [f"/api/task/info/{task}" for task in tasks]
    for page in pages:
        assert secrets_in(looks_at(deployment, page), deployment) == [], page


def test_no_refusal_repeats_one(deployment: Deployment) -> None:
    """An error text ends up in other people's logs."""
    caller = deployment.caller
    replies = [
        caller.request("tools/list", headers={"Authorization": f"Bearer {MARKERS['authorization']}"}),
        caller.request(MARKERS["wrong"]),
        caller.get(MARKERS["wrong"]),
        caller.call(MARKERS["wrong"]),
        caller.call("carry", {"secret": [MARKERS["argument"]]}),
        caller.call("choke_at_once", {"secret": MARKERS["argument"]}),
        caller.list(MARKERS["wrong"]),
        caller.call("carry", {}, params={"requestState": MARKERS["wrong"]}),
    ]
    for reply in replies:
        assert secrets_in(repr((reply.body, dict(reply.headers))), deployment) == [], reply


def test_the_settings_do_not_print_what_is_secret_in_them() -> None:
    """Somebody will log them one day."""
    shown = f"{StoreSettings(encryption_keys=(b'M4RK3R' * 6,))} {AuthSettings(tokens='M4RK3R', tokens_file=Path('x'))}"
    assert "M4RK3R" not in shown
