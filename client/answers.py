"""Answers to what a task asks."""

from mcp_types import ElicitResult

Value = str | int | float | bool | list[str] | None
"""What a field of a form may hold."""


def accept(**content: Value) -> ElicitResult:
    """The form, filled in; without content, the consent to a page that is to be opened."""
    return ElicitResult(action="accept", content=content or None)


def decline() -> ElicitResult:
    """The person says no."""
    return ElicitResult(action="decline")


def cancel() -> ElicitResult:
    """The person leaves the question without a choice."""
    return ElicitResult(action="cancel")
