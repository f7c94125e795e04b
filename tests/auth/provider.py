"""A small OpenID provider: real keys, real signatures, served over real HTTP. Nobody has to log in: it asks nobody."""

import base64
import hashlib
import json
import secrets
import threading
import time
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self
from urllib.parse import parse_qs, urlencode, urlsplit

from joserfc import jws, jwt
from joserfc.jwk import ECKey, RSAKey

from tests.support.ports import free_port

Key = RSAKey | ECKey

DRIP_S = 0.05
"""The pause between two octets of an answer that never ends."""


class Provider:
    """The provider; `seen` counts requests by path."""

    def __init__(self) -> None:
        self.port = free_port()
        self.issuer = f"http://127.0.0.1:{self.port}"
        self.seen: Counter[str] = Counter()
        self.keys: list[Key] = []
        self.published: list[dict[str, Any]] = []
        self.granted: dict[str, dict[str, Any]] = {}
        """What was promised for an authorization code."""
        self.subject = "ann"
        self.is_away = False
        """Connections are closed without an answer."""
        self.answers = threading.Event()
        """Set unless answers are held back."""
        self.answers.set()
        self.replaced: dict[str, bytes] = {}
        """What stands at a path instead of the document."""
        self.dripping = ""
        """The path whose answer comes one octet at a time, and never to its end."""
        self.cut = 0
        """How many such answers their readers have cut."""
        self._server: _Server | None = None
        self._thread: threading.Thread | None = None
        self.rotate()

    def rotate(self) -> None:
        """New tokens are signed with a new key; the old ones are not published any more."""
        self.add(RSAKey.generate_key(2048))
        self.published = self.published[-1:]

    def add(self, key: Key, **published: Any) -> None:
        """The key signs from now on, and is published."""
        key_id = f"key-{len(self.keys)}"
        self.keys.append(key)
        self.published.append({**key.as_dict(private=False), "kid": key_id, "use": "sig", **published})

    def claims(self, audience: object, **more: Any) -> dict[str, Any]:
        """What a good token says; None leaves a claim out."""
        now = int(time.time())
        claims = {"iss": self.issuer, "aud": audience, "sub": self.subject, "iat": now, "nbf": now, "exp": now + 600}
        return {name: value for name, value in {**claims, **more}.items() if value is not None}

    def token(self, audience: object, **more: Any) -> str:
        """A token with these claims."""
        return self.sign(self.claims(audience, **more))

    def sign(self, claims: dict[str, Any], **header: Any) -> str:
        """A token with exactly these claims."""
        return jwt.encode(self._header(header), claims, self.keys[-1], algorithms=["RS256", "ES256"])

    def sign_json(self, claims: dict[str, Any]) -> str:
        """The same with values that no library would sign."""
        return self.sign_bytes(json.dumps(claims).encode())

    def sign_bytes(self, payload: bytes) -> str:
        """A token whose payload is exactly this."""
        return jws.serialize_compact(self._header({}), payload, self.keys[-1])

    def _header(self, changed: dict[str, Any]) -> dict[str, Any]:
        algorithm = "RS256" if isinstance(self.keys[-1], RSAKey) else "ES256"
        header = {"alg": algorithm, "kid": f"key-{len(self.keys) - 1}", **changed}
        return {name: value for name, value in header.items() if value is not None}

    def start(self) -> Self:
        """The provider answers."""
        self._server = _Server(("127.0.0.1", self.port), self)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), name="provider", daemon=True)
        self._thread.start()
        return self

    def stop(self) -> None:
        """The provider cannot be reached."""
        self.dripping = ""
        self.answers.set()
        if self._server is not None and self._thread is not None:
            self._server.ended.set()
            self._server.shutdown()
            self._server.server_close()
            self._thread.join()
        self._server = None

    def metadata(self) -> dict[str, Any]:
        """Source: RFC 8414; OpenID Connect Discovery 1.0."""
        return {
            "issuer": self.issuer,
            "authorization_endpoint": f"{self.issuer}/authorize",
            "token_endpoint": f"{self.issuer}/token",
            "registration_endpoint": f"{self.issuer}/register",
            "jwks_uri": f"{self.issuer}/keys",
            "response_types_supported": ["code"],
            "grant_types_supported": ["authorization_code"],
            "code_challenge_methods_supported": ["S256"],
            "token_endpoint_auth_methods_supported": ["none"],
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": ["RS256"],
        }

    def authorize(self, asked: dict[str, str]) -> str:
        """Where the browser goes next, with a code."""
        code = secrets.token_urlsafe(16)
        self.granted[code] = asked
        answer = {"code": code, **({"state": asked["state"]} if "state" in asked else {}), "iss": self.issuer}
        return f"{asked['redirect_uri']}?{urlencode(answer)}"

    def exchange(self, form: dict[str, str]) -> dict[str, Any]:
        """The token for a code, given to whoever asked for the code. Source: RFC 6749, RFC 7636, RFC 8707."""
        asked = self.granted.pop(form["code"])
        digest = hashlib.sha256(form["code_verifier"].encode()).digest()
        assert base64.urlsafe_b64encode(digest).rstrip(b"=").decode() == asked["code_challenge"]
        assert form["resource"] == asked["resource"]
        token = self.token(form["resource"], scope=asked.get("scope", ""))
        return {"access_token": token, "token_type": "Bearer", "expires_in": 600, "scope": asked.get("scope", "")}

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.stop()


class _Server(ThreadingHTTPServer):
    daemon_threads = False

    def __init__(self, address: tuple[str, int], provider: Provider) -> None:
        super().__init__(address, _Handler)
        self.provider = provider
        self.ended = threading.Event()


class _Handler(BaseHTTPRequestHandler):
    server: _Server

    def parse_request(self) -> bool:
        """A provider that is away answers nothing."""
        return super().parse_request() and not self.server.provider.is_away

    def do_GET(self) -> None:
        provider = self.server.provider
        parts = urlsplit(self.path)
        provider.seen[parts.path] += 1
        provider.answers.wait()
        if provider.dripping == parts.path:
            self._drip(provider)
            return
        if (replaced := provider.replaced.get(parts.path)) is not None:
            self._send(200, replaced)
            return
        match parts.path:
            case "/.well-known/openid-configuration":
                self._answer(200, provider.metadata())
            case "/keys":
                self._answer(200, {"keys": provider.published})
            case "/authorize":
                self.send_response(302)
                self.send_header("Location", provider.authorize(_flat(parts.query)))
                self.end_headers()
            case _:
                self._answer(404, {})

    def do_POST(self) -> None:
        provider = self.server.provider
        provider.seen[self.path] += 1
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        if self.path == "/register":
            self._answer(201, {**json.loads(body), "client_id": "client", "token_endpoint_auth_method": "none"})
        elif self.path == "/token":
            self._answer(200, provider.exchange(_flat(body)))
        else:
            self._answer(404, {})

    def log_message(self, *_: Any) -> None:
        """The tests say what happened."""

    def _drip(self, provider: Provider) -> None:
        """Each octet is in time; the whole never is."""
        self.close_connection = True
        try:
            self.wfile.write(b"HTTP/1.1 200 OK\r\nX: ")
            while provider.dripping and not self.server.ended.wait(DRIP_S):
                self.wfile.write(b"x")
        except OSError:
            provider.cut += 1

    def _answer(self, status: int, document: dict[str, Any]) -> None:
        self._send(status, json.dumps(document).encode())

    def _send(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def _flat(query: str) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(query).items()}
