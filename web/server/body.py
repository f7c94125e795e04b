"""Read request bodies within limits of size and time."""

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from typing import Any, Final

from flask import Request
from gevent import Timeout
from gunicorn.http.errors import ParseException

from coatcheck.web.errors import BodyTooLarge, BodyTooSlow, MalformedBody
from coatcheck.web.server.memory_limit import CHUNK_BYTES, MemoryLimit
from coatcheck.web.server.threads import LARGE_BODY_BYTES, is_cooperative

SOCKET_KEY: Final = "gunicorn.socket"
"""WSGI environ key of the connection, set by gunicorn."""

DISCARD_BYTES: Final = 64 * 1024
"""Bytes of a refused body that are read at most, so that the connection can be used again."""

DISCARD_S: Final = 0.05
"""Seconds for that."""

BODY_TOO_LATE: Final = "The body did not arrive whole in time"


class BodyReader:
    """Reads request bodies, and cuts off slow ones."""

    def __init__(self, max_bytes: int, limit_s: float, memory: MemoryLimit) -> None:
        self._max_bytes = max_bytes
        self._limit_s = limit_s
        self._memory = memory

    def read(self, request: Request) -> bytes:
        """Return the whole body.

        Raises:
            BodyTooLarge: the declared or actual length exceeds the limit; the rest is not read.
            BodyTooSlow: it ended early, or took too long.
            MalformedBody: its chunks are malformed, or it has a transfer coding; the connection cannot be used again.
        """
        # gunicorn passes compressed bodies on without decoding them. Source: RFC 9112, section 6.1.
        if request.environ.get("HTTP_TRANSFER_ENCODING", "chunked").strip(" \t").lower() != "chunked":
            raise MalformedBody("The only Transfer-Encoding is chunked")
        length = request.content_length
        if length is not None and length > self._max_bytes:
            raise self._too_large()
        body = self._read(request.environ, self._max_bytes + 1 if length is None else length)
        if len(body) > self._max_bytes:
            raise self._too_large()
        if length is not None and len(body) < length:
            # A truncated message can be valid with another meaning.
            raise BodyTooSlow(BODY_TOO_LATE)
        return body

    def discard(self, request: Request, refusal: Exception) -> None:
        """Read the rest of a refused body, or close the connection when that takes long or the framing is broken."""
        body = request.environ["wsgi.input"]
        is_read = False
        if not isinstance(refusal, BodyTooLarge | BodyTooSlow | MalformedBody):
            connection = request.environ.get(SOCKET_KEY)
            if is_cooperative() or connection is not None:  # else nothing would end the wait for it
                with suppress(OSError, ParseException), _patient(connection, DISCARD_S), _limit(DISCARD_S, False):
                    is_read = len(body.read(DISCARD_BYTES)) < DISCARD_BYTES
        if not is_read and hasattr(body, "force_close"):
            body.force_close()

    def _too_large(self) -> BodyTooLarge:
        return BodyTooLarge(f"The body is larger than {self._max_bytes} bytes")

    def _read(self, environ: Mapping[str, Any], most: int) -> bytes:
        source = environ["wsgi.input"]
        try:
            limit = _limit(self._limit_s, BodyTooSlow(BODY_TOO_LATE))
            with _patient(environ.get(SOCKET_KEY), self._limit_s), limit:
                body: bytes = source.read(most) if most <= LARGE_BODY_BYTES else self._in_pieces(source, most)
        except OSError as fault:
            raise BodyTooSlow(BODY_TOO_LATE) from fault
        except ParseException as fault:
            # gunicorn reads chunks as the body is read, and says so then.
            raise MalformedBody("The chunks of the body, or its trailers, are malformed") from fault
        return body

    def _in_pieces(self, source: Any, most: int) -> bytes:
        body = bytearray()
        with self._memory.hold() as hold_more:
            while len(body) < most and (piece := source.read(min(CHUNK_BYTES, most - len(body)))):
                body += piece
                hold_more(len(piece))
        return bytes(body)


def _limit(seconds: float, fault: Exception | bool) -> AbstractContextManager[object]:
    """Limit the whole block; where a block cannot be interrupted, the connection's own timeout alone holds."""
    limit: AbstractContextManager[object] = Timeout(seconds, fault) if is_cooperative() else nullcontext()  # type: ignore[arg-type]
    return limit


@contextmanager
def _patient(connection: Any, limit_s: float) -> Iterator[None]:
    """Suspend the connection's own timeout, which is that of a response, or set it where no other limit holds."""
    if connection is None:
        yield
        return
    limit = connection.gettimeout()
    connection.settimeout(None if is_cooperative() else limit_s)
    try:
        yield
    finally:
        connection.settimeout(limit)
