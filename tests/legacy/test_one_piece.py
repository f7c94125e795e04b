"""The older era is one piece, beside which nothing is old."""

import re

from tests.support.settings_table import ROOT

OLD_NAMES = re.compile(
    r"tasks/(?:result|list)\b|related-task|taskSupport|logging/setLevel|notifications/(?:tasks/status|initialized)"
    r"|2025-(?:03-26|06-18|11-25)|elicitationId"
)

FOLDERS = ("tasks_store", "web", "workers")


def test_no_old_name_stands_outside_of_it() -> None:
    """OLD-1: but in the docstring of the setting that switches it off."""
    sources = [path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.py"))]
    outside = [path for path in sources if path.parent != ROOT / "web" / "legacy"]
    found = {
        str(path.relative_to(ROOT)): names
        for path in outside
        if (names := set(OLD_NAMES.findall(path.read_text(encoding="utf-8"))))
    }
    assert found == {"web/settings/web.py": {"2025-11-25", "2025-06-18", "2025-03-26"}}


def test_only_the_application_puts_it_in() -> None:
    """OLD-1: in two lines; the contract of imports says the same of whoever would."""
    importing = re.compile(r"^from coatcheck\.web\.legacy", re.MULTILINE)
    users = [path for path in (ROOT / "web").rglob("*.py") if importing.search(path.read_text(encoding="utf-8"))]
    assert {str(path.relative_to(ROOT)) for path in users if path.parent.name != "legacy"} == {"web/app.py"}
