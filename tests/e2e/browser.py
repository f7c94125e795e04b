"""Pages as a real browser shows them, after their scripts have run."""

import html
import re
import subprocess
import tempfile

from tests.support.needs import program_of

QUIET = (
    "--headless",
    "--no-sandbox",  # which a container does not allow
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
SCRIPTS_MS = 5_000
"""What a page's scripts get, of the browser's own time: it runs ahead while nothing is to be done."""


def page(url: str) -> str:
    """The document at this address as HTML, once its scripts have filled it in."""
    browser = program_of("chromium")
    with tempfile.TemporaryDirectory(prefix="coatcheck-browser-", ignore_cleanup_errors=True) as profile:
        options = [*QUIET, f"--user-data-dir={profile}", f"--virtual-time-budget={SCRIPTS_MS}", "--dump-dom"]
        return subprocess.check_output([browser, *options, url], stderr=subprocess.DEVNULL, text=True, timeout=60)


def table(document: str) -> list[list[str]]:
    """The texts of the cells of every row of every table in the document."""
    rows = re.findall(r"<tr\b.*?</tr>", document, re.DOTALL)
    return [[text_of(cell) for cell in re.findall(r"<t[dh]\b.*?</t[dh]>", row, re.DOTALL)] for row in rows]


def details(document: str) -> dict[str, str]:
    """The terms of every description list in the document, with their descriptions."""
    pairs = re.findall(r"<dt\b(.*?)</dt>\s*<dd\b(.*?)</dd>", document, re.DOTALL)
    return {text_of(f"<dt{term}"): text_of(f"<dd{description}") for term, description in pairs}


def text_of(markup: str) -> str:
    """The words of a piece of HTML."""
    return " ".join(html.unescape(re.sub(r"<.*?>", " ", markup, flags=re.DOTALL)).split())
