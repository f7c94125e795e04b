"""Fetch JSON documents of the authorization server, with one deadline for a whole look-up."""

import json
import socket
import ssl
import time
from collections.abc import Iterable
from contextlib import suppress
from threading import Timer
from types import TracebackType
from typing import Any, Final, Self
from urllib.parse import unquote, urlsplit
from urllib.request import getproxies, proxy_bypass

from httpcore2 import (
    SOCKET_OPTION,
    ConnectionPool,
    ConnectTimeout,
    NetworkBackend,
    NetworkError,
    NetworkStream,
    ProtocolError,
    Proxy,
    ProxyError,
    SyncBackend,
    TimeoutException,
)

from coatcheck.web.errors import IssuerUnavailable

LOOKUP_LIMIT_S: Final = 5.0
"""Seconds for all documents of one look-up, however slowly their bytes arrive."""

MAX_DOCUMENT_BYTES: Final = 1024 * 1024
"""Bytes of one document."""

_FAULTS: Final = (NetworkError, OSError, ProtocolError, ProxyError, TimeoutException, ValueError)
"""Exceptions of a fetch; ValueError is for an invalid address."""


class DocumentFetcher(NetworkBackend):
    """Fetches documents until its deadline, when it shuts down its connections, whatever they are doing.

    A time limit for each read does not suffice: a server that sends a byte now and then never exceeds it. Only the
    resolver of host names has limits of its own.
    """

    def __init__(self, limit_s: float = LOOKUP_LIMIT_S) -> None:
        self._deadline = time.monotonic() + limit_s
        self._timer = Timer(limit_s, self._cut)
        self._timer.daemon = True
        self._connected: list[socket.socket] = []

    def __enter__(self) -> Self:
        self._timer.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._timer.cancel()
        self._timer.join()
        for connection in self._connected:
            connection.close()

    def document(self, url: str) -> dict[str, Any]:
        """Return the JSON object at this address.

        Raises:
            IssuerUnavailable: there is none now.
        """
        found = self._found(url)
        if found is None:
            raise IssuerUnavailable(f"{url}: is not there, or is elsewhere")
        return found

    def first_document(self, urls: list[str]) -> dict[str, Any]:
        """Return the JSON object at the first of these addresses that has one. Raises IssuerUnavailable."""
        for url in urls[:-1]:
            if (found := self._found(url)) is not None:
                return found
        return self.document(urls[-1])

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[SOCKET_OPTION] | None = None,
    ) -> NetworkStream:
        """Connect to the first address of this host that responds; each gets an equal part of the remaining time."""
        addresses = list(dict.fromkeys(at[0] for *_, at in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)))
        fault: Exception = ConnectTimeout("The deadline has passed")
        for number, address in enumerate(addresses):
            left_s = (self._deadline - time.monotonic()) / (len(addresses) - number)
            if left_s <= 0:
                break
            try:
                stream = SyncBackend().connect_tcp(str(address), port, left_s, local_address, socket_options)
            except (NetworkError, TimeoutException) as refused:
                fault = refused
                continue
            # A second handle of the connection: the first one changes hands when TLS begins.
            self._connected.append(stream.get_extra_info("socket").dup())
            if time.monotonic() >= self._deadline:
                self._cut()
            return stream
        raise fault

    def _cut(self) -> None:
        for connection in self._connected:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def _found(self, url: str) -> dict[str, Any] | None:
        """Return the JSON object at this address, or None for any status but 200; redirects are not followed."""
        try:
            body = self._body(url)
        except _FAULTS as fault:
            why = "took too long" if time.monotonic() >= self._deadline else f"{type(fault).__name__}: {fault}"
            raise IssuerUnavailable(f"{url}: {why}") from fault
        if body is None:
            return None
        try:
            found = json.loads(body)
        except (ValueError, RecursionError) as fault:
            raise IssuerUnavailable(f"{url}: is not JSON") from fault
        if not isinstance(found, dict):
            raise IssuerUnavailable(f"{url}: is not a JSON object")
        return found

    def _body(self, url: str) -> bytes | None:
        with (
            ConnectionPool(ssl.create_default_context(), _proxy_for(url), network_backend=self) as pool,
            pool.stream("GET", url, headers={"Accept": "application/json"}) as response,
        ):
            if response.status != 200:
                return None
            body = b""
            for piece in response.iter_stream():
                body += piece
                if len(body) > MAX_DOCUMENT_BYTES:
                    raise IssuerUnavailable(f"{url}: has more than {MAX_DOCUMENT_BYTES} bytes")
            return body


def _proxy_for(url: str) -> Proxy | None:
    """Return the proxy that the environment names for this address."""
    parts = urlsplit(url)
    named = "" if proxy_bypass(parts.netloc) else getproxies().get(parts.scheme, "")
    if not named:
        return None
    unusable = IssuerUnavailable(f"{parts.scheme}_proxy: names a proxy that cannot be used here; use an http proxy")
    try:
        proxy = urlsplit(named if "://" in named else f"http://{named}")
        if proxy.scheme not in ("http", "https"):
            raise unusable
        login = (unquote(proxy.username).encode(), unquote(proxy.password or "").encode()) if proxy.username else None
        return Proxy(proxy._replace(netloc=proxy.netloc.rpartition("@")[2]).geturl(), auth=login)
    except ValueError:
        raise unusable from None  # its message can contain a part of the password
