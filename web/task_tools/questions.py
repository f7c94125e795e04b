"""Describe the open inputs of a task for a model, with the form of each answer. Pure."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import orjson

from coatcheck.web.protocol.wording import counted
from coatcheck.workers.toolkit.inputs import ELICITATION, SAMPLING

_ACTIONS: Final = {
    "enum": ["accept", "decline", "cancel"],
    "description": "The person agreed, said no, or made no choice",
}

_SAMPLED: Final[Mapping[str, Any]] = {
    "type": "object",
    "properties": {
        "role": {"const": "assistant"},
        "content": {
            "type": "object",
            "properties": {"type": {"const": "text"}, "text": {"type": "string"}},
            "required": ["type", "text"],
        },
        "model": {"type": "string", "description": "The name of the model that wrote it"},
    },
    "required": ["role", "content", "model"],
}

_ROOTS: Final[Mapping[str, Any]] = {
    "type": "object",
    "properties": {
        "roots": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"uri": {"type": "string", "pattern": "^file://"}, "name": {"type": "string"}},
                "required": ["uri"],
            },
        }
    },
    "required": ["roots"],
}

_WORDS: Final = {
    "string": "a text",
    "date": "a date, such as 2026-07-28",
    "date-time": "a date and time, such as 2026-07-28T12:30:00Z",
    "email": "an e-mail address",
    "uri": "an address, such as https://example.com",
    "number": "a number",
    "integer": "a whole number",
    "boolean": "true or false",
}
"""By the type or format of a form's field. Source: client/elicitation, "Requested Schema"."""

QUESTIONS_SCHEMA: Final[Mapping[str, Any]] = {
    "type": "array",
    "description": "What has to be answered before the task goes on",
    "items": {
        "type": "object",
        "properties": {
            "key": {"type": "string", "description": "Names the answer in task_answer"},
            "kind": {"enum": ["form", "url", "sampling", "roots"]},
            "message": {"type": "string", "description": "What to tell the person"},
            "url": {"type": "string", "description": "A page that the person has to open"},
            "request": {"type": "object", "description": "What a model is asked to write"},
            "answer_schema": {"type": "object", "description": "A JSON Schema of the answer"},
        },
        "required": ["key", "kind", "answer_schema"],
    },
}


def questions_of(requests: Mapping[str, bytes]) -> list[dict[str, Any]]:
    """Return the open inputs, in the order in which they were asked."""
    return [{"key": key, **_question(orjson.loads(request))} for key, request in requests.items()]


def questions_in_words(task_id: str, questions: Sequence[Mapping[str, Any]]) -> str:
    """Return the open inputs and how to answer them, as text."""
    keys = ", ".join(f"{orjson.dumps(one['key']).decode()}: …" for one in questions)
    lines = [
        f"The task waits for {counted(len(questions), 'answer')}.",
        *(f"- {_told(one)}" for one in questions),
        f'Answer with task_answer, {{"task_id": "{task_id}", "answers": {{{keys}}}}}; some of several may come later.',
    ]
    if any(one["kind"] in ("form", "url") for one in questions):
        lines.insert(1, "Put what is asked of a person to the person you work for; do not answer in their place.")
    return "\n".join(lines)


def _question(request: Mapping[str, Any]) -> dict[str, Any]:
    params = request["params"]
    if request["method"] == SAMPLING:
        return {"kind": "sampling", "request": params, "answer_schema": _SAMPLED}
    if request["method"] != ELICITATION:
        return {"kind": "roots", "answer_schema": _ROOTS}
    answer: dict[str, Any] = {"type": "object", "properties": {"action": _ACTIONS}, "required": ["action"]}
    if params.get("mode", "form") == "url":
        return {"kind": "url", "message": params["message"], "url": params["url"], "answer_schema": answer}
    answer["properties"] = {**answer["properties"], "content": params["requestedSchema"]}
    return {"kind": "form", "message": params["message"], "answer_schema": answer}


def _told(question: Mapping[str, Any]) -> str:
    """Return one input and the form of its answer, as text."""
    key, kind = orjson.dumps(question["key"]).decode(), question["kind"]
    if kind == "sampling":
        asked = orjson.dumps(question["request"]).decode()
        form = '{"role": "assistant", "content": {"type": "text", "text": …}, "model": …}'
        return f"{key} asks a model to write what follows on this request: {asked}\n  Answer: {form}"
    if kind == "roots":
        return f'{key} asks for the folders you work in.\n  Answer: {{"roots": [{{"uri": "file:///…"}}]}}'
    if kind == "url":
        return (
            f"{key} asks the person to open {question['url']} : {question['message']}\n"
            '  Answer, once they did: {"action": "accept"}; or {"action": "decline"} or {"action": "cancel"}'
        )
    content = question["answer_schema"]["properties"]["content"]
    required = content.get("required", ())
    fields = [
        f"\n  - {name}: {_type(schema)}{', required' if name in required else ''}{_about(schema)}"
        for name, schema in content["properties"].items()
    ]
    return (
        f"{key} asks the person: {question['message']}\n"
        '  Answer: {"action": "accept", "content": {…}}; or {"action": "decline"} or {"action": "cancel"}, without '
        f"content. The content has:{''.join(fields) or ' nothing'}"
    )


def _type(schema: Mapping[str, Any]) -> str:
    """Return what a field of a form accepts, as text."""
    if choices := _choices(schema):
        return f"one of {choices}"
    if schema["type"] == "array":
        return f"a list of {_choices(schema['items'])}{_range(schema)}"
    return _WORDS[schema.get("format", schema["type"])] + _range(schema)


def _choices(schema: Mapping[str, Any]) -> str:
    titled = schema.get("oneOf", schema.get("anyOf"))
    if titled is not None:
        return ", ".join(f"{orjson.dumps(one['const']).decode()} ({one.get('title', '')})" for one in titled)
    return ", ".join(orjson.dumps(one).decode() for one in schema.get("enum", ()))


def _range(schema: Mapping[str, Any]) -> str:
    words = {
        "minimum": "at least {}",
        "maximum": "at most {}",
        "minItems": "at least {} of them",
        "maxItems": "at most {} of them",
    }
    lengths = {"minLength": "at least {}", "maxLength": "at most {}"}
    found = [text.format(schema[name]) for name, text in words.items() if name in schema]
    found += [text.format(counted(schema[name], "character")) for name, text in lengths.items() if name in schema]
    return f" ({', '.join(found)})" if found else ""


def _about(schema: Mapping[str, Any]) -> str:
    said = ": ".join(schema[name] for name in ("title", "description") if name in schema)
    return f" ({said})" if said else ""
