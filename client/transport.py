"""The HTTP client under the official SDK: the token, the timeouts, and what a status says before there is JSON-RPC."""

import json
import re
import ssl
import time
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from http.client import responses
from typing import Any, Final
from urllib.parse import urlsplit

import anyio.to_thread
import httpx2

from coatcheck.client.errors import (
    AnswerLost,
    AnswerTooLarge,
    Busy,
    Forbidden,
    InvalidSettings,
    NotAnEndpoint,
    ProxyFailed,
    RequestRejected,
    ServerError,
    TlsFailed,
    TokenInTheClear,
    Unauthorised,
    Unreachable,
)
from coatcheck.client.proxies import is_loopback, proxy_to, transport_to
from coatcheck.client.retry_policy import retry_after_s
from coatcheck.client.tokens import Token, checked_token

CONNECT_S = 10.0
"""How long a connection may take to come about."""

READ_S: Final[Mapping[str, float]] = {"tools/call": 300.0, "subscriptions/listen": 60.0}
"""How long a server may be silent, by method: a tool may work meanwhile, and a stream has comments in between."""

QUICK_READ_S = 30.0
"""The same, for all other methods."""

MAX_ANSWER_BYTES: Final = 64_000_000
"""The largest answer that is read, and the largest event of a stream: a result with its images."""

ANSWER_S: Final = 300.0
"""How long an answer may take from its head to its end, unless it is a stream."""

LEAST_SECRET: Final = 8
"""Characters of a token that is looked for in a server's words; a shorter one stands in many of them by chance."""

JSON: Final = "application/json"

TAKEN: Final = frozenset({JSON, "text/event-stream"})
"""The content types of answers."""

HANDED_ON: Final = frozenset({400, 404, 500, 501})
"""Error statuses whose JSON-RPC error is the answer to a request; any other one is about the HTTP request."""

MEANINGS: Final[Mapping[int, str]] = {
    403: "it is forbidden for this address or network; ask whoever runs the server or the proxy before it",
    407: "a proxy on the way asks for a login; put it into the address of the proxy",
    413: "it is too large for the server or the proxy before it; send less",
    414: "the address is too long",
    421: "the server is not responsible for this host name; check the address",
    431: "its headers are too large, most likely the token; ask for a shorter token, or for a higher limit there",
}
"""What a status says that comes without words of its own."""

MOST_WORDS: Final = 500
"""Characters of a server's own words that are repeated."""

_SCOPE = re.compile(r'scope="([^"]*)"')


class Bearer(httpx2.Auth):
    """Every request carries the token; a refused one is replaced once, when there is a source to ask again."""

    def __init__(self, token: Token) -> None:
        self._source = token
        self._token = checked_token(token, "The token") if isinstance(token, str) else ""
        self._sent: set[str] = set()

    async def async_auth_flow(self, request: httpx2.Request) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        """Source: basic/authorization, "Access Token Usage"."""
        used = await self.ready()
        self._sent.add(used)
        request.headers["Authorization"] = f"Bearer {used}"
        response = yield request
        if response.status_code == 401 and callable(self._source) and (fresh := await self._ask()) != used:
            self._sent.add(fresh)
            request.headers["Authorization"] = f"Bearer {fresh}"
            yield request

    async def ready(self) -> str:
        """The token; its source may take long the first time."""
        return self._token or await self._ask()

    async def _ask(self) -> str:
        """What the source gives. Whoever has waited enough does not wait for its end."""
        return await anyio.to_thread.run_sync(self._taken, abandon_on_cancel=True)

    def _taken(self) -> str:
        if callable(self._source):
            self._token = checked_token(self._source(), "The token")
        return self._token

    def hidden(self, text: str) -> str:
        """The text without a token that was sent, which a server may have said again."""
        for token in self._sent:
            if len(token) >= LEAST_SECRET:
                text = text.replace(token, "…")
        return text


def checked_url(url: str) -> str:
    """The address, which one can connect to. Raises InvalidSettings."""
    try:
        parts = urlsplit(url)
        is_address = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        httpx2.URL(url)  # which has rules of its own for hosts
    except (ValueError, httpx2.InvalidURL):
        is_address = False
    if not is_address:
        raise InvalidSettings(
            f"{url!r} is not an address, which looks like https://coatcheck.example.com/mcp. "
            "Correct --url, COATCHECK_URL or the profile."
        )
    if parts.username or parts.password:
        raise InvalidSettings("The address must not hold a name or password; put a token into COATCHECK_TOKEN.")
    return url


class EndpointClient(httpx2.AsyncClient):
    """A client of one endpoint, whose responses, if it returns any, are JSON, event streams, or plain acceptances.

    Every other status raises one of our ServerErrors; `server_error` makes one of what httpx raises. No error of either
    holds the token.
    """

    def __init__(self, server: str, token: Token | None) -> None:
        parts = urlsplit(server)
        if token is not None and parts.scheme == "http" and not is_loopback(parts.hostname or ""):
            raise TokenInTheClear(server)
        self._bearer = None if token is None else Bearer(token)
        self._proxy = proxy_to(server)
        # A transport of its own: httpx2 would make one for each proxy that the environment names, used or not.
        super().__init__(auth=self._bearer, transport=transport_to(server, self._proxy))
        self._server = server

    async def ready(self) -> None:
        """The token is there, so that no limit of a request counts how long its source takes."""
        if self._bearer is not None:
            await self._bearer.ready()

    async def send(self, request: httpx2.Request, *, stream: bool = False, **options: Any) -> httpx2.Response:
        """Return the response, after a refused token was replaced if it could be. What can be read of it is limited."""
        read_s = READ_S.get(request.headers.get("mcp-method", ""), QUICK_READ_S)
        request.extensions["timeout"] = httpx2.Timeout(CONNECT_S, read=read_s).as_dict()
        response = await super().send(request, stream=True, **options)
        if not is_event_stream(response):
            self._limit(response)
        if (fault := self._fault_of(response) or await self._rejection_of(response)) is not None:
            await response.aclose()
            raise fault
        if not stream:
            try:
                await response.aread()
            finally:
                await response.aclose()
        return response

    def _limit(self, response: httpx2.Response) -> None:
        """Let no more than the largest answer be read, counted as it is once decompressed, and not for ever."""
        read, end = response.aiter_bytes, time.monotonic() + ANSWER_S

        async def limited(chunk_size: int | None = None) -> AsyncGenerator[bytes, None]:
            size = 0
            async with aclosing(read(chunk_size)) as chunks:
                async for chunk in chunks:
                    size += len(chunk)
                    if size > MAX_ANSWER_BYTES:
                        raise AnswerTooLarge(self._server, MAX_ANSWER_BYTES)
                    if time.monotonic() > end:
                        raise AnswerLost(self._server, f"it did not end within {ANSWER_S:g} s")
                    yield chunk

        response.aiter_bytes = limited  # type: ignore[method-assign]

    def hidden(self, text: str) -> str:
        """Words of a server, or of a library about it, without the token."""
        return text if self._bearer is None else self._bearer.hidden(text)

    def server_error(self, fault: httpx2.RequestError) -> ServerError:
        """What it means that httpx could not finish a request."""
        if (refused := _tls_fault(fault)) is not None:
            return TlsFailed(self._server, getattr(refused, "verify_message", "") or refused.reason or str(refused))
        why = self.hidden(str(fault) or type(fault).__name__)
        is_unsent = isinstance(fault, httpx2.ConnectError | httpx2.ConnectTimeout | httpx2.ProxyError)
        if self._proxy is not None and is_unsent:
            return ProxyFailed(self._server, self._proxy.variable, why)
        if is_too_large(why):
            return AnswerTooLarge(self._server, MAX_ANSWER_BYTES)
        if isinstance(fault, httpx2.ConnectError | httpx2.ConnectTimeout | httpx2.PoolTimeout):
            return Unreachable(self._server, why)
        return AnswerLost(self._server, why)

    def _fault_of(self, response: httpx2.Response) -> ServerError | None:
        server, status, headers = self._server, response.status_code, response.headers
        if status in (429, 503):
            return Busy(server, status, retry_after_s(headers.get("retry-after")))
        if status == 401:
            return Unauthorised(server, had_token=self._bearer is not None)
        if status == 403 and (challenge := headers.get("www-authenticate")):
            scopes = _SCOPE.search(challenge)
            return Forbidden(server, self.hidden(scopes[1]) if scopes else "")
        if status in (502, 504):
            return AnswerLost(server, f"HTTP {status}")  # a gateway's: what is behind it may have been reached
        if status < 300 and status != 202 and (status != 200 or _content_type(response) not in TAKEN):
            return NotAnEndpoint(server, status)
        if response.is_redirect:
            place = self.hidden(_printable(headers["location"]))
            return RequestRejected(server, status, f"it is at {place} now; use that address if you trust it")
        return None

    async def _rejection_of(self, response: httpx2.Response) -> ServerError | None:
        """What an error status means, in the server's words if there are any; None for the answer to a request."""
        server, status = self._server, response.status_code
        if status < 300:
            return None
        words = await _words_of(response)
        if words is not None and status in HANDED_ON:
            return None
        if words is None and status in (404, 405, 410):
            return NotAnEndpoint(server, status)
        if status == 408 or status >= 500:
            return AnswerLost(server, f"HTTP {status}")
        why = self.hidden(words or "") or MEANINGS.get(status) or responses.get(status) or "it gives no reason"
        return RequestRejected(server, status, why)


async def _words_of(response: httpx2.Response) -> str | None:
    """The message of a JSON-RPC error; None when the response is something else."""
    if _content_type(response) != JSON:
        return None
    try:
        message = json.loads(await response.aread())["error"]["message"]
    except (ValueError, LookupError, TypeError, RecursionError):
        return None
    return _printable(message).rstrip(".") if isinstance(message, str) else None


def _printable(text: str) -> str:
    return "".join(one if one.isprintable() else " " for one in text)[:MOST_WORDS]


def _content_type(response: httpx2.Response) -> str:
    value: str = response.headers.get("content-type", "")
    return value.partition(";")[0].strip().lower()


def is_event_stream(response: httpx2.Response) -> bool:
    """Return whether the response is a stream of events."""
    return _content_type(response) == "text/event-stream"


def is_too_large(why: str) -> bool:
    """Return whether these words of httpx2 are about an event of a stream that is larger than was allowed."""
    return "event exceeded the" in why


def _tls_fault(fault: BaseException | None) -> ssl.SSLError | None:
    while fault is not None:
        if isinstance(fault, ssl.SSLError):
            return fault
        fault = fault.__cause__ or fault.__context__
    return None
