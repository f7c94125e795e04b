"""A client of somebody else, as it comes: every way in which a task can go. Runs in an environment of its own.

Prints what became of each call as one JSON object.
"""

import asyncio
import json
import sys
from typing import Any

import mcp_types
from fastmcp import Client
from fastmcp.client.elicitation import ElicitResult
from fastmcp.exceptions import ToolError
from fastmcp_tasks import ToolTask, call_tool_task
from mcp.shared.exceptions import MCPError

ANSWERS = {
    "name": "Ada",
    "email": "ada@example.com",
    "day": "1815-12-10",
    "count": 3,
    "colour": "red",
    "sizes": ["S"],
    "agreed": True,
}


async def answer(message: str, _kind: Any, _params: Any, _context: Any) -> dict[str, Any]:
    """A person who fills in a form."""
    return ANSWERS


async def decline(message: str, _kind: Any, _params: Any, _context: Any) -> ElicitResult[dict[str, Any]]:
    """A person who says no."""
    return ElicitResult(action="decline")


async def told(call: Any) -> dict[str, Any]:
    """What came of a call."""
    try:
        result = await call
    except (ToolError, MCPError) as fault:
        return {"error": str(fault)}
    texts = [block.text for block in result.content if isinstance(block, mcp_types.TextContent)]
    return {"texts": texts, "structured": result.structured_content}


async def main(url: str) -> dict[str, Any]:
    """Each way by its name."""
    outcomes: dict[str, Any] = {}
    async with Client(url, elicitation_handler=answer) as client:
        outcomes["tools"] = sorted(tool.name for tool in await client.list_tools())
        outcomes["completed"] = await told(client.call_tool("loiter", {"seconds": 0.1}))
        outcomes["asked"] = await told(client.call_tool("fill_in"))
        outcomes["tool error"] = await told(client.call_tool("refuse"))
        outcomes["failed"] = await told(client.call_tool("break_down"))
        handle: ToolTask = await call_tool_task(client, "loiter", {"seconds": 60})
        outcomes["status"] = (await handle.status()).status
        await handle.cancel()
        outcomes["cancelled"] = (await handle.wait(timeout=30)).status
        asked: ToolTask = await call_tool_task(client, "fill_in")
        outcomes["handle asked"] = await told(asked.result())
    async with Client(url, elicitation_handler=decline) as client:
        outcomes["declined"] = await told(client.call_tool("fill_in"))
    async with Client(url) as client:
        outcomes["cannot be asked"] = await told(client.call_tool("fill_in"))
    return outcomes


if __name__ == "__main__":
    json.dump(asyncio.run(main(sys.argv[1])), sys.stdout)
