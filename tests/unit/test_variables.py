"""Names of variables: those there are, and slips of the pen."""

import re

import pytest

from coatcheck.variables import KNOWN, unknown_variables
from tests.support.settings_table import ROOT, rows


def test_all_variables_of_all_parts_are_known() -> None:
    """K3.11."""
    of_processes = {name for name in rows() if name.startswith("COATCHECK_")}
    of_clients = set()
    for file in (ROOT / "client").rglob("*.py"):
        of_clients |= set(re.findall(r"environ(?:\.get\(|\[)\"(COATCHECK_\w+)\"", file.read_text(encoding="utf-8")))
    assert of_clients
    assert of_processes | of_clients == KNOWN


@pytest.mark.parametrize(
    ("name", "nearest"),
    [
        ("COATCHECK_TOOL", "COATCHECK_TOOLS"),
        ("COATCHECK_LEASE_SECOND", "COATCHECK_LEASE_SECONDS"),
        ("COATCHECK_REDIS_CAFILE", "COATCHECK_REDIS_CA_FILE"),
        ("COATCHECK_POLLS_PER_SECONDS", "COATCHECK_POLLS_PER_SECOND"),
    ],
)
def test_a_slip_of_the_pen_is_told_with_the_nearest_name(name: str, nearest: str) -> None:
    """K3.11."""
    assert list(unknown_variables([name, "PATH", "COATCHECK_AUTH"])) == [
        f"{name} is set, and is no setting of this version; {nearest} is one."
    ]


@pytest.mark.parametrize(
    "name",
    [
        "COATCHECK_SERVICE_HOST",
        "COATCHECK_SERVICE_PORT_HTTP",
        "COATCHECK_PORT",
        "COATCHECK_PORT_8000_TCP",
        "COATCHECK_PORT_8000_TCP_ADDR",
        "COATCHECK_WEB_SERVICE_HOST",
    ],
)
def test_what_kubernetes_sets_for_a_service_is_no_slip(name: str) -> None:
    """K3.11."""
    assert list(unknown_variables([name])) == []
