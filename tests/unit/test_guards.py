"""What is checked of a request before its body is read."""

from contextlib import suppress

import pytest
from flask import Request
from hypothesis import given
from hypothesis import strategies as st
from werkzeug.test import EnvironBuilder

from coatcheck.web.errors import NotAcceptable, RequestForbidden, UnsupportedMediaType
from coatcheck.web.protocol.request_guard import AcceptedTypes, RequestGuard, accepted_types, check_content_type
from coatcheck.web.settings.web import WebSettings

PUBLIC = WebSettings(
    public_url="https://mcp.example.test",
    allowed_hosts=("inner.example.test", "other.example.test:8443"),
    allowed_origins=("https://app.example.test",),
)


def request(**headers: str) -> Request:
    """A request with these headers; underscores stand for hyphens."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    environ = EnvironBuilder(method="POST", headers=named).get_environ()
    if "Host" in named:
        environ["HTTP_HOST"] = named["Host"]
    return Request(environ)


@pytest.mark.parametrize(
    "host",
    [
        "localhost",
        "LOCALHOST:8000",
        "127.0.0.1:1",
        "[::1]:8000",
        "[::1]",
        "mcp.example.test",
        "MCP.example.test:443",
        "inner.example.test",
        "inner.example.test:9",
        "other.example.test:8443",
    ],
)
def test_known_hosts_are_answered(host: str) -> None:
    """HTTP-4, C59."""
    RequestGuard(PUBLIC).check(request(Host=host))


@pytest.mark.parametrize(
    "host",
    [
        "evil.test",
        "",
        "localhost.evil.test",
        "evil.test:localhost",
        "127.0.0.1.evil.test",
        "mcp.example.test.evil",
        "other.example.test",
        "other.example.test:1",
        "[",
        "user@localhost",
        "localhost/x",
        "localhost:x",
        "169.254.169.254",
    ],
)
def test_other_hosts_are_refused(host: str) -> None:
    """HTTP-4, C59."""
    with pytest.raises(RequestForbidden):
        RequestGuard(PUBLIC).check(request(Host=host))


def test_a_forwarded_host_opens_nothing() -> None:
    """HTTP-4, C59."""
    with pytest.raises(RequestForbidden):
        RequestGuard(PUBLIC).check(request(Host="evil.test", X_Forwarded_Host="mcp.example.test"))


@pytest.mark.parametrize(
    "origin",
    [
        "http://localhost",
        "http://localhost:6274",
        "http://127.0.0.1:8000",
        "http://[::1]:1",
        "https://mcp.example.test",
        "https://APP.example.test",
    ],
)
def test_known_pages_may_call(origin: str) -> None:
    """HTTP-4, C60."""
    RequestGuard(PUBLIC).check(request(Host="localhost", Origin=origin))


@pytest.mark.parametrize(
    "origin",
    [
        "null",
        "",
        "https://evil.test",
        "http://mcp.example.test",
        "https://mcp.example.test:444",
        "https://localhost.evil",
        "http://localhost@evil.test",
        "http://localhost/path",
        "file://localhost",
        "http://[",
        "http://localhost:x",
    ],
)
def test_other_pages_may_not(origin: str) -> None:
    """HTTP-4, C60."""
    with pytest.raises(RequestForbidden):
        RequestGuard(PUBLIC).check(request(Host="localhost", Origin=origin))


@pytest.mark.parametrize(
    ("origin", "allowed"),
    [("https://app.example.test", True), ("http://localhost", False), ("null", False), ("https://evil.test", False)],
)
def test_a_browser_is_told_only_of_configured_pages(origin: str, allowed: bool) -> None:
    """C60."""
    assert RequestGuard(PUBLIC).preflight_origin(request(Origin=origin)) == (origin if allowed else None)


@pytest.mark.parametrize("sent", ["application/json", "application/json; charset=utf-8", "APPLICATION/JSON"])
def test_json_is_taken_with_any_parameters(sent: str) -> None:
    """HTTP-3."""
    check_content_type(request(Content_Type=sent))


@pytest.mark.parametrize("sent", ["text/plain", "application/json-rpc", "", "application/x-www-form-urlencoded"])
def test_other_content_types_are_refused(sent: str) -> None:
    """HTTP-3."""
    with pytest.raises(UnsupportedMediaType):
        check_content_type(request(Content_Type=sent))


@pytest.mark.parametrize(
    ("accept", "forms"),
    [
        ("", AcceptedTypes(True, True)),
        ("*/*", AcceptedTypes(True, True)),
        ("application/json", AcceptedTypes(True, False)),
        ("application/*", AcceptedTypes(True, False)),
        ("text/event-stream", AcceptedTypes(False, True)),
        ("text/event-stream;q=0.9, application/json", AcceptedTypes(True, True)),
        ("*/*, application/json;q=0", AcceptedTypes(False, True)),
        ("text/html, */*;q=0.1", AcceptedTypes(True, True)),
    ],
)
def test_answers_take_a_form_that_the_client_takes(accept: str, forms: AcceptedTypes) -> None:
    """HTTP-3, C58."""
    assert accepted_types(accept) == forms


@pytest.mark.parametrize("accept", ["text/html", "application/xml", "*/*;q=0", "application/json;q=0"])
def test_a_client_that_takes_neither_form_is_told(accept: str) -> None:
    """HTTP-3, C58."""
    with pytest.raises(NotAcceptable):
        accepted_types(accept)


LATIN = st.text(st.characters(max_codepoint=255), max_size=30)
"""What a WSGI server makes of the bytes in a header."""


@given(LATIN | st.text("[]:@/.localhost0123456789", max_size=20))
def test_any_host_and_origin_is_known_or_refused_and_nothing_else_is_raised(text: str) -> None:
    """HTTP-4."""
    sent = Request({"HTTP_HOST": text, "HTTP_ORIGIN": f"http://{text}", "REQUEST_METHOD": "POST"})
    with suppress(RequestForbidden):
        RequestGuard(PUBLIC).check(sent)


@given(LATIN | st.text("aptextjson/*;q=0.19, ", max_size=40))
def test_any_accept_is_understood_or_refused_and_nothing_else_is_raised(text: str) -> None:
    """HTTP-3."""
    with suppress(NotAcceptable):
        accepted_types(text)
