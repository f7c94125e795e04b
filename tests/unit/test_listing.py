"""`tools/list`, page by page."""

import pytest

from coatcheck.web.errors import InvalidParams
from coatcheck.web.methods.tools import ListTools
from coatcheck.web.protocol.call import Call
from coatcheck.web.protocol.caller import ANYBODY
from coatcheck.web.protocol.envelope import Request
from coatcheck.workers.toolkit.tool import Catalogue, tool, tool_of


@tool
def b_tool() -> str:
    """The second by name."""
    return "b"


@tool
def c_tool() -> str:
    """The third by name."""
    return "c"


@tool
def a_tool() -> str:
    """The first by name."""
    return "a"


CATALOGUE = Catalogue([one for one in map(tool_of, (b_tool, c_tool, a_tool)) if one is not None])


def listed(page_size: int, **params: object) -> dict[str, object]:
    """One page."""
    request = Request(1, "tools/list", params, {}, {})
    lists = ListTools(CATALOGUE, page_size, "public", lambda _caller, _tool: True)
    return lists.list(Call(request, ANYBODY, lambda _name: None))


def names(page: dict[str, object]) -> list[str]:
    """The names on a page."""
    tools = page["tools"]
    assert isinstance(tools, list)
    return [one["name"] for one in tools]


def test_one_page_holds_all_tools_in_the_order_of_their_names() -> None:
    """LIST-1, C65."""
    page = listed(3)
    assert names(page) == ["a_tool", "b_tool", "c_tool"]
    assert page.keys() == {"resultType", "tools", "ttlMs", "cacheScope"}


def test_cursors_lead_through_all_pages_and_the_last_has_none() -> None:
    """LIST-1, C65."""
    first = listed(2)
    assert names(first) == ["a_tool", "b_tool"]
    last = listed(2, cursor=first["nextCursor"])
    assert names(last) == ["c_tool"]
    assert "nextCursor" not in last
    assert first["cacheScope"] == last["cacheScope"]


@pytest.mark.parametrize("cursor", ["", "x", "YV90b29s=", "YV90b29s\n", None, 7, []])
def test_a_cursor_that_was_not_given_here_is_refused(cursor: object) -> None:
    """LIST-1."""
    with pytest.raises(InvalidParams):
        listed(2, cursor=cursor)


def test_unknown_parameters_are_ignored() -> None:
    """RPC-5."""
    assert names(listed(2, more=1)) == ["a_tool", "b_tool"]
