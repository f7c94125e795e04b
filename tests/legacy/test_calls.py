"""Tools as older clients see them, and plain calls: the wait, what is asked meanwhile, and its end."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import mcp_types._v2025_11_25 as models
import pytest

from tests.legacy.older import DEFAULTS, RELATED, Older, accepted, questions
from tests.support.client import Client
from tests.support.platform import Platform
from tests.support.ports import free_port
from tests.support.valkey import Valkey
from tests.support.waiting import wait_until
from tests.web import raw_sockets
from tests.web.door import encode


@pytest.fixture(scope="session")
def hasty(platform: Platform) -> str:
    """The address of another front door of the same deployment, which waits for nothing long."""
    port = free_port()
    hasty = {"COATCHECK_LEGACY_SECONDS": "1", "COATCHECK_SYNC_SECONDS": "0.5", "WEB_CONCURRENCY": "1"}
    process = platform.start_web(port=port, env=hasty)
    process.wait_for_line("Listening at")
    return f"http://127.0.0.1:{port}/mcp"


def listed(url: str, revision: str) -> dict[str, dict[str, Any]]:
    """The tools by their names."""
    with Older(url, revision) as older:
        return {tool["name"]: tool for tool in older.request("tools/list").result["tools"]}


def test_a_tool_says_whether_it_can_be_a_task(platform: Platform) -> None:
    """OLD-1: and everything is as the revision's own models want it."""
    tools = listed(platform.url, "2025-11-25")
    support = {name: tool["execution"]["taskSupport"] for name, tool in tools.items()}
    assert {name: support[name] for name in ("choose", "failing_job", "test_simple_text", "greet")} == {
        "choose": "optional",
        "failing_job": "required",
        "test_simple_text": "forbidden",
        "greet": "forbidden",
    }
    assert tools["forecast"]["icons"]
    assert tools["two_at_once"]["title"] == "A titled tool"
    assert tools["two_at_once"]["_meta"] == {"test.example/kind": "x"}
    assert tools["forecast"]["outputSchema"]["type"] == "object"
    assert "outputSchema" not in tools["numbers"]
    models.ListToolsResult.model_validate({"tools": list(tools.values())})


def test_older_revisions_are_told_what_they_know(platform: Platform) -> None:
    """OLD-1."""
    middle, oldest = listed(platform.url, "2025-06-18"), listed(platform.url, "2025-03-26")
    for tools in (middle, oldest):
        assert not {"execution", "icons"} & {key for tool in tools.values() for key in tool}
        assert "failing_job" not in tools
    assert middle["two_at_once"].keys() == {"name", "title", "description", "inputSchema", "_meta"}
    assert middle["forecast"]["outputSchema"]
    assert oldest["two_at_once"].keys() == {"name", "description", "inputSchema"}
    assert oldest["forecast"].keys() == {"name", "description", "inputSchema", "annotations"}


def test_pages_of_tools_follow_one_another(platform: Platform, older: Older) -> None:
    """LIST-1."""
    assert "nextCursor" not in older.request("tools/list").result
    assert older.request("tools/list", {"cursor": "x"}).refusal == (200, -32602)


@pytest.mark.parametrize("revision", ["2025-11-25", "2025-06-18", "2025-03-26", None])
def test_results_are_what_the_revision_knows(platform: Platform, revision: str | None) -> None:
    """OLD-1, CALL-2: and nothing of today's stands in them."""
    with Older(platform.url, revision) as older:
        forecast = older.call("forecast", {"city": "Oslo"}).result
        shown = older.call("give", {"what": "shown"}).result
        numbers = older.call("numbers", {"most": 2}).result
        wrong = older.call("forecast", {"days": 9}).result
    assert numbers == {"content": [{"type": "text", "text": "[0,1]"}], "isError": False}
    is_oldest = revision in ("2025-03-26", None)
    assert forecast.keys() == {"content", "isError"} | (set() if is_oldest else {"structuredContent"})
    kinds = [block["type"] for block in shown["content"]]
    assert kinds == ["text", "image", "audio", "text" if is_oldest else "resource_link", "resource"]
    assert wrong["isError"] is True
    assert "city" in wrong["content"][0]["text"]


def test_what_cannot_be_called_is_an_error(older: Older) -> None:
    """OLD-1, CALL-1, HTTP-6: with a status whose body older clients read."""
    refused = {
        "no tool": older.call("no_such"),
        "no name": older.request("tools/call", {}),
        "no arguments": older.request("tools/call", {"name": "greet", "arguments": []}),
        "no task": older.call("choose", task=7),
        "no life": older.call("choose", task={"ttl": 0}),
        "not as a task": older.call("test_simple_text", task={}),
        "not as a task either": older.call("greet", {"name": "Ann"}, task={"ttl": 1000}),
        "only as a task": older.call("failing_job"),
        "its author's": older.call("refuse", {"code": -31999}),
    }
    assert {why: reply.body["error"]["code"] for why, reply in refused.items()} == {
        "no tool": -32602,
        "no name": -32602,
        "no arguments": -32602,
        "no task": -32602,
        "no life": -32602,
        "not as a task": -32601,
        "not as a task either": -32601,
        "only as a task": -32601,
        "its author's": -31999,
    }
    assert {reply.status for reply in refused.values()} == {200}


@pytest.mark.parametrize("revision", ["2025-06-18", "2025-03-26"])
def test_where_tasks_are_unknown_their_parameter_means_nothing(platform: Platform, revision: str) -> None:
    """OLD-1."""
    with Older(platform.url, revision) as older:
        assert older.call("greet", {"name": "Ann"}, task={"ttl": 1}).text == "Hello, Ann!"
        assert older.call("failing_job").refusal == (200, -32601)


def test_progress_is_told_when_it_was_asked_for(older: Older) -> None:
    """CALL-4, HTTP-8."""
    reply = older.call("report", _meta={"progressToken": "p"})
    assert reply.headers["content-type"].startswith("text/event-stream")
    assert [message["params"]["progress"] for message in reply.messages[:-1]] == [0.3, 1.0]
    assert {message["params"]["progressToken"] for message in reply.messages[:-1]} == {"p"}
    assert reply.text == "reported"
    assert len(older.call("report").messages) == 1


def test_a_plain_call_asks_and_goes_on_with_the_answer(platform: Platform, older: Older) -> None:
    """OLD-1: round after round, whichever process gets the answers."""
    with older.stream("tools/call", {"name": "ask_again"}) as messages, Older(platform.url) as other:
        for n, word in enumerate(("one", "two", "three"), 1):
            asked = next(questions(messages))
            assert asked["method"] == "elicitation/create"
            assert asked["params"]["message"] == f"Word {n}?"
            task_id = asked["params"]["_meta"][RELATED]["taskId"]
            models.ElicitRequest.model_validate(asked)
            answer = other.respond(asked["id"], accepted(text=word))
            assert (answer.status, answer.messages) == (202, ())
        result = next(messages)["result"]
    assert result["structuredContent" if "structuredContent" in result else "content"]
    assert [word in str(result["content"]) for word in ("one", "two", "three")] == [True] * 3
    assert "_meta" not in result
    assert task_id == asked["id"].split("/")[1]


def test_several_things_are_asked_at_the_same_time(older: Older, platform: Platform) -> None:
    """OLD-1, TASK-8: answered in any order."""
    with older.stream("tools/call", {"name": "two_at_once"}) as messages, Older(platform.url) as other:
        asking = questions(messages)
        first, second = next(asking), next(asking)
        other.respond(second["id"], accepted(text="world"))
        other.respond(first["id"], accepted(text="hello"))
        assert next(messages)["result"]["content"][0]["text"] == "hello world"


def test_what_a_tool_asks_first_is_asked_by_its_job(older: Older, platform: Platform) -> None:
    """OLD-1, MRTR-5: there are no rounds before a call in this era."""
    with older.stream("tools/call", {"name": "order", "arguments": {"item": "hat"}}) as messages:
        asking = questions(messages)
        answers = {"size": accepted(size="large"), "buyer": accepted(name="Ann")}
        with Older(platform.url) as other:
            for asked in (next(asking), next(asking)):
                other.respond(asked["id"], answers[asked["id"].rpartition("/")[2]])
        assert next(messages)["result"]["content"][0]["text"] == "large hat for Ann"


def test_forms_are_written_as_the_revision_writes_them(platform: Platform) -> None:
    """OLD-1."""
    asked = {}
    for revision in ("2025-11-25", "2025-06-18"):
        with Older(platform.url, revision) as older, older.stream("tools/call", {"name": "choose"}) as messages:
            [asked[revision]] = [next(questions(messages))]
            with Older(platform.url, revision) as other:
                other.respond(asked[revision]["id"], accepted(size="l"))
            assert next(messages)["result"]["structuredContent"] == {
                "action": "accept",
                "content": {"size": "l", **DEFAULTS},
            }
    newest, older_one = (asked[revision]["params"] for revision in ("2025-11-25", "2025-06-18"))
    assert newest["mode"] == "form"
    assert newest["requestedSchema"]["properties"]["size"]["oneOf"][0] == {"const": "s", "title": "Small"}
    assert older_one.keys() == {"message", "requestedSchema"}
    assert older_one["requestedSchema"]["properties"] == {
        "size": {"type": "string", "title": "Size", "enum": ["s", "l"], "enumNames": ["Small", "Large"]},
        "gift": {"type": "boolean", "default": True},
        "number": {"type": "integer", "minimum": 1},
    }


def test_a_page_is_opened_under_an_id(platform: Platform, older: Older) -> None:
    """OLD-1."""
    with older.stream("tools/call", {"name": "ask_page"}) as messages, Older(platform.url) as other:
        asked = next(questions(messages))
        models.ElicitRequest.model_validate(asked)
        assert asked["params"]["elicitationId"] == asked["id"]
        other.respond(asked["id"], {"action": "accept"})
        assert next(messages)["result"]["content"][0]["text"] == "accept"


def test_a_message_of_several_blocks_is_several_messages_to_older_models(platform: Platform) -> None:
    """OLD-1."""
    written = {"role": "assistant", "content": {"type": "text", "text": "hi"}, "model": "m"}
    for revision in ("2025-11-25", "2025-06-18", "2025-03-26"):
        with Older(platform.url, revision) as older, older.stream("tools/call", {"name": "converse"}) as messages:
            asked = next(questions(messages))
            with Older(platform.url, revision) as other:
                other.respond(asked["id"], written)
            assert next(messages)["result"]["content"][0]["text"] == "hi"
        blocks = [message["content"] for message in asked["params"]["messages"]]
        assert len(blocks) == (1 if revision == "2025-11-25" else 2)


@pytest.mark.parametrize(("revision", "how"), [("2025-06-18", "several"), ("2025-03-26", "one")])
def test_what_cannot_be_asked_ends_the_call(platform: Platform, client: Client, revision: str, how: str) -> None:
    """OLD-1, MRTR-3: and its job."""
    with Older(platform.url, revision) as older:
        reply = older.call("choose", {"how": how})
    if revision == "2025-03-26":
        # Its clients cannot be asked for forms at all, so the job itself was refused.
        assert reply.refusal == (200, -32602)
    else:
        assert reply.result["isError"] is True
        assert "cancelled" in reply.text


@pytest.mark.parametrize("revision", ["2025-11-25", "2025-06-18"])
def test_a_host_that_says_it_cannot_show_a_question_hears_at_once_how_to_go_on(
    platform: Platform, client: Client, revision: str
) -> None:
    """K3.12: whichever web process its error reaches; a limit of 55 seconds is not waited for."""
    with Older(platform.url, revision) as older, older.stream("tools/call", {"name": "choose"}) as messages:
        asked = next(questions(messages))
        with Older(platform.url, revision) as other:
            error = {"code": -32601, "message": "Method not found"}
            assert other.send({"jsonrpc": "2.0", "id": asked["id"], "error": error}).status == 202
        result = next(messages)["result"]
    assert result["isError"] is True
    text = result["content"][0]["text"]
    assert "asks a question that this host cannot show (elicitation/create)" in text
    assert "from a host that shows such questions" in text
    assert "COATCHECK_COMPANIONS" in text
    assert "ask for less" not in text
    assert client.wait_for(asked["id"].split("/")[1])["status"] == "cancelled"


def test_a_host_that_is_silent_hears_at_the_limit_that_it_was_asked(hasty: str) -> None:
    """K3.12."""
    with Older(hasty) as older:
        reply = older.call("choose")
    assert reply.result["isError"] is True
    assert "asks a question that this host did not answer within 1 second;" in reply.text
    assert "elicitation/create" in reply.text
    assert "ask for less" not in reply.text


def test_a_host_of_an_era_without_forms_hears_it_without_a_question(platform: Platform) -> None:
    """K3.12."""
    with Older(platform.url, "2025-03-26") as older:
        reply = older.call("choose")
    assert reply.refusal == (200, -32602)
    assert "cannot show (elicitation)" in reply.body["error"]["message"]


def test_with_companions_a_host_that_cannot_show_a_question_is_led_to_the_tools_that_answer_it(
    with_companions: str,
) -> None:
    """K3.12."""
    with Older(with_companions) as older, older.stream("tools/call", {"name": "choose"}) as messages:
        asked = next(questions(messages))
        with Older(with_companions) as other:
            other.send({"jsonrpc": "2.0", "id": asked["id"], "error": {"code": -32600, "message": "no"}})
            text = next(messages)["result"]["content"][0]["text"]
            assert "cannot show" in text
            assert "task_answer" in text
            other.cancel(asked["id"].split("/")[1])


def test_a_client_that_takes_no_stream_gets_its_result_and_no_questions(older: Older) -> None:
    """OLD-1, HTTP-3."""
    whole = older.request("tools/call", {"name": "give", "arguments": {"what": "text"}}, Accept="application/json")
    assert whole.headers["content-type"] == "application/json"
    assert whole.result["content"]
    asking = older.request("tools/call", {"name": "ask_page"}, Accept="application/json")
    assert asking.result["isError"] is True
    assert "cancelled" in asking.text


def test_at_its_limit_a_call_is_cancelled(hasty: str, client: Client, tmp_path: Path) -> None:
    """OLD-1, CALL-5: where nobody could follow the job."""
    mark = tmp_path / "mark"
    with Older(hasty) as older:
        reply = older.call("hold_call", {"path": str(mark)})
    assert reply.result["isError"] is True
    assert "within 1 second" in reply.text
    # On a busy machine it may not have begun, and then never does.
    wait_until(lambda: not mark.exists() or "ended" in mark.read_text(), 20.0, "the end of the run")


def test_a_call_with_a_name_of_its_own_goes_on_past_its_limit(hasty: str, platform: Platform) -> None:
    """OLD-1."""
    meta = {"io.coatcheck/idempotencyKey": "older-call"}
    with Older(hasty) as hurried, Older(platform.url) as older:
        assert "idempotency key" in hurried.call("ask_page", _meta=meta).text
        with older.stream("tools/call", {"name": "ask_page", "_meta": meta}) as messages:
            asked = next(questions(messages))
            hurried.respond(asked["id"], {"action": "decline"})
            assert next(messages)["result"]["content"][0]["text"] == "decline"


def test_leaving_a_call_cancels_it(platform: Platform, tmp_path: Path) -> None:
    """CALL-5."""
    mark = tmp_path / "mark"
    params = {"name": "hold_call", "arguments": {"path": str(mark)}}
    body = encode({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
    headers = {
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": "2025-11-25",
    }
    with raw_sockets.connected(platform.port) as connection:
        connection.sendall(raw_sockets.whole(headers, body))
        raw_sockets.until(connection, b":\n\n")
        wait_until(lambda: mark.exists() and "began" in mark.read_text(), 20.0, "the run")
    wait_until(lambda: "ended" in mark.read_text(), 20.0, "the end of the run")


@pytest.fixture(scope="module")
def with_companions() -> Iterator[str]:
    """The address of a deployment with the companion tools, which waits for nothing long."""
    env = {"COATCHECK_COMPANIONS": "task_status,task_answer,list_tasks", "COATCHECK_LEGACY_SECONDS": "1"}
    tools = "tests.web.tools,tests.legacy.tools,tests.conformance.tools"
    with Platform(tools=tools, env=env, valkey=Valkey()) as platform:
        yield platform.start(concurrency=4).url


@pytest.mark.parametrize("revision", ["2025-11-25", "2025-06-18", "2025-03-26", None])
def test_with_companions_a_client_that_knows_no_tasks_follows_one(with_companions: str, revision: str | None) -> None:
    """OLD-1, OLD-2: what is told at the limit is enough to answer and to fetch the result."""
    with Older(with_companions, revision) as older:
        told = older.call("choose")
        assert told.result["isError"] is True
        assert "task_status" in told.text
        task_id = next(word for word in told.text.replace(":", " ").split() if len(word) == 33)

        def is_asked() -> bool:
            return "Which one?" in older.call("task_status", {"task_id": task_id, "wait_seconds": 5}).text

        wait_until(is_asked, 20.0, "the question")
        older.call("task_answer", {"task_id": task_id, "answers": {"choice": accepted(size="l")}})

        def has_ended() -> bool:
            return "completed" in older.call("task_status", {"task_id": task_id, "wait_seconds": 5}).text

        wait_until(has_ended, 20.0, "the result")


@pytest.mark.parametrize("revision", ["2025-06-18", "2025-03-26"])
def test_with_companions_tools_that_are_always_tasks_are_within_reach(with_companions: str, revision: str) -> None:
    """OLD-1."""
    assert "failing_job" in listed(with_companions, revision)
    with Older(with_companions, revision) as older:
        wait_until(lambda: older.call("failing_job").text == "This job always fails", 20.0, "a result in time")
    with Older(with_companions) as newest:
        assert newest.call("failing_job").refusal == (200, -32601)
