"""Convert a task's inputs to requests for a legacy client, whose ids name the input. Pure."""

from collections.abc import Mapping
from typing import Any, Final

import orjson

from coatcheck.web.legacy.revisions import Revision
from coatcheck.web.legacy.serialization import related_to
from coatcheck.workers.toolkit.inputs import ELICITATION, ROOTS, SAMPLING

REQUEST_ID_PREFIX: Final = "input"
"""Prefix of the ids of the server's requests."""


def request_id(task_id: str, input_key: str) -> str:
    """Return the id of the request for this input, from which any process can find the input."""
    return f"{REQUEST_ID_PREFIX}/{task_id}/{input_key}"


def input_of(response_id: object) -> tuple[str, str] | None:
    """Return the task id and the input key in a response's id; None when it is not an id of ours."""
    parts = response_id.split("/", 2) if isinstance(response_id, str) else []
    return (parts[1], parts[2]) if len(parts) == 3 and parts[0] == REQUEST_ID_PREFIX else None


def can_be_asked(revision: Revision, request: bytes) -> bool:
    """Tell whether the revision has a request for this input.

    Source: 2025-06-18, client/elicitation, "Requested Schema": a form has neither modes nor multiple selections.
    """
    asked = orjson.loads(request)
    if asked["method"] == ELICITATION and not revision.has_tasks:
        if "elicitation" not in revision.capabilities or asked["params"].get("mode") == "url":
            return False
        return all(prop["type"] != "array" for prop in asked["params"]["requestedSchema"]["properties"].values())
    return asked["method"] in (ELICITATION, SAMPLING, ROOTS)


def request_message(revision: Revision, task_id: str, input_key: str, request: bytes) -> bytes:
    """Return the JSON-RPC request for the input. Source: 2025-11-25, client/elicitation, client/sampling."""
    asked = orjson.loads(request)
    number = request_id(task_id, input_key)
    params = _params(revision, asked["method"], asked["params"], number)
    if revision.has_tasks:
        params = {**params, "_meta": related_to(task_id)}
    return orjson.dumps({"jsonrpc": "2.0", "id": number, "method": asked["method"], "params": params})


def _params(revision: Revision, method: str, params: Mapping[str, Any], number: str) -> dict[str, Any]:
    if method == ELICITATION and params.get("mode") == "url":
        return {**params, "elicitationId": number}
    if revision.has_tasks or method == ROOTS:
        return dict(params)
    if method == SAMPLING:
        return {**params, "messages": [single for message in params["messages"] for single in _singles(message)]}
    schema = params["requestedSchema"]
    properties = {name: _property(prop) for name, prop in schema["properties"].items()}
    return {"message": params["message"], "requestedSchema": {**schema, "properties": properties}}


def _singles(message: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Split a message with several blocks into messages of one block. Source: 2025-06-18, schema, SamplingMessage."""
    blocks = message["content"] if isinstance(message["content"], list) else [message["content"]]
    return [{**message, "content": block} for block in blocks]


def _property(prop: Mapping[str, Any]) -> dict[str, Any]:
    """Source: 2025-06-18, schema, PrimitiveSchemaDefinition: titles of choices stand beside them."""
    told = {name: value for name, value in prop.items() if name != "default" or prop["type"] == "boolean"}
    if (titled := told.pop("oneOf", None)) is not None:
        told["enum"] = [choice["const"] for choice in titled]
        told["enumNames"] = [choice["title"] for choice in titled]
    return told
