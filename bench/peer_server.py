"""The tools of `tools.py` on fastmcp-tasks. Runs in an environment of its own, which has nothing of Coatcheck."""

import asyncio
import time

import mcp_types
from fastmcp import Context, FastMCP
from fastmcp.utilities.tasks import TaskConfig
from fastmcp_tasks import TasksExtension

GO = mcp_types.ElicitRequest(
    method="elicitation/create",
    params=mcp_types.ElicitRequestFormParams(
        mode="form",
        message="Go on?",
        requested_schema={"type": "object", "properties": {"go": {"type": "boolean"}}, "required": ["go"]},
    ),
)

mcp = FastMCP("peer")
mcp.add_extension(TasksExtension())
as_task = TaskConfig(mode="required")


@mcp.tool(task=as_task, output_schema=None)
async def noop() -> str:
    """Does nothing."""
    return "done"


@mcp.tool(task=as_task, output_schema=None)
async def large(size: int) -> str:
    """Returns a long text."""
    return "x" * size


@mcp.tool(task=as_task, output_schema=None)
async def keep(text: str) -> str:
    """Takes a long argument and returns a short text."""
    return text[:1]


@mcp.tool(task=as_task, output_schema=None)
async def stamp() -> str:
    """Works for a moment and tells when it ended, on the clock that all processes of a machine share."""
    await asyncio.sleep(0.05)
    return repr(time.monotonic())


@mcp.tool(task=as_task, output_schema=None)
async def ask(ctx: Context) -> str | mcp_types.InputRequiredResult:
    """Asks once, and tells when it went on."""
    if not ctx.input_responses:
        return mcp_types.InputRequiredResult(result_type="input_required", input_requests={"go": GO})
    return repr(time.monotonic())


app = mcp.http_app(json_response=True, stateless_http=True)


def work() -> None:
    """A worker process runs until it is killed, as `fastmcp_tasks.worker_cli` does it."""

    async def serve() -> None:
        async with mcp._lifespan_manager():
            print("ready", flush=True)
            await asyncio.Event().wait()

    asyncio.run(serve())
