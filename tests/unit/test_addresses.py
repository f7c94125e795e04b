"""Addresses of servers: as Celery spells them, and what they may say."""

from collections.abc import Callable

import pytest

from coatcheck.tasks_store.address import fault_of
from coatcheck.workers.addresses import Address, address_of, broker_fault, results_fault

PLACES = {"REDIS_URL": fault_of, "CELERY_BROKER_URL": broker_fault, "CELERY_RESULT_BACKEND": results_fault}


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


@pytest.mark.parametrize("place", PLACES.values(), ids=PLACES)
@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("rediss://h:6379/0?ssl_cert_reqs=CERT_NONE", ["ssl_cert_reqs", "COATCHECK_REDIS_TLS_VERIFY"]),
        ("rediss://h:6379/0?ssl_cert_reqs=none", ["ssl_cert_reqs", "COATCHECK_REDIS_TLS_VERIFY"]),
        ("rediss://h:6379/0?ssl_check_hostname=false", ["ssl_check_hostname", "COATCHECK_REDIS_TLS_VERIFY"]),
        ("rediss://h:6379/0?ssl_ca_certs=/etc/ca.pem", ["ssl_ca_certs", "COATCHECK_REDIS_CA_FILE"]),
        ("redis://h:6379?db=3", ["parameter db", "redis://host:6379/3"]),
        ("redis://h:6379/0?socket_timeout=3", ["socket_timeout", "leave it out"]),
        ("redis://h:6379/0?protocol=", ["protocol", "leave it out"]),
        ("redis+sentinel://h/service/0?ssl_cert_reqs=none", ["ssl_cert_reqs", "COATCHECK_REDIS_TLS_VERIFY"]),
        ("unix:///run/redis.sock?virtual_host=3", ["virtual_host", "leave it out"]),
        ("redis://h:6379/none", ["names no database"]),
        ("redis://h:6379/-1", ["names no database"]),
        ("unix:///run/redis.sock?db=x", []),
        ("redis+sentinel://h/service/x", []),
        ("redis+sentinel://h:99999/service", []),
        ("unix://", ["names no socket"]),
    ],
)
def test_a_parameter_of_an_address_is_refused_by_name_wherever_it_stands(
    place: Callable[[str], str], url: str, told: list[str]
) -> None:
    """K3.9: what one driver knows and another does not would mean two things."""
    fault = place(url)
    assert fault
    assert [word for word in told if word not in fault] == []


@pytest.mark.parametrize("place", PLACES.values(), ids=PLACES)
@pytest.mark.parametrize("url", ["redis://:hush?HUSH=1@h:6379/0", "redis://:pw@h/0?h-ush", "rediss://h?%ffhush="])
def test_what_may_be_a_part_of_a_password_is_not_repeated(place: Callable[[str], str], url: str) -> None:
    """K3.9."""
    fault = place(url)
    assert fault
    assert "hush" not in fault.lower()
    assert "h-ush" not in fault


@pytest.mark.parametrize("place", PLACES.values(), ids=PLACES)
@pytest.mark.parametrize(
    "url",
    [
        "redis://h",
        "redis://h:6379/",
        "rediss://user:pw@h:6379/3",
        "unix:///run/redis.sock?db=3",
        "redis+sentinel://:pw@one:26380,two/service/2?sentinel_password=pw",
    ],
)
def test_what_all_drivers_understand_is_taken(place: Callable[[str], str], url: str) -> None:
    """K3.9."""
    assert place(url) == ""


def test_a_parameter_that_no_driver_of_rabbitmq_knows_is_told() -> None:
    """K3.9."""
    assert "parameter" in broker_fault("amqp://guest:guest@h//?colour=red")
    assert broker_fault("amqp://guest:guest@h//?heartbeat=10") == ""
