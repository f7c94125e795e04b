"""gunicorn's gevent worker with a time limit on each phase of a connection."""

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
"""Seconds that a connection is still read after a response to a request that was not read whole: closing it at once
would reset it, and the client would lose the response. Source: RFC 9112, section 9.6."""

TRAILER_BYTES: Final = 8192
"""The largest trailer section of a chunked body."""


HEADERS_TOO_LARGE: Final = (
    b"HTTP/1.1 431 Request Header Fields Too Large\r\nConnection: close\r\nContent-Type: application/json\r\n"
)


FREE_CHUNKS: Final = 1024
MIN_CHUNK_BYTES: Final = 64
"""A body can have `FREE_CHUNKS` chunks, and more if they have this size in bytes on average: each chunk costs the same,
however small it is."""

CHUNKS_PER_YIELD: Final = 64
"""Chunks of a body after which other greenlets run: data that has arrived is read without a wait."""

MAX_ACCEPT: Final = 16
"""Connections that are accepted in one turn of the loop; with more, other processes would get too few."""


class BoundedRequest(Request):  # type: ignore[misc]  # gunicorn has no types
    """A request whose head is limited as a whole: gunicorn limits each field only, and scans all that has arrived again
    at each read."""

    head_bytes = 64 * 1024

    def read_into(self, unreader: Any, buf: bytearray, stop: bool = False) -> None:
        """Read more of the head. Raises LimitRequestHeaders."""
        super().read_into(unreader, buf, stop)
        if len(buf) > self.head_bytes:
            raise LimitRequestHeaders(f"the head is larger than {self.head_bytes} bytes")


RequestParser.mesg_class = BoundedRequest


class BoundedGeventWorker(GeventWorker):  # type: ignore[misc]  # gunicorn has no types
    """Limits the time of a request's head to `head_s`, of a response to `answer_s`, of an idle connection to
    `keepalive`.

    The application limits the time of a body: see `coatcheck.web.server.body`.
    """

    head_s = 20.0
    answer_s = 30.0

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._between_requests: set[socket.socket] = set()
        self._turn_of_pipelines = BoundedSemaphore()

    def server_class(self, listener: socket.socket, *, spawn: Any, **options: Any) -> StreamServer:
        """Return a server that accepts several connections in one turn of the loop; gunicorn's own accepts one."""
        tls = {name: options[name] for name in ("ssl_context",) if name in options}
        server = StreamServer(listener, handle=partial(self.handle, listener), spawn=spawn, **tls)
        server.max_accept = MAX_ACCEPT
        return server

    def timeout_ctx(self) -> gevent.Timeout:
        """Return the time limit of a request's head."""
        return gevent.Timeout(self.head_s, False)  # type: ignore[arg-type]

    def notify(self) -> None:
        """Send the heartbeat; during shutdown, end streams and idle connections."""
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
        """Wait for the first byte of a request. Raises StopIteration after the time limit."""
        self._between_requests.add(connection)
        try:
            wait_read(connection.fileno(), limit_s, StopIteration())
        finally:
            self._between_requests.discard(connection)

    def handle_request(self, listener_name: Any, req: Any, sock: Any, addr: Any) -> bool:
        """Respond to a request, then wait for the next one. Raises StopIteration to close the connection."""
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
            with self._turn_of_pipelines:  # all pipelining clients together get one turn of the loop
                gevent.sleep(0)
        else:
            self._wait_for_request(sock, self.cfg.keepalive)
        return True

    def handle_error(self, req: Any, client: Any, addr: Any, exc: BaseException) -> None:
        """Respond to a malformed request."""
        if isinstance(exc, LimitRequestHeaders):
            self._refuse_header(client)
        else:
            super().handle_error(req, client, addr, exc)
        _linger(client)

    def _refuse_header(self, client: Any) -> None:
        """Respond with a JSON-RPC error as the endpoint does: clients take an HTML page for another server's."""
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
    """Yield the chunks of a body. Raises InvalidChunkSize when they are too small on average."""
    size = 0
    for number, piece in enumerate(pieces):
        if number > FREE_CHUNKS + size / MIN_CHUNK_BYTES:
            raise InvalidChunkSize(b"too many small chunks")
        if number % CHUNKS_PER_YIELD == 0:
            gevent.sleep(0)
        size += len(piece)
        yield piece


def _is_read(req: Any) -> bool:
    """Tell whether the request was read whole."""
    reader = req.body.reader
    return not (reader.length if isinstance(reader, LengthReader) else reader.parser)


def _linger(sock: socket.socket) -> None:
    """Half-close the connection, and discard what the client still sends."""
    with suppress(OSError), gevent.Timeout(LINGER_S, False):  # type: ignore[arg-type]
        sock.shutdown(socket.SHUT_WR)
        while sock.recv(65_536):
            gevent.sleep(0)
