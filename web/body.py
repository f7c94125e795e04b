"""Reads a request's body within bounds of size and time."""

from contextlib import suppress
from typing import Any, Final

from flask import Request
from gevent import Timeout
from gunicorn.http.errors import ParseException

from web.errors import BodyTooLarge, BodyTooSlow, MalformedBody
from web.in_flight import InFlight

SOCKET: Final = "gunicorn.socket"
"""Where gunicorn leaves the connection in the WSGI environment."""

DISCARD_BYTES: Final = 64 * 1024
DISCARD_S: Final = 0.05
"""How much of a refused body is read, and for how long, so that another request can follow on its connection."""

LATE: Final = "The body did not arrive whole in time"


class BodyReader:
    """Reads bodies; one that drips is cut off."""

    def __init__(self, max_bytes: int, limit_s: float, in_flight: InFlight) -> None:
        self._max_bytes = max_bytes
        self._limit_s = limit_s
        self._in_flight = in_flight

    def read(self, request: Request) -> bytes:
        """Return the whole body.

        Raises:
            BodyTooLarge: it says so itself, or more came than is allowed; the rest is not read.
            BodyTooSlow: it was cut off, by the client or for its slowness.
            MalformedBody: its chunks are none, or it is encoded; no other request can follow on its connection.
        """
        # gunicorn passes compressed bodies on as if they were what they are made of. Source: RFC 9112, section 6.1.
        if request.environ.get("HTTP_TRANSFER_ENCODING", "chunked").strip(" \t").lower() != "chunked":
            raise MalformedBody("The only Transfer-Encoding is chunked")
        length = request.content_length
        if length is not None and length > self._max_bytes:
            raise self._too_large()
        body = self._read(request.environ["wsgi.input"], self._max_bytes + 1 if length is None else length)
        if len(body) > self._max_bytes:
            raise self._too_large()
        if length is not None and len(body) < length:
            # Half a message can be a whole one of another meaning.
            raise BodyTooSlow(LATE)
        return body

    def discard(self, request: Request, refusal: Exception) -> None:
        """Read the rest of a refused body; where that takes long, or makes no sense, end the connection instead."""
        body = request.environ["wsgi.input"]
        is_read = False
        if not isinstance(refusal, BodyTooLarge | BodyTooSlow | MalformedBody):
            with suppress(OSError, ParseException), Timeout(DISCARD_S, False):  # type: ignore[arg-type]
                is_read = len(body.read(DISCARD_BYTES)) < DISCARD_BYTES
        if not is_read and hasattr(body, "force_close"):
            body.force_close()

    def _too_large(self) -> BodyTooLarge:
        return BodyTooLarge(f"The body is larger than {self._max_bytes} bytes")

    def _read(self, source: Any, most: int) -> bytes:
        try:
            with self._in_flight.hold(most), Timeout(self._limit_s, BodyTooSlow(LATE)):
                body: bytes = source.read(most)
        except OSError as fault:
            raise BodyTooSlow(LATE) from fault
        except ParseException as fault:
            # gunicorn reads chunks as the body is read, and says so then.
            raise MalformedBody("The chunks of the body, or its trailers, are malformed") from fault
        return body
