"""What can be exposed, and how it is declared: in a module, and in a file."""

import sys
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from types import ModuleType

import pytest

from coatcheck import expose
from coatcheck.tasks_store import StoreSettings
from coatcheck.workers.messages.other_application import their_app
from coatcheck.workers.settings import WorkerSettings
from coatcheck.workers.toolkit.catalogue import load_catalogue
from coatcheck.workers.toolkit.errors import (
    ToolDefinitionError,
    ToolFileError,
    ToolModuleError,
    UnsafeResults,
)
from coatcheck.workers.toolkit.expose import exposed_tool
from coatcheck.workers.toolkit.expose_file import exposed_in
from coatcheck.workers.toolkit.tool import Catalogue, Exposed
from tests.support.platform import ROOT

FILE = """
[[expose]]
task = "billing.close_month"
title = "Close a month"
description = "Closes the books of a month."
queue = "billing"
mode = "sync"
ttl_seconds = 7200
time_limit_seconds = 1.5
terminate = true
scopes = ["billing"]
annotations.destructiveHint = true
input.type = "object"
input.required = ["month"]
input.properties.month = { type = "string" }

[[expose]]
task = "billing.ping"
"""


@pytest.fixture
def module() -> Iterator[ModuleType]:
    """An importable module without anything in it."""
    made = ModuleType("shop_tools")
    sys.modules["shop_tools"] = made
    yield made
    del sys.modules["shop_tools"]


def run_in(module: ModuleType, code: str) -> None:
    """The code is the module's own."""
    exec(compile(code, "shop_tools.py", "exec"), vars(module))


def write(folder: Path, text: str) -> str:
    """The path of a file with this text."""
    path = folder / "tools.toml"
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_what_a_module_exposes_is_in_the_catalogue_without_a_name_for_it(module: ModuleType) -> None:
    run_in(
        module, 'from coatcheck import expose\nexpose("billing.a", queue="billing")\nb = expose("billing.b", name="b")'
    )
    catalogue = Catalogue.load(["shop_tools"])
    assert [tool.name for tool in catalogue] == ["b", "billing.a"]
    assert [tool.exposed for tool in catalogue] == [Exposed("billing.b", "celery"), Exposed("billing.a", "billing")]


def test_a_module_without_tools_is_refused(module: ModuleType) -> None:
    with pytest.raises(ToolModuleError):
        Catalogue.load(["shop_tools"])


def test_a_tool_belongs_to_the_module_that_exposes_it_and_to_no_other(module: ModuleType) -> None:
    expose("billing.here")
    run_in(module, 'from coatcheck import expose\nexpose("billing.there")')
    assert [tool.name for tool in Catalogue.load(["shop_tools"])] == ["billing.there"]


def test_two_tools_of_one_name_are_told_by_their_celery_tasks() -> None:
    with pytest.raises(ToolDefinitionError, match=r"the Celery task a\.x and as the Celery task b\.x"):
        Catalogue([exposed_tool("a.x", name="x"), exposed_tool("b.x", name="x")])


def test_an_exposed_task_is_never_inline() -> None:
    with pytest.raises(ToolDefinitionError):
        exposed_tool("billing.ping", mode="inline")


def test_without_a_schema_any_arguments_are_taken() -> None:
    assert exposed_tool("billing.ping").arguments.load({"a": 1, "b": [None]}) == {"a": 1, "b": [None]}


def test_a_file_says_all_that_a_module_can_say(tmp_path: Path) -> None:
    close_month, ping = exposed_in(write(tmp_path, FILE))
    assert close_month.exposed == Exposed("billing.close_month", "billing")
    assert (close_month.title, close_month.mode, close_month.scopes) == ("Close a month", "sync", ("billing",))
    assert (close_month.ttl_ms, close_month.time_limit_ms, close_month.terminate) == (7_200_000, 1_500, True)
    assert close_month.describe()["inputSchema"]["required"] == ["month"]
    assert ping.description == "Runs the Celery task billing.ping."


def test_a_file_is_enough_of_a_deployment(tmp_path: Path) -> None:
    settings = WorkerSettings(tools=(), expose_file=write(tmp_path, FILE))
    assert [tool.name for tool in load_catalogue(settings)] == ["billing.close_month", "billing.ping"]


@pytest.mark.parametrize(
    "text",
    [
        "expose",
        "[expose]\ntask = 'a'",
        "[[tool]]\ntask = 'a'",
        "[[expose]]\ntitle = 'without a task'",
        "[[expose]]\ntask = 'a'\ntime_limit = 3",
        "[[expose]]\ntask = 'a'\nqueue = 3",
        "[[expose]]\ntask = 'a'\nttl_seconds = true",
        "[[expose]]\ntask = 'a'\nmode = 'inline'",
        "[[expose]]\ntask = 'a'\ninput.type = 'array'",
        f"expose = {'[' * 5000}",
    ],
)
def test_a_file_that_means_nothing_is_refused_by_its_name(tmp_path: Path, text: str) -> None:
    path = write(tmp_path, text)
    with pytest.raises(ToolFileError) as refused:
        exposed_in(path)
    assert refused.value.path == path


def test_a_file_that_is_not_there_is_refused() -> None:
    with pytest.raises(ToolFileError):
        exposed_in("no-such-file.toml")


def test_durations_are_those_of_every_tool() -> None:
    tool = exposed_tool("billing.ping", ttl=timedelta(hours=1), time_limit=timedelta(minutes=2))
    assert (tool.ttl_ms, tool.time_limit_ms) == (3_600_000, 120_000)


def test_the_file_of_the_example_can_be_read() -> None:
    names = [tool.name for tool in exposed_in(str(ROOT / "examples" / "expose_shop.toml"))]
    assert names == ["quote", "import_orders", "close_year", "restock"]


def test_the_encoding_of_a_file_is_read_or_named(tmp_path: Path) -> None:
    """K3.7."""
    file = tmp_path / "tools.toml"
    file.write_text(FILE, encoding="utf-8-sig")
    assert len(exposed_in(str(file))) == 2
    file.write_text(FILE, encoding="utf-16")
    with pytest.raises(ToolFileError, match="UTF-16"):
        exposed_in(str(file))


@pytest.mark.parametrize(
    "address",
    ["db+sqlite:///results.db", "db+postgresql://u:p@h/d", "cache+memcached://127.0.0.1/", "database://x"],
)
def test_a_result_backend_that_unpickles_is_refused_as_soon_as_a_task_is_exposed(tmp_path: Path, address: str) -> None:
    """K2.9: also where it is ours, and theirs only because nothing else is said."""
    path = write(tmp_path, FILE)
    with pytest.raises(UnsafeResults, match="unpickles"):
        load_catalogue(WorkerSettings(tools=(), expose_file=path, expose_result_backend=address))
    assert len(load_catalogue(WorkerSettings(expose_result_backend=address))) > 0


def test_their_settings_cannot_make_us_load_pickles() -> None:
    """K2.9."""
    config = '{"accept_content": ["pickle"], "result_accept_content": ["pickle"], "task_serializer": "pickle"}'
    conf = their_app(WorkerSettings(expose_config=config), StoreSettings()).conf
    assert (conf.accept_content, conf.result_accept_content, conf.task_serializer) == (["json"], ["json"], "json")
