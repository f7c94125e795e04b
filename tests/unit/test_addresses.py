"""Addresses of servers as Celery spells them."""

import pytest

from workers.addresses import Address, address_of


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("redis://127.0.0.1:6379/0", Address("redis://127.0.0.1:6379/0")),
        ("amqp://guest:guest@rabbit//", Address("amqp://guest:guest@rabbit//")),
        ("unix:///run/redis.sock", Address("redis+socket:///run/redis.sock?virtual_host=0")),
        ("unix:///run/redis.sock?db=3", Address("redis+socket:///run/redis.sock?virtual_host=3")),
        (
            "redis+sentinel://:pw@one:26380,two/mymaster/2?sentinel_password=spw",
            Address(
                "sentinel://:pw@one:26380/2;sentinel://:pw@two:26379/2",
                {"master_name": "mymaster", "sentinel_kwargs": {"password": "spw"}},
            ),
        ),
    ],
)
def test_an_address_is_spelled_as_celery_does(url: str, address: Address) -> None:
    assert address_of(url) == address


def test_what_an_address_leads_to_is_known() -> None:
    assert address_of("redis+sentinel://one/mymaster").is_redis
    assert address_of("rediss://one:6379/0").is_tls
    assert not address_of("amqp://rabbit").is_redis
