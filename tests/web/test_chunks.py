"""Bodies in chunks, as HTTP has them and as it does not."""

import pytest

from tests.support.platform import Platform
from tests.web import raw_sockets
from tests.web.door import Door, encode, headers_of, request

GREET = request("tools/call", {"name": "greet", "arguments": {"name": "Ann"}})
BODY = encode(GREET)
SIZE = b"%x" % len(BODY)
CHUNK = SIZE + b"\r\n" + BODY + b"\r\n"
END = b"0\r\n\r\n"

SOON_S = 15.0
"""Less than a request may take to arrive."""


def chunked(octets: bytes, coding: str = "chunked") -> bytes:
    """A request whose body is sent like this."""
    return raw_sockets.head_of({**headers_of(GREET), "Transfer-Encoding": coding}) + octets


@pytest.mark.parametrize(
    "octets",
    [
        CHUNK + END,
        CHUNK + b"000\r\n\r\n",
        b"000" + CHUNK + END,
        SIZE + b";x=y\r\n" + BODY + b"\r\n" + END,
        SIZE.upper() + b' ; x="y z"\r\n' + BODY + b"\r\n" + END,
        CHUNK + b"0\r\nExpires: never\r\nX-Sum: 1\r\n\r\n",
        b"1\r\n" + BODY[:1] + b"\r\n" + b"%x\r\n" % (len(BODY) - 1) + BODY[1:] + b"\r\n" + END,
    ],
    ids=range(7),
)
def test_chunks_in_order_are_read_and_another_request_may_follow(door: Door, octets: bytes) -> None:
    """HTTP-1."""
    with raw_sockets.connected(door.port) as connection:
        for _ in range(2):
            connection.sendall(chunked(octets))
            response = raw_sockets.until(connection, b"}}")
            assert raw_sockets.status_of(response) == 200
            assert b"Hello, Ann!" in response


MALFORMED = {
    "a size that is no number": b"zz\r\n" + BODY + b"\r\n" + END,
    "a negative size": b"-5\r\n" + BODY + b"\r\n" + END,
    "a signed size": b"+" + CHUNK + END,
    "a size with a prefix": b"0x" + CHUNK + END,
    "a size with an underscore": b"0_" + CHUNK + END,
    "a padded size": b" " + CHUNK + END,
    "no size": b"\r\n" + BODY + b"\r\n" + END,
    "a size of a second chunk that is none": CHUNK + b"zz\r\n",
    "a line without an end": b"5;" + b"x" * 9_000,
    "nothing after the data": SIZE + b"\r\n" + BODY + END,
    "something else after the data": SIZE + b"\r\n" + BODY + b"xx" + END,
    "more data than announced": b"5\r\n" + BODY + b"\r\n" + END,
    "lines that end in LF": SIZE + b"\n" + BODY + b"\n0\n\n",
    "data that ends in LF": SIZE + b"\r\n" + BODY + b"\n0\r\n\r\n",
    "a last chunk that ends in LF": CHUNK + b"0\n\n",
    "an extension with LF": SIZE + b";x\ny\r\n" + BODY + b"\r\n" + END,
    "an extension that is none": SIZE + b";=\r\n" + BODY + b"\r\n" + END,
    "a trailer without a colon": CHUNK + b"0\r\nnothing\r\n\r\n",
    "a trailer with a space in its name": CHUNK + b"0\r\nX : y\r\n\r\n",
    "a trailer with NUL": CHUNK + b"0\r\nX: a\x00b\r\n\r\n",
    "a trailer that ends in LF": CHUNK + b"0\r\nX: y\n\n",
    "a trailer that is folded": CHUNK + b"0\r\nX: y\r\n z\r\n\r\n",
    "a trailer about the length": CHUNK + b"0\r\nContent-Length: 5\r\n\r\n",
    "a trailer about the chunks": CHUNK + b"0\r\nTransfer-Encoding: chunked\r\n\r\n",
    "a trailer that proves something": CHUNK + b"0\r\nAuthorization: Bearer x\r\n\r\n",
    "trailers without number": CHUNK + b"0\r\n" + b"X: y\r\n" * 500 + b"\r\n",
}


@pytest.mark.parametrize("octets", MALFORMED.values(), ids=MALFORMED.keys())
def test_malformed_chunks_are_the_clients_fault(platform: Platform, door: Door, octets: bytes) -> None:
    """HTTP-1, HTTP-6: said at once, without an incident in the log, and nothing more is read from the connection."""
    before = len(platform.webs[0].log)
    with raw_sockets.connected(door.port) as connection:
        connection.settimeout(SOON_S)
        connection.sendall(chunked(octets) + chunked(CHUNK + END))
        response = raw_sockets.all_of(connection)
    assert raw_sockets.status_of(response) == 400
    assert response.count(b"HTTP/1.1 ") == 1
    assert b"connection: close" in response.lower()
    assert b"Hello" not in response
    assert b"-32603" not in response
    lines = platform.webs[0].log[before:].splitlines()
    assert len(lines) <= 1
    assert not [line for line in lines if "ERROR" in line or "incident" in line]
    assert door.post(GREET).status == 200


@pytest.mark.parametrize(
    "coding",
    ["gzip, chunked", "gzip", "deflate, chunked", "identity, chunked", "xchunked", "chunked;q=1", "chunked, chunked"],
)
def test_a_body_in_another_coding_is_refused_before_it_has_come(door: Door, coding: str) -> None:
    """HTTP-1. Source: RFC 9112, section 6.1."""
    for octets in (b"", CHUNK + END, b"5\nx"):
        with raw_sockets.connected(door.port) as connection:
            connection.settimeout(SOON_S)
            connection.sendall(chunked(octets, coding))
            assert raw_sockets.status_of(raw_sockets.all_of(connection)) in (400, 501)
