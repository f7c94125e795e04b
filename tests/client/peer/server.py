"""A server of somebody else, with tools that run as tasks. Runs in an environment of its own."""

import sys

import mcp_types
from fastmcp import Context, FastMCP
from fastmcp_tasks import TasksExtension

server = FastMCP("peer")
server.add_extension(TasksExtension(url="memory://"))

FORM = {
    "type": "object",
    "properties": {"name": {"type": "string", "title": "Name"}},
    "required": ["name"],
}


@server.tool(task=True)
async def greet(ctx: Context) -> str | mcp_types.InputRequiredResult:
    """Asks for a name, and greets it."""
    response = (ctx.input_responses or {}).get("who")
    if isinstance(response, mcp_types.ElicitResult) and response.content:
        return f"Hello, {response.content['name']}!"
    asked = mcp_types.ElicitRequestFormParams(message="Who is there?", requested_schema=FORM)
    return mcp_types.InputRequiredResult(input_requests={"who": mcp_types.ElicitRequest(params=asked)})


@server.tool(task=True)
async def add(a: int, b: int) -> int:
    """Adds."""
    return a + b


@server.tool(task=True)
async def fail() -> str:
    """Fails."""
    raise ValueError("no")


@server.tool
async def echo(text: str) -> str:
    """Answers at once."""
    return text


if __name__ == "__main__":
    server.run(transport="http", host="127.0.0.1", port=int(sys.argv[1]), show_banner=False)
