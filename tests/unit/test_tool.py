"""What `@tool` makes of a function, and what a catalogue finds."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from textwrap import dedent
from typing import Annotated, Any

import mcp_types
import pytest

from coatcheck.workers.toolkit.errors import InvalidRequest, ToolDefinitionError, ToolModuleError
from coatcheck.workers.toolkit.header_params import Header, HeaderParam
from coatcheck.workers.toolkit.inputs import Elicit
from coatcheck.workers.toolkit.tool import Catalogue, Tool, tool, tool_of


class Context:
    """Stands for the run's own, which is known by this name."""


def made(function: Callable[..., Any]) -> Tool:
    """The tool of a function that has one."""
    found = tool_of(function)
    assert found is not None
    return found


def test_a_bare_decorator_leaves_the_function_as_it_was() -> None:
    @tool
    def add(a: int, b: int = 1) -> int:
        """Adds.

        Both are integers.
        """
        return a + b

    assert add(1, b=2) == 3
    assert add.__name__ == "add"
    added = made(add)
    assert (added.name, added.description, added.takes_context) == ("add", "Adds.\n\nBoth are integers.", False)
    assert (added.mode, added.ttl_ms, added.poll_interval_ms) == ("task", 86_400_000, 1000)
    assert (added.celery_name, added.source) == ("coatcheck.add", f"{__name__}.{add.__qualname__}")
    assert added.function is add
    assert added.describe() == {
        "name": "add",
        "description": "Adds.\n\nBoth are integers.",
        "inputSchema": {
            "type": "object",
            "properties": {"a": {"type": "integer"}, "b": {"type": "integer", "default": 1}},
            "required": ["a"],
            "additionalProperties": False,
        },
        "outputSchema": {"type": "integer"},
    }


def test_what_is_given_wins_over_what_is_found() -> None:
    """LIST-1, C90."""

    @tool(
        name="other.name-1",
        title="Other",
        description="  Does\n  other things.",
        mode="task_only",
        ttl=timedelta(hours=2),
        poll_interval=timedelta(seconds=2),
        time_limit=timedelta(minutes=1),
        max_runs=3,
        terminate=True,
        queue="slow",
        requires={"sampling": {}},
        scopes=["write"],
        annotations={"readOnlyHint": True, "title": "O"},
        icons=[{"src": "https://a.example/i.png", "sizes": ["48x48"]}],
        meta={"io.coatcheck/x": 1},
    )
    def f(ctx: Context, region: Annotated[str, Header("Region")]) -> str:
        """Not this."""
        return region

    given = made(f)
    assert (given.ttl_ms, given.poll_interval_ms, given.time_limit_ms) == (7_200_000, 2000, 60_000)
    assert (given.mode, given.max_runs, given.terminate, given.queue) == ("task_only", 3, True, "slow")
    assert (given.requires, given.scopes, given.takes_context) == ({"sampling": {}}, ("write",), True)
    assert given.header_params == (HeaderParam("Region", ("region",), "string"),)
    described = given.describe()
    assert described == {
        "name": "other.name-1",
        "title": "Other",
        "description": "Does\nother things.",
        "inputSchema": {
            "type": "object",
            "properties": {"region": {"type": "string", "x-mcp-header": "Region"}},
            "required": ["region"],
            "additionalProperties": False,
        },
        "annotations": {"readOnlyHint": True, "title": "O"},
        "icons": [{"src": "https://a.example/i.png", "sizes": ["48x48"]}],
        "_meta": {"io.coatcheck/x": 1},
    }
    assert mcp_types.Tool.model_validate(described).name == "other.name-1"


def fine() -> str:
    """Does nothing."""
    return ""


def undocumented() -> None: ...


def with_context(ctx: Context) -> None:
    """Takes a context."""


async def coroutine() -> None:
    """Is async."""


def generator() -> Iterator[int]:
    """Yields."""
    yield 1


def bad_header(a: Annotated[float, Header("A")]) -> None:
    """Mirrors a fraction."""


def accept() -> None:
    """Has the name of a Celery task of the platform."""


@pytest.mark.parametrize(
    ("function", "options"),
    [
        (undocumented, {}),
        (coroutine, {}),
        (generator, {}),
        (bad_header, {}),
        (accept, {}),
        (lambda: None, {"description": "x"}),
        (Context, {}),
        (fine, {"name": "a b"}),
        (fine, {"name": "a/b"}),
        (fine, {"name": "a\n"}),
        (fine, {"name": "x" * 129}),
        (fine, {"name": "é"}),
        (fine, {"mode": "sometimes"}),
        (with_context, {"mode": "inline"}),
        (fine, {"mode": "inline", "ask_first": {"a": Elicit("a", {})}}),
        (fine, {"ttl": timedelta(0)}),
        (fine, {"ttl": timedelta(seconds=-1)}),
        (fine, {"ttl": timedelta(milliseconds=999)}),
        (fine, {"ttl": timedelta(milliseconds=1000.5)}),
        (fine, {"ttl": timedelta(milliseconds=2**53 + 1)}),
        (fine, {"ttl": 7200}),
        (fine, {"poll_interval": timedelta(0)}),
        (fine, {"poll_interval": timedelta(days=2)}),
        (fine, {"time_limit": timedelta(0)}),
        (fine, {"max_runs": 0}),
        (fine, {"ask_first": {"": Elicit("a", {})}}),
        (fine, {"ask_first": {"a": "b"}}),
        (fine, {"ask_first": {"the name": Elicit("a", {})}}),
        (fine, {"ask_first": {"a#2": Elicit("a", {})}}),
        (fine, {"annotations": {"readonly": True}}),
        (fine, {"annotations": {"readOnlyHint": "yes"}}),
        (fine, {"icons": [{"sizes": []}]}),
        (fine, {"icons": [{"src": "javascript:x"}]}),
        (fine, {"icons": ["https://a.example/i.png"]}),
        (fine, {"icons": 5}),
        (fine, {"title": 5}),
        (fine, {"title": "\ud800"}),
        (fine, {"description": "\ud800"}),
        (fine, {"scopes": "admin"}),
        (fine, {"scopes": [1]}),
        (fine, {"scopes": ["reports:read reports:write"]}),
        (fine, {"scopes": ['a"b']}),
        (fine, {"scopes": ["a\nb"]}),
        (fine, {"scopes": [""]}),
        (fine, {"annotations": ["readOnlyHint"]}),
        (fine, {"meta": 5}),
        (fine, {"requires": ["sampling"]}),
        (fine, {"meta": {"a": object()}}),
        (fine, {"requires": {"a": {1}}}),
        (fine, {"input": {"type": "array"}}),
        (fine, {"output": {"type": "strin"}}),
    ],
)
def test_a_bad_definition_is_refused_when_it_is_registered(function: Any, options: dict[str, Any]) -> None:
    """HDR-4, LIST-1, C90, K4.8."""
    with pytest.raises(ToolDefinitionError):
        tool(**options)(function)
    assert tool_of(function) is None


def test_inputs_asked_first_are_declared_or_made_from_the_arguments() -> None:
    form = Elicit("Who?", {"name": str})

    @tool(ask_first={"who": form})
    def declared() -> None:
        """Asks first."""

    @tool
    def silent() -> None:
        """Asks nothing."""

    @tool(ask_first=lambda arguments: {"who": form} if arguments["ask"] else {})
    def made_up(ask: bool) -> None:
        """Asks perhaps."""

    assert made(declared).first_requests({}) == {"who": form}
    assert made(made_up).first_requests({"ask": True}) == {"who": form}
    assert made(made_up).first_requests({"ask": False}) == {}
    assert made(silent).first_requests({}) == {}


def test_a_secret_cannot_be_asked_for_first() -> None:
    with pytest.raises(InvalidRequest):
        tool(ask_first={"who": Elicit("Log in", {"password": str})})(undocumented)


MODULES = {
    "good": '''
        from coatcheck.workers.toolkit.tool import tool
        @tool
        def beta() -> None:
            """B."""
        alias = beta
        @tool(name="alpha")
        def other() -> None:
            """A."""
        def no_tool() -> None: ...
        number = 3
        ''',
    "package": "from shop_package_inner import gamma",
    "again": "from shop_good import beta",
    "twin": '''
        from coatcheck.workers.toolkit.tool import tool
        @tool
        def beta() -> None:
            """Another."""
        ''',
    "empty": "number = 3",
    "program": "raise SystemExit(0)",
    "broken": "raise RuntimeError('no database')",
    "needy": "import a_library_that_is_not_there",
    "bad": "from coatcheck.workers.toolkit.tool import tool\n@tool\ndef f() -> None: ...",
    "package_inner": '''
        from coatcheck.workers.toolkit.tool import tool
        @tool
        def gamma() -> None:
            """C."""
        ''',
}  # fmt: skip


@pytest.fixture
def modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A folder of tool modules can be imported, each as `shop_<name>`."""
    for name, source in MODULES.items():
        (tmp_path / f"shop_{name}.py").write_text(dedent(source))
    monkeypatch.syspath_prepend(tmp_path)
    yield
    for loaded in [name for name in sys.modules if name.startswith("shop_")]:
        del sys.modules[loaded]


@pytest.mark.usefixtures("modules")
def test_a_catalogue_holds_the_tools_of_its_modules_by_name() -> None:
    catalogue = Catalogue.load(["shop_good", "shop_package", "shop_again"])
    assert [found.name for found in catalogue.tools] == ["alpha", "beta", "gamma"]
    assert list(catalogue) == list(catalogue.tools)
    assert len(catalogue) == 3
    assert "alpha" in catalogue
    assert "other" not in catalogue
    assert catalogue.get("gamma") is catalogue.tools[2]
    assert catalogue.get("nobody") is None


@pytest.mark.usefixtures("modules")
def test_two_tools_of_one_name_are_refused_with_both_places() -> None:
    with pytest.raises(ToolDefinitionError, match=r"shop_good\.beta.*shop_twin\.beta"):
        Catalogue.load(["shop_good", "shop_twin"])


@pytest.mark.usefixtures("modules")
@pytest.mark.parametrize(
    ("module", "cause"),
    [
        ("shop_nowhere", "shop_nowhere"),
        ("shop_empty", "no function"),
        ("shop_broken", "no database"),
        ("shop_program", "__main__"),
        ("shop_needy", "a_library_that_is_not_there"),
        ("", "import"),
    ],
)
def test_a_module_that_gives_no_tools_is_named_with_the_cause(module: str, cause: str) -> None:
    with pytest.raises(ToolModuleError, match=cause) as refused:
        Catalogue.load([module])
    assert refused.value.module == module


@pytest.mark.usefixtures("modules")
def test_a_bad_tool_in_a_module_is_named_itself() -> None:
    with pytest.raises(ToolDefinitionError, match="'f'"):
        Catalogue.load(["shop_bad"])
