"""Determine what can be checked when some variables are invalid."""

from collections.abc import Collection
from dataclasses import MISSING, fields, is_dataclass, replace
from typing import Any

from coatcheck.web.settings.web import ServerSettings

AUTH_WORDS = ("AUTH", "TOKENS", "ANONYMOUS", "HOST")
"""Parts of the names of authentication variables."""


def parts_at_fault(settings: ServerSettings, at_fault: Collection[str]) -> set[str]:
    """Return the parts whose own variables are invalid: checking them would check something else."""
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
    """Return the settings with defaults for invalid variables, so that independent parts can be checked."""
    parts = {one.name: getattr(settings, one.name) for one in fields(settings)}
    return replace(settings, **{name: _mended(part) for name, part in parts.items() if is_dataclass(part)})


def _mended(part: Any) -> Any:
    defaults = {
        one.name: one.default for one in fields(part) if getattr(part, one.name) is None and one.default is not MISSING
    }
    return replace(part, **defaults)
