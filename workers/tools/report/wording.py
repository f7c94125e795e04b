"""Format numbers, dates and texts for a report."""

from datetime import datetime, time

MAX_TEXT_LENGTH = 60
"""Characters of a cell that the report shows."""


def number_text(number: float, decimals: int = 3) -> str:
    """Return the number with at most so many decimals and separated thousands; in scientific notation if it is long."""
    if isinstance(number, int):
        return f"{number:,}"
    if number == 0 or 10.0**-decimals <= abs(number) < 1e15:
        text = f"{number:,.{decimals}f}"
        return text.rstrip("0").rstrip(".") if decimals else text
    return f"{number:.4g}"


def exact_text(number: float) -> str:
    """Return the number with all its digits, so that different numbers look different."""
    return f"{number:,}".removesuffix(".0")


def counted(count: int, noun: str) -> str:
    """Return the count with its noun, such as `1 row` or `2 rows`."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def date_text(moment: datetime) -> str:
    """Return the moment in ISO 8601; midnight without a time zone is written as a day."""
    is_day = moment.time() == time.min and moment.tzinfo is None
    return moment.date().isoformat() if is_day else moment.isoformat()


def shortened(text: str) -> str:
    """Return the text on one line, cut to MAX_TEXT_LENGTH."""
    line = " ".join(text.split())
    return line if len(line) <= MAX_TEXT_LENGTH else line[: MAX_TEXT_LENGTH - 1] + "…"
