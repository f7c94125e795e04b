"""Tools that the end-to-end tests call: each does one thing, and notes in the ledger what it did."""

import os
import signal
import time

from coatcheck import Cancelled, Context, Elicit, ProtocolError, Text, ToolError, ToolResult, tool
from tests.e2e.ledger import Ledger


@tool()
def quick(ctx: Context, text: str = "done") -> str:
    """Returns its argument."""
    Ledger.of_environment().note(ctx.task_id, "ran", ctx.run_number)
    return text


@tool()
def steps(ctx: Context, count: int = 3, seconds: float = 0.0) -> list[int]:
    """Keeps the results of several steps, each of which may take a while."""
    ledger = Ledger.of_environment()

    def work(number: int) -> int:
        ledger.note(ctx.task_id, f"step-{number}-begun", ctx.run_number)
        time.sleep(seconds)
        ledger.note(ctx.task_id, f"step-{number}", ctx.run_number)
        return number * number

    return [ctx.step(f"step-{number}", work, number) for number in range(count)]


@tool()
def ask_one(ctx: Context) -> str:
    """Asks for a name, in the middle of two steps."""
    ledger = Ledger.of_environment()
    ctx.step("before", ledger.note, ctx.task_id, "before", ctx.run_number)
    answer = ctx.ask("name", Elicit("Your name?", {"name": str}))
    ledger.note(ctx.task_id, "after", ctx.run_number)
    return f"Hello, {answer.content['name']}!" if answer.accepted else "Hello, whoever you are!"


@tool()
def ask_two(ctx: Context) -> str:
    """Asks for two things at once."""
    answers = ctx.ask_all({"first": Elicit("First?", {"value": str}), "second": Elicit("Second?", {"value": str})})
    Ledger.of_environment().note(ctx.task_id, "after", ctx.run_number)
    return " ".join(answer.content["value"] if answer.accepted else answer.action for answer in answers.values())


@tool()
def sleep(ctx: Context, seconds: float = 60.0) -> str:
    """Sleeps, and looks often whether it should stop."""
    ledger = Ledger.of_environment()
    ledger.note(ctx.task_id, "begun", ctx.run_number)
    end = time.monotonic() + seconds
    try:
        while time.monotonic() < end:
            ctx.check_cancelled()
            time.sleep(0.02)
    except Cancelled:
        ledger.note(ctx.task_id, "cancelled", ctx.run_number)
        raise
    ledger.note(ctx.task_id, "slept", ctx.run_number)
    return "rested"


@tool()
def deaf(ctx: Context, seconds: float = 60.0) -> str:
    """Sleeps without ever looking whether it should stop."""
    Ledger.of_environment().note(ctx.task_id, "begun", ctx.run_number)
    time.sleep(seconds)
    return "rested"


@tool()
def tell_the_model(ctx: Context) -> str:
    """Fails with words for the model."""
    raise ToolError("The cupboard is bare.")


@tool(mode="inline")
def refuse_at_once() -> ToolResult:
    """Says in the web process that it cannot."""
    return ToolResult([Text("The cupboard is locked.")], is_error=True)


@tool()
def fail_by_protocol(ctx: Context) -> str:
    """Fails with a JSON-RPC error of its own."""
    raise ProtocolError(-31999, "Not today")


@tool()
def crash(ctx: Context) -> str:
    """Fails with an exception that is nobody's business."""
    raise RuntimeError("the secret is 4711")


@tool()
def leave(ctx: Context) -> str:
    """Takes its process with it, without a word."""
    Ledger.of_environment().note(ctx.task_id, "begun", ctx.run_number)
    os.kill(os.getpid(), signal.SIGKILL)
    return "never"
