"""One JSON object a line from every process, with the task, the tool and the run; never what they hold."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.client import Client
from tests.support.platform import Platform
from tests.support.processes import Process
from tests.support.waiting import wait_until

JSON = {"COATCHECK_LOG_FORMAT": "json"}
SECRET = "only-for-the-client"
POOLS = ["prefork", "threads", "solo", "gevent"]


@pytest.fixture(scope="module")
def platform() -> Iterator[Platform]:
    """A front door and no worker: each test starts its own."""
    with Platform(tools="tests.logs.tools", env=JSON) as platform:
        yield platform.start(workers=0)


@pytest.fixture
def client(platform: Platform) -> Iterator[Client]:
    """A client of the platform."""
    with platform.client() as client:
        yield client


def lines(process: Process) -> list[dict[str, Any]]:
    """Every line that the process has printed, each of which is a JSON object."""
    return [json.loads(line) for line in process.log.splitlines() if line]


def about(process: Process, **facts: object) -> list[str]:
    """The messages of the lines that say all of this of the work that they are about."""
    return [str(line["message"]) for line in lines(process) if facts.items() <= line.items()]


@pytest.fixture
def worker(request: pytest.FixtureRequest, platform: Platform) -> Iterator[Process]:
    """The only worker there is, with the pool that the test names."""
    worker = platform.start_worker(pool=getattr(request, "param", None))
    yield worker
    worker.kill()


@pytest.mark.parametrize("worker", POOLS, indirect=True)
def test_every_line_of_a_run_says_whose_it_is_in_every_pool(worker: Process, client: Client) -> None:
    task_id = client.start("talk", {"secret": SECRET})
    client.wait_for(task_id, "input_required")
    client.update(task_id, {"go_on": {"action": "accept", "content": {"yes": True}}})
    client.wait_for(task_id)

    def told(run: int) -> list[str]:
        return about(worker, task_id=task_id, tool="talk", run=run)

    wait_until(lambda: any("succeeded in" in line for line in told(2)), what="the end")
    first = told(1)
    expected = ["spoken by the author", "spoken by Celery's logger", "printed by the author"]
    assert [line for line in first if line in expected] == expected
    assert any(line.startswith("Task coatcheck.talk") and line.endswith("received") for line in first)
    assert any("parked for go_on" in line for line in first)
    assert any("succeeded in" in line for line in first)
    (spoken,) = [line for line in lines(worker) if line.get("event") == "spoken as a dictionary"]
    assert (spoken["task_id"], spoken["tool"], spoken["run"], spoken["count"]) == (task_id, "talk", 2, 1)
    assert spoken["level"] == "WARNING"
    assert SECRET not in worker.log


def test_what_a_tool_did_not_mean_to_raise_stands_there_without_its_words(worker: Process, client: Client) -> None:
    task_id = client.start("crash", {"secret": SECRET})
    client.wait_for(task_id)
    (told,) = [line for line in about(worker, task_id=task_id, tool="crash", run=1) if "reference" in line]
    assert "COATCHECK_LOG_EXCEPTIONS=whole logs its words too" in told  # K5.2
    assert "RuntimeError" in told
    assert SECRET not in worker.log


def test_a_line_about_a_request_says_its_method_and_its_task(platform: Platform, client: Client) -> None:
    web = platform.webs[0]
    task_id = client.start("talk", {"secret": SECRET})
    client.update(task_id, {"go_on": {"action": SECRET}})
    client.cancel(task_id)
    strange = "0" * 33
    assert client.get(strange).status == 400
    assert about(web, method="tasks/get", task_id=strange, level="WARNING")
    assert client.call("no_such_tool").status == 400
    assert about(web, method="tools/call", tool="no_such_tool")
    assert client.request("tasks/get", {"taskId": SECRET}).status == 400
    assert SECRET not in web.log


def test_nothing_is_left_of_a_request_when_its_thread_serves_the_next(platform: Platform, client: Client) -> None:
    strange = "1" * 33
    for _ in range(40):  # every thread has served one
        assert client.get(strange).status == 400
    client.request("tools/list", {"cursor": "bad"})
    (line,) = [line for line in lines(platform.webs[0]) if line.get("method") == "tools/list"]
    assert "task_id" not in line


def test_lines_of_the_server_itself_are_objects_too(platform: Platform) -> None:
    assert any(line["logger"] == "gunicorn.error" for line in lines(platform.webs[0]))
    assert {"time", "level", "logger", "message", "process"} <= lines(platform.webs[0])[0].keys()


def test_text_is_what_there_is_unless_asked_for() -> None:
    with Platform(tools="tests.logs.tools").start() as plain, plain.client() as client:
        client.wait_for(client.start("crash"))
        assert "celery@" in plain.workers[0].log or "[tasks]" in plain.workers[0].log
        assert not [line for line in plain.workers[0].log.splitlines() if line.startswith("{")]
        assert not [line for line in plain.webs[0].log.splitlines() if line.startswith("{")]
