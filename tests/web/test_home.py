"""What a browser gets at `/`: what this is, and where to go from here."""

import re

import pytest

from tests.support.platform import ROOT, Platform
from tests.support.ports import free_port
from tests.support.waiting import wait_until
from tests.web.conftest import _is_alive
from tests.web.door import Door

BROWSER = {"Accept": "text/html"}

SAID = "a server of the Model Context Protocol"


def links(page: str) -> list[str]:
    return re.findall(r'href="([^"]*)"', page)


def test_a_page_says_what_this_is_and_leads_to_what_there_is(door: Door) -> None:
    """K5.13."""
    reply = door.send(b"", BROWSER, verb="GET", path="/")
    page = reply.body.decode()
    assert (reply.status, reply.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert SAID in page
    assert f"http://127.0.0.1:{door.port}/mcp" in page
    assert links(page)[0] == "http://127.0.0.1:5555"
    documents = links(page)[1:]
    assert "/README.md" in documents
    for path in documents:
        document = door.send(b"", BROWSER, verb="GET", path=path)
        assert (document.status, document.headers["content-type"]) == (200, "text/plain; charset=utf-8")
        assert document.body == (ROOT / path.lstrip("/")).read_bytes()


def test_no_other_file_can_be_had(door: Door) -> None:
    """K5.13."""
    for path in (
        "/docs/",
        "/docs/../web/operations/home.py",
        "/docs/..%2fpyproject.toml",
        "/web/operations/home.py",
        "/.data/lock",
        "/docs",
    ):
        assert door.send(b"", BROWSER, verb="GET", path=path).status == 404


def test_a_page_runs_nothing_and_stands_in_no_frame(door: Door) -> None:
    """K5.13."""
    headers = door.send(b"", BROWSER, verb="GET", path="/").headers
    assert "default-src 'none'" in headers["content-security-policy"]
    assert "frame-ancestors 'none'" in headers["content-security-policy"]
    assert (headers["x-frame-options"], headers["x-content-type-options"]) == ("DENY", "nosniff")


def test_a_stranger_learns_the_public_address_and_nothing_of_the_machine(narrow: Door) -> None:
    """K5.13: neither what it runs on nor what it offers."""
    page = narrow.send(b"", {**BROWSER, "Host": "mcp.example.test"}, verb="GET", path="/").body.decode()
    assert "https://mcp.example.test/mcp" in page
    assert [word for word in ("Flower", "127.0.0.1", "gunicorn", "Redis", "greet") if word in page] == []


@pytest.mark.parametrize("path", ["/", "/README.md"])
def test_a_foreign_host_is_refused_as_everywhere(door: Door, path: str) -> None:
    """K5.13."""
    reply = door.send(b"", {**BROWSER, "Host": "rebound.example"}, verb="GET", path=path)
    assert reply.status == 403
    assert SAID.encode() not in reply.body


def test_a_port_of_flower_that_is_none_is_no_link(platform: Platform) -> None:
    """K5.13: a cluster puts the address of a service there."""
    port = free_port()
    platform.start_web(port=port, env={"FLOWER_PORT": "tcp://10.0.0.1:5555", "WEB_CONCURRENCY": "1"})
    wait_until(lambda: _is_alive(port), 30.0, "the front door")
    page = Door(port).send(b"", BROWSER, verb="GET", path="/").body.decode()
    assert SAID in page
    assert "Flower" not in page
