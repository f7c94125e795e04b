"""`coatcheck init`: the first files of a project that offers tools."""

import argparse
import ast
import os
import sys
import tomllib
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Final

from coatcheck.launch.errors import LaunchError

SKIPPED: Final = frozenset({"__pycache__", "build", "dist", "node_modules", "site-packages", "venv"})
"""Folders that hold no code of the project's own; those that begin with a dot are skipped too."""

MOST_FILES: Final = 5_000
"""How many Python files are looked at for a Celery application."""

PROCFILE: Final = "web: coatcheck web\nworker: coatcheck worker\n"

BESIDE: Final = ("coatcheck: coatcheck web", "coatcheck_worker: coatcheck worker")
"""The lines for a Procfile that has processes of these names already."""


class CannotWrite(LaunchError):
    """A file of the project cannot be written; none of the others was, either."""

    def __init__(self, path: Path, why: str) -> None:
        super().__init__(f"{path} cannot be written: {why}. Nothing was written.")


@dataclass(frozen=True, slots=True)
class Project:
    """What is in a folder already."""

    folder: Path
    celery_app: str
    """`module:name` of the first Celery application; empty where there is none."""
    is_django: bool

    @classmethod
    def found_in(cls, folder: Path) -> "Project":
        """Look through the folder."""
        return cls(folder, next(_celery_apps(folder), ""), (folder / "manage.py").is_file())

    @property
    def module(self) -> str:
        """The module for the first tools: beside the Celery application, where that is in a package."""
        package = self.celery_app.partition(":")[0].rpartition(".")[0]
        return f"{package}.agent_tools" if package else "agent_tools"

    def new_files(self) -> dict[Path, str]:
        """Return the text of each file that is to be written, by its path in the folder."""
        path = Path(*self.module.split(".")).with_suffix(".py")
        tests = Path("tests") if (self.folder / "tests").is_dir() else Path()
        names = {"module": self.module}
        texts = {
            Path("coatcheck.toml"): _template("coatcheck.toml").format(**names),
            path: _template("tools.py"),
            tests / "test_agent_tools.py": _template("test_tools.py").format(**names),
            Path(".env.example"): _template("env.example"),
            Path("Procfile"): PROCFILE,
        }
        if _has_settings(self.folder / "pyproject.toml"):
            del texts[Path("coatcheck.toml")]
        return texts


def main() -> int:
    """Write the files that are missing, and say what to do next. Return the exit code."""
    parser = argparse.ArgumentParser(prog="coatcheck init", description="Begin a project that offers tools.")
    parser.add_argument("folder", type=Path, nargs="?", default=Path(), help="the project (default: this folder)")
    parser.add_argument("--dry-run", action="store_true", help="show what would be written, and write nothing")
    arguments = parser.parse_args()
    if not arguments.folder.is_dir():
        _say(f"{arguments.folder} is no folder; make it first.", file=sys.stderr)
        return 2
    project = Project.found_in(arguments.folder)
    texts = project.new_files()
    kept = [path for path in texts if os.path.lexists(project.folder / path)]
    new = {path: text for path, text in texts.items() if path not in kept}
    try:
        if not arguments.dry_run:
            write(project.folder, new)
    except LaunchError as fault:
        _say(f"coatcheck: {fault}", file=sys.stderr)
        return 1
    for path, text in new.items():
        _say(f"{'would write' if arguments.dry_run else 'wrote'}  {path}")
        if arguments.dry_run:
            _say("".join(f"    {line}\n" for line in text.splitlines()).rstrip())
    for path in kept:
        _say(f"kept as it is  {path}")
    _say(advice(project, kept))
    return 0


def write(folder: Path, texts: dict[Path, str]) -> None:
    """Write all of the files, or none. Raises CannotWrite."""
    written: list[Path] = []
    try:
        for path, text in texts.items():
            target = folder / path
            target.parent.mkdir(parents=True, exist_ok=True)
            with target.open("x", encoding="utf-8") as file:
                written.append(target)
                file.write(text)
    except OSError as fault:
        for target in written:
            with suppress(OSError):
                target.unlink()
        raise CannotWrite(path, fault.strerror or str(fault)) from fault


def advice(project: Project, kept: list[Path]) -> str:
    """Return what to do next, as lines."""
    lines = ["", "Next:", "  coatcheck run", "  coatcheck call refund --arg order=A-17 --arg amount=12.5"]
    if Path("Procfile") in kept:
        lines += ["", "For the Procfile:", *(f"  {line}" for line in BESIDE)]
    if project.celery_app:
        lines += ["", f"{project.celery_app} is a Celery application. To offer its tasks as tools:"]
        lines += [f"  coatcheck expose --app {project.celery_app}"]
    if project.is_django:
        lines += ["", "A tool that uses Django's models sets Django up first, at the top of its module:"]
        lines += ["  import django; django.setup()", "with DJANGO_SETTINGS_MODULE in the environment."]
    return "\n".join(lines)


def _celery_apps(folder: Path) -> Iterator[str]:
    """Yield `module:name` of each name that is bound to `Celery(…)` at the top of a module."""
    for path in _python_files(folder):
        try:
            text = path.read_text("utf-8")
            body = ast.parse(text).body if "Celery(" in text else []
        except (OSError, UnicodeDecodeError, SyntaxError, ValueError, RecursionError):
            continue
        module = ".".join(path.relative_to(folder).with_suffix("").parts).removesuffix(".__init__")
        for statement in body:
            match statement:
                case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call(func=called)) if _is_celery(called):
                    yield f"{module}:{name}"


def _is_celery(called: ast.expr) -> bool:
    match called:
        case ast.Name(id="Celery") | ast.Attribute(attr="Celery"):
            return True
    return False


def _python_files(folder: Path) -> Iterator[Path]:
    """Yield the project's Python files, up to a number of them."""
    left = MOST_FILES
    for parent, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if name not in SKIPPED and not name.startswith("."))
        for name in sorted(names):
            if name.endswith(".py"):
                left -= 1
                if left < 0:
                    return
                yield Path(parent) / name


def _has_settings(pyproject: Path) -> bool:
    try:
        return "coatcheck" in tomllib.loads(pyproject.read_text("utf-8")).get("tool", {})
    except (OSError, ValueError):
        return False


def _template(name: str) -> str:
    return (files("coatcheck.launch") / "templates" / f"{name}.txt").read_text(encoding="utf-8")


def _say(text: str, **options: object) -> None:
    print(text, **options)  # type: ignore[call-overload]  # noqa: T201 - for the person who asked


if __name__ == "__main__":
    sys.exit(main())
