"""A web process whose threads get whole requests: waiting for slow clients is done by its loop, for all at once.

gunicorn's own threaded worker gives a thread to whoever has sent one byte, for as long as it takes; and its loop
stands still for up to two seconds whenever a connection is closed that the client keeps open. A few half-open
connections would shut everybody out.
"""

import errno
import socket
import struct
import time
from collections.abc import Sequence
from concurrent.futures import Future
from contextlib import suppress
from datetime import datetime
from functools import partial
from selectors import EVENT_READ
from typing import Any, Final

from gunicorn import util
from gunicorn.http import wsgi
from gunicorn.http.body import LengthReader
from gunicorn.http.errors import UnsupportedTransferCoding
from gunicorn.workers.gthread import TConn, ThreadWorker

from web.server.arrival import TOO_LARGE, Arrival
from web.server.one_piece import OnePiece

PIECE: Final = 65_536
"""Bytes that are read at a time."""

SEND_S: Final = 30
"""How long a client may take nothing of its answer."""

LINGER_S: Final = 2.0
"""How long an ended connection is read on, so that the last answer is not lost to bytes that were still under way."""

MOST_LINGERING: Final = 100
"""Ended connections that are read on at a time; any further one is closed at once."""

DRAIN_S: Final = 0.05
"""How long a thread looks for the rest of a body that nobody read."""

LOOK_S: Final = 0.25
"""The pause between two looks for connections that are overdue."""

STOP_S: Final = 2.0
"""How long a stopping process waits for a request that has begun to arrive."""

MOST_HELD: Final = 64 * 1024 * 1024
"""Bytes of unfinished requests that one process keeps. What would go beyond is given up."""

CONTINUE: Final = b"HTTP/1.1 100 Continue\r\n\r\n"
TOO_SLOW: Final = b"HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
MALFORMED: Final = b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"


class Connection(TConn):  # type: ignore[misc]  # gunicorn has no types
    """One client's connection. It is closed without waiting for the client."""

    worker: "PatientWorker"
    ends_after_this = False
    """The rest of the request will not be read, so nothing can follow it."""

    def close(self, graceful: bool = False) -> None:
        """The connection ends; with `graceful`, what is under way to the client still gets there."""
        if graceful:
            self.worker.linger(self.sock)
        else:
            util.close(self.sock)


class PatientWorker(ThreadWorker):  # type: ignore[misc]  # gunicorn has no types
    """Hands connections to threads only once they hold a whole request.

    Each system call lets go of the interpreter, and threads that want it fight over it: so there are as few as can be.
    Sockets stay blocking, and are read without waiting by a flag; a connection is registered once for each request.
    """

    limit_s = 20.0
    """How long a request may take to arrive."""
    max_body_bytes = 1024 * 1024

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._arriving: dict[Connection, tuple[Arrival, float]] = {}
        """Connections whose request has not arrived whole, and since when; the oldest first."""
        self._lingering: dict[socket.socket, float] = {}
        self._look_at = 0.0
        self._notify_at = 0.0

    def notify(self) -> None:
        """The process has given a sign of life, though not for every event."""
        now = time.monotonic()
        if now >= self._notify_at:
            self._notify_at = now + LOOK_S
            super().notify()

    def accept(self, listener: socket.socket) -> None:
        """A client has connected."""
        try:
            client, address = listener.accept()
        except OSError as fault:
            if fault.errno in (errno.EMFILE, errno.ENFILE):
                self._make_room()
            elif fault.errno not in (errno.EAGAIN, errno.ECONNABORTED):
                raise
            return
        client.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("ll", SEND_S, 0))
        self.nr_conns += 1
        if self.nr_conns >= self.worker_connections:
            self._make_room()
        connection = Connection(self.cfg, client, address, listener.getsockname())
        connection.worker = self
        self.enqueue_req(connection)

    def enqueue_req(self, conn: Connection) -> None:
        """The request is with a thread, or will be when it has arrived."""
        if self.cfg.is_ssl:
            super().enqueue_req(conn)  # what arrives is not the request itself; a proxy is the place for TLS
            return
        arrival = self._await(conn)
        if conn.parser is not None and (ahead := conn.parser.unreader.take_buffered()):
            arrival.add(ahead)
        # The first request of a connection is mostly here already.
        if arrival.is_whole:
            self._pass_on(conn)
        else:
            self._read(conn)

    def finish_request(self, conn: Connection, fs: Future[Any]) -> None:
        """The connection waits for its next request, or ends."""
        is_kept = not fs.cancelled() and fs.exception() is None and fs.result() is True
        if is_kept and not self.cfg.is_ssl and not conn.parser.unreader.buf.getbuffer().nbytes:
            self._await(conn)
        else:
            super().finish_request(conn, fs)

    def murder_pending(self) -> None:
        """Requests that did not arrive in time are given up, and connections that ended are closed for good."""
        super().murder_pending()
        now = time.monotonic()
        if now < self._look_at:
            return  # the loop comes by with every event
        self._look_at = now + LOOK_S
        for conn, (arrival, since) in list(self._arriving.items()):
            patience = self.limit_s if arrival.received else float(self.cfg.keepalive)
            if now - since > (patience if self.alive else STOP_S):
                self._give_up(conn)
        for sock, until in list(self._lingering.items()):
            if now > until:
                self._let_go(sock)

    def linger(self, sock: socket.socket) -> None:
        """The client is told that nothing more comes; what it still sends is thrown away. Source: RFC 9112, 9.6."""
        try:
            sock.shutdown(socket.SHUT_WR)
            sock.setblocking(False)
        except OSError:
            util.close(sock)
            return
        if len(self._lingering) >= MOST_LINGERING:
            util.close(sock)
            return
        self._lingering[sock] = time.monotonic() + LINGER_S
        self.poller.register(sock, EVENT_READ, self._throw_away)

    def handle_request(self, req: Any, conn: Connection) -> bool:
        """The request was answered; the answer says so when it is the last on its connection. True when it is not."""
        refuse_codings(req.headers)
        begun = datetime.now()  # noqa: DTZ005 - what gunicorn's access log is told is a difference
        answer, environ = wsgi.create(req, conn.sock, conn.client, conn.server, self.cfg, response_class=OnePiece)
        environ["wsgi.multithread"] = True
        environ[TOO_LARGE] = conn.ends_after_this
        if conn.ends_after_this or not self.alive:
            answer.force_close()
        try:
            pieces = self.wsgi(environ, answer.start_response)
            if req.body.failed:
                answer.force_close()  # where the next request would begin cannot be told
            try:
                for piece in pieces:
                    answer.write(piece)
                answer.close()
            finally:
                self.log.access(answer, req, environ, datetime.now() - begun)  # noqa: DTZ005
                if hasattr(pieces, "close"):
                    pieces.close()
        except OSError:
            raise
        except (Exception, SystemExit):
            if not answer.headers_sent:
                raise
            # An answer that has begun cannot become another one.
            self.log.exception("Error handling request")
            return False
        return not answer.should_close()

    def _keepalive_after(self, conn: Connection, keepalive: bool) -> bool:
        """A body that was refused unread is not waited for: what was to be read is here, or the connection ends."""
        if not keepalive:
            return False
        reader = conn.parser.mesg.body.reader
        if isinstance(reader, LengthReader) and not reader.length:
            return True  # read, as most are
        return bool(conn.parser.finish_body(deadline=time.monotonic() + DRAIN_S))

    def _await(self, conn: Connection) -> Arrival:
        """The loop waits for the connection's next request."""
        arrival = Arrival(self.max_body_bytes)
        self._arriving[conn] = arrival, time.monotonic()
        self.poller.register(conn.sock, EVENT_READ, partial(self._read, conn))
        return arrival

    def _read(self, conn: Connection, _sock: socket.socket | None = None) -> None:
        """What came is kept; the request goes to a thread when it is whole."""
        arrival, _ = self._arriving[conn]
        try:
            piece = conn.sock.recv(PIECE, socket.MSG_DONTWAIT)
            arrival.add(piece)
            if arrival.take_expectation():
                conn.sock.send(CONTINUE, socket.MSG_DONTWAIT)
        except BlockingIOError:
            return
        except OSError:
            piece = b""
        if not piece:
            self._drop(conn)
        elif arrival.is_whole:
            self._pass_on(conn)
        elif sum(len(other.received) for other, _ in self._arriving.values()) > MOST_HELD:
            self._drop(conn)

    def _pass_on(self, conn: Connection) -> None:
        """What there is no more to wait for is with a thread, or was refused."""
        if self._arriving[conn][0].is_malformed:
            self._refuse(conn, MALFORMED)
        else:
            self._hand_over(conn)

    def _hand_over(self, conn: Connection) -> None:
        arrival = self._taken(conn)
        conn.data_ready = True
        conn.ends_after_this = arrival.is_too_large
        try:
            conn.init()
        except OSError:
            self.nr_conns -= 1
            conn.close()
            return
        conn.parser.unreader.unread(bytes(arrival.received))
        super().enqueue_req(conn)

    def _taken(self, conn: Connection) -> Arrival:
        """What arrived on a connection that is not waited for any more."""
        arrival, _ = self._arriving.pop(conn)
        self.poller.unregister(conn.sock)
        return arrival

    def _make_room(self) -> None:
        """Whoever connects and says nothing does not keep others out."""
        if self._arriving:
            self._drop(next(iter(self._arriving)))

    def _give_up(self, conn: Connection) -> None:
        """The client took too long, and is told so if it had said anything."""
        if self._arriving[conn][0].received:
            self._refuse(conn, TOO_SLOW)
        else:
            self._drop(conn, graceful=True)

    def _refuse(self, conn: Connection, answer: bytes) -> None:
        """The client gets this answer, and no other request is read."""
        with suppress(OSError):
            conn.sock.send(answer, socket.MSG_DONTWAIT)
        self._drop(conn, graceful=True)

    def _drop(self, conn: Connection, *, graceful: bool = False) -> None:
        self._taken(conn)
        self.nr_conns -= 1
        conn.close(graceful)

    def _throw_away(self, sock: socket.socket) -> None:
        try:
            is_over = not sock.recv(PIECE)
        except BlockingIOError:
            return
        except OSError:
            is_over = True
        if is_over:
            self._let_go(sock)

    def _let_go(self, sock: socket.socket) -> None:
        del self._lingering[sock]
        self.poller.unregister(sock)
        util.close(sock)


def refuse_codings(headers: Sequence[tuple[str, str]]) -> None:
    """The body comes as it is, or in chunks.

    gunicorn passes compressed bodies on as if they were what they are made of.

    Raises:
        UnsupportedTransferCoding: it comes in another coding. Source: RFC 9112, section 6.1.
    """
    for name, value in headers:
        if name == "TRANSFER-ENCODING" and value.strip(" \t").lower() != "chunked":
            raise UnsupportedTransferCoding(value)
