"""Write a file of exposed Celery tasks from the names, routes and signatures in their application."""

import inspect
import json
import re
import warnings
from collections.abc import Iterator, Mapping
from types import NoneType
from typing import Any, Final, Literal, get_args, get_origin, get_type_hints, is_typeddict

from celery import Celery
from kombu import Queue

from coatcheck.workers.toolkit.errors import ToolDefinitionError
from coatcheck.workers.toolkit.schemas import Signature, arguments_of
from coatcheck.workers.toolkit.texts import sendable
from coatcheck.workers.toolkit.tool import CELERY_PREFIX

FILL_IN: Final = "# fill in"
"""The comment that marks what cannot be derived."""

OF_CELERY: Final = "celery."
"""Prefix of the names of Celery's own tasks."""

NOT_IN_NAMES: Final = re.compile(r"[^A-Za-z0-9_.-]")
"""Characters that names of Celery tasks can have, and names of tools cannot."""

OF_JSON: Final = (bool, dict, float, int, list, NoneType, object, str)
"""The types that JSON has. A value of another type, such as a date, reaches the task in its JSON form."""


def described(app: Celery, name: str) -> str:
    """Return the text of a file that exposes all tasks of the application, which is importable as `name`."""
    tables = [_table(app, task) for _, task in sorted(tasks_of(app).items())]
    heading = (
        f"# The Celery tasks of {name} as tools, by `coatcheck expose --app {name}`.\n"
        f"# Leave out those that nobody should call, and see to what is marked with `{FILL_IN}`.\n"
    )
    return "\n".join([heading, *tables])


def tasks_of(app: Celery) -> Mapping[str, Any]:
    """Return the application's own tasks, by name."""
    return {name: task for name, task in app.tasks.items() if not name.startswith((OF_CELERY, CELERY_PREFIX))}


def signature_of_task(task: Any) -> tuple[Signature, dict[str, str]]:
    """Return the parameters that a call can pass by name, and by parameter what has to be filled in.

    Raises:
        ToolDefinitionError: a required argument cannot be passed by name.
    """
    faults: dict[str, str] = {}
    parameters: dict[str, inspect.Parameter] = {}
    for parameter in inspect.signature(task.run).parameters.values():
        name = parameter.name
        if parameter.kind is parameter.POSITIONAL_ONLY and parameter.default is parameter.empty:
            raise ToolDefinitionError(task.name, f"{name} can be given by position alone, and arguments come by name")
        if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.VAR_POSITIONAL):
            continue
        parameters[name], fault = _with_schema(task, parameter)
        if fault and parameter.kind is not parameter.VAR_KEYWORD:
            faults[name] = fault
    takes_any = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values())
    return Signature(parameters, takes_context=False, takes_any=takes_any, returns=Any), faults


def _with_schema(task: Any, parameter: inspect.Parameter) -> tuple[inspect.Parameter, str]:
    """Return the parameter with an annotation that has a schema, and what has to be filled in."""
    anything = parameter.replace(annotation=Any)
    if parameter.annotation is parameter.empty:
        return anything, "it has no annotation"
    holder = type("Holder", (), {"__annotations__": {parameter.name: parameter.annotation}})
    try:
        names = getattr(inspect.unwrap(task.run), "__globals__", {})
        (annotation,) = get_type_hints(holder, names, include_extras=True).values()
    except Exception:  # noqa: BLE001 - an annotation is an arbitrary expression
        return anything, "its annotation cannot be resolved"
    known = parameter.replace(annotation=annotation)
    try:
        _schema(task.name, Signature({parameter.name: known}, takes_context=False, takes_any=False, returns=Any))
    except ToolDefinitionError:
        return anything, "its type has no form in JSON"
    if other := _not_json(annotation):
        return known, f"the task is given JSON, not a {other}"
    return known, ""


def _not_json(annotation: Any) -> str:
    """Return the name of a type in the annotation that JSON does not have; empty if there is none."""
    if isinstance(annotation, type) and get_origin(annotation) is None:
        return "" if annotation in OF_JSON or is_typeddict(annotation) else annotation.__name__
    if get_origin(annotation) is Literal:
        return ""
    return next(filter(None, map(_not_json, get_args(annotation))), "")


def _schema(task: str, signature: Signature) -> dict[str, Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # pydantic omits a default that JSON cannot represent, and warns
        return arguments_of(signature, tool=task).schema


def _table(app: Celery, task: Any) -> str:
    try:
        signature, faults = signature_of_task(task)
        schema = _schema(task.name, signature)
    except ToolDefinitionError as fault:
        return f"# {sendable(str(fault)).splitlines()[0]}\n"
    except (TypeError, ValueError):
        return f"# {task.name}: its signature cannot be read\n"
    return "\n".join([*_lines(app, task, schema, faults), ""])


def _lines(app: Celery, task: Any, schema: Mapping[str, Any], faults: Mapping[str, str]) -> Iterator[str]:
    yield "[[expose]]"
    yield f"task = {_value(task.name)}"
    if (name := NOT_IN_NAMES.sub("_", task.name)[:128]) != task.name:
        yield f"name = {_value(name)}"
    text = sendable(inspect.cleandoc(vars(type(task)).get("__doc__") or task.run.__doc__ or ""))
    if text:
        yield f"description = {_text(text)}"
    else:
        yield f"description = {_value(f'Runs the Celery task {task.name}.')}  {FILL_IN}: it has no docstring"
    queue = _queue_of(app, task)
    yield f"queue = {_value(queue)}" if queue else f'queue = "celery"  {FILL_IN}: its route depends on arguments'
    for key, value in schema.items():
        if key != "properties":
            yield f"input.{_key(key)} = {_value(value)}"
    for name, described_as in schema.get("properties", {}).items():
        value = _without_null(described_as)
        fault = faults.get(name) or ("a value can be null" if value != described_as and "default" in value else "")
        yield f"input.properties.{_key(name)} = {_value(value)}" + (f"  {FILL_IN}: {fault}" if fault else "")


def _queue_of(app: Celery, task: Any) -> str:
    """Return the queue that messages of the task go to; empty if that depends on more than its name."""
    options = {name: value for name in ("queue", "exchange", "routing_key") if (value := getattr(task, name, None))}
    try:
        routed: Any = app.amqp.router.route(options, task.name, (), {}, task)
        queue = routed.get("queue")
    except Exception:  # noqa: BLE001 - a route can be any function of the application
        return ""
    return str(queue.name) if isinstance(queue, Queue) else ""


def _without_null(value: Any) -> Any:
    """Return a schema without values that TOML cannot represent: null as a default or a choice."""
    if isinstance(value, Mapping):
        held = {key: _without_null(one) for key, one in value.items() if one is not None}
        return {key: one for key, one in held.items() if not (isinstance(one, list) and None in value[key])}
    return [_without_null(one) for one in value if one is not None] if isinstance(value, list) else value


def _key(name: str) -> str:
    is_bare = name.isascii() and name.replace("_", "").replace("-", "").isalnum()
    return name if is_bare else _value(name)


def _value(value: Any) -> str:
    """Return a JSON value as TOML on one line."""
    match value:
        case str():
            return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
        case Mapping():
            held = _without_null(value)
            return (
                "{ " + ", ".join(f"{_key(key)} = {_value(one)}" for key, one in held.items()) + " }" if held else "{}"
            )
        case list():
            return f"[{', '.join(map(_value, value))}]"
    return json.dumps(value)


def _text(text: str) -> str:
    """Return a TOML string, with several lines if the text has them."""
    lines = [_value(line)[1:-1] for line in text.split("\n")]
    return _value(text) if len(lines) == 1 else '"""\n' + "\n".join(lines) + '"""'
