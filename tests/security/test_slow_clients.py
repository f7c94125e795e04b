"""Clients that send slowly, half, or wrongly hinder nobody else, with the settings that are shipped."""

import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress

import pytest

from tests.support.platform import Platform
from tests.support.valkey import Valkey
from tests.support.waiting import wait_until
from tests.web import raw_sockets
from tests.web.door import Door, encode, headers_of, request

GREET = request("tools/call", {"name": "greet", "arguments": {"name": "Ann"}})
HEADERS = headers_of(GREET)
BODY = encode(GREET)

LIMIT_S = 2.0
"""How long anybody else may wait meanwhile."""

CROWD = 150
"""More than both processes have threads."""


@pytest.fixture(scope="module")
def platform() -> Iterator[Platform]:
    """A front door as it is shipped, but for the time that a request may take to arrive."""
    env = {"WEB_CONCURRENCY": "2", "COATCHECK_BODY_SECONDS": "6"}
    with Platform(tools="tests.conformance.tools", env=env, valkey=Valkey()) as platform:
        yield platform.start(workers=0)


@pytest.fixture
def door(platform: Platform) -> Door:
    """The front door."""
    return Door(platform.port)


def assert_others_are_served(door: Door) -> None:
    """Somebody who comes now gets an answer in time, from each process."""
    for _ in range(6):
        began = time.monotonic()
        assert door.post(GREET).status == 200
        assert time.monotonic() - began < LIMIT_S


def head(**more: str) -> bytes:
    """The head of a request in order."""
    return raw_sockets.head_of({**HEADERS, **more})


CROWDS = {
    "silent": b"",
    "one byte": b"P",
    "half a line": b"POST /mcp HTT",
    "half a head": b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Ty",
    "an endless head": b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\n" + b"X: y\r\n" * 20,
    "no body": head(**{"Content-Length": "500"}),
    "half a body": head(**{"Content-Length": "500"}) + BODY[:100],
    "half a chunk": head(**{"Transfer-Encoding": "chunked"}) + b"1f4\r\n" + BODY[:100],
    "chunks without an end": head(**{"Transfer-Encoding": "chunked"}) + b"1\r\n{\r\n" * 30,
    "chunks but for the last line": head(**{"Transfer-Encoding": "chunked"}) + b"1\r\n{\r\n0\r\n",
    "a chunk that looks like the last": head(**{"Transfer-Encoding": "chunked"}) + b"fff\r\n\r\n0\r\n\r\n",
    "a request and a half": head(**{"Content-Length": str(len(BODY))}) + BODY + b"POST /mcp HTTP/1.1\r\nHo",
    "an error and no goodbye": b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: x\r\n\r\n",
    "a refusal with the body unread": head(Host="evil.test", **{"Content-Length": "900000"}) + b" " * 1000,
    "too large": head(**{"Content-Length": "99999999"}) + b" " * 1000,
}


@pytest.mark.parametrize("sent", CROWDS.values(), ids=CROWDS.keys())
def test_a_crowd_that_does_not_finish_keeps_nobody_out(door: Door, sent: bytes) -> None:
    """HTTP-5."""
    with ExitStack() as crowd:
        for _ in range(CROWD):
            connection = crowd.enter_context(raw_sockets.connected(door.port))
            connection.sendall(sent)
        assert_others_are_served(door)


def test_a_crowd_that_drips_keeps_nobody_out_and_is_sent_away(door: Door) -> None:
    """HTTP-5: each byte in time is not the whole in time, in a head or in a body."""
    with ExitStack() as stack:
        crowd = [stack.enter_context(raw_sockets.connected(door.port)) for _ in range(CROWD)]
        for connection in crowd:
            connection.sendall(b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nX: ")

        def are_gone() -> bool:
            for connection in list(crowd):
                try:
                    connection.sendall(b"x")
                except OSError:
                    crowd.remove(connection)
            assert_others_are_served(door)
            return not crowd

        wait_until(are_gone, 30.0, "the end of the crowd")


def test_more_connections_than_a_process_takes_keep_nobody_out(door: Door) -> None:
    """Those that say nothing make room."""
    with ExitStack() as crowd:
        for _ in range(2_300):
            crowd.enter_context(raw_sockets.connected(door.port))
        assert_others_are_served(door)


def test_a_request_in_the_smallest_pieces_is_a_request(door: Door) -> None:
    octets = head(**{"Content-Length": str(len(BODY))}) + BODY
    with raw_sockets.connected(door.port) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for n in range(len(octets)):
            connection.sendall(octets[n : n + 1])
        assert b"Hello, Ann!" in raw_sockets.until(connection, b"}}")


def test_requests_in_one_piece_are_answered_one_after_the_other(door: Door) -> None:
    one = head(**{"Content-Length": str(len(BODY))}) + BODY
    with raw_sockets.connected(door.port) as connection:
        connection.sendall(one * 3 + one[:50])
        response = b""
        while response.count(b"Hello, Ann!") < 3:
            response += raw_sockets.until(connection, b"}}")
        connection.sendall(one[50:])
        assert b"Hello, Ann!" in raw_sockets.until(connection, b"}}")


def test_a_head_has_a_limit_as_a_whole(door: Door) -> None:
    """What nobody knows yet takes neither memory nor time: a head is looked through again with each piece of it."""
    line = "x" * 8_000
    for lines, status in ((3, 200), (60, 431)):
        with raw_sockets.connected(door.port) as connection:
            with suppress(ConnectionError):
                connection.sendall(head(**{f"X-{n}": line for n in range(lines)}, **{"Content-Length": str(len(BODY))}))
                connection.sendall(BODY)
            assert raw_sockets.status_of(raw_sockets.until(connection, b"\r\n\r\n")) == status


def test_a_body_in_absurdly_many_chunks_is_refused(door: Door) -> None:
    """A chunk of one byte costs as much as a large one, and nobody else's turn comes meanwhile."""
    for spaces, status in ((500, 200), (200_000, 400)):
        chunks = b"".join(b"1\r\n%c\r\n" % octet for octet in b" " * spaces + BODY)
        with raw_sockets.connected(door.port) as connection:
            with suppress(ConnectionError):
                connection.sendall(head(**{"Transfer-Encoding": "chunked"}) + chunks + b"0\r\n\r\n")
            assert raw_sockets.status_of(raw_sockets.until(connection, b"\r\n\r\n")) == status


def test_a_client_that_waits_for_a_word_before_its_body_gets_one(door: Door) -> None:
    """Source: RFC 9110, section 10.1.1."""
    with raw_sockets.connected(door.port) as connection:
        connection.sendall(head(Expect="100-continue", **{"Content-Length": str(len(BODY))}))
        assert raw_sockets.until(connection, b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
        connection.sendall(BODY)
        response = raw_sockets.until(connection, b"}}")
    assert raw_sockets.status_of(response) == 200
    assert b"100 Continue" not in response


def test_a_request_that_takes_too_long_is_told_so(door: Door) -> None:
    with raw_sockets.connected(door.port) as connection:
        connection.sendall(head(**{"Content-Length": "500"}))
        assert raw_sockets.status_of(raw_sockets.all_of(connection)) == 408


@pytest.mark.parametrize(
    "framing",
    [
        b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
        b"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n",
        b"Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n",
        b"Transfer-Encoding: chunked, identity\r\n",
        b"Transfer-Encoding: xchunked\r\n",
        b"Transfer-Encoding : chunked\r\n",
        b"Transfer-Encoding:\x0bchunked\r\n",
        b"X: y\rTransfer-Encoding: chunked\r\n",
        b"Content-Length: 5\r\nContent-Length: 6\r\n",
        b"Content-Length: 5, 6\r\n",
        b"Content-Length: +5\r\n",
        b"Content-Length: 0x5\r\n",
        b"Content-Length: 5 5\r\n",
        b"Content-Length\r\n",
        b" Content-Length: 5\r\n",
        b"Content_Length: 5\r\nContent-Length: 0\r\nX: y\n\r\n",
    ],
    ids=repr,
)
def test_a_request_that_two_servers_could_read_in_two_ways_is_refused(door: Door, framing: bytes) -> None:
    """HTTP-1: nothing behind it is taken for a request, and the connection ends."""
    hidden = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
    with raw_sockets.connected(door.port) as connection:
        connection.sendall(b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\n" + framing + b"\r\n0\r\n\r\n" + hidden)
        response = raw_sockets.all_of(connection)
    assert response.count(b"HTTP/1.1 ") <= 1
    assert not response or raw_sockets.status_of(response) in (400, 501)
