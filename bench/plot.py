"""Draws the comparable figures as bars."""

from collections.abc import Sequence
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont

from bench.figures import Figure, Figures, number
from bench.servers import BARE, COATCHECK, PEER

PICTURE = Path(__file__).with_name("results.png")

SIDES = (COATCHECK, BARE, PEER)
COLOURS = {COATCHECK: "#1f6f8b", BARE: "#b9c4c9", PEER: "#d98e04"}
NAMES = {COATCHECK: "Coatcheck", BARE: "bare Flask + Celery + Redis", PEER: "fastmcp-tasks"}

COLUMNS = (40, 540)
"""Where each column of groups begins."""
WIDTH = 1040
BARS = 380
"""The longest bar."""
BAR = 16
PITCH = 20
"""From one bar to the next."""
TITLE = 26
GAP = 22
TOP = 70
SCALE = 2
"""Pixels in each of these units, for dense screens."""


def draw(figures: Figures, shown: Sequence[str]) -> None:
    """The picture has a group of bars for each of these figures that more than one side has."""
    groups = [found for what in shown if len(found := _group(figures, what)) > 1]
    rows = [groups[start : start + len(COLUMNS)] for start in range(0, len(groups), len(COLUMNS))]
    height = TOP + sum(map(_height, rows))
    image = Image.new("RGB", (WIDTH * SCALE, height * SCALE), "white")
    pen = ImageDraw.Draw(image)
    _legend(pen)
    y = TOP
    for row in rows:
        for x, group in zip(COLUMNS, row, strict=False):
            _bars(pen, x, y, group)
        y += _height(row)
    image.save(PICTURE, optimize=True)


def _height(row: Sequence[Sequence[Figure]]) -> int:
    return TITLE + GAP + PITCH * max(map(len, row))


def _bars(pen: ImageDraw.ImageDraw, x: float, y: float, group: Sequence[Figure]) -> None:
    longest = max(figure.median for figure in group)
    better = "more is better" if group[0].unit == "/s" else "less is better"
    _text(pen, x, y, f"{group[0].what}  ({group[0].unit}, {better})", 14)
    for row, figure in enumerate(group):
        bar_y = y + TITLE + row * PITCH
        length = max(2.0, BARS * figure.median / longest)
        _box(pen, x, bar_y, length, COLOURS[figure.side])
        _text(pen, x + length + 8, bar_y, number(figure.median), 13)


def _group(figures: Figures, what: str) -> list[Figure]:
    found = (figures.find(what, side) for side in SIDES)
    return [figure for figure in found if figure]


def _legend(pen: ImageDraw.ImageDraw) -> None:
    x = float(COLUMNS[0])
    for side in SIDES:
        _box(pen, x, 24, BAR, COLOURS[side])
        _text(pen, x + BAR + 8, 24, NAMES[side], 14)
        x += 40 + 9 * len(NAMES[side])


def _box(pen: ImageDraw.ImageDraw, x: float, y: float, length: float, colour: str) -> None:
    pen.rectangle((x * SCALE, y * SCALE, (x + length) * SCALE, (y + BAR) * SCALE), fill=colour)


def _text(pen: ImageDraw.ImageDraw, x: float, y: float, text: str, size: int) -> None:
    pen.text((x * SCALE, y * SCALE), text, fill="#222222", font=ImageFont.load_default(size * SCALE))
