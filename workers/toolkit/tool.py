"""`@tool`, and the catalogue of a deployment's tools.

There is no registry: a tool is an attribute of its function, and a catalogue is read from the named modules.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from importlib import import_module
from typing import Any, Final, Literal, TypeVar, get_args, overload

from coatcheck.workers.toolkit.errors import (
    ToolDefinitionError,
    ToolModuleError,
    UnsendableValue,
    WorkersError,
)
from coatcheck.workers.toolkit.header_params import HeaderParam, header_params
from coatcheck.workers.toolkit.inputs import InputRequest
from coatcheck.workers.toolkit.jsonable import jsonable
from coatcheck.workers.toolkit.schemas import ANY_ARGUMENTS, Arguments, Output, arguments_of, output_of, signature_of

Mode = Literal["task", "task_only", "sync", "inline"]
"""task: a task for clients that support tasks, an awaited result for others. task_only: an error for others.
sync: never a task. inline: runs in the web process, without a record and so without a Context."""

FirstRequests = Mapping[str, InputRequest] | Callable[[dict[str, Any]], Mapping[str, InputRequest]]
"""Inputs that are asked for before the task is created, by key; or a function that returns them for the arguments."""

CELERY_PREFIX: Final = "coatcheck."
"""Prefix of the names of our Celery tasks; the rest is the tool's name."""

_ATTRIBUTE: Final = "__coatcheck_tool__"

_EXPOSED: Final = "__coatcheck_exposed__"
"""The attribute of a module that lists the tasks it exposes."""

_NAME = re.compile(r"[A-Za-z0-9_.-]{1,128}")
"""Source: server/tools, "Tool Names"."""

_SCOPE = re.compile(r"[!#-\[\]-~]+")
"""Source: RFC 6749, section 3.3."""

_RESERVED_NAMES = frozenset({"accept"})
"""Names of Celery tasks that are not tools."""

_HINTS = ("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")
"""Source: schema, ToolAnnotations."""

_KINDS: Final[Mapping[str, tuple[type, str]]] = {
    **dict.fromkeys(("title", "description"), (str, "a string")),
    **dict.fromkeys(("annotations", "requires", "meta"), (Mapping, "a mapping")),
    "icons": (Sequence, "a list of mappings"),
    "scopes": (Sequence, "a list of strings"),
}
"""The type of each option that `tools/list` shows, and its name in errors."""

_MIN_TTL_MS: Final = 1_000
"""A shorter time to live ends before a client polls once, and usually comes from a mix-up of units."""

_MAX_MS: Final = 2**53
"""The largest integer that clients, which read numbers as doubles, read exactly."""

_FunctionT = TypeVar("_FunctionT", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Exposed:
    """A Celery task of another application."""

    task: str
    """The name of the Celery task."""
    queue: str
    """The queue that its workers consume."""


@dataclass(frozen=True, kw_only=True)
class Tool:
    """A tool that a client can call, and the options of its runs."""

    name: str
    title: str | None
    description: str
    function: Callable[..., Any] | None = field(repr=False)
    """None for an exposed Celery task, and for a tool that the web server answers itself."""
    takes_context: bool
    """Whether the function's first parameter is the Context."""
    arguments: Arguments = field(repr=False)
    output: Output = field(repr=False)
    header_params: tuple[HeaderParam, ...]
    mode: Mode
    ttl_ms: int
    poll_interval_ms: int
    time_limit_ms: int | None
    """The time limit of one run; None for no limit."""
    max_runs: int | None
    """How many runs in a row can be lost before the task fails; None for the setting."""
    terminate: bool
    """Whether a cancel kills the process of the run, for work that reaches no checkpoint."""
    queue: str | None
    ask_first: FirstRequests | None = field(repr=False)
    requires: Mapping[str, Any]
    """The capabilities that a client must declare to call the tool, such as `{"sampling": {}}`."""
    scopes: tuple[str, ...]
    annotations: Mapping[str, Any]
    icons: Sequence[Mapping[str, Any]]
    meta: Mapping[str, Any]
    exposed: Exposed | None = None
    """The Celery task that does the work, for an exposed tool."""

    @property
    def celery_name(self) -> str:
        """The name of the Celery task that runs this tool, as Flower lists it."""
        return CELERY_PREFIX + self.name

    @property
    def source(self) -> str:
        """The function as `module.name`, or the exposed Celery task."""
        if self.exposed is not None:
            return f"the Celery task {self.exposed.task}"
        assert self.function is not None
        return f"{self.function.__module__}.{self.function.__qualname__}"

    def first_requests(self, arguments: dict[str, Any]) -> dict[str, InputRequest]:
        """Return the inputs to ask for before the task is created, for these loaded arguments."""
        asked = self.ask_first(arguments) if callable(self.ask_first) else self.ask_first
        return _checked_requests(self.name, asked or {})

    def describe(self) -> dict[str, Any]:
        """Return the tool as in `tools/list`. Source: schema, Tool."""
        optional = {
            "title": self.title,
            "outputSchema": self.output.schema,
            "annotations": dict(self.annotations) or None,
            "icons": [dict(icon) for icon in self.icons] or None,
            "_meta": dict(self.meta) or None,
        }
        required = {"name": self.name, "description": self.description, "inputSchema": self.arguments.schema}
        return required | {key: value for key, value in optional.items() if value is not None}


@overload
def tool(function: _FunctionT, /) -> _FunctionT: ...


@overload
def tool(
    *,
    name: str | None = None,
    title: str | None = None,
    description: str | None = None,
    input: object = None,
    output: object = None,
    mode: Mode = "task",
    ttl: timedelta = timedelta(days=1),
    poll_interval: timedelta = timedelta(seconds=1),
    time_limit: timedelta | None = None,
    max_runs: int | None = None,
    terminate: bool = False,
    queue: str | None = None,
    ask_first: FirstRequests | None = None,
    requires: Mapping[str, Any] | None = None,
    scopes: Sequence[str] = (),
    annotations: Mapping[str, Any] | None = None,
    icons: Sequence[Mapping[str, Any]] = (),
    meta: Mapping[str, Any] | None = None,
) -> Callable[[_FunctionT], _FunctionT]: ...


def tool(function: Callable[..., Any] | None = None, /, **options: Any) -> Any:
    """Make a tool of the function, and return the function unchanged; `tool_of` returns the tool.

    By default the name is the function's, the description its docstring, and the schemas come from its signature.
    Raises ToolDefinitionError, or InvalidRequest for an input of `ask_first` that must not be sent.
    """

    def registered(function: _FunctionT) -> _FunctionT:
        setattr(function, _ATTRIBUTE, _defined(function, **options))
        return function

    return registered if function is None else registered(function)


def described_tool(**options: Any) -> Tool:
    """Return a tool without a function: it takes any arguments unless `input` is given. Raises ToolDefinitionError."""
    return _defined(None, **options)


def tool_of(value: object) -> Tool | None:
    """Return the tool that `@tool` made of a function, or None for any other value."""
    found = getattr(value, _ATTRIBUTE, None) if inspect.isfunction(value) else None
    return found if isinstance(found, Tool) else None


def exposed_by(namespace: dict[str, Any], exposed: Tool) -> Tool:
    """Add the tool to the module with this namespace, and return it."""
    namespace.setdefault(_EXPOSED, []).append(exposed)
    return exposed


class Catalogue:
    """The tools of a deployment, sorted by name."""

    def __init__(self, tools: Sequence[Tool]) -> None:
        by_name: dict[str, Tool] = {}
        for offered in sorted(tools, key=lambda one: one.name):
            if (other := by_name.setdefault(offered.name, offered)) is not offered:
                raise ToolDefinitionError(offered.name, f"defined twice, as {other.source} and as {offered.source}")
        self._by_name = by_name

    @classmethod
    def load(cls, modules: Sequence[str], more: Sequence[Tool] = ()) -> Catalogue:
        """Load every tool that a name in these modules refers to, wherever it is defined, and add `more`.

        Raises ToolModuleError for a module that cannot be imported or has no tool, and ToolDefinitionError.
        """
        return cls([*(found for module in modules for found in _tools_in(module)), *more])

    @property
    def tools(self) -> tuple[Tool, ...]:
        """All tools, sorted by name."""
        return tuple(self._by_name.values())

    def get(self, name: str) -> Tool | None:
        """Return the tool with this name, or None."""
        return self._by_name.get(name)

    def __contains__(self, name: object) -> bool:
        return name in self._by_name

    def __iter__(self) -> Iterator[Tool]:
        return iter(self._by_name.values())

    def __len__(self) -> int:
        return len(self._by_name)


def _tools_in(module: str) -> list[Tool]:
    try:
        names = vars(import_module(module))
    except WorkersError:
        raise
    except SystemExit as error:
        why = 'it ends the process when it is imported; what a program does belongs below `if __name__ == "__main__":`'
        raise ToolModuleError(module, why) from error
    except Exception as error:  # a module can raise anything; the operator needs to see which one did
        why = f"it cannot be imported: {type(error).__name__}: {error}"
        if module.startswith("coatcheck.") and isinstance(error, ModuleNotFoundError):
            why += "; name modules of your own in COATCHECK_TOOLS, or pip install 'coatcheck[report]' for the examples"
        raise ToolModuleError(module, why) from error
    # A function with two names is one tool.
    found = {id(one): one for one in map(tool_of, names.values()) if one is not None}
    found |= {id(one): one for one in names.get(_EXPOSED, ())}
    if not found:
        raise ToolModuleError(module, "it holds no function with @tool, and exposes no Celery task")
    return list(found.values())


def _defined(
    function: Callable[..., Any] | None,
    *,
    name: str | None = None,
    title: str | None = None,
    description: str | None = None,
    input: object = None,  # noqa: A002 - the author's word for it
    output: object = None,
    mode: Mode = "task",
    ttl: timedelta = timedelta(days=1),
    poll_interval: timedelta = timedelta(seconds=1),
    time_limit: timedelta | None = None,
    max_runs: int | None = None,
    terminate: bool = False,
    queue: str | None = None,
    ask_first: FirstRequests | None = None,
    requires: Mapping[str, Any] | None = None,
    scopes: Sequence[str] = (),
    annotations: Mapping[str, Any] | None = None,
    icons: Sequence[Mapping[str, Any]] = (),
    meta: Mapping[str, Any] | None = None,
) -> Tool:
    name = _checked_name(function, name)
    description = description or (function and function.__doc__)
    given = {"title": title, "description": description, "annotations": annotations, "requires": requires, "meta": meta}
    _check_kinds(name, {**given, "icons": icons, "scopes": scopes})
    description = inspect.cleandoc(description or "")
    if not description:
        raise ToolDefinitionError(name, "has no description; a docstring tells the model what the tool is for")
    if mode not in get_args(Mode):
        raise ToolDefinitionError(name, f"mode is one of {', '.join(get_args(Mode))}")
    if max_runs is not None and max_runs < 1:
        raise ToolDefinitionError(name, "max_runs is at least 1")
    signature = signature_of(function, tool=name) if function else ANY_ARGUMENTS
    if mode == "inline" and (signature.takes_context or ask_first):
        raise ToolDefinitionError(name, "an inline tool has no record, and so no Context and nothing to ask")
    ttl_ms = _milliseconds(name, "ttl", ttl, at_least=_MIN_TTL_MS)
    poll_interval_ms = _milliseconds(name, "poll_interval", poll_interval)
    if poll_interval_ms > ttl_ms:
        raise ToolDefinitionError(name, "poll_interval is longer than ttl")
    if ask_first is not None and not callable(ask_first):
        ask_first = _checked_requests(name, ask_first)
    arguments = arguments_of(signature, input, tool=name)
    return Tool(
        name=name,
        title=title,
        description=description,
        function=function,
        takes_context=signature.takes_context,
        arguments=arguments,
        output=output_of(signature, output, tool=name),
        header_params=header_params(name, arguments.schema),
        mode=mode,
        ttl_ms=ttl_ms,
        poll_interval_ms=poll_interval_ms,
        time_limit_ms=None if time_limit is None else _milliseconds(name, "time_limit", time_limit),
        max_runs=max_runs,
        terminate=terminate,
        queue=queue,
        ask_first=ask_first,
        requires=_sendable(name, "requires", requires or {}),
        scopes=_checked_scopes(name, scopes),
        annotations=_checked_annotations(name, annotations or {}),
        icons=_checked_icons(name, icons),
        meta=_sendable(name, "meta", meta or {}),
    )


def _checked_name(function: Callable[..., Any] | None, name: str | None) -> str:
    if function is not None and not inspect.isfunction(function):
        raise ToolDefinitionError(str(name or function), "a tool is a function")
    name = name or (function.__name__ if function else "")
    if not _NAME.fullmatch(name):
        raise ToolDefinitionError(name, "a name is 1 to 128 of A-Z a-z 0-9 _ - .")
    if name in _RESERVED_NAMES:
        raise ToolDefinitionError(name, "the name is taken by a Celery task of the platform")
    is_kinds = (inspect.iscoroutinefunction, inspect.isgeneratorfunction, inspect.isasyncgenfunction)
    if any(is_kind(function) for is_kind in is_kinds):
        raise ToolDefinitionError(name, "a tool is a plain def: one worker process runs it to its end")
    return name


def _check_kinds(name: str, given: Mapping[str, object]) -> None:
    """Check the types of the options that clients read: they reject the whole list for one wrong type."""
    for option, value in given.items():
        kind, said = _KINDS[option]
        if value is None or (isinstance(value, kind) and isinstance(value, str) is (kind is str)):
            _sendable(name, option, value)
        else:
            raise ToolDefinitionError(name, f"{option} is {said}, not {type(value).__name__}")


def _milliseconds(name: str, option: str, given: timedelta, *, at_least: int = 1) -> int:
    if not isinstance(given, timedelta):
        raise ToolDefinitionError(name, f"{option} is a timedelta, such as timedelta(hours=2)")
    ms, rest = divmod(given, timedelta(milliseconds=1))
    if rest or not at_least <= ms <= _MAX_MS:
        raise ToolDefinitionError(name, f"{option} is a whole number of ms from {at_least} to 2**53")
    return ms


def _checked_requests(name: str, asked: Mapping[Any, Any]) -> dict[str, InputRequest]:
    for key, request in asked.items():
        if not isinstance(request, InputRequest):
            raise ToolDefinitionError(name, "ask_first maps keys to Elicit, ElicitURL, Sample or Roots")
        if not isinstance(key, str) or not _NAME.fullmatch(key):
            raise ToolDefinitionError(name, f"a key of ask_first is 1 to 128 of A-Z a-z 0-9 _ - ., and not {key!r}")
    return dict(asked)


def _checked_annotations(name: str, annotations: Mapping[str, Any]) -> Mapping[str, Any]:
    for key, value in annotations.items():
        if not (key in _HINTS and isinstance(value, bool)) and not (key == "title" and isinstance(value, str)):
            raise ToolDefinitionError(name, f"annotations has a title and true or false for {', '.join(_HINTS)}: {key}")
    return dict(annotations)


def _checked_icons(name: str, icons: Sequence[object]) -> Sequence[Mapping[str, Any]]:
    for icon in icons:
        if not isinstance(icon, Mapping) or not str(icon.get("src", "")).startswith(("https://", "data:")):
            raise ToolDefinitionError(name, "an icon has a src that starts with https:// or data:")
    sendable: list[Mapping[str, Any]] = _sendable(name, "icons", list(icons))
    return tuple(sendable)


def _checked_scopes(name: str, scopes: Sequence[Any]) -> tuple[str, ...]:
    for scope in scopes:
        if not isinstance(scope, str) or not _SCOPE.fullmatch(scope):
            raise ToolDefinitionError(
                name, f"scopes is a list of strings, each one scope without spaces and quotes, and not {scope!r}"
            )
    return tuple(scopes)


def _sendable(name: str, option: str, value: object) -> Any:
    try:
        return jsonable(value, where=option)
    except UnsendableValue as error:
        raise ToolDefinitionError(name, str(error)) from error
