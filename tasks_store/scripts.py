"""The Lua scripts by name, with arguments by name."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from hashlib import sha1
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Final

FOLDER: Final = files("coatcheck.tasks_store") / "lua"

_KEYS = re.compile(r"^--! keys (.+)$", re.MULTILINE)
_ARGS = re.compile(r"^--! args (.+)$", re.MULTILINE)

Value = str | bytes | int
"""What crosses over to Lua, where all of it is a string."""

Argument = Value | list[Value]
"""A list only for the argument that takes all further values."""


@dataclass(frozen=True, slots=True)
class Script:
    """One transition: its text, its digest, and the names of its keys and arguments in order."""

    name: str
    text: str
    sha: str
    keys: tuple[str, ...]
    args: tuple[str, ...]
    rest: str | None
    """The argument that takes all further values, if the script has one."""

    def order(self, keys: Mapping[str, str], args: Mapping[str, Argument]) -> tuple[list[str], list[Value]]:
        """Keys and arguments in the script's order.

        Raises:
            TypeError: a name is missing, or unknown to the script.
        """
        expected = (*self.args, self.rest) if self.rest else self.args
        if args.keys() != set(expected) or keys.keys() != set(self.keys):
            takes = f"{self.name}.lua takes keys {sorted(self.keys)} and {sorted(expected)}"
            raise TypeError(f"{takes}, not {sorted(keys)} and {sorted(args)}")
        values: list[Value] = []
        for name in expected:
            value = args[name]
            if isinstance(value, list):
                assert name == self.rest
                values.extend(value)
            else:
                values.append(value)
        return [keys[name] for name in self.keys], values


@cache
def script(name: str) -> Script:
    """Return the script of this name behind the prelude, its named keys and arguments bound to Lua locals."""
    body = source_of(name)
    keys = _names(_KEYS, body)
    args = _names(_ARGS, body)
    rest = args.pop()[1:] if args and args[-1].startswith("*") else None
    bindings = [f"local {key} = KEYS[{number}]" for number, key in enumerate(keys, 1)]
    bindings += [f"local {arg} = ARGV[{number}]" for number, arg in enumerate(args, 1)]
    if rest:
        # A loop, because unpack() is limited by Lua's C stack.
        bindings.append(f"local {rest} = {{}} for i = {len(args) + 1}, #ARGV do {rest}[#{rest} + 1] = ARGV[i] end")
    prelude = (FOLDER / "prelude.lua").read_text(encoding="utf-8")
    text = "\n".join([prelude, *bindings, body])
    return Script(name, text, sha1(text.encode(), usedforsecurity=False).hexdigest(), tuple(keys), tuple(args), rest)


def script_names() -> list[str]:
    """Return the names of all scripts, sorted."""
    return sorted(_files())


def source_of(name: str) -> str:
    """Return the text of a script as it stands in its file."""
    return _files()[name].read_text(encoding="utf-8")


@cache
def _files() -> dict[str, Traversable]:
    """Return the file of each script, by its name: `lua/<folder>/<name>.lua`."""
    found: dict[str, Traversable] = {}
    for folder in FOLDER.iterdir():
        if folder.is_dir():
            found |= {entry.name.removesuffix(".lua"): entry for entry in folder.iterdir()}
    return found


def _names(pattern: re.Pattern[str], body: str) -> list[str]:
    found = pattern.search(body)
    return found[1].split() if found else []
