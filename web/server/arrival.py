"""Whether a request has arrived whole. Pure.

gunicorn parses requests, strictly. This only tells when there is no more to wait for, and where one makes no sense
says so at once, since gunicorn then refuses it.
"""

import re
from typing import Final

HEAD_END: Final = b"\r\n\r\n"
LINE_END: Final = b"\r\n"

MOST_HEAD: Final = 64 * 1024
"""Bytes; a longer head is not waited for, since it is refused anyway."""

_LENGTH = re.compile(rb"\r\ncontent-length:[ \t]*([0-9]{1,18})[ \t]*\r\n", re.IGNORECASE)
_CHUNKED = re.compile(rb"\r\ntransfer-encoding:[^\r\n]*chunked[ \t]*\r\n", re.IGNORECASE)
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
        """The head announces a larger body than is taken, which is not waited for."""
        self._head_bytes = 0
        self._is_chunked = False
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
        head = self.received[: self._head_bytes]
        if (length := _LENGTH.search(head)) is not None:
            announced = int(length[1])
            self.is_too_large = announced > self._max_body_bytes
            self._awaited += 0 if self.is_too_large else announced
        else:
            self._is_chunked = _CHUNKED.search(head) is not None

    def _walk_chunks(self) -> None:
        """Source: RFC 9112, section 7.1."""
        while not self.is_whole and len(self.received) >= self._awaited:
            line_end = self.received.find(LINE_END, self._awaited)
            if line_end < 0:
                break
            size = _CHUNK_SIZE.fullmatch(self.received, self._awaited, line_end)
            if size is None:
                self.is_whole = True
            elif int(size[1], 16) == 0:
                # Then come trailers, if any, and an empty line.
                self.is_whole = self.received.find(HEAD_END, line_end) >= 0
                break
            else:
                self._awaited = line_end + len(LINE_END) + int(size[1], 16) + len(LINE_END)
        self.is_whole = self.is_whole or len(self.received) - self._head_bytes > self._max_body_bytes
