"""What the README and the walkthrough show, taken out of it so that it can be tried."""

import re
from dataclasses import dataclass

from tests.support.platform import ROOT

README = "\n".join((ROOT / page).read_text(encoding="utf-8") for page in ("README.md", "docs/walkthrough.md"))

LEFT_OUT = "…"
"""Stands in a shown answer for anything."""


@dataclass(frozen=True, slots=True)
class Command:
    """A command of a console block, and the answer that is shown below it."""

    line: str
    answer: str

    def gives(self, output: str) -> bool:
        """The output is the shown answer, but for what that leaves out."""
        pieces = map(re.escape, self.answer.strip().split(LEFT_OUT))
        return re.fullmatch(".*".join(pieces), output.strip(), re.DOTALL) is not None


def section(heading: str) -> str:
    """The text below a heading of the second level, up to the next."""
    _, found, rest = README.partition(f"\n## {heading}\n")
    assert found, f"the README has no section {heading!r}"
    return rest.partition("\n## ")[0]


def code(heading: str, language: str) -> str:
    """The first block of code in a section."""
    return blocks(section(heading), language)[0]


def commands(heading: str) -> list[Command]:
    """Every command in the console blocks of a section."""
    found = []
    for block in blocks(section(heading), "console"):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            line, _, answer = part.partition("\n")
            found.append(Command(line, answer))
    return found


def blocks(text: str, language: str) -> list[str]:
    """The fenced blocks of a language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)
