"""The front door inside a team's own WSGI application, under servers that give each request a thread."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.e2e.ledger import LEDGER, Ledger
from tests.support.client import META, Client
from tests.support.leaks import leaked_keys
from tests.support.platform import ROOT, Platform
from tests.support.processes import Process
from tests.support.waiting import wait_until

PROJECT = Path(__file__).parent / "project"

APPLICATIONS = {"flask": "in_flask:app", "django": "in_django:application", "wsgi": "in_wsgi:app"}


def django() -> Path:
    """The folder of an installed Django, made when it is first asked for."""
    folder = ROOT / "build" / "django-5.2"
    if not folder.is_dir():
        folder.parent.mkdir(exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent) as temporary:
            made = Path(temporary) / "django"
            pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
            subprocess.run([*pip, "--target", made, "django>=5.2,<5.3"], check=True)
            made.rename(folder)
    return folder


@pytest.fixture(scope="module")
def ledger(tmp_path_factory: pytest.TempPathFactory) -> Ledger:
    """What the tools really did."""
    return Ledger(tmp_path_factory.mktemp("ledger") / "ledger.sqlite")


@pytest.fixture(scope="module")
def platform(ledger: Ledger) -> Iterator[Platform]:
    """A store and a worker, and no front door but the team's."""
    env = {
        LEDGER: str(ledger.path),
        "PYTHONPATH": os.pathsep.join((str(ROOT), str(PROJECT), str(django()))),
        "COATCHECK_POLLS_PER_SECOND": "0",
    }
    with Platform(tools="tests.e2e.tools,tests.web.tools", env=env) as platform:
        platform.valkey.start()
        platform.start_worker()
        yield platform


def _web(platform: Platform, application: str, kind: str) -> Process:
    number = len(platform.webs)
    arguments = ["--bind", f"unix:{platform.folder}/web-{number}.sock", "--worker-class", kind, "--workers", "1"]
    arguments += ["--threads", "3"] if kind == "gthread" else []
    web = platform.process(f"web-{number}", ["gunicorn", *arguments, APPLICATIONS[application]], {})
    platform.webs.append(web)
    return web.start()


class Caller(Client):
    """A client that can sign in."""

    def __init__(self, socket: Path) -> None:
        super().__init__("http://127.0.0.1/api/mcp")
        self._http.close()
        self._http = httpx.Client(transport=httpx.HTTPTransport(uds=str(socket)), timeout=30.0)

    def sign_in(self, name: str) -> "Caller":
        """Take the cookie of somebody of this name."""
        assert self._http.get(f"http://127.0.0.1/login/{name}").status_code == 200
        return self


@pytest.fixture(scope="module", params=[f"{name}-{kind}" for name in APPLICATIONS for kind in ("gthread", "sync")])
def served(request: pytest.FixtureRequest, platform: Platform) -> Iterator[tuple[Path, str]]:
    """The socket of the team's server, and its kind."""
    name, _, kind = request.param.partition("-")
    web = _web(platform, name, kind)
    web.wait_for_line("Booting worker")
    yield Path(f"{platform.folder}/{web.name}.sock"), kind
    assert web.stop() == 0
    assert "Traceback" not in web.log


@pytest.fixture
def stranger(served: tuple[Path, str], platform: Platform) -> Iterator[Caller]:
    """A client that has not signed in."""
    with Caller(served[0]) as caller:
        yield caller
    with platform.valkey.client() as raw:
        assert leaked_keys(raw) == []


@pytest.fixture
def client(stranger: Caller) -> Caller:
    """A client of somebody who has signed in."""
    return stranger.sign_in("ada")


def test_a_form_is_answered_through_their_application(client: Client, ledger: Ledger) -> None:
    assert {"ask_one", "quick"} <= {tool["name"] for tool in client.list().result["tools"]}
    task_id = client.start("ask_one")
    asked = client.wait_for(task_id, "input_required")
    assert list(asked["inputRequests"]) == ["name"]
    client.update(task_id, {"name": {"action": "accept", "content": {"name": "Ada"}}})
    assert client.wait_for(task_id)["result"]["content"][0]["text"] == "Hello, Ada!"
    assert ledger.entries(task_id) == [("before", 1), ("after", 2)]


def test_a_running_task_is_cancelled(client: Client, ledger: Ledger) -> None:
    task_id = client.start("sleep")
    wait_until(lambda: ledger.count(task_id, "begun"), 10.0)
    assert client.cancel(task_id).status == 200
    assert client.wait_for(task_id)["status"] == "cancelled"


def test_a_stranger_is_refused_and_another_owner_sees_nothing(stranger: Caller, served: tuple[Path, str]) -> None:
    refused = stranger.list()
    assert (refused.status, refused.headers["WWW-Authenticate"]) == (401, "Bearer")
    task_id = stranger.sign_in("ada").start("quick")
    assert stranger.wait_for(task_id)["status"] == "completed"
    with Caller(served[0]) as other:
        assert other.sign_in("grace").get(task_id).error["code"] == -32602


def test_a_large_body_and_a_large_answer_go_through(client: Client) -> None:
    text = "x" * 200_000
    task_id = client.start("quick", {"text": text})
    assert client.wait_for(task_id)["result"]["content"][0]["text"] == text


def test_what_is_no_message_is_answered(client: Caller) -> None:
    assert client._http.get(client.url).status_code == 405
    answer = client._http.post(client.url, content=b"{", headers={"Content-Type": "application/json"})
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, -32700)
    page = client._http.post(client.url, content=b"{}", headers={"Origin": "https://evil.example"})
    assert page.status_code == 403


def test_waits_never_take_the_last_thread(client: Caller, served: tuple[Path, str], ledger: Ledger) -> None:
    task_id = client.start("sleep")
    asked = {"notifications": {"taskIds": [task_id]}}
    if served[1] == "sync":
        assert client.request("subscriptions/listen", asked).status == 503
        assert client.call("sleep", meta={f"{META}clientCapabilities": {}}).status == 503
        client.cancel(task_id)
        assert client.wait_for(task_id)["status"] == "cancelled"
        return
    with client.listen(task_id) as messages, Caller(served[0]) as second, ThreadPoolExecutor() as pool:
        assert next(messages)["method"] == "notifications/subscriptions/acknowledged"
        second.sign_in("ada")
        assert second.request("subscriptions/listen", asked).status == 503
        assert second.call("sleep", meta={f"{META}clientCapabilities": {}}).status == 503
        pool.submit(second.cancel, task_id)
        told: list[Any] = [message["params"]["status"] for message in messages if "params" in message]
        assert told[-1] == "cancelled"
    assert client.call("quick", {"text": "x"}, meta={f"{META}clientCapabilities": {}}).status == 200


@pytest.mark.parametrize(
    ("env", "statement", "sentence"),
    [
        ({}, "from coatcheck.wsgi import application", "InvalidWebSettings: COATCHECK_AUTH is none"),
        (
            {"COATCHECK_AUTH": "tokens", "COATCHECK_TOKENS": "x"},
            "from coatcheck.wsgi import Door; Door(lambda environ: None)",
            "InvalidWebSettings: COATCHECK_AUTH is tokens, and `owner` tells who calls: leave one of them out",
        ),
    ],
)
def test_what_cannot_be_served_is_refused(redis_url: str, env: dict[str, str], statement: str, sentence: str) -> None:
    given = {**os.environ, "REDIS_URL": redis_url, "COATCHECK_TOOLS": "tests.e2e.tools", **env}
    done = subprocess.run(
        [sys.executable, "-c", statement], env=given, cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert sentence in done.stderr.splitlines()[-1]
