"""The life of a task with the official Python client.

    pip install "mcp>=2.3"
    python official_client.py [http://127.0.0.1:8000/mcp]

The client knows no tasks by itself; `Tasks` below teaches it, and serves for any tool of any server that has them.
"""
# ruff: noqa: INP001, T201 - an example stands alone, and prints

import asyncio
import sys
from collections.abc import Sequence
from typing import Any, Literal

from mcp import Client, MCPError
from mcp.client import ClaimContext, ClientExtension, ClientRequestContext, ResultClaim
from mcp_types import (
    CallToolResult,
    ElicitRequestParams,
    ElicitResult,
    EmptyResult,
    ErrorData,
    InputRequests,
    InputResponses,
    Request,
    RequestParams,
    Result,
    TextContent,
)


class CreatedTask(Result):
    """The handle: what a call that becomes a task is answered with."""

    result_type: Literal["task"]
    task_id: str
    status: str


class Task(Result):
    """The task as it stands: `result` once it is completed, `input_requests` while it waits for answers."""

    status: Literal["working", "input_required", "completed", "failed", "cancelled"]
    status_message: str = ""
    poll_interval_ms: int = 1000
    input_requests: InputRequests | None = None
    result: CallToolResult | None = None
    error: ErrorData | None = None


class TaskParams(RequestParams):
    """Names a task."""

    task_id: str


class UpdateParams(TaskParams):
    """Names a task, and answers what it asks."""

    input_responses: InputResponses


class GetTask(Request[TaskParams, Literal["tasks/get"]]):
    """Asks for the task as it stands."""

    method: Literal["tasks/get"] = "tasks/get"
    name_param = "taskId"


class UpdateTask(Request[UpdateParams, Literal["tasks/update"]]):
    """Hands answers over."""

    method: Literal["tasks/update"] = "tasks/update"
    name_param = "taskId"


class Tasks(ClientExtension):
    """Calls that become tasks are seen through to their results; what they ask goes to the client's own callbacks."""

    identifier = "io.modelcontextprotocol/tasks"

    def claims(self) -> Sequence[ResultClaim[Any]]:
        """Answers to `tools/call` of the kind `task` are ours."""
        return [ResultClaim(result_type="task", model=CreatedTask, resolve=self.result_of)]

    async def result_of(self, created: CreatedTask, call: ClaimContext) -> CallToolResult:
        """The result of the task, however long it takes. Keep the id: it finds the task again, whatever happens."""
        print(f"task {created.task_id}: {created.status}")
        params = TaskParams(task_id=created.task_id)
        seen = created.status
        while True:
            task = await call.session.send_request(GetTask(params=params), Task)
            if task.status != seen:
                print(f"task {created.task_id}: {task.status}")
                seen = task.status
            match task.status:
                case "completed" if task.result is not None:
                    return task.result
                case "failed" if task.error is not None:
                    raise MCPError.from_error_data(task.error)
                case "cancelled":
                    return CallToolResult(content=[TextContent(text="The task was cancelled.")], is_error=True)
                case "input_required":
                    answers = await self.answers_to(task.input_requests or {}, call)
                    update = UpdateParams(task_id=created.task_id, input_responses=answers)
                    await call.session.send_request(UpdateTask(params=update), EmptyResult)
                case _:
                    await asyncio.sleep(task.poll_interval_ms / 1000)

    async def answers_to(self, requests: InputRequests, call: ClaimContext) -> InputResponses:
        """What the client's callbacks say to each of the requests."""
        answers: InputResponses = {}
        for key, request in requests.items():
            context = ClientRequestContext(session=call.session, request_id=key)
            answer = await call.session.dispatch_input_request(context, request)
            if isinstance(answer, ErrorData):
                raise MCPError.from_error_data(answer)
            answers[key] = answer
        return answers


async def ask(context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult:
    """What the person at the terminal says to the form of `generate_report`."""
    print(f"\n{params.message}\n")
    said = await asyncio.to_thread(input, "Approve? [y/n] ")
    return ElicitResult(action="accept", content={"approved": said.strip().lower() == "y"})


async def main(url: str) -> None:
    """Makes a report of a sample table, once its outline is approved."""
    async with Client(url, extensions=[Tasks()], elicitation_callback=ask) as client:
        print(f"{url} speaks {client.protocol_version}")
        result = await client.call_tool("generate_report", {"source": "sales", "size": "small"})
    for block in result.content:
        print(block.text if isinstance(block, TextContent) else f"({block.type})")


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1] if len(sys.argv) > 1 else "http://127.0.0.1:8000/mcp"))
