"""The address of the store, understood or refused."""

import ssl

import pytest
from redis import Redis
from redis.connection import SSLConnection
from redis.sentinel import SentinelConnectionPool

from coatcheck.tasks_store import InvalidStoreUrl, Patience, StoreSettings, StoreUnavailable, TaskStore
from coatcheck.tasks_store.connections import connector


def client_for(url: str, **settings: object) -> Redis:
    """The client that the settings lead to; it has not connected."""
    client = connector(StoreSettings(redis_url=url, **settings), Patience.DOOR)()  # type: ignore[arg-type]
    assert isinstance(client, Redis)
    return client


@pytest.mark.parametrize(
    "url",
    [
        "",
        "localhost:6379",
        "http://localhost",
        "rediss+cluster://localhost",
        "redis://localhost:port",
        "redis+sentinel://localhost:26379",
        "redis+sentinel://localhost:26379/",
        "redis+sentinel://localhost:port/main",
        "redis+sentinel://localhost/main/zero",
    ],
)
@pytest.mark.filterwarnings("ignore:.*:DeprecationWarning")
def test_an_address_that_cannot_be_understood_is_refused_at_once(url: str) -> None:
    with pytest.raises(InvalidStoreUrl, match=r"^REDIS_URL "):
        TaskStore(StoreSettings(redis_url=url), Patience.DOOR)


def test_an_address_with_tls_checks_the_certificate_unless_told_otherwise() -> None:
    pool = client_for("rediss://:secret@example.test:6380/1").connection_pool
    assert pool.connection_class is SSLConnection
    assert pool.connection_kwargs["password"] == "secret"
    assert pool.connection_kwargs["ssl_cert_reqs"] == ssl.CERT_REQUIRED

    pool = client_for("rediss://example.test", redis_ca_file="/etc/ca.pem").connection_pool
    assert pool.connection_kwargs["ssl_ca_certs"] == "/etc/ca.pem"

    pool = client_for("rediss://example.test", redis_tls_verify=False).connection_pool
    assert pool.connection_kwargs["ssl_cert_reqs"] == ssl.CERT_NONE


def test_a_sentinel_address_names_the_sentinels_the_service_and_the_database() -> None:
    pool = client_for("redis+sentinel://ada:p%40ss@one:26380,two/main/3?sentinel_password=other").connection_pool
    assert isinstance(pool, SentinelConnectionPool)
    assert pool.service_name == "main"
    assert pool.is_master
    assert pool.connection_kwargs["db"] == 3
    assert (pool.connection_kwargs["username"], pool.connection_kwargs["password"]) == ("ada", "p@ss")
    asked = [sentinel.connection_pool.connection_kwargs for sentinel in pool.sentinel_manager.sentinels]
    assert [(one["host"], one["port"], one["password"]) for one in asked] == [
        ("one", 26380, "other"),
        ("two", 26379, "other"),
    ]


@pytest.mark.parametrize("scheme", ["redis", "redis+cluster"])
def test_a_store_can_be_made_while_its_server_is_away(scheme: str) -> None:
    store = TaskStore(StoreSettings(redis_url=f"{scheme}://127.0.0.1:1"), Patience.DOOR)
    with pytest.raises(StoreUnavailable):
        store.ping()
    store.close()


def test_sentinels_that_are_away_are_an_unavailable_store() -> None:
    store = TaskStore(StoreSettings(redis_url="redis+sentinel://127.0.0.1:1,127.0.0.1:2/main/0"), Patience.DOOR)
    with pytest.raises(StoreUnavailable):
        store.ping()
    store.close()
