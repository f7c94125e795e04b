"""`coatcheck expose`: a team's Celery tasks as a file of tools, and that file compared with its running workers."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from coatcheck.workers.addresses import address_of
from coatcheck.workers.toolkit.expose_file import exposed_in
from tests.support.platform import ROOT
from tests.support.processes import Process
from tests.support.valkey import Valkey

PROJECT = Path(__file__).parent / "project"

ODD = '''
"""Tasks of every odd kind."""
from dataclasses import dataclass
from typing import Optional, TypedDict
from celery import Celery

app = Celery("odd", broker="memory://")
app.conf.task_routes = (lambda name, args, *_, **__: {"queue": args[0]} if "routed" in name else None,)

class Item(TypedDict):
    name: str

@dataclass
class Point:
    x: int

@app.task(name="odd tasks/1", queue="special")
def spaced(items: list[Item], at: Point, why: "Nowhere" = None, **more):
    """Say "hello" to \\\\ and the rest.

    Three quotes: \\"\\"\\", and a null \\x00.
    """

@app.task(bind=True, autoretry_for=(OSError,))
def untyped(self, first, second="\\x7f", *rest, third=object(), fourth: complex = 1j): pass

@app.task
def routed(one: Optional[int] = None, two: "int | None" = 3): "Goes somewhere."
'''


def _run(folder: Path, *arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "coatcheck", "expose", *arguments]
    given = {**os.environ, "PYTHONPATH": str(ROOT), **env}
    return subprocess.run(command, cwd=folder, env=given, capture_output=True, text=True, check=False)


def test_the_file_is_read_again_by_the_reader_of_such_files(tmp_path: Path) -> None:
    path = tmp_path / "expose.toml"
    done = _run(PROJECT, "--app", "shop.celery:app", "--output", str(path))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    tools = {tool.name: tool for tool in exposed_in(str(path))}
    assert list(tools) == ["shop.restock", "shop.tasks.add", "shop.tasks.whereabouts"]
    restock = tools["shop.restock"]
    assert restock.exposed is not None
    assert (restock.exposed.queue, tools["shop.tasks.add"].exposed) == (
        "warehouse",
        type(restock.exposed)("shop.tasks.add", "celery"),
    )
    assert restock.description == "Order from the warehouse.\n\nWaits until it has come."
    assert restock.arguments.schema == {
        "type": "object",
        "additionalProperties": False,
        "required": ["product", "count"],
        "properties": {
            "product": {"enum": ["tea", "coffee"], "type": "string"},
            "count": {"type": "integer"},
            "express": {"type": "boolean", "default": False},
            "until": {"anyOf": [{"type": "string", "format": "date"}, {"type": "null"}]},
        },
    }
    text = path.read_text()
    assert "# fill in: the task is given JSON, not a date\n" in text
    assert "shop.tasks.odd': first can be given by position alone" in text


def test_what_cannot_be_derived_is_marked_and_the_file_can_be_read_all_the_same(tmp_path: Path) -> None:
    (tmp_path / "odd.py").write_text(ODD)
    done = _run(tmp_path, "--app", "odd")
    assert (done.returncode, done.stderr) == (0, "")
    (tmp_path / "expose.toml").write_text(done.stdout)
    tools = {tool.exposed.task: tool for tool in exposed_in(str(tmp_path / "expose.toml")) if tool.exposed}
    assert list(tools) == ["odd tasks/1", "odd.routed", "odd.untyped"]
    spaced = tools["odd tasks/1"]
    assert (spaced.name, spaced.exposed and spaced.exposed.queue) == ("odd_tasks_1", "special")
    assert spaced.description.startswith('Say "hello" to \\ and the rest.\n')
    untyped = tools["odd.untyped"].arguments
    assert untyped.faults({"first": 1, "second": "2"}) == []
    assert untyped.faults({}) != []
    marks = [line.partition("  # fill in: ")[::2] for line in done.stdout.splitlines() if "# fill in: " in line]
    assert {what.partition(" = ")[0]: why for what, why in marks} == {
        "description": "it has no docstring",
        "queue": "its route depends on arguments",
        "input.properties.at": "the task is given JSON, not a Point",
        "input.properties.why": "its annotation cannot be resolved",
        "input.properties.first": "it has no annotation",
        "input.properties.second": "it has no annotation",
        "input.properties.third": "it has no annotation",
        "input.properties.fourth": "the task is given JSON, not a complex",
    }


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--app", "nowhere:app"], "nowhere:app cannot be imported: ModuleNotFoundError: No module named 'nowhere'"),
        (["--app", "shop.tasks:os"], "shop.tasks:os is no Celery application, but module"),
        (["--app", "broken"], "broken cannot be imported: ZeroDivisionError: division by zero"),
        (["--app", "shop", "--output", "there.toml"], "there.toml exists, and stays as it is"),
        (["--app", "shop", "--output", "no/folder.toml"], "no/folder.toml cannot be written: No such file"),
        (["--app", "shop", "--check", "twice.toml"], "defined twice, as the Celery task a and as the Celery task b"),
        (["--app", "shop", "--check", "nowhere.toml"], "nowhere.toml"),
    ],
)
def test_bad_input_is_told_in_one_sentence_and_nothing_is_written(
    tmp_path: Path, arguments: list[str], sentence: str
) -> None:
    (tmp_path / "there.toml").write_text("mine")
    (tmp_path / "broken.py").write_text("1 / 0")
    (tmp_path / "twice.toml").write_text('[[expose]]\ntask = "a"\nname = "one"\n[[expose]]\ntask = "b"\nname = "one"\n')
    before = {path: path.read_text() for path in tmp_path.iterdir()}
    done = _run(tmp_path, *arguments, PYTHONPATH=os.pathsep.join((str(ROOT), str(PROJECT))))
    assert (done.returncode, done.stdout) == (2, "")
    assert sentence in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert {path: path.read_text() for path in tmp_path.iterdir() if path.is_file()} == before


@pytest.fixture(scope="module")
def shop(valkey: Valkey, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """The environment of the team's running worker, which does not listen to the warehouse."""
    broker = address_of(valkey.url).url
    env = {
        "REDIS_URL": valkey.url,
        "SHOP_BROKER": broker,
        "SHOP_RESULTS": broker,
        "COATCHECK_BROKER_PREFIX": "",
        "COATCHECK_CONTROL_EXCHANGE": "celery",
        "COATCHECK_TOOLS": "tests.e2e.tools",
        "PYTHONPATH": os.pathsep.join((str(ROOT), str(PROJECT))),
    }
    command = [sys.executable, "-m", "celery", "-A", "shop", "worker", "--pool", "solo", "--loglevel", "INFO"]
    worker = Process(command, name="shop", folder=tmp_path_factory.mktemp("shop"), env=env, cwd=ROOT)
    with worker:
        worker.wait_for_line(" ready.")
        yield env
        worker.stop()


def test_a_file_is_compared_with_code_and_workers(shop: dict[str, str], tmp_path: Path) -> None:
    text = _run(tmp_path, "--app", "shop", **shop).stdout
    (tmp_path / "all.toml").write_text(text)
    done = _run(tmp_path, "--app", "shop", "--check", "all.toml", **shop)
    assert (done.returncode, done.stdout.splitlines()) == (
        1,
        ["wrong none of their workers listens to the queue warehouse, which shop.restock is sent to"],
    )
    one = '[[expose]]\ntask = "shop.tasks.add"\ninput.type = "object"\n'
    (tmp_path / "good.toml").write_text(f'{one}input.required = ["one"]\ninput.properties.one = {{}}\n')
    done = _run(tmp_path, "--app", "shop", "--check", "good.toml", **shop)
    assert (done.returncode, done.stdout) == (0, "ok    the file, the application and its workers agree\n")
    (tmp_path / "drifted.toml").write_text(f'{one}input.properties.two = {{}}\n[[expose]]\ntask = "shop.gone"\n')
    done = _run(tmp_path, "--app", "shop", "--check", "drifted.toml", **shop)
    assert done.returncode == 1
    assert done.stdout.splitlines()[:3] == [
        "wrong shop has no task shop.gone",
        "wrong shop.tasks.add does not take two, which the file offers",
        "wrong shop.tasks.add needs one, which a call can leave out by the file",
    ]


def test_a_broker_that_is_not_theirs_is_told(shop: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "good.toml").write_text('[[expose]]\ntask = "shop.tasks.whereabouts"\n')
    env = {**shop, "COATCHECK_EXPOSE_BROKER_URL": "redis://127.0.0.1:1/3"}
    done = _run(tmp_path, "--app", "shop", "--check", "good.toml", **env)
    assert done.returncode == 1
    assert "and COATCHECK_EXPOSE_BROKER_URL leads elsewhere" in done.stdout
    away = {**env, "SHOP_BROKER": "redis://127.0.0.1:1/3"}
    done = _run(tmp_path, "--app", "shop", "--check", "good.toml", **away)
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)
    assert "The broker of shop does not answer: " in done.stderr
