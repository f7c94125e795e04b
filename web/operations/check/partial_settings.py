"""What can still be tried when some variables are wrong."""

from collections.abc import Collection
from dataclasses import MISSING, fields, is_dataclass, replace
from typing import Any

from coatcheck.web.settings.web import ServerSettings

AUTH_WORDS = ("AUTH", "TOKENS", "ANONYMOUS", "HOST")
"""Words in the variables that say who may call."""


def parts_at_fault(settings: ServerSettings, at_fault: Collection[str]) -> set[str]:
    """The parts whose own variables are at fault: whatever they would say would be of something else."""
    store, workers, web = settings.store, settings.workers, settings.web
    redis = (store.redis_url, store.redis_tls_verify)
    needed: dict[str, tuple[object, ...]] = {
        "store": redis,
        "clock": redis,
        "worker": (*redis, workers.broker_url),
        "broker": (workers.broker_url, store.redis_tls_verify),
        "results": (workers.result_backend, store.redis_tls_verify),
        "exposed": (workers.expose_broker_url, workers.expose_result_backend, workers.expose_config),
        "public address": (web.public_url, web.host),
    }
    parts = {name for name, values in needed.items() if None in values}
    return parts | ({"auth"} if any(word in variable for variable in at_fault for word in AUTH_WORDS) else set())


def with_defaults(settings: ServerSettings) -> ServerSettings:
    """The settings with defaults for what has no value, so that what does not depend on it can be tried."""
    return replace(settings, **{one.name: _mended(getattr(settings, one.name)) for one in fields(settings)})


def _mended(part: Any) -> Any:
    assert is_dataclass(part)
    defaults = {
        one.name: one.default for one in fields(part) if getattr(part, one.name) is None and one.default is not MISSING
    }
    return replace(part, **defaults)  # type: ignore[type-var]
