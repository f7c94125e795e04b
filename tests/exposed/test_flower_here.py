"""Flower as `make run` has it, without a login, on this machine alone: its buttons work from its own pages only."""

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx
import pytest

from tests.e2e.browser import page
from tests.e2e.ledger import LEDGER, Ledger
from tests.exposed.flower import for_this_machine
from tests.support.client import Client
from tests.support.platform import Platform
from tests.support.waiting import wait_until


@pytest.fixture(scope="module")
def ledger(tmp_path_factory: pytest.TempPathFactory) -> Ledger:
    """What the tools really did."""
    return Ledger(tmp_path_factory.mktemp("ledger") / "ledger.sqlite")


@pytest.fixture(scope="module")
def platform(ledger: Ledger) -> Iterator[Platform]:
    """A platform with one process for work."""
    with Platform(env={LEDGER: str(ledger.path)}) as platform:
        yield platform.start(concurrency=1)


@pytest.fixture(scope="module")
def flower(platform: Platform) -> Iterator[str]:
    """The address of Flower."""
    with for_this_machine(platform) as address:
        yield address


@pytest.fixture
def running(client: Client, ledger: Ledger) -> Iterator[str]:
    """The id of a task that the only process works on."""
    task_id = client.start("sleep", {"seconds": 60})
    wait_until(lambda: ledger.count(task_id, "begun"), what="its start")
    yield task_id
    client.cancel(task_id)
    client.wait_for(task_id)
    # A process that was told to end is gone afterwards, and the next test's task starts in another.
    client.wait_for(client.start("steps", {"count": 1, "seconds": 1.5}), timeout=60.0)


def press(flower: str, task_id: str, headers: Mapping[str, str]) -> httpx.Response:
    """What the script of a run's page sends for the button Terminate, with these headers."""
    url = f"{flower}/api/task/revoke/{task_id}.1"
    return httpx.post(url, data={"terminate": "true"}, headers=headers, trust_env=False, timeout=30.0)


def own(flower: str, **more: str) -> dict[str, str]:
    """The headers that a browser adds for a page of Flower's own."""
    return {"Origin": flower, "Sec-Fetch-Site": "same-origin", **more}


@pytest.mark.parametrize("name", ["127.0.0.1", "localhost"])
@pytest.mark.parametrize("knows_sites", [True, False], ids=["new browser", "old browser"])
def test_the_button_ends_the_task_as_cancelled(
    client: Client, flower: str, running: str, name: str, knows_sites: bool
) -> None:
    """C33: by whichever name the operator came."""
    address = flower.replace("127.0.0.1", name)
    headers = own(address, Host=address.removeprefix("http://"))
    if not knows_sites:
        del headers["Sec-Fetch-Site"]
    assert press(flower, running, headers).status_code == 200
    assert client.wait_for(running)["status"] == "cancelled"


def test_a_process_that_is_ended_takes_no_other_task_with_it(client: Client, flower: str, running: str) -> None:
    """C17: it dies a moment later, in the middle of the run that it was given meanwhile."""
    assert press(flower, running, own(flower)).status_code == 200
    assert client.wait_for(running)["status"] == "cancelled"
    assert client.wait_for(client.start("steps", {"seconds": 1.0}), timeout=60.0)["status"] == "completed"


def test_only_flowers_own_pages_may_press_it(client: Client, flower: str, running: str) -> None:
    """C33: neither another site, nor a name that was made to lead here, nor who comes through a proxy."""
    rebound = "evil.example.test:" + flower.rpartition(":")[2]
    strangers: list[dict[str, str]] = [
        {},
        {"Origin": "https://evil.example.test"},
        {"Origin": "null"},
        {"Origin": flower + "0"},
        {"Origin": "https://evil.example.test", "Sec-Fetch-Site": "cross-site"},
        {"Origin": "http://localhost:8000", "Sec-Fetch-Site": "same-site"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "none"},
        own(flower, Origin="https://evil.example.test"),
        own(f"http://{rebound}", Host=rebound),
        own(flower, **{"X-Forwarded-For": "192.0.2.1"}),
        own(flower, Forwarded="for=192.0.2.1"),
    ]
    for headers in strangers:
        answer = press(flower, running, headers)
        assert answer.status_code == 401, headers
        assert "Access-Control-Allow-Origin" not in answer.headers
    asked = {"Origin": "https://evil.example.test", "Access-Control-Request-Method": "POST"}
    preflight = httpx.options(f"{flower}/api/task/revoke/{running}.1", headers=asked, trust_env=False)
    assert "Access-Control-Allow-Origin" not in preflight.headers
    assert client.get(running).result["status"] == "working"


@pytest.mark.parametrize(
    "path", ["/api/tasks", "/api/task/send-task/coatcheck.quick", "/api/task/apply/coatcheck.quick"]
)
def test_what_no_button_needs_stays_shut(flower: str, path: str) -> None:
    method = "GET" if path == "/api/tasks" else "POST"
    assert httpx.request(method, flower + path, headers=own(flower), trust_env=False).status_code == 401


@pytest.mark.parametrize("way", ["--basic_auth=operator:a long password", "--address=0.0.0.0"])
def test_where_others_can_come_the_button_asks_for_a_login(platform: Platform, running: str, way: str) -> None:
    """C33: also where the operator allows that Flower asks for none."""
    with for_this_machine(platform, way, COATCHECK_ALLOW_OPEN_FLOWER="true") as address:
        assert press(address, running, own(address)).status_code == 401


def test_a_page_of_another_site_in_a_real_browser_presses_nothing(client: Client, flower: str, running: str) -> None:
    """C33: with the simplest request that any page may send anywhere."""
    target = f"{flower}/api/task/revoke/{running}.1?terminate=true"
    with site(f'''<script>fetch("{target}", {{method: "POST", mode: "no-cors"}})</script>''', running) as (
        address,
        asked,
    ):
        page(address)
        assert asked.is_set()
    press(flower, running, {})  # Flower has dealt with the one before
    assert client.get(running).result["status"] == "working"


@contextmanager
def site(document: str, title: str) -> Iterator[tuple[str, threading.Event]]:
    """The address of a web page of another site, and whether anybody has asked for it."""
    asked = threading.Event()
    body = f"<title>{title}</title>{document}".encode()

    class Page(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(body)
            asked.set()

        def log_message(self, *_: Any) -> None:
            """Nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Page) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/", asked
        finally:
            server.shutdown()
            thread.join()
