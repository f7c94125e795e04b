"""gunicorn's gevent worker, with a time limit on each phase of a connection."""

import socket
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from http import HTTPStatus
from typing import Any, Final

import gevent
from gevent.lock import BoundedSemaphore
from gevent.server import StreamServer
from gevent.socket import wait_read
from gunicorn.http.body import ChunkedReader, LengthReader
from gunicorn.http.errors import InvalidChunkSize, LimitRequestHeaders
from gunicorn.http.message import Request
from gunicorn.http.parser import RequestParser
from gunicorn.workers.ggevent import GeventWorker

from coatcheck.web.errors import INVALID_REQUEST, JsonRpcError
from coatcheck.web.protocol.serialization import error_message

LINGER_S: Final = 2.0
"""How long a connection is read on after an answer to a request that was not read whole: closing it at once would
reset it, and the client would lose the answer. Source: RFC 9112, section 9.6."""

TRAILER_BYTES: Final = 8192
"""The largest trailer section of a chunked body."""


HEADERS_TOO_LARGE: Final = (
    b"HTTP/1.1 431 Request Header Fields Too Large\r\nConnection: close\r\nContent-Type: application/json\r\n"
)


FREE_CHUNKS: Final = 1024
MIN_CHUNK_BYTES: Final = 64
"""How many pieces a chunked body can come in, and how many bytes each further one has on average: each costs the same,
however small it is."""

CHUNKS_PER_YIELD: Final = 64
"""After how many pieces of a chunked body others have their turn: what is there already is read without a wait."""

MAX_ACCEPT: Final = 16
"""Connections that are accepted in one turn of the loop; of more, the other processes would get too few."""


class BoundedRequest(Request):  # type: ignore[misc]  # gunicorn has no types
    """A request whose head is bounded as a whole: gunicorn bounds each field, and looks through all that came again and
    again until the head ends."""

    head_bytes = 64 * 1024

    def read_into(self, unreader: Any, buf: bytearray, stop: bool = False) -> None:
        """Read on. Raises LimitRequestHeaders."""
        super().read_into(unreader, buf, stop)
        if len(buf) > self.head_bytes:
            raise LimitRequestHeaders(f"the head is larger than {self.head_bytes} bytes")


RequestParser.mesg_class = BoundedRequest


class BoundedGeventWorker(GeventWorker):  # type: ignore[misc]  # gunicorn has no types
    """Gives a request so long to send its head, and an answer so long to be taken; an idle connection `keepalive`.

    The time for a body is the application's business: see `coatcheck.web.server.body`.
    """

    head_s = 20.0
    answer_s = 30.0

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._between_requests: set[socket.socket] = set()
        self._turn_of_pipelines = BoundedSemaphore()

    def server_class(self, listener: socket.socket, *, spawn: Any, **options: Any) -> StreamServer:
        """Return what accepts connections: with gunicorn's own, one for each turn of a busy loop, newcomers queue."""
        tls = {name: options[name] for name in ("ssl_context",) if name in options}
        server = StreamServer(listener, handle=partial(self.handle, listener), spawn=spawn, **tls)
        server.max_accept = MAX_ACCEPT
        return server

    def timeout_ctx(self) -> gevent.Timeout:
        """Return the limit on a request's head."""
        return gevent.Timeout(self.head_s, False)  # type: ignore[arg-type]

    def notify(self) -> None:
        """Tell the arbiter that this process lives; once it is to stop, end what would wait."""
        super().notify()
        if not self.alive:
            self.wsgi.extensions["coatcheck"].end_streams()
            for connection in self._between_requests:
                with suppress(OSError):
                    connection.shutdown(socket.SHUT_RD)

    def handle(self, listener: socket.socket, client: socket.socket, addr: Any) -> None:
        """Serve a connection."""
        try:
            self._wait_for_request(client, self.head_s)
        except StopIteration:
            client.close()
        else:
            super().handle(listener, client, addr)

    def _wait_for_request(self, connection: socket.socket, limit_s: float) -> None:
        """Wait for the first octet of a request. Raises StopIteration when there is none in time."""
        self._between_requests.add(connection)
        try:
            wait_read(connection.fileno(), limit_s, StopIteration())
        finally:
            self._between_requests.discard(connection)

    def handle_request(self, listener_name: Any, req: Any, sock: Any, addr: Any) -> bool:
        """Answer a request, then wait for the next one. Raise StopIteration to close the connection."""
        req.body.force_close = req.force_close  # for an application that does not read the body: see web.server.body
        if isinstance(req.body.reader, ChunkedReader):
            req.body.reader.limit_trailer_section = TRAILER_BYTES
            req.body.reader.parser = _bounded(req.body.reader.parser)
        sock.settimeout(self.answer_s)
        try:
            super().handle_request(listener_name, req, sock, addr)
        except TimeoutError as fault:
            self.log.info("A connection was closed: its client did not take an answer in time")
            raise StopIteration from fault
        except StopIteration:
            if not _is_read(req):
                _linger(sock)
            raise
        if not _is_read(req):
            _linger(sock)
            raise StopIteration
        sock.settimeout(None)  # the limit for a head bounds the next one
        if (ahead := req.unreader.take_buffered()) or (self.cfg.is_ssl and sock.pending()):
            req.unreader.unread(ahead)
            with self._turn_of_pipelines:  # all clients that send request upon request are one among the others
                gevent.sleep(0)
        else:
            self._wait_for_request(sock, self.cfg.keepalive)
        return True

    def handle_error(self, req: Any, client: Any, addr: Any, exc: BaseException) -> None:
        """Answer what is not a request."""
        if isinstance(exc, LimitRequestHeaders):
            self._refuse_header(client)
        else:
            super().handle_error(req, client, addr, exc)
        _linger(client)

    def _refuse_header(self, client: Any) -> None:
        """Say which limit a header exceeds, as the endpoint would: a client takes a page for another server's."""
        self.log.warning("A request was refused: its headers exceed COATCHECK_MAX_HEADER_BYTES")
        why = (
            f"A header field, such as the token, has more than {self.cfg.limit_request_field_size} bytes, or there are"
            f" more than {self.cfg.limit_request_fields} fields; COATCHECK_MAX_HEADER_BYTES is the limit of a field"
        )
        body = error_message(None, JsonRpcError(INVALID_REQUEST, why, HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE))
        head = HEADERS_TOO_LARGE + f"Content-Length: {len(body)}\r\n\r\n".encode()
        client.settimeout(self.answer_s)
        with suppress(OSError):
            client.sendall(head + body)


def _bounded(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Yield the pieces of a chunked body as long as they are not absurdly small."""
    size = 0
    for number, piece in enumerate(pieces):
        if number > FREE_CHUNKS + size / MIN_CHUNK_BYTES:
            raise InvalidChunkSize(b"too many small chunks")
        if number % CHUNKS_PER_YIELD == 0:
            gevent.sleep(0)
        size += len(piece)
        yield piece


def _is_read(req: Any) -> bool:
    """Return whether the next request of the connection begins here."""
    reader = req.body.reader
    return not (reader.length if isinstance(reader, LengthReader) else reader.parser)


def _linger(sock: socket.socket) -> None:
    """Tell the client that nothing more comes, and throw away what it still sends."""
    with suppress(OSError), gevent.Timeout(LINGER_S, False):  # type: ignore[arg-type]
        sock.shutdown(socket.SHUT_WR)
        while sock.recv(65_536):
            gevent.sleep(0)
