"""The shape of the package: small files, short functions, no cycles, and a name for each thing."""

import ast
from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from statistics import median

import grimp

from tests.support.platform import ROOT

PARTS = ("client", "launch", "tasks_store", "web", "workers")

CLASSES_TWICE = {
    "InvalidArguments": "the same fault for the author of a tool and for a caller, who never import both",
    "Task": "the record in the store, and what a caller sees of it",
    "TaskCancelled": "what a Celery task is told with, and what a caller's wait raises",
}
"""Class names that stand in two places, and why."""

FILES_TWICE = {
    "__init__.py": "each room has one",
    "__main__.py": "each program that `python -m` runs has one",
    "connections.py": "the store's to Redis, and a web process's to all that it uses",
    "errors.py": "each part has its own",
    "expose.py": "what exposes a Celery task, and the program that writes the file of such tasks",
    "inputs.py": "web/legacy has what the legacy revisions make of an input",
    "limits.py": "the limits, and their settings",
    "metrics.py": "what counts, and what shows the counts",
    "model.py": "workers/tools/report has the parts of one tool",
    "serialization.py": "web/legacy has the legacy form",
    "settings.py": "each part has its own",
    "tasks.py": "web/legacy has the legacy methods",
    "tool.py": "workers/tools/report has the parts of one tool",
    "tools.py": "web/legacy has the legacy methods",
    "wording.py": "workers/tools/report has the parts of one tool",
    "wsgi.py": "the public name of the application, and the application",
}
"""File names that stand in two places of the server, or of the client, and why. The two are programs of their own."""

Function = ast.FunctionDef | ast.AsyncFunctionDef


@cache
def modules() -> dict[Path, ast.Module]:
    """Return every module of the package with what is in it."""
    paths = [*(ROOT / "coatcheck").glob("*.py"), *(path for part in PARTS for path in (ROOT / part).rglob("*.py"))]
    return {path.relative_to(ROOT): ast.parse(path.read_text(encoding="utf-8")) for path in paths}


@cache
def imports() -> grimp.ImportGraph:
    """Return which module of the package imports which, but for annotations alone."""
    return grimp.build_graph("coatcheck", exclude_type_checking_imports=True)


def functions() -> Iterator[tuple[Path, Function]]:
    """Yield every function and method, with its module."""
    for path, tree in modules().items():
        for node in ast.walk(tree):
            if isinstance(node, Function):
                yield path, node


def lines_of(function: Function) -> int:
    """Return how many lines the body has, blank lines and comments among them, without its docstring."""
    body = function.body[1:] if ast.get_docstring(function) else function.body
    return (body[-1].end_lineno or 0) - body[0].lineno + 1 if body else 0


def percentile(numbers: list[int], share: float) -> int:
    """Return the number that this share of the numbers does not exceed."""
    return sorted(numbers)[int(len(numbers) * share)]


def test_files_are_small() -> None:
    sizes = [
        len((ROOT / path).read_text(encoding="utf-8").splitlines())
        for path in modules()
        if path.name not in ("__init__.py", "__main__.py")
    ]
    assert median(sizes) <= 100
    assert percentile(sizes, 0.9) <= 300


def test_functions_are_short() -> None:
    lengths = [lines_of(function) for _, function in functions()]
    assert median(lengths) <= 7
    assert percentile(lengths, 0.9) <= 22


def test_no_modules_import_each_other_in_a_circle() -> None:
    graph = imports()
    above: dict[str, set[str]] = {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}
    # What imports nothing that is left cannot be in a circle.
    while free := [module for module, imported in above.items() if not imported & above.keys()]:
        for module in free:
            del above[module]
    assert above == {}


def test_no_rooms_import_each_other_in_a_circle() -> None:
    graph = imports()
    circles = {room: graph.nominate_cycle_breakers(room) for room in graph.modules if graph.find_children(room)}
    assert {room: found for room, found in circles.items() if found} == {}


def test_no_class_has_the_name_of_another() -> None:
    found = defaultdict(set)
    for path, tree in modules().items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                found[node.name].add(path)
    assert {name for name, paths in found.items() if len(paths) > 1} == CLASSES_TWICE.keys()


def test_no_file_has_the_name_of_another() -> None:
    client = Counter(path.name for path in modules() if path.parts[0] == "client")
    server = Counter(path.name for path in modules() if path.parts[0] != "client")
    twice = {name for names in (client, server) for name, count in names.items() if count > 1}
    assert twice == FILES_TWICE.keys()


def test_no_two_rooms_of_a_part_have_one_name() -> None:
    for part in PARTS:
        rooms = [path.name for path in (ROOT / part).rglob("*") if path.is_dir() and path.name != "__pycache__"]
        assert len(rooms) == len(set(rooms)), part


def test_what_is_public_is_documented() -> None:
    documented = [ast.get_docstring(node) is not None for tree in modules().values() for node in _public(tree.body)]
    assert sum(documented) / len(documented) >= 0.98


def test_everything_is_annotated() -> None:
    bare = [
        f"{path}:{function.lineno} {function.name}"
        for path, function in functions()
        if function.returns is None or any(argument.annotation is None for argument in _arguments(function))
    ]
    assert bare == []


def _public(body: list[ast.stmt]) -> Iterator[Function | ast.ClassDef]:
    for node in body:
        if isinstance(node, Function | ast.ClassDef) and not node.name.startswith("_"):
            yield node
            if isinstance(node, ast.ClassDef):
                yield from _public(node.body)


def _arguments(function: Function) -> list[ast.arg]:
    given = function.args
    every = [*given.posonlyargs, *given.args, *given.kwonlyargs, *filter(None, (given.vararg, given.kwarg))]
    return [argument for argument in every if argument.arg not in ("self", "cls")]
