"""When a request has arrived whole, as far as that can be told without parsing it."""

import pytest

from web.server.arrival import MOST_HEAD, Arrival

LINE = b"POST /mcp HTTP/1.1\r\n"
CHUNKED = LINE + b"Transfer-Encoding: chunked\r\n\r\n"


def arrived(octets: bytes, max_body_bytes: int = 100) -> Arrival:
    """These octets have arrived, one by one."""
    arrival = Arrival(max_body_bytes)
    for n in range(len(octets)):
        arrival.add(octets[n : n + 1])
    return arrival


@pytest.mark.parametrize(
    "octets",
    [
        LINE + b"\r\n",
        LINE + b"Content-Length: 0\r\n\r\n",
        LINE + b"Content-Length: 3\r\n\r\nabc",
        LINE + b"content-length:3\r\nX: y\r\n\r\nabc",
        CHUNKED + b"0\r\n\r\n",
        CHUNKED + b"3\r\nabc\r\n0\r\n\r\n",
        CHUNKED + b"3;x=y\r\nabc\r\nA \r\n0123456789\r\n00\r\n\r\n",
        CHUNKED + b"3\r\nabc\r\n0\r\nTrailer: x\r\n\r\n",
    ],
)
def test_a_whole_request_is_whole_and_was_not_before(octets: bytes) -> None:
    assert arrived(octets).is_whole
    assert not arrived(octets[:-1]).is_whole
    at_once = Arrival(100)
    at_once.add(octets)
    assert at_once.is_whole


@pytest.mark.parametrize(
    "octets",
    [
        b"",
        LINE,
        LINE + b"\r",
        LINE + b"Content-Length: 3\r\n\r\nab",
        CHUNKED,
        CHUNKED + b"a\r\n\r\n0\r",
        CHUNKED + b"10\r\n",
        CHUNKED + b"3\r\nabc\r\n0\r\n",
        CHUNKED + b"3\r\nabc\r\n0\r\nTrailer: x\r\n",
        CHUNKED + b"20\r\n\r\n0\r\n\r\n",
    ],
)
def test_a_part_of_a_request_is_not(octets: bytes) -> None:
    assert not arrived(octets).is_whole


@pytest.mark.parametrize(
    "octets",
    [
        b"x" * (MOST_HEAD + 1),
        LINE + b"Content-Length: 101\r\n\r\n",
        LINE + b"Content-Length: 999999999999999999\r\n\r\n",
        LINE + b"Content-Length: 5 5\r\n\r\n",
        LINE + b"Transfer-Encoding: gzip\r\n\r\n",
        CHUNKED + b"ff\r\n" + b"x" * 100,
        CHUNKED + b"-1\r\n",
        CHUNKED + b"\r\n",
    ],
)
def test_what_will_be_refused_is_not_waited_for(octets: bytes) -> None:
    assert Arrival(100).is_whole is False
    arrival = Arrival(100)
    arrival.add(octets)
    assert arrival.is_whole


def test_chunks_that_announce_more_than_is_taken_are_known_as_such() -> None:
    """HTTP-5: a thread that read on would wait for the rest."""
    for sent in (b"65\r\n", b"60\r\n" + b"x" * 96 + b"\r\n5\r\n", b"1\r\nx\r\n" * 101):
        arrival = Arrival(100)
        arrival.add(CHUNKED + sent)
        assert (arrival.is_whole, arrival.is_too_large) == (True, True)


def test_small_chunks_may_take_more_than_they_carry_and_not_without_end() -> None:
    """HTTP-5."""
    small = b"1;" + b"x" * 500 + b"\r\n \r\n"
    arrival = Arrival(1_000)
    arrival.add(CHUNKED + small * 10)
    assert not arrival.is_whole
    arrival.add(small * 150)
    assert (arrival.is_whole, arrival.is_too_large) == (True, True)


@pytest.mark.parametrize(
    "octets",
    [
        b"zz\r\n", b"-1\r\n", b"\r\n", b"5\nhello\n0\n\n", b"3\r\nabcde\r\n", b"3\r\nabc\n0\r\n", b"f" * 16 + b"\r\n",
        b"1;" + b"x" * 9_000,
    ],
)  # fmt: skip
def test_chunks_that_are_none_are_malformed_and_not_waited_for(octets: bytes) -> None:
    """HTTP-1: gunicorn would wait for the end of some of them."""
    arrival = Arrival(100)
    arrival.add(CHUNKED + octets)
    assert (arrival.is_whole, arrival.is_malformed) == (True, True)


@pytest.mark.parametrize(
    "framing",
    [
        b"Transfer-Encoding: gzip, chunked", b"Transfer-Encoding: xchunked", b"Transfer-Encoding: chunked;x=y",
        b"Content-Length: 5\r\nTransfer-Encoding: chunked", b"Content-Length: 5\r\nContent-Length: 6",
    ],
)  # fmt: skip
def test_a_body_of_doubtful_length_is_not_waited_for(framing: bytes) -> None:
    """HTTP-1."""
    assert arrived(LINE + framing + b"\r\n\r\n").is_whole


def test_headers_that_only_begin_like_those_of_the_length_are_others() -> None:
    head = LINE + b"Content-Length-Hint: 1\r\nContent-Length: 00000000000000000000003\r\n\r\n"
    assert not arrived(head + b"ab").is_whole
    assert arrived(head + b"abc").is_whole


def test_an_expectation_is_met_once_and_does_not_reach_the_server_twice() -> None:
    head = LINE + b"Expect: 100-continue\r\nContent-Length: 3\r\n\r\n"
    arrival = arrived(head)
    assert not arrival.is_whole
    assert arrival.take_expectation()
    assert not arrival.take_expectation()
    assert bytes(arrival.received) == LINE + b"Content-Length: 3\r\n\r\n"
    arrival.add(b"abc")
    assert arrival.is_whole
