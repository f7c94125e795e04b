"""Numbers, dates and texts as a report writes them."""

from datetime import datetime, time

MAX_TEXT_LENGTH = 60
"""Characters of a cell that the report repeats."""


def tidy(number: float) -> float:
    """The number to ten significant digits, without the noise of binary fractions."""
    return float(f"{number:.10g}")


def number_text(number: float) -> str:
    """The number for people: up to three decimals, thousands apart; scientific where that would not do."""
    if number == 0 or 1e-3 <= abs(number) < 1e12:
        return f"{number:,.3f}".rstrip("0").rstrip(".")
    return f"{number:.4g}"


def date_text(moment: datetime) -> str:
    """ISO 8601; midnight without a zone is taken for a day."""
    is_day = moment.time() == time.min and moment.tzinfo is None
    return moment.date().isoformat() if is_day else moment.isoformat()


def shortened(text: str) -> str:
    """The text on one line, cut to MAX_TEXT_LENGTH."""
    line = " ".join(text.split())
    return line if len(line) <= MAX_TEXT_LENGTH else line[: MAX_TEXT_LENGTH - 1] + "…"
