"""The wait for a result: what it costs, and how it ends when the task does not."""

import ssl
from contextlib import ExitStack, closing
from pathlib import Path

import psutil

from coatcheck.tasks_store import Patience, StoreSettings, TaskStore
from tests.legacy.older import Older, questions
from tests.streams.conftest import Work
from tests.streams.test_how_streams_last import rewrite
from tests.support.platform import Platform
from tests.support.ports import free_port
from tests.support.tls import self_signed
from tests.support.valkey import Valkey

STREAMS = 100


def test_waits_for_people_cost_no_threads() -> None:
    """OLD-1, C39: everything else is served meanwhile, and each gets its result."""
    with Platform(tools="tests.web.tools", valkey=Valkey()) as platform, ExitStack() as stack:
        platform.start(concurrency=4)
        older = stack.enter_context(Older(platform.url))
        task_id = older.start("ask_page")
        older.wait_for(task_id, "input_required")
        waiting = []
        for _ in range(STREAMS):
            client = stack.enter_context(Older(platform.url))
            messages = stack.enter_context(client.stream("tasks/result", {"taskId": task_id}))
            waiting.append((messages, next(questions(messages))))
        [server] = psutil.Process(platform.webs[0].pid).children()
        assert server.num_threads() < 50
        assert older.request("ping").result == {}
        assert older.call("give", {"what": "text"}).result["content"]
        older.respond(waiting[0][1]["id"], {"action": "accept"})
        for messages, asked in waiting:
            assert asked["id"] == waiting[0][1]["id"]
            [*_, last] = messages
            assert last["result"]["content"][0]["text"] == "accept"


def test_a_process_that_ends_says_so_and_the_next_one_goes_on() -> None:
    """OLD-1, SUB-2: an error that tells the client to come back, never a stream that breaks."""
    with Platform(tools="tests.web.tools", valkey=Valkey()) as platform:
        platform.start()
        with Older(platform.url) as older:
            task_id = older.start("ask_page")
            with older.stream("tasks/result", {"taskId": task_id}) as messages:
                asked = next(questions(messages))
                platform.restart_web(platform.webs[0])
                [last] = messages
        assert last["error"]["code"] == -32603
        with Older(platform.url) as older, older.stream("tasks/result", {"taskId": task_id}) as messages:
            assert next(questions(messages)) == asked
            with Older(platform.url) as other:
                other.respond(asked["id"], {"action": "decline"})
            [*_, last] = messages
        assert last["result"]["content"][0]["text"] == "decline"


def test_a_result_is_awaited_over_tls_too(platform: Platform, tmp_path: Path) -> None:
    """OLD-1"""
    certificate, key = self_signed(tmp_path)
    port = free_port()
    command = ["gunicorn", "--config", "web/gunicorn.conf.py", "--certfile", str(certificate), "--keyfile", str(key)]
    with platform.process("web-tls", [*command, "coatcheck.web.wsgi:app"], {"PORT": str(port)}) as web:
        web.wait_for_line("Listening at")
        trust = ssl.create_default_context(cafile=str(certificate))
        with Older(f"https://127.0.0.1:{port}/mcp", verify=trust) as older, Older(platform.url) as other:
            task_id = older.start("ask_page")
            older.wait_for(task_id, "input_required")
            with older.stream("tasks/result", {"taskId": task_id}) as messages:
                other.respond(next(questions(messages))["id"], {"action": "accept"})
                [*_, last] = messages
            assert last["result"]["content"][0]["text"] == "accept"


def test_a_slow_reader_is_told_the_newest_state_only(platform: Platform) -> None:
    """SUB-3, OLD-1: what waits for it does not grow."""
    with closing(TaskStore(StoreSettings(redis_url=platform.valkey.url), Patience.DOOR)) as store:
        work = Work(store)
        task_id = work.new()
        work.run(task_id)
        with Older(platform.url) as older, older.stream("tasks/result", {"taskId": task_id}) as messages:
            for number in range(50):
                rewrite(platform, task_id, f"{number} " + "x" * 1_000_000)
            work.finish(task_id)
            told = list(messages)
    assert "result" in told[-1]
    assert len(told) < 50
