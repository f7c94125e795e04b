"""The issuer's keys: fetched by one deadline, by one request at a time, and replaced only by better ones."""

import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from typing import Any

import pytest
from flask import Request
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from werkzeug.test import EnvironBuilder

from coatcheck.tasks_store import StoreSettings
from coatcheck.web.access.access_policy import AccessPolicy
from coatcheck.web.auth.http_fetch import DocumentFetcher
from coatcheck.web.auth.issuer_keys import IssuerKeys
from coatcheck.web.errors import IssuerUnavailable, WebError, json_rpc_error_of
from coatcheck.web.settings.auth import AuthSettings
from coatcheck.web.settings.limits import LimitSettings
from coatcheck.web.settings.web import ServerSettings, WebSettings
from coatcheck.web.streams.connections import ConnectionsOfProcess
from coatcheck.workers.settings import WorkerSettings
from coatcheck.workers.toolkit.tool import Catalogue
from tests.auth.conftest import PUBLIC_URL, RESOURCE
from tests.auth.provider import Provider
from tests.support.valkey import Valkey
from tests.support.waiting import wait_until

QUICK = {"limit_s": 0.5, "wait_s": 0.2}
"""What a fetch may take, and how long a request waits for it, so that tests of both end."""

PATIENT = {"limit_s": 20.0, "wait_s": 20.0}


@pytest.fixture
def provider() -> Iterator[Provider]:
    """A provider of this test's own."""
    with Provider() as provider:
        yield provider


def keys_of(provider: Provider, *, cooldown_ms: int = 100, **limits: float) -> IssuerKeys:
    """The keys of this provider."""
    settings = AuthSettings(mode="oauth", issuer=provider.issuer, cooldown_ms=cooldown_ms)
    return IssuerKeys(settings, **(limits or PATIENT))


def verdict(keys: IssuerKeys, key_id: str = "key-0") -> str:
    """What is made of this key's id."""
    try:
        return "unknown" if keys.get(key_id) is None else "known"
    except IssuerUnavailable:
        return "unavailable"


def test_first_requests_at_once_wait_for_one_fetch(provider: Provider) -> None:
    """K2.1: nobody is refused for a key that is on its way."""
    keys = keys_of(provider)
    provider.answers.clear()
    with ThreadPoolExecutor(6) as pool:
        verdicts = [pool.submit(verdict, keys) for _ in range(6)]
        wait_until(lambda: provider.seen.total() == 1, what="the first document is asked for")
        provider.answers.set()
        assert {one.result() for one in verdicts} == {"known"}
    assert provider.seen["/keys"] == 1


def test_requests_that_cannot_wait_so_long_are_told_to_come_back(provider: Provider) -> None:
    """K2.1: and once the keys are there, they are served."""
    keys = keys_of(provider, limit_s=20.0, wait_s=0.01)
    provider.answers.clear()
    with ThreadPoolExecutor(4) as pool:
        assert set(pool.map(lambda _: verdict(keys), range(4))) == {"unavailable"}
    provider.answers.set()
    wait_until(lambda: verdict(keys) == "known", what="the keys")
    assert provider.seen["/keys"] == 1


@pytest.mark.parametrize("path", ["/keys", "/.well-known/openid-configuration"])
def test_an_answer_that_drips_is_cut_at_the_deadline_and_the_next_fetch_goes_well(
    provider: Provider, path: str
) -> None:
    """K2.2: each octet is in time, and the whole is not; a good token is served again as soon as the issuer is well."""
    keys = keys_of(provider, **QUICK)
    provider.dripping = path
    assert verdict(keys) == "unavailable"
    wait_until(lambda: provider.cut == 1, what="the end of the connection")
    provider.dripping = ""
    wait_until(lambda: verdict(keys) == "known", what="the keys")


@pytest.mark.parametrize("proxy", ["http://user:pa#ss@127.0.0.1:3128", "http://[::1", "http://127.0.0.1:99999"])
def test_a_proxy_that_makes_no_sense_is_told_by_its_variable_without_its_password(
    proxy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", proxy)
    with DocumentFetcher() as fetch, pytest.raises(IssuerUnavailable) as refused:
        fetch.document("https://issuer.example.com/keys")
    assert str(refused.value).startswith("https_proxy: names a proxy that cannot be used here")


def test_a_password_of_a_proxy_may_hold_any_character(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://user:größer@127.0.0.1:1")
    with DocumentFetcher() as fetch, pytest.raises(IssuerUnavailable, match="ConnectError"):
        fetch.document("https://issuer.example.com/keys")


def test_known_keys_serve_while_others_are_fetched(provider: Provider) -> None:
    """K2.2: a fetch that does not end keeps nobody out whose key is known."""
    keys = keys_of(provider, **QUICK)
    wait_until(lambda: verdict(keys) == "known", what="the keys")
    provider.dripping = "/keys"
    with ThreadPoolExecutor(1) as pool:
        unknown = pool.submit(lambda: wait_until(lambda: verdict(keys, "other") == "unavailable", what="a fetch"))
        while not unknown.done():
            assert verdict(keys) == "known"
        unknown.result()
    provider.dripping = ""


ODD_SETS = [
    b'{"keys":[1,null]}',
    b'{"keys":[]}',
    b'{"keys":{}}',
    b'{"keys":null}',
    b'{"keys":[{"kty":"oct","k":"c2VjcmV0IG9mIG1hbnkgb2N0ZXRzIGFuZCBtb3Jl","kid":"key-0"}]}',
    b'{"keys":[{"kty":"RSA","kid":"key-0"}]}',
    b'{"keys":[{"kty":"RSA","n":1,"e":[],"kid":"key-0"}]}',
    b'{"keys":[{"kty":[],"kid":"key-0"}]}',
    b'{"keys":[{"kty":"EC","crv":"P-256","x":"AA","y":"AA","kid":"key-0"}]}',
    b'{"keys":[{"kty":"OKP","crv":"Ed25519","x":"AA","kid":"key-0"}]}',
    b"{}",
    b"[]",
    b"",
    b"\xff",
    b"null",
    b"NaN",
    b"[" * 100_000,
    b" " * 2_000_000,
    b'{"keys":' + b"9" * 5_000 + b"}",
]


@pytest.mark.parametrize("document", ODD_SETS, ids=lambda document: document[:60].decode("ascii", "replace"))
def test_a_set_without_one_usable_key_changes_nothing(provider: Provider, document: bytes) -> None:
    """K2.3: the old keys stay until better ones arrive."""
    keys = keys_of(provider)
    assert verdict(keys) == "known"
    provider.replaced["/keys"] = document
    wait_until(lambda: verdict(keys, "other") == "unavailable", what="a fetch")
    assert verdict(keys) == "known"
    del provider.replaced["/keys"]
    wait_until(lambda: verdict(keys, "other") == "unknown", what="a fetch that goes well")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
MEMBERS = st.sampled_from(["kty", "kid", "use", "alg", "n", "e", "crv", "x", "y", "d", "k", "key_ops", "x5c", "x5t"])
ODD_KEYS = st.lists(
    JSON | st.dictionaries(MEMBERS, JSON | st.sampled_from(["RSA", "EC", "OKP", "oct", "P-256", "sig", "AQAB"])),
    max_size=4,
)


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(odd=ODD_KEYS)
def test_odd_keys_spoil_no_good_one(provider: Provider, odd: list[Any]) -> None:
    """K2.3: whatever stands beside it."""
    published = [*odd, *provider.published]
    provider.replaced["/keys"] = json.dumps({"keys": published}).encode()
    assert verdict(keys_of(provider)) == "known"


@pytest.mark.parametrize(
    "changed",
    [
        {"jwks_uri": "http://keys.example.test/"},
        {"jwks_uri": "https://[/"},
        {"jwks_uri": "file:///etc/passwd"},
        {"jwks_uri": ["https://keys.example.test/"]},
        {"jwks_uri": None},
        {"issuer": "https://other.example.test"},
        {"issuer": None},
    ],
    ids=str,
)
def test_metadata_that_name_no_keys_to_trust_are_not_followed(provider: Provider, changed: dict[str, Any]) -> None:
    """K2.3: keys that anybody on the way can exchange prove nothing, wherever their address comes from."""
    odd = json.dumps({**provider.metadata(), **changed}).encode()
    provider.replaced["/.well-known/openid-configuration"] = odd
    assert verdict(keys_of(provider)) == "unavailable"
    assert provider.seen["/keys"] == 0


@pytest.fixture(scope="module")
def limiting() -> Iterator[Valkey]:
    """The store that counts failures."""
    with Valkey() as valkey:
        yield valkey


@settings(max_examples=10, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    callers=st.integers(1, 20),
    failures_per_minute=st.integers(1, 4),
    ends=st.sampled_from(["well", "away", "odd"]),
)
def test_a_slow_issuer_makes_no_failed_login_of_a_first_request(
    limiting: Valkey, callers: int, failures_per_minute: int, ends: str
) -> None:
    """K2.1: however many come at once, however the fetch ends and however few failures are allowed."""
    with ExitStack() as stack:
        provider = stack.enter_context(Provider())
        records = stack.enter_context(limiting.client())
        records.flushall()
        admitted = stack.enter_context(admission(provider, limiting, failures_per_minute))
        token = provider.token(RESOURCE)
        provider.answers.clear()
        pool = stack.enter_context(ThreadPoolExecutor(callers))
        asked = [pool.submit(admitted, token) for _ in range(callers)]
        wait_until(lambda: provider.seen.total() == 1, what="the first document is asked for")
        if ends == "odd":
            provider.replaced["/keys"] = b'{"keys":[1,null]}'
        provider.is_away = ends == "away"
        provider.answers.set()
        statuses = {one.result() for one in asked}
        assert statuses == ({200} if ends == "well" else {503})
        assert not list(records.scan_iter("coatcheck:rate:*"))
        assert admitted("e30.e30.e30") == 401
        assert list(records.scan_iter("coatcheck:rate:*"))


@contextmanager
def admission(provider: Provider, valkey: Valkey, failures_per_minute: int) -> Iterator[Callable[[str], int]]:
    """What admits requests with tokens of this provider: from a token to the HTTP status."""
    of_all = ServerSettings(
        StoreSettings(redis_url=valkey.url),
        WorkerSettings(),
        WebSettings(public_url=PUBLIC_URL),
        AuthSettings(mode="oauth", issuer=provider.issuer),
        LimitSettings(failures_per_minute=failures_per_minute),
    )
    connections = ConnectionsOfProcess(of_all, Catalogue([]))
    admission = AccessPolicy(of_all, Catalogue([]), connections)

    def status(token: str) -> int:
        request = Request(EnvironBuilder(headers={"Authorization": f"Bearer {token}"}).get_environ())
        try:
            admission.caller_of(request)
        except WebError as fault:
            refusal = json_rpc_error_of(fault)
            assert refusal is not None
            assert refusal.status != 503 or int(refusal.headers["Retry-After"]) > 0
            return refusal.status
        return 200

    with closing(connections):
        yield status
