"""`COATCHECK_AUTH=oauth`: the resource server's side of OAuth 2.1, with real keys and real HTTP."""

import base64
import hmac
import math
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest
from joserfc import jwt
from joserfc.jwk import ECKey, RSAKey

from tests.auth.conftest import PUBLIC_URL, RESOURCE, CalledBy, client, start_door
from tests.auth.provider import Provider
from tests.support.platform import Platform
from tests.support.waiting import wait_until

METADATA = f"{PUBLIC_URL}/.well-known/oauth-protected-resource/mcp"
LONG_AGO = 1_000_000_000
FAR_AHEAD = 4_000_000_000
"""In seconds since 1970. Not counted from now: these stand from when the tests are collected until this one's turn."""

SCOPES = "reports:read reports:write tasks:write"


@pytest.fixture
def good(provider: Provider) -> str:
    """A token in order."""
    return provider.token(RESOURCE, org="acme", scope="tasks:write")


def refusal(by_oauth: CalledBy, token: str) -> tuple[int, int, str]:
    """How a token is refused."""
    reply = by_oauth(token).list()
    return reply.status, reply.error["code"], reply.headers["WWW-Authenticate"]


def made_with_secret(secret: bytes, payload: str, key_id: str) -> str:
    """A token that a server which let tokens choose the algorithm would take; no library makes it."""
    header = base64.urlsafe_b64encode(b'{"alg":"HS256","kid":"%s"}' % key_id.encode()).rstrip(b"=").decode()
    signature = hmac.digest(secret, f"{header}.{payload}".encode(), "sha256")
    return f"{header}.{payload}.{base64.urlsafe_b64encode(signature).rstrip(b'=').decode()}"


def is_invalid(found: tuple[int, int, str]) -> bool:
    """The token was refused as such, with all that a client needs to get a better one."""
    status, code, challenge = found
    return (
        (status, code) == (401, 401) and challenge.startswith('Bearer error="invalid_token"') and METADATA in challenge
    )


@pytest.mark.parametrize(
    "audience",
    [
        RESOURCE,
        f"{RESOURCE}/",
        [RESOURCE],
        ["https://api.example.test", RESOURCE],
        "urn:other-name",
    ],
    ids=str,
)
def test_a_token_for_this_server_is_accepted(by_oauth: CalledBy, provider: Provider, audience: object) -> None:
    """AUTH-3: as one of several, with or without a slash, or under a further name of the settings."""
    assert by_oauth(provider.token(audience, org="acme")).list().status == 200


@pytest.mark.parametrize(
    "claims",
    [
        {"aud": "https://api.example.test"},
        {"aud": None},
        {"aud": PUBLIC_URL},
        {"aud": f"{PUBLIC_URL}/"},
        {"aud": [PUBLIC_URL, f"{PUBLIC_URL}/api"]},
        {"aud": "client-id"},
        {"aud": None, "azp": RESOURCE},
        {"aud": []},
        {"aud": {"0": RESOURCE}},
        {"aud": f"{RESOURCE}.evil.test"},
        {"aud": f"{RESOURCE}/other"},
        {"aud": RESOURCE.upper()},
        {"iss": "https://other.example.test"},
        {"iss": None},
        {"exp": LONG_AGO},
        {"exp": None},
        {"exp": "never"},
        {"exp": True},
        {"nbf": FAR_AHEAD},
        {"nbf": "soon"},
        {"sub": None},
        {"sub": ""},
        {"sub": 7},
        {"org": None},
        {"org": ""},
        {"org": ["acme"]},
        {"exp": math.nan},
        {"exp": math.inf},
        {"exp": -math.inf},
        {"exp": 10**400},
        {"exp": FAR_AHEAD * 1000},
        {"exp": -1},
        {"exp": [FAR_AHEAD]},
        {"exp": {"at": FAR_AHEAD}},
        {"nbf": math.nan},
        {"nbf": -math.inf},
        {"nbf": 10**400},
        {"nbf": False},
        {"iat": math.nan},
        {"iat": FAR_AHEAD},
        {"iat": "now"},
        {"iat": -(10**400)},
        {"sub": "\ud800"},
        {"sub": math.nan},
        {"sub": 10**400},
        {"org": "\udfff"},
        {"org": {"of": "acme"}},
        {"scope": 7},
        {"scope": True},
        {"scope": {"tasks:write": True}},
        {"scope": ["tasks:write", 7]},
        {"scope": math.inf},
        {"aud": math.nan},
        {"aud": [[RESOURCE]]},
        {"iss": ["https://other.example.test"]},
        {"iss": math.nan},
    ],
    ids=lambda claims: str(claims)[:40].encode("ascii", "backslashreplace").decode(),
)
def test_a_token_that_was_not_issued_for_this_is_refused(
    by_oauth: CalledBy, provider: Provider, claims: dict[str, Any]
) -> None:
    """AUTH-3, C74, C100, K2.4: another audience or issuer, out of its time, of nobody, or with odd values."""
    token = provider.sign_json(provider.claims(RESOURCE, **{"org": "acme", **claims}))
    assert is_invalid(refusal(by_oauth, token))


@pytest.mark.parametrize(
    "payload",
    [b"", b"null", b"[]", b"7", b"NaN", b'"text"', b"\xff", b"{", b"[" * 3_000, b'{"exp":' + b"9" * 5_000 + b"}"],
    ids=lambda payload: payload[:20].decode("ascii", "replace"),
)
def test_a_signed_token_that_holds_no_claims_is_refused(by_oauth: CalledBy, provider: Provider, payload: bytes) -> None:
    """K2.4: whatever the issuer put its name to."""
    assert is_invalid(refusal(by_oauth, provider.sign_bytes(payload)))


def test_a_long_token_is_accepted_and_a_longer_one_is_told_the_limit(by_oauth: CalledBy, provider: Provider) -> None:
    """K2.11: issuers put groups and roles into tokens."""
    assert by_oauth(provider.token(RESOURCE, org="acme", groups="g" * 9_000)).list().status == 200
    reply = by_oauth(provider.token(RESOURCE, org="acme", groups="g" * 16_000)).list()
    assert (reply.status, reply.error["code"]) == (431, -32600)
    assert reply.headers["Content-Type"] == "application/json"
    assert "COATCHECK_MAX_HEADER_BYTES" in reply.error["message"]


@pytest.mark.parametrize("scope", ["tasks:write", ["tasks:write"], "", [], None, "  tasks:write "], ids=str)
def test_scopes_are_a_text_or_a_list_of_texts(by_oauth: CalledBy, provider: Provider, scope: object) -> None:
    """K2.4: or nothing."""
    assert by_oauth(provider.token(RESOURCE, org="acme", scope=scope)).list().status == 200


def test_a_token_without_a_signature_that_counts_is_refused(by_oauth: CalledBy, provider: Provider) -> None:
    """AUTH-3, C100: none, one made with the public key as a secret, one of another key, one of another algorithm."""
    provider.rotate()
    claims = provider.claims(RESOURCE, org="acme")
    named = {"kid": f"key-{len(provider.keys) - 1}"}
    header, payload, signature = provider.sign(claims).split(".")
    public = provider.keys[-1].as_pem(private=False)
    stranger = RSAKey.generate_key(2048)
    forged = [
        f"eyJhbGciOiJub25lIn0.{payload}.",
        made_with_secret(public, payload, named["kid"]),
        jwt.encode({"alg": "RS256", **named}, claims, stranger, algorithms=["RS256"]),
        jwt.encode({"alg": "RS512", **named}, claims, provider.keys[-1], algorithms=["RS512"]),
        f"{header}.{payload}.",
        f"{header}.{payload}.{signature[:-4]}AAAA",
        f"{header}.{payload}",
        "e30.e30.e30",
        "..",
        "x",
        "bnVsbA.bnVsbA.bnVsbA",
        "W10.W10.W10",
        "eyJhbGciOlsiUlMyNTYiXX0.e30.e30",
        "eyJhbGciOiJSUzI1NiIsImtpZCI6W119.e30.e30",
    ]
    for token in forged:
        assert is_invalid(refusal(by_oauth, token)), token


def test_a_key_of_another_kind_is_found_by_its_name(by_oauth: CalledBy, provider: Provider) -> None:
    """AUTH-3: beside keys that nobody here can use."""
    provider.published.append({"kty": "PQ-2030", "kid": "future"})
    provider.published.append({"kty": "RSA", "kid": "broken"})
    provider.add(ECKey.generate_key("P-256"))
    token = provider.token(RESOURCE, org="acme")
    wait_until(lambda: by_oauth(token).list().status == 200, 5.0, "the new key")


def test_rotated_keys_are_found_and_old_ones_stop_counting(by_oauth: CalledBy, provider: Provider) -> None:
    """AUTH-3."""
    before = provider.token(RESOURCE, org="acme")
    wait_until(lambda: by_oauth(before).list().status == 200, 5.0, "the key of now")
    provider.rotate()
    after = provider.token(RESOURCE, org="acme")
    wait_until(lambda: by_oauth(after).list().status == 200, 5.0, "the key that it was rotated to")
    assert is_invalid(refusal(by_oauth, before))


def test_unknown_keys_cost_one_fetch_however_many_tokens_name_them(by_oauth: CalledBy, provider: Provider) -> None:
    """AUTH-3."""
    claims = provider.claims(RESOURCE, org="acme")
    forged = [provider.sign(claims, kid=f"unknown-{n}") for n in range(40)]
    before, began = provider.seen["/keys"], time.monotonic()
    with ThreadPoolExecutor(8) as pool:
        statuses = list(pool.map(lambda token: by_oauth(token).list().status, forged))
    cooldowns = 2 + (time.monotonic() - began) / 0.2
    assert set(statuses) == {401}
    assert provider.seen["/keys"] - before <= 2 * cooldowns  # two processes may serve this door


def test_an_issuer_that_is_away_logs_nobody_out_and_is_not_the_callers_fault(
    by_oauth: CalledBy, provider: Provider, good: str
) -> None:
    """AUTH-3: who is known stays known; of others it cannot be said, which is 503 and not 401."""
    wait_until(lambda: by_oauth(good).list().status == 200, 5.0, "the keys")
    unknown = provider.sign(provider.claims(RESOURCE, org="acme"), kid="unknown")
    provider.is_away = True
    try:
        wait_until(lambda: by_oauth(unknown).list().status == 503, 5.0, "503")
        reply = by_oauth(unknown).list()
        assert (reply.status, reply.error["code"]) == (503, -32603)
        assert reply.error["code"] == -32603
        assert int(reply.headers["Retry-After"]) > 0
        assert "WWW-Authenticate" not in reply.headers
        assert by_oauth(good).list().status == 200
    finally:
        provider.is_away = False
    wait_until(lambda: by_oauth(unknown).list().status == 401, 5.0, "an issuer that answers")


def test_a_front_door_outlives_an_issuer_that_drips(platform: Platform) -> None:
    """K2.1, K2.2: its first requests are told to come back, the fetch is cut, and the next one goes well."""
    with Provider() as issuer:
        url = start_door(
            platform,
            COATCHECK_AUTH="oauth",
            COATCHECK_OAUTH_ISSUER=issuer.issuer,
            COATCHECK_OAUTH_COOLDOWN_SECONDS="0.2",
            COATCHECK_FAILURES_PER_MINUTE="1",
            COATCHECK_PUBLIC_URL=PUBLIC_URL,
        )
        issuer.dripping = "/keys"
        with platform.webs[-1], ThreadPoolExecutor(5) as pool, client(url, issuer.token(RESOURCE)) as caller:
            replies = list(pool.map(lambda _: caller.list(), range(5)))
            assert {reply.status for reply in replies} == {503}
            assert all(int(reply.headers["Retry-After"]) > 0 for reply in replies)
            wait_until(lambda: issuer.cut, 20.0, "the end of the fetch")
            issuer.dripping = ""
            wait_until(lambda: caller.list().status == 200, 20.0, "the keys")


@pytest.mark.parametrize("path", ["", "/mcp"])
def test_the_metadata_name_the_public_address_whatever_a_proxy_says(
    oauth_door: str, provider: Provider, path: str
) -> None:
    """AUTH-2, C102."""
    forwarded = {"X-Forwarded-Proto": "http", "X-Forwarded-Host": "evil.test", "Host": "evil.test"}
    url = oauth_door.removesuffix("/mcp") + "/.well-known/oauth-protected-resource" + path
    response = httpx.get(url, headers=forwarded, trust_env=False)
    assert (response.status_code, response.headers["Content-Type"]) == (200, "application/json")
    assert response.json() == {
        "resource": RESOURCE,
        "authorization_servers": [provider.issuer],
        "scopes_supported": SCOPES.split(),
        "bearer_methods_supported": ["header"],
        "resource_name": "coatcheck",
    }


@pytest.mark.parametrize("slash", ["", "/"])
def test_the_first_refusal_says_where_to_get_a_token_and_for_what(by_oauth: CalledBy, slash: str) -> None:
    """AUTH-1, C48, C102, C104: with and without a slash, an absolute address, and no redirect."""
    client = by_oauth()
    client.url += slash
    reply = client.list()
    assert (reply.status, reply.error["code"]) == (401, 401)
    assert reply.headers["WWW-Authenticate"] == f'Bearer resource_metadata="{METADATA}", scope="{SCOPES}"'


def test_a_token_in_the_address_does_not_count(by_oauth: CalledBy, good: str) -> None:
    """AUTH-1."""
    client = by_oauth()
    client.url += f"?access_token={good}"
    assert client.list().status == 401


def test_a_stream_ends_with_its_token(by_oauth: CalledBy, provider: Provider) -> None:
    """C105: nothing of a task is told after the token that asked for it has expired; the task goes on."""
    lasting = by_oauth(provider.token(RESOURCE, org="acme", scope="tasks:write"))
    task_id = lasting.start("confirm", {"what": "this"})
    lasting.wait_for(task_id, "input_required")
    expires = int(time.time()) + 3
    short = by_oauth(provider.token(RESOURCE, org="acme", exp=expires))
    with short.listen(task_id) as messages:
        told = list(messages)
    assert time.time() >= expires - 1
    assert "result" in told[-1]
    assert short.get(task_id).status == 401
    lasting.update(task_id, {"sure": {"action": "accept", "content": {"yes": True}}})
    assert lasting.wait_for(task_id)["status"] == "completed"


def test_no_token_is_in_any_log(by_oauth: CalledBy, provider: Provider, platform: Any, good: str) -> None:
    """AUTH-3: neither one that was accepted nor one that was refused."""
    refused = provider.token("https://api.example.test", org="acme")
    assert [by_oauth(token).list().status for token in (good, refused)] == [200, 401]
    for token in (good, refused):
        for part in token.split("."):
            assert not any(part in process.log for process in platform.webs)
