"""The page that Prometheus reads, from several web processes and workers together."""

import re
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from functools import partial

import httpx
import psutil
import pytest
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.samples import Sample

from tests.e2e.ledger import LEDGER, Ledger
from tests.legacy.older import Older
from tests.support.client import Client
from tests.support.platform import Platform
from tests.support.waiting import wait_until

TOKEN = "a token of more than thirty-two characters"


@pytest.fixture(scope="module")
def platform(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Platform]:
    """A platform with two web processes and two workers."""
    ledger = Ledger(tmp_path_factory.mktemp("ledger") / "ledger.sqlite")
    with Platform(env={LEDGER: str(ledger.path), "WEB_CONCURRENCY": "2"}) as platform:
        yield platform.start(workers=2)


@pytest.fixture
def client(platform: Platform) -> Iterator[Client]:
    """A client of the platform."""
    with platform.client() as client:
        yield client


def page(platform: Platform, headers: Mapping[str, str] | None = None) -> httpx.Response:
    """The page as it is now."""
    return httpx.get(f"http://127.0.0.1:{platform.port}/metrics", headers=headers, trust_env=False)


def samples(platform: Platform) -> list[Sample]:
    """Every sample on the page."""
    families = text_string_to_metric_families(page(platform).text)
    return [sample for family in families for sample in family.samples]


def value(platform: Platform, name: str, **labels: str) -> float:
    """The sample of this name and these labels; 0 when there is none."""
    return sum(one.value for one in samples(platform) if one.name == name and one.labels == labels)


def test_requests_of_all_web_processes_are_counted_once(client: Client, platform: Platform) -> None:
    before = value(platform, "coatcheck_requests_total", method="tools/list", status="200")
    for _ in range(20):
        client.list()
    wait_until(
        lambda: value(platform, "coatcheck_requests_total", method="tools/list", status="200") >= before + 20,
        what="the requests",
    )
    assert value(platform, "coatcheck_requests_total", method="tools/list", status="200") == before + 20


def test_a_method_that_nobody_knows_makes_no_name_of_its_own(client: Client, platform: Platform) -> None:
    assert client.request("made/up").status == 404
    wait_until(lambda: value(platform, "coatcheck_requests_total", method="?", status="404"), what="the request")
    assert "made/up" not in page(platform).text


def test_requests_of_the_older_era_are_counted_under_their_methods(platform: Platform) -> None:
    with Older(platform.url) as older:
        older.request("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {}})
        older.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        for method in ("ping", "tools/list", "tasks/list"):
            older.request(method)
        older.request("tasks/result", {"taskId": "none"})
        for method in ("made/up", "tasks/update", "__class__"):
            assert older.request(method, {"taskId": "x"}).status == 404

    def counted(method: str, status: str) -> float:
        return value(platform, "coatcheck_requests_total", method=method, status=status)

    for method in ("initialize", "ping", "tasks/list", "tasks/result"):
        wait_until(lambda method=method: counted(method, "200"), what=method)
    wait_until(lambda: counted("notifications/initialized", "202"), what="the notification")
    wait_until(lambda: counted("?", "404") >= 3, what="those that name nothing that is served")
    assert value(platform, "coatcheck_request_seconds_count", method="initialize") >= 1
    assert {one.labels["method"] for one in samples(platform) if one.name == "coatcheck_requests_total"}.isdisjoint(
        {"made/up", "tasks/update", "__class__"}
    )


def test_runs_and_their_times_are_counted_by_tool_and_outcome(client: Client, platform: Platform) -> None:
    """C36: from our own records, whatever Flower remembers."""
    for _ in range(5):
        client.wait_for(client.start("quick"))
    parked = client.start("ask_one")
    client.wait_for(parked, "input_required")
    wait_until(lambda: value(platform, "coatcheck_runs_total", tool="quick", outcome="completed") >= 5, what="the runs")
    wait_until(lambda: value(platform, "coatcheck_runs_total", tool="ask_one", outcome="parked"), what="the park")
    for histogram in ("coatcheck_run_seconds", "coatcheck_queue_seconds"):
        count = value(platform, f"{histogram}_count", tool="quick")
        assert count == value(platform, f"{histogram}_bucket", tool="quick", le="+Inf") >= 5
        assert value(platform, f"{histogram}_sum", tool="quick") >= 0
    assert value(platform, "coatcheck_tasks", status="input_required") == 1
    assert value(platform, "coatcheck_workers") == 2
    assert value(platform, "coatcheck_queue_messages", queue="coatcheck") == 0
    client.cancel(parked)


def test_a_call_that_ends_with_a_tool_error_can_be_counted(client: Client, platform: Platform) -> None:
    """K3.10: of a task, and of a tool that runs in the web process; its client sees a completed task."""
    assert client.wait_for(client.start("tell_the_model"))["status"] == "completed"
    assert client.call("refuse_at_once").result["isError"] is True
    for tool in ("tell_the_model", "refuse_at_once"):
        counted = partial(value, platform, "coatcheck_runs_total", tool=tool)
        wait_until(lambda counted=counted: counted(outcome="tool_error") == 1, what=tool)
        assert counted(outcome="completed") == 0


def test_what_the_sweeper_did_is_counted(client: Client, platform: Platform) -> None:
    client.wait_for(client.start("leave"), timeout=30.0)
    wait_until(lambda: value(platform, "coatcheck_tasks", status="failed"), what="the failed task")


def test_open_streams_of_all_web_processes_are_counted_together(client: Client, platform: Platform) -> None:
    parked = client.start("ask_one")
    client.wait_for(parked, "input_required")
    with ExitStack() as streams:
        callers = [streams.enter_context(platform.client()) for _ in range(6)]
        for caller in callers[1:]:
            streams.enter_context(caller.listen(parked))
        with callers[0].listen(parked):
            wait_until(lambda: value(platform, "coatcheck_streams") == 6, what="six streams")
        wait_until(lambda: value(platform, "coatcheck_streams") == 5, what="five streams")
    wait_until(lambda: value(platform, "coatcheck_streams") == 0, what="the end of all streams")
    client.cancel(parked)


def test_streams_of_a_web_process_that_died_are_not_counted_for_ever(client: Client, platform: Platform) -> None:
    parked = client.start("ask_one")
    client.wait_for(parked, "input_required")
    with client.listen(parked):
        wait_until(lambda: value(platform, "coatcheck_streams") == 1, what="the stream")
        for process in psutil.Process(platform.webs[0].pid).children():
            process.kill()
        platform.wait_until_ready()
        wait_until(lambda: value(platform, "coatcheck_streams") == 0, 30.0, "the end of the stream")
    client.cancel(parked)


def test_nothing_of_a_task_or_its_owner_is_told(client: Client, platform: Platform) -> None:
    task_id = client.start("quick", {"text": "only for the client"})
    client.wait_for(task_id)
    text = page(platform).text
    assert task_id not in text
    assert "only for the client" not in text


def test_a_token_keeps_strangers_out() -> None:
    with Platform(env={"COATCHECK_METRICS_TOKEN": TOKEN}).start(workers=0) as guarded:
        assert page(guarded).status_code == 401
        assert page(guarded, {"Authorization": "Bearer wrong"}).status_code == 401
        assert page(guarded, {"Authorization": f"Bearer {TOKEN}"}).status_code == 200


def test_without_a_token_the_page_is_not_there_for_strangers() -> None:
    open_to_all = {"COATCHECK_HOST": "0.0.0.0", "COATCHECK_ALLOW_ANONYMOUS": "true"}
    with Platform(env=open_to_all).start(workers=0) as platform:
        assert page(platform).status_code == 404


@pytest.mark.parametrize("host", ["evil.test", "evil.test:8000", "192.0.2.1", "[::2]", "localhost.evil.test", ""])
def test_a_foreign_name_is_not_answered(platform: Platform, host: str) -> None:
    """K2.8: a web page whose name was made to lead here reads nothing."""
    refused = page(platform, {"Host": host})
    assert refused.status_code == 403
    assert "coatcheck_" not in refused.text
    assert "COATCHECK_ALLOWED_HOSTS" in refused.text


def test_with_a_token_a_scraper_may_come_by_address_and_not_by_a_foreign_name() -> None:
    """K2.8: Prometheus asks each process by its address, which no page of a foreign name has."""
    settings = {"COATCHECK_METRICS_TOKEN": TOKEN, "COATCHECK_ALLOWED_HOSTS": "web.internal"}
    with Platform(env=settings).start(workers=0) as guarded:
        for host in ("192.0.2.1:8000", "[2001:db8::1]", "web.internal:8000"):
            assert page(guarded, {"Host": host, "Authorization": f"Bearer {TOKEN}"}).status_code == 200, host
        assert page(guarded, {"Host": "evil.test", "Authorization": f"Bearer {TOKEN}"}).status_code == 403
        assert page(guarded, {"Host": "192.0.2.1"}).status_code == 401


def test_without_a_token_the_page_is_not_there_for_a_proxy_on_a_unix_socket() -> None:
    """K2.8: whom it asks for cannot be seen, whatever the settings say of addresses."""
    with Platform() as platform:
        platform.valkey.start()
        path = platform.folder / "web.sock"
        command = ["gunicorn", "--config", "web/gunicorn.conf.py", "coatcheck.web.wsgi:app", "--bind", f"unix:{path}"]
        with (
            platform.process("web-unix", command, {}) as web,
            httpx.Client(transport=httpx.HTTPTransport(uds=str(path)), trust_env=False) as proxy,
        ):
            web.wait_for_line("Booting worker", 30.0)
            assert proxy.get("http://localhost/healthz").status_code == 200
            assert proxy.get("http://localhost/metrics").status_code == 404


@pytest.mark.parametrize("path", ["/healthz", "/readyz"])
@pytest.mark.parametrize("host", ["10.1.2.3:8000", "healthcheck.example.test"])
def test_health_is_told_to_whatever_name_a_platform_asks_by(platform: Platform, path: str, host: str) -> None:
    """K2.8: platforms ask processes by their addresses, or by names of their own."""
    url = f"http://127.0.0.1:{platform.port}{path}"
    assert httpx.get(url, headers={"Host": host}, trust_env=False).status_code == 200


def test_a_reached_limit_is_counted_by_its_name() -> None:
    with Platform(env={"COATCHECK_BACKLOG": "1"}) as crowded:
        crowded.start(workers=0)
        with crowded.client() as client:
            wait_until(lambda: client.call("quick").status == 429, what="a full queue")
        wait_until(lambda: value(crowded, "coatcheck_limits_reached_total", limit="backlog") == 1, what="the refusal")


def test_requests_without_a_task_in_their_headers_are_counted_by_client(client: Client, platform: Platform) -> None:
    """HDR-3, K4.9: clients name themselves, so names are bounded in number and in form."""
    task_id = client.start("quick")

    def poll(name: object) -> None:
        info = {"io.modelcontextprotocol/clientInfo": {"name": name}}
        client.get(task_id)
        assert client.request("tasks/get", {"taskId": task_id}, meta=info, without=("Mcp-Name",)).status == 200

    def labels() -> set[str]:
        name = "coatcheck_requests_without_name_total"
        return {one.labels["client"] for one in samples(platform) if one.name == name}

    poll("fastmcp")
    wait_until(lambda: "fastmcp" in labels(), what="the client's name")
    for name in ("tab\tbed", "", 5, "x" * 65, *(f"client-{number}" for number in range(60))):
        poll(name)
    poll("fastmcp")
    wait_until(
        lambda: value(platform, "coatcheck_requests_without_name_total", client="fastmcp") == 2, what="its count"
    )
    wait_until(lambda: value(platform, "coatcheck_requests_without_name_total", client="?") >= 4, what="the others")
    assert all(re.fullmatch(r"fastmcp|client-\d+|\?", label) for label in labels())
    assert len(labels()) <= 2 * 20 + 1  # each of two processes knows what the store had when it began to count
