"""Draw the chart of a report: a distribution as horizontal bars, as a PNG image."""

import io
import math
from collections.abc import Sequence

from PIL import Image, ImageDraw, ImageFont

from coatcheck.workers.tools.report.model import Bar
from coatcheck.workers.tools.report.wording import number_text, shortened

WIDTH, HEIGHT = 640, 400
"""Pixels of the chart."""

PLOT = (190, 52, WIDTH - 60, HEIGHT - 52)
"""Left, top, right and bottom of the area of the bars; labels are on the left, the scale is below."""

LARGEST_BAR_HEIGHT = 34
"""In pixels, for charts with few bars."""

WHITE, INK, SOFT_INK, GRID, FILL = "#ffffff", "#1f2933", "#52606d", "#e4e7eb", "#2f6f9f"

Font = ImageFont.FreeTypeFont | ImageFont.ImageFont


def draw_chart(column: str, bars: Sequence[Bar]) -> bytes:
    """Return a PNG image with one labelled bar for each count, the first at the top, over a scale that starts at 0."""
    image = Image.new("RGB", (WIDTH, HEIGHT), WHITE)
    draw = ImageDraw.Draw(image)
    font, title_font = ImageFont.load_default(13), ImageFont.load_default(18)
    left, top, right, bottom = PLOT
    title = _fitted(f"Distribution of {shortened(column)}", WIDTH - 40, title_font)
    draw.text((20, 26), title, INK, title_font, anchor="lm")
    if not bars:
        draw.text(((left + right) / 2, (top + bottom) / 2), "The column is empty.", SOFT_INK, font, anchor="mm")
    largest = max((bar.count for bar in bars), default=0)
    step = _scale_step(largest)
    end = max(math.ceil(largest / step), 1) * step
    for mark in range(0, end + 1, step):
        x = left + (right - left) * mark / end
        draw.line((x, top, x, bottom), GRID)
        draw.text((x, bottom + 12), number_text(mark), SOFT_INK, font, anchor="mm")
    draw.text(((left + right) / 2, bottom + 34), "rows", SOFT_INK, font, anchor="mm")
    for index, bar in enumerate(bars):
        slot = (bottom - top) / len(bars)
        y = top + (index + 0.5) * slot
        half = min(slot * 0.36, LARGEST_BAR_HEIGHT / 2)
        x = left + (right - left) * bar.count / end
        draw.rectangle((left, y - half, x, y + half), FILL)
        draw.text((left - 10, y), _fitted(bar.label, left - 30, font), INK, font, anchor="rm")
        draw.text((x + 6, y), number_text(bar.count), SOFT_INK, font, anchor="lm")
    draw.line((left, top, left, bottom), SOFT_INK)
    file = io.BytesIO()
    image.quantize(32).save(file, "PNG", optimize=True)  # 32 colours are enough, and take a third of the bytes
    return file.getvalue()


def _scale_step(largest: int) -> int:
    """Return the distance of the marks: 1, 2 or 5 times a power of ten, for about five marks."""
    power = 1
    while True:
        for factor in (1, 2, 5):
            if factor * power * 5 >= largest:
                return factor * power
        power *= 10


def _fitted(label: str, width: float, font: Font) -> str:
    """Return the label, cut to a width of at most `width` pixels."""
    if font.getlength(label) <= width:
        return label
    kept = next(length for length in range(len(label) - 1, -1, -1) if font.getlength(label[:length] + "…") <= width)
    return label[:kept] + "…"
