"""Counts in words."""


def counted(count: int | float, noun: str) -> str:
    """Return the count with its noun, such as `1 task` or `2.5 seconds`."""
    number = f"{count:g}" if isinstance(count, float) else str(count)
    return f"{number} {noun}" if count == 1 else f"{number} {noun}s"
