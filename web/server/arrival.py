"""Whether a request has arrived whole. Pure.

gunicorn parses requests, strictly. This only tells when there is no more to wait for. A head that makes no sense is
handed on at once, since gunicorn then refuses it; of chunks that make none gunicorn would read on, so that they are
called malformed here.
"""

import re
from typing import Final

HEAD_END: Final = b"\r\n\r\n"
LINE_END: Final = b"\r\n"

MOST_HEAD: Final = 64 * 1024
"""Bytes; a longer head is not waited for, since it is refused anyway."""

MOST_LINE: Final = 8190
"""Bytes of a line that tells the size of a chunk, as gunicorn has it."""

MOST_FRAMING: Final = 64 * 1024
"""Bytes that sizes of chunks and trailers may take, besides as many as the largest body has."""

TOO_LARGE: Final = "coatcheck.body_too_large"
"""Stands in the WSGI environment when the body is not to be read, because it is larger than is taken."""

_FRAMING = re.compile(rb"\r\n((?:content-length|transfer-encoding)[ \t]*:[^\r\n]*)(?=\r\n)", re.IGNORECASE)
_LENGTH = re.compile(rb"content-length:[ \t]*0*([0-9]{1,18})[ \t]*", re.IGNORECASE)
_CHUNKED = re.compile(rb"transfer-encoding:[ \t]*chunked[ \t]*", re.IGNORECASE)
_EXPECT = re.compile(rb"\r\nexpect:[ \t]*100-continue[ \t]*(?=\r\n)", re.IGNORECASE)
_CHUNK_SIZE = re.compile(rb"([0-9a-f]{1,15})[ \t]*(?:;.*)?", re.IGNORECASE | re.DOTALL)


class Arrival:
    """What has come of a request so far."""

    def __init__(self, max_body_bytes: int) -> None:
        self._max_body_bytes = max_body_bytes
        self.received = bytearray()
        self.is_whole = False
        """Nothing more is to be waited for: it is all here, or will not be taken whatever comes."""
        self.is_too_large = False
        """A larger body is announced than is taken; it is not waited for, and so must not be read."""
        self.is_malformed = False
        """Where the body ends cannot be told, whatever comes."""
        self._head_bytes = 0
        self._is_chunked = False
        self._announced = 0
        """Bytes of the body in the chunks so far, the one that is coming included."""
        self._awaited = 0
        """Bytes until which nothing can be said: the whole request, or the end of the chunk that is coming."""

    def add(self, piece: bytes) -> None:
        """More has come."""
        self.received += piece
        if not self._head_bytes:
            self._look_for_head(len(piece))
        if self._head_bytes and self._is_chunked:
            self._walk_chunks()
        elif self._head_bytes:
            self.is_whole = len(self.received) >= self._awaited

    def take_expectation(self) -> bool:
        """True once, when the client waits for a word before it sends the body; the caller is to give it."""
        if self.is_whole or not self._head_bytes:
            return False
        head, found = _EXPECT.subn(b"", bytes(self.received[: self._head_bytes]))
        if not found:
            return False
        removed = self._head_bytes - len(head)
        self.received[: self._head_bytes] = head
        self._head_bytes -= removed
        self._awaited -= removed
        return True

    def _look_for_head(self, added: int) -> None:
        # What came before was looked through already.
        end = self.received.find(HEAD_END, max(0, len(self.received) - added - len(HEAD_END)))
        if end < 0:
            self.is_whole = len(self.received) > MOST_HEAD
            return
        self._head_bytes = self._awaited = end + len(HEAD_END)
        framing = _FRAMING.findall(self.received, 0, self._head_bytes)
        if len(framing) != 1:
            return  # no body, or two readings of one
        if (length := _LENGTH.fullmatch(framing[0])) is not None:
            self._announced = int(length[1])
            self.is_too_large = self._announced > self._max_body_bytes
            self._awaited += 0 if self.is_too_large else self._announced
        else:
            self._is_chunked = _CHUNKED.fullmatch(framing[0]) is not None

    def _walk_chunks(self) -> None:
        """Source: RFC 9112, section 7.1."""
        while not self.is_whole and len(self.received) >= self._awaited:
            if not self.received.endswith(LINE_END, 0, self._awaited):
                self._refuse()
                break
            line_end = self.received.find(LINE_END, self._awaited)
            if line_end < 0:
                line = self.received[self._awaited :]
                if b"\n" in line or len(line) > MOST_LINE:
                    self._refuse()
                break
            size = _CHUNK_SIZE.fullmatch(self.received, self._awaited, line_end)
            if size is None:
                self._refuse()
            elif int(size[1], 16) == 0:
                # Then come trailers, if any, and an empty line. gunicorn refuses at once what else comes.
                rest = self.received[line_end:]
                self.is_whole = HEAD_END in rest or rest.count(b"\n") != rest.count(LINE_END)
                break
            else:
                self._announced += int(size[1], 16)
                self._awaited = line_end + len(LINE_END) + int(size[1], 16) + len(LINE_END)
                self._refuse_if_too_large()
        self._refuse_if_too_large()

    def _refuse_if_too_large(self) -> None:
        most = 2 * self._max_body_bytes + MOST_FRAMING
        if self._announced > self._max_body_bytes or len(self.received) - self._head_bytes > most:
            self.is_too_large = self.is_whole = True

    def _refuse(self) -> None:
        self.is_malformed = self.is_whole = True
