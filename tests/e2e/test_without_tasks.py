"""What is not the tasks extension: methods of older revisions, and callers that did not declare it."""

from collections.abc import Mapping
from typing import Any

import pytest

from tests.support.client import TASKS, WITH_TASKS, Client
from tests.support.platform import Platform

FORMS: Mapping[str, Any] = {"elicitation": {"form": {}}}


@pytest.mark.parametrize("method", ["tasks/status", "tasks/result", "tasks/list"])
def test_methods_of_older_revisions_are_not_found(client: Client, method: str) -> None:
    """RPC-4"""
    task_id = client.start("quick")
    client.wait_for(task_id)
    reply = client.request(method, {"taskId": task_id})
    assert (reply.status, reply.error["code"]) == (404, -32601)


@pytest.mark.parametrize(
    "capabilities",
    [
        {},
        {"extensions": {}},
        {"extensions": {"io.modelcontextprotocol/task": {}}},
        {"tasks": {"requests": {"tools": {"call": {}}}}},
        {"experimental": {TASKS: {}}},
    ],
    ids=["nothing", "no extension", "another extension", "the old capability", "experimental"],
)
def test_a_call_without_the_extension_never_gets_a_task(platform: Platform, capabilities: Mapping[str, Any]) -> None:
    """TASK-1"""
    with platform.client(capabilities={**capabilities, **FORMS}) as caller:
        done = caller.call("quick", {"text": "hi"}, params={"task": {"ttl": 60_000}}).result
        assert done["content"] == [{"type": "text", "text": "hi"}]
        assert done["resultType"] == "complete"
        asked = caller.call("ask_one").result
        assert asked["resultType"] == "input_required"
        for result in (done, asked):
            assert "taskId" not in str(result)


def test_the_extension_counts_for_the_request_that_declares_it_and_no_other(platform: Platform) -> None:
    """TASK-1, RPC-2"""
    with platform.client(capabilities=WITH_TASKS) as with_tasks, platform.client(capabilities=FORMS) as without:
        task_id = with_tasks.start("quick")
        assert without.call("quick").result["resultType"] == "complete"
        refused = without.get(task_id)
        assert (refused.status, refused.error["code"]) == (400, -32021)
        assert with_tasks.wait_for(task_id)["status"] == "completed"
