"""Settings from a file of the project: `coatcheck.toml`, or `[tool.coatcheck]` in pyproject.toml."""

import tomllib
from collections.abc import Iterator, Mapping, MutableMapping
from contextlib import contextmanager
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final

from coatcheck.variables import KNOWN, LEADER, OTHERS

NAMES: Final = {name.removeprefix(LEADER).lower(): name for name in (*OTHERS, *KNOWN)}
"""The variable of each name in the file: `lease_seconds` is `COATCHECK_LEASE_SECONDS`, `redis_url` is `REDIS_URL`."""


class InvalidSettingsFile(ValueError):
    """The file cannot be read, or holds something that is no setting. Its text names each fault, one a line."""


def add_settings_of_file(environ: MutableMapping[str, str], folder: Path | None = None) -> None:
    """Add the settings of the file in `folder` to the environment, where it does not have them.

    The folder is the current one unless given. Where both files are, `coatcheck.toml` is read. A variable that is set
    to nothing stays so. Raises InvalidSettingsFile, and adds nothing then.
    """
    path, table = _table(folder or Path())
    faults: list[str] = []
    found: dict[str, str] = {}
    for name, value in table.items():
        text = _text(value)
        if name not in NAMES:
            nearest = get_close_matches(name, NAMES, 1)
            faults.append(f"{path.name}: {name} is no setting{f'; {nearest[0]} is one' if nearest else ''}")
        elif text is None:
            faults.append(f"{path.name}: {name} must be a text, a number, true, false, or a list of texts")
        else:
            found[NAMES[name]] = text
    if faults:
        raise InvalidSettingsFile("\n".join(faults))
    for variable, text in found.items():
        environ.setdefault(variable, text)


@contextmanager
def left_as_it_was(environ: MutableMapping[str, str]) -> Iterator[None]:
    """Take what the block adds out of the environment again.

    It belongs to a process of others, whose Celery reads some of our variables too.
    """
    before = frozenset(environ)
    try:
        yield
    finally:
        for variable in environ.keys() - before:
            del environ[variable]


def _table(folder: Path) -> tuple[Path, Mapping[str, Any]]:
    """Return the file that holds settings, and them; nothing where there is none."""
    for path in (folder / "coatcheck.toml", folder / "pyproject.toml"):
        try:
            content = tomllib.loads(path.read_text("utf-8-sig"))
        except FileNotFoundError:
            continue
        except OSError as fault:
            raise InvalidSettingsFile(f"{path.name} cannot be read: {fault.strerror or fault}") from fault
        except (UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as fault:
            raise InvalidSettingsFile(f"{path.name} is not TOML: {fault}") from fault
        if path.name == "pyproject.toml":
            tools = content.get("tool", {})
            content = tools.get("coatcheck", {}) if isinstance(tools, dict) else {}
        if not isinstance(content, dict):
            raise InvalidSettingsFile(f"{path.name}: tool.coatcheck must be a table")
        return path, content
    return folder, {}


def _text(value: object) -> str | None:
    """Return a value as the environment would hold it; None if it cannot."""
    match value:
        case bool():
            return "true" if value else "false"
        case str() | int() | float():
            return str(value)
        case list() if all(isinstance(item, str) and "," not in item for item in value):
            return ",".join(value)
    return None
