"""Head and body of an answer as one packet, where they fit into one."""

from typing import Final

from gunicorn.http.wsgi import Response

FITS: Final = 64 * 1024
"""Bytes; what is longer is not copied to save a packet."""


class OnePiece(Response):  # type: ignore[misc]  # gunicorn has no types
    """gunicorn sends the head, then the body: two packets, which a client reads in two goes."""

    headers_sent: bool
    _head = b""

    def send_headers(self) -> None:
        """The head goes out with the first of the body, or at the end."""
        if not self.headers_sent:
            lines = [*self.default_headers(), *(f"{name}: {value}\r\n" for name, value in self.headers), "\r\n"]
            self._head = "".join(lines).encode("latin-1")
            self.headers_sent = True

    def close(self) -> None:
        """All is sent."""
        super().close()
        self._send_head()

    def _emit_body(self, data: bytes) -> None:
        if self._head and not self.chunked and len(data) < FITS:
            head, self._head = self._head, b""
            self.sock.sendall(head + data)
        else:
            self._send_head()
            super()._emit_body(data)

    def _send_head(self) -> None:
        if self._head:
            head, self._head = self._head, b""
            self.sock.sendall(head)
