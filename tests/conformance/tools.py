"""The tools that the official conformance suite calls, written as any team would write its own.

Loaded through `COATCHECK_TOOLS=tests.conformance.tools`. Names, arguments and texts are the suite's.
"""

import base64
import logging
import time
from typing import Annotated, Any

from coatcheck import (
    Audio,
    Context,
    Elicit,
    EmbeddedResource,
    Header,
    Image,
    ProtocolError,
    Roots,
    Sample,
    Text,
    ToolError,
    tool,
)
from coatcheck.workers.toolkit.errors import MissingCapability

logger = logging.getLogger(__name__)

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
"""One pixel."""

WAV = base64.b64decode("UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQAAAAA=")
"""No sample at all."""

NAME = Elicit("What is your name?", {"name": str})
CONFIRM = Elicit("Please confirm", {"ok": bool})
CAPITAL = Sample("What is the capital of France?", max_tokens=100)

ADDRESS_BOOK: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }
    },
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}
"""Holds the keywords of JSON Schema 2020-12 that a server is tempted to drop."""


# Tasks


@tool(mode="inline")
def greet(name: str) -> str:
    """Greet somebody; never a task."""
    return f"Hello, {name}!"


@tool
def slow_compute(ctx: Context, seconds: float, label: str) -> str:
    """Compute for so many seconds; may be cancelled at any moment."""
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        ctx.check_cancelled()
        time.sleep(min(left, 0.05))
    return f"{label} took {seconds:g} seconds"


@tool(mode="task_only")
def failing_job() -> str:
    """Fail in a way that a model may know."""
    raise ToolError("This job always fails")


@tool
def protocol_error_job() -> str:
    """Fail with a JSON-RPC error."""
    raise ProtocolError(-32603, "This job fails in the protocol's terms")


@tool
def confirm_delete(ctx: Context, filename: str) -> str:
    """Delete a file, if a person agrees."""
    verdict = ctx.ask("confirm", Elicit(f"Delete {filename}?", {"confirm": bool}))
    if not (verdict.accepted and verdict.content["confirm"]):
        return f"{filename} was kept"
    return f"{filename} was deleted"


@tool
def multi_input(ctx: Context) -> str:
    """Ask two things at the same time."""
    form = Elicit("Who are you, and do you agree?", {"name": str, "confirm": bool})
    answers = ctx.ask_all({"first": form, "second": form})
    return " and ".join(answer.content["name"] for answer in answers.values())


@tool(mode="task_only", ask_first={"user_name": NAME})
def test_tool_with_task(ctx: Context) -> str:
    """Ask for a name first, then greet in a task."""
    return f"Hello, {ctx.ask('user_name', NAME).content['name']}!"


# Results


@tool(mode="sync")
def test_simple_text() -> str:
    """Give a text."""
    return "This is a simple text response for testing."


@tool(mode="sync")
def test_image_content() -> Image:
    """Give a picture."""
    return Image(PNG, "image/png")


@tool(mode="sync")
def test_audio_content() -> Audio:
    """Give a sound."""
    return Audio(WAV, "audio/wav")


@tool(mode="sync")
def test_embedded_resource() -> EmbeddedResource:
    """Give a resource with its content."""
    return EmbeddedResource(
        "test://embedded-resource", text="This is an embedded resource content.", mime_type="text/plain"
    )


@tool(mode="sync")
def test_multiple_content_types() -> list[Text | Image | EmbeddedResource]:
    """Give a text, a picture and a resource."""
    return [
        Text("Multiple content types test:"),
        Image(PNG, "image/png"),
        EmbeddedResource(
            "test://mixed-content-resource", text='{"test":"data","value":123}', mime_type="application/json"
        ),
    ]


@tool(mode="sync")
def test_error_handling() -> str:
    """Fail in a way that a model may know."""
    raise ToolError("This tool intentionally returns an error for testing")


@tool(mode="sync")
def test_tool_with_progress(ctx: Context) -> str:
    """Report progress three times."""
    for done in (0, 50, 100):
        ctx.progress(done, 100, f"Completed step {done} of 100")
        time.sleep(0.05)
    return "All steps are done"


@tool(mode="sync", requires={"sampling": {}})
def test_missing_capability(ctx: Context) -> str:
    """Ask the client's model, which the client must be able to do."""
    return ctx.ask("capital_question", CAPITAL).text


@tool(mode="sync")
def test_streaming_elicitation(ctx: Context) -> str:
    """Report progress, then ask."""
    ctx.progress(1, 2, "About to ask")
    return f"Hello, {ctx.ask('user_name', NAME).content['name']}!"


@tool(mode="sync")
def test_logging_tool() -> str:
    """Write to the worker's log, which is not the client's."""
    logger.info("The logging tool was called")
    return "Logged"


@tool(mode="inline", input=ADDRESS_BOOK)
def json_schema_2020_12_tool(**entry: object) -> str:
    """Take an entry of an address book."""
    return f"Took {', '.join(sorted(entry))}"


@tool(mode="inline")
def test_custom_headers(message: Annotated[str, Header("Message")]) -> str:
    """Give back the message, which comes as a header too."""
    return message


# Input


@tool(mode="sync", ask_first={"user_name": NAME})
def test_input_required_result_elicitation(ctx: Context) -> str:
    """Ask a person."""
    return f"Hello, {ctx.ask('user_name', NAME).content['name']}!"


@tool(mode="sync")
def test_input_required_result_sampling(ctx: Context) -> str:
    """Ask the client's model."""
    return ctx.ask("capital_question", CAPITAL).text


@tool(mode="sync")
def test_input_required_result_list_roots(ctx: Context) -> str:
    """Ask for the client's roots."""
    return _named(ctx.ask("client_roots", Roots()).roots)


@tool(mode="sync")
def test_input_required_result_request_state(ctx: Context) -> str:
    """Ask for a confirmation, which comes back with the state."""
    return f"state-ok: {ctx.ask('confirm', CONFIRM).action}"


@tool(mode="sync")
def test_input_required_result_tampered_state(ctx: Context) -> str:
    """Ask for a confirmation, whose state nobody may alter."""
    return ctx.ask("confirm", CONFIRM).action


@tool(mode="sync")
def test_input_required_result_multiple_inputs(ctx: Context) -> str:
    """Ask a person, the client's model and the client, all at once."""
    greeting = Sample("Generate a greeting", max_tokens=50)
    answers = ctx.ask_all({"user_name": NAME, "greeting": greeting, "client_roots": Roots()})
    name = answers["user_name"].content["name"]
    return f"{answers['greeting'].text} {name}: {_named(answers['client_roots'].roots)}"


@tool(mode="sync")
def test_input_required_result_multi_round(ctx: Context) -> str:
    """Ask one thing after the other."""
    name = ctx.ask("step1", Elicit("Step 1: What is your name?", {"name": str})).content["name"]
    color = ctx.ask("step2", Elicit("Step 2: What is your favorite color?", {"color": str})).content["color"]
    return f"{name} likes {color}"


@tool(mode="sync")
def test_input_required_result_capabilities(ctx: Context) -> str:
    """Ask a person, or the client's model where there is no person to ask."""
    try:
        return str(ctx.ask("user_name", NAME).content["name"])
    except MissingCapability:
        return ctx.ask("capital_question", CAPITAL).text


def _named(roots: list[dict[str, Any]]) -> str:
    return ", ".join(root["uri"] for root in roots) or "no roots"


# What only the scenarios of older revisions ask


@tool(mode="sync")
def test_sampling(ctx: Context, prompt: str) -> str:
    """Ask the client's model what the caller wants to know."""
    return f"LLM response: {ctx.ask('answer', Sample(prompt, max_tokens=100)).text}"


@tool(mode="sync")
def test_elicitation(ctx: Context, message: str) -> str:
    """Ask a person for a name and an address."""
    fields = {
        "username": {"type": "string", "description": "User's response"},
        "email": {"type": "string", "description": "User's email address"},
    }
    answer = ctx.ask("user", Elicit(message, fields))
    return f"User response: {answer.action}, {answer.content}"


@tool(mode="sync")
def test_elicitation_sep1034_defaults(ctx: Context) -> str:
    """Ask a person for what has a default."""
    fields: dict[str, Any] = {
        "name": {"type": "string", "default": "John Doe"},
        "age": {"type": "integer", "default": 30},
        "score": {"type": "number", "default": 95.5},
        "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
        "verified": {"type": "boolean", "default": True},
    }
    answer = ctx.ask("user", Elicit("Please review these values", fields))
    return f"Elicitation completed: {answer.action}, {answer.content}"


@tool(mode="sync")
def test_elicitation_sep1330_enums(ctx: Context) -> str:
    """Ask a person for choices of every kind."""
    names = ["option1", "option2", "option3"]
    titled = [{"const": f"value{n}", "title": f"Option {n}"} for n in (1, 2, 3)]
    fields: dict[str, Any] = {
        "untitledSingle": {"type": "string", "enum": names},
        "titledSingle": {"type": "string", "oneOf": titled},
        "untitledMulti": {"type": "array", "items": {"type": "string", "enum": names}},
        "titledMulti": {"type": "array", "items": {"anyOf": titled}},
    }
    answer = ctx.ask("choices", Elicit("Please choose", {"type": "object", "properties": fields}))
    return f"Elicitation completed: {answer.action}, {answer.content}"
