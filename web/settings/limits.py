"""Settings of the limits on requests and tasks."""

from dataclasses import dataclass
from ipaddress import IPv4Network, IPv6Network, ip_network
from typing import Final, Self

from environs import Env
from marshmallow import ValidationError
from marshmallow.validate import Range

Network = IPv4Network | IPv6Network

_NOT_NEGATIVE: Final = Range(min=0, error="must not be negative; 0 is no limit")


@dataclass(frozen=True)
class LimitSettings:
    """Limits; 0 disables one. Limits per owner need authentication: they are off with `COATCHECK_AUTH=none`. Read once,
    at the entry point."""

    requests_per_s: float = 100.0
    """`COATCHECK_REQUESTS_PER_SECOND`: requests of one owner; the burst is twice as many."""
    polls_per_s: float = 10.0
    """`COATCHECK_POLLS_PER_SECOND`: `tasks/get` of one owner for one task; the burst is twice as many."""
    failures_per_minute: float = 60.0
    """`COATCHECK_FAILURES_PER_MINUTE`: unauthenticated requests of one address; the burst is twice as many."""
    tasks_per_owner: int = 10_000
    """`COATCHECK_TASKS_PER_OWNER`: tasks of one owner that have not ended."""
    tasks_per_tenant: int = 50_000
    """`COATCHECK_TASKS_PER_TENANT`: tasks of all owners of one tenant that have not ended."""
    backlog: int = 100_000
    """`COATCHECK_BACKLOG`: messages of one queue that wait for a worker, of all owners."""
    argument_bytes: int = 1024 * 1024
    """`COATCHECK_MAX_ARGUMENT_BYTES`: the largest arguments of one call, as JSON."""
    answer_bytes: int = 256 * 1024
    """`COATCHECK_MAX_ANSWER_BYTES`: the largest answer to one input, as JSON."""
    trusted_proxies: tuple[Network, ...] = ()
    """`COATCHECK_TRUSTED_PROXIES`: addresses or networks whose `X-Forwarded-For` is trusted, comma-separated."""

    @classmethod
    def read(cls, env: Env) -> Self:
        """Read the settings; `env` keeps the faults and reports them when it is sealed."""

        def number(name: str, default: float) -> float:
            return env.float(name, default, validate=_NOT_NEGATIVE) or 0

        def whole(name: str, default: int) -> int:
            return env.int(name, default, validate=_NOT_NEGATIVE) or 0

        proxies: list[str] = env.list("COATCHECK_TRUSTED_PROXIES", [], validate=_check_networks) or []
        return cls(
            requests_per_s=number("COATCHECK_REQUESTS_PER_SECOND", cls.requests_per_s),
            polls_per_s=number("COATCHECK_POLLS_PER_SECOND", cls.polls_per_s),
            failures_per_minute=number("COATCHECK_FAILURES_PER_MINUTE", cls.failures_per_minute),
            tasks_per_owner=whole("COATCHECK_TASKS_PER_OWNER", cls.tasks_per_owner),
            tasks_per_tenant=whole("COATCHECK_TASKS_PER_TENANT", cls.tasks_per_tenant),
            backlog=whole("COATCHECK_BACKLOG", cls.backlog),
            argument_bytes=whole("COATCHECK_MAX_ARGUMENT_BYTES", cls.argument_bytes),
            answer_bytes=whole("COATCHECK_MAX_ANSWER_BYTES", cls.answer_bytes),
            trusted_proxies=tuple(ip_network(proxy.strip()) for proxy in proxies if _is_network(proxy)),
        )


def _is_network(text: str) -> bool:
    try:
        ip_network(text.strip())
    except ValueError:
        return False
    return True


def _check_networks(proxies: list[str]) -> None:
    if not all(map(_is_network, proxies)):
        raise ValidationError("must list addresses or networks, such as 10.0.0.0/8")
