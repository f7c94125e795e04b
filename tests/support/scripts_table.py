"""The table of all Lua scripts, made from their headers.

`python -m tests.support.scripts_table` writes it into tasks_store/lua/README.md.
"""

import re

from coatcheck.tasks_store.scripts import script_names, source_of
from tests.support.platform import ROOT

LUA = ROOT / "tasks_store" / "lua"
README = LUA / "README.md"
BEGIN, END = "<!-- scripts, made by tests/support/scripts_table.py -->", "<!-- end of scripts -->"


def table() -> str:
    """The table in Markdown: each folder's scripts, what each does, and what it replies."""
    lines = ["| script | transition | replies |", "| --- | --- | --- |"]
    paths = sorted(LUA.rglob("*/*.lua"))
    assert [path.stem for path in sorted(paths, key=lambda path: path.stem)] == script_names()
    lines += [f"| `{path.parent.name}/{path.stem}` | {' | '.join(_header(path.stem))} |" for path in paths]
    return "\n".join(lines)


def _header(name: str) -> tuple[str, str]:
    """What the script does, in its first sentence, and its replies."""
    header = re.sub(r"\n-- ?", " ", source_of(name).partition("\n--! ")[0].removeprefix("-- "))
    does, _, replies = header.partition("Replies:")
    first = re.split(r"(?<=\.)\s", does.strip())[0]
    return first, " ".join(replies.split()).replace("|", "\\|")


if __name__ == "__main__":
    text = README.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    README.write_text(f"{before}{BEGIN}\n{table()}\n{END}{rest.partition(END)[2]}", encoding="utf-8")
