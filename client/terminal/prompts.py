"""Questions on a terminal. They are written to standard error, so that standard output holds results alone."""

import sys
from collections.abc import Callable, Sequence
from typing import Any, Final, TypeVar

import questionary
from prompt_toolkit.output import create_output

from coatcheck.client.errors import InvalidArguments

T = TypeVar("T")

STYLE = questionary.Style([("question", "bold"), ("instruction", "fg:ansibrightblack"), ("answer", "")])


YES: Final = frozenset({"y", "yes"})
NO: Final = frozenset({"n", "no"})
"""All that is taken for a choice; whatever else is typed says nothing."""


class Prompts:
    """Each question raises KeyboardInterrupt when it is interrupted."""

    def __init__(self) -> None:
        self._look: dict[str, Any] = {"output": create_output(sys.stderr), "style": STYLE, "qmark": "?"}

    def text(self, label: str, hint: str, default: str, check: Callable[[str], object]) -> str:
        """What was typed, once `check` no longer raises InvalidArguments."""
        validate = _validator(check)
        asked = questionary.text(label, default, validate=validate, instruction=_bracketed(hint), **self._look)
        return str(_answered(asked))

    def confirm(self, label: str, *, default: bool) -> bool:
        """Yes or no, in one of the words for it; Enter takes the default. Anything else is asked again."""
        hint = "Y/n" if default else "y/N"
        typed = self.text(label, hint, "", lambda typed: is_yes(typed, default=default))
        return is_yes(typed, default=default)

    def choose(self, label: str, choices: Sequence[tuple[str, T]], default: T | None = None) -> T:
        """The value of the one that was chosen."""
        offered = [questionary.Choice(title, value=number) for number, (title, _) in enumerate(choices)]
        first = next((number for number, (_, value) in enumerate(choices) if value == default), 0)
        asked = questionary.select(
            label, offered, default=offered[first], instruction="(arrows, then Enter)", **self._look
        )
        return choices[int(_answered(asked))][1]

    def choose_some(
        self, label: str, choices: Sequence[tuple[str, str]], ticked: Sequence[str], check: Callable[[int], object]
    ) -> list[str]:
        """The values of those that were ticked, once `check` no longer raises InvalidArguments for their number."""
        offered = [questionary.Choice(title, value=value, checked=value in ticked) for title, value in choices]
        validate = _validator(lambda chosen: check(len(chosen)))
        instruction = "(space ticks, then Enter)"
        asked = questionary.checkbox(label, offered, validate=validate, instruction=instruction, **self._look)
        return list(_answered(asked))


def _answered(question: questionary.Question) -> Any:
    """What was typed or chosen. Ctrl-D interrupts like Ctrl-C, and so does a terminal that is gone."""
    try:
        return question.unsafe_ask()
    except EOFError:
        raise KeyboardInterrupt from None


def is_yes(typed: str, *, default: bool) -> bool:
    """What the word says. Raises InvalidArguments."""
    word = typed.strip().lower()
    if word not in {"", *YES, *NO}:
        raise InvalidArguments("Type y for yes or n for no.")
    return word in YES if word else default


def _validator(check: Callable[[Any], object]) -> Callable[[Any], bool | str]:
    """The check as questionary wants it: True, or the reason why not."""

    def validate(value: Any) -> bool | str:
        try:
            check(value)
        except InvalidArguments as fault:
            return str(fault)
        return True

    return validate


def _bracketed(hint: str) -> str | None:
    return f"({hint}) " if hint else None
