"""What this folder needs to know of its surroundings."""

import codecs
import ssl
from base64 import b64decode
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from environs import Env, EnvValidationError
from marshmallow import ValidationError
from marshmallow.validate import OneOf, Range

from coatcheck.tasks_store.address import fault_of

KEY_BYTES: Final = 32
"""The length of an encryption key."""

LONGEST_SECONDS = 10 * 365 * 86_400
"""Nobody means to wait longer."""


@dataclass(frozen=True)
class StoreSettings:
    """Where the store is and how long to wait for it. Read once, at the entry point of a process."""

    redis_url: str = "redis://127.0.0.1:6379/0"
    """`REDIS_URL`: the store: `redis://`, `rediss://`, `unix://`, `redis+sentinel://` or `redis+cluster://`."""
    redis_tls_verify: bool = True
    """`COATCHECK_REDIS_TLS_VERIFY`: `false` where the platform hands out self-signed certificates for `rediss://`."""
    redis_ca_file: str | None = None
    """`COATCHECK_REDIS_CA_FILE`: the authority that signed the certificate of a `rediss://` server."""
    redis_connections: int = 16
    """`COATCHECK_REDIS_CONNECTIONS`: connections of one process to the store at a time, besides the one that hears of
    changes, and as many again for commands of several parts; who finds none free waits."""
    lease_ms: int = 10_000
    """`COATCHECK_LEASE_SECONDS`: how long a silent run keeps its right to write."""
    sweep_ms: int = 4_000
    """`COATCHECK_SWEEP_SECONDS`: the pause between two sweeps."""
    keep_ms: int = 600_000
    """`COATCHECK_KEEP_SECONDS`: how long a result stays readable at least, however short the time to live was."""
    cancel_grace_ms: int = 30_000
    """`COATCHECK_CANCEL_GRACE_SECONDS`: how long a running job may go on after a cancel before it is fenced off."""
    resend_ms: int = 15_000
    """`COATCHECK_RESEND_SECONDS`: how long a queued task waits for its message before it is sent again."""
    durability: str = "default"
    """`COATCHECK_DURABILITY`: `default` is what the server's append-only file gives; with `strict`, a handle and the
    acknowledgement of an answer leave only after the server confirmed that they are on its disk."""
    unfit_store: str = "refuse"
    """`COATCHECK_UNFIT_STORE`: `refuse` to start, or `warn`, when the server could lose records (see docs)."""
    encryption_keys: tuple[bytes, ...] = field(default=(), repr=False)
    """`COATCHECK_ENCRYPTION_KEYS`: seal arguments, inputs, steps and results before they are stored; 32 bytes in base64
    each, comma-separated. The first seals, all open, so that a new one is put in front."""
    faults: str = ""
    """`COATCHECK_FAULTS`: where to fail on purpose, for tests of recovery; see `tasks_store/fault_injection.py`."""

    @classmethod
    def read(cls, env: Env) -> "StoreSettings":
        """The settings as the environment has them; faults are kept by `env` and reported when it is sealed."""
        default = cls()
        return cls(
            redis_url=env.str("REDIS_URL", default.redis_url, validate=_check_address),
            durability=env.str(
                "COATCHECK_DURABILITY",
                default.durability,
                validate=OneOf(["default", "strict"], error="must be default or strict"),
            ),
            unfit_store=env.str(
                "COATCHECK_UNFIT_STORE",
                default.unfit_store,
                validate=OneOf(["refuse", "warn"], error="must be refuse or warn"),
            ),
            encryption_keys=_encryption_keys(env),
            faults=env.str("COATCHECK_FAULTS", default.faults),
            redis_tls_verify=env.bool("COATCHECK_REDIS_TLS_VERIFY", default.redis_tls_verify),
            redis_ca_file=env.str("COATCHECK_REDIS_CA_FILE", "", validate=_check_authorities) or None,
            redis_connections=env.int(
                "COATCHECK_REDIS_CONNECTIONS",
                default.redis_connections,
                validate=Range(min=1, error="must be at least 1"),
            ),
            lease_ms=milliseconds(env, "COATCHECK_LEASE_SECONDS", default.lease_ms, least=1),
            sweep_ms=milliseconds(env, "COATCHECK_SWEEP_SECONDS", default.sweep_ms, least=0.1),
            keep_ms=milliseconds(env, "COATCHECK_KEEP_SECONDS", default.keep_ms, least=1, most=3_600),
            cancel_grace_ms=milliseconds(env, "COATCHECK_CANCEL_GRACE_SECONDS", default.cancel_grace_ms, least=0.1),
            resend_ms=milliseconds(env, "COATCHECK_RESEND_SECONDS", default.resend_ms, least=0.1),
        )

    @property
    def tls_options(self) -> dict[str, Any]:
        """How redis-py, also below Celery, checks the certificate of a `rediss://` server."""
        if not self.redis_tls_verify:
            return {"ssl_cert_reqs": ssl.CERT_NONE, "ssl_check_hostname": False}
        authority = {"ssl_ca_certs": self.redis_ca_file} if self.redis_ca_file else {}
        return {"ssl_cert_reqs": ssl.CERT_REQUIRED, **authority}

    @property
    def outage_ms(self) -> int:
        """A silence of all workers that is longer than this counts as an outage of the store, in which leases died."""
        return self.lease_ms // 2


def _check_address(url: str) -> None:
    if fault := fault_of(url):
        raise ValidationError(fault)


def _check_authorities(file: str) -> None:
    try:
        if file:
            ssl.create_default_context(cafile=file)
    except ssl.SSLError as fault:
        raise ValidationError(
            "must name a file with certificates in PEM; this one has none that can be read"
        ) from fault
    except OSError as fault:
        raise ValidationError(f"must name a file that can be read: {fault.strerror}") from fault


def _encryption_keys(env: Env) -> tuple[bytes, ...]:
    """The keys; a fault never shows one."""
    texts: list[str] = env.list("COATCHECK_ENCRYPTION_KEYS", [], validate=_check_keys) or []
    return tuple(key for key in map(_key_of, texts) if key is not None)


def _check_keys(texts: list[str]) -> None:
    if None in map(_key_of, texts):
        raise ValidationError(
            f"must list keys of {KEY_BYTES} bytes in base64, such as `openssl rand -base64 32` prints"
        )


def _key_of(text: str) -> bytes | None:
    try:
        key = b64decode(text.strip(), altchars=b"-_" if set(text) & set("-_") else None, validate=True)
    except ValueError:
        return None
    return key if len(key) == KEY_BYTES else None


def text_of(file: Path) -> str:
    """Return the text of a settings file in UTF-8, with or without a byte order mark.

    Raises:
        ValueError: it cannot be read, or is no such text; the message says how to mend it, and quotes nothing.
    """
    try:
        if file.exists() and not file.is_file():
            raise ValueError("is not a regular file; a pipe gives what it holds to one process only")
        content = file.read_bytes()
    except OSError as fault:
        raise ValueError(f"cannot be read: {fault.strerror}") from fault
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) or b"\0" in content:
        raise ValueError("is UTF-16 or UTF-32; save it as UTF-8")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as fault:
        raise ValueError(f"is not UTF-8 from byte {fault.start} on; save it as UTF-8") from fault


def fault_lines(fault: EnvValidationError) -> str:
    """Every fault that was found, one a line, each led by its variable."""
    faults = fault.error_messages
    assert isinstance(faults, Mapping)
    return "\n".join(f"{name} {'; '.join(reasons)}" for name, reasons in sorted(faults.items()))


def milliseconds(env: Env, name: str, default_ms: int, *, least: float = 0, most: float = LONGEST_SECONDS) -> int:
    """A duration given in seconds, as whole milliseconds; a fault names the variable and the range."""
    bounds = f"between {least:g} and {most:g}" if most < LONGEST_SECONDS else f"at least {least:g}"
    within = Range(least, most, error=f"must be {bounds} seconds")
    seconds = env.float(name, default_ms / 1000, validate=within)
    return round((seconds or 0) * 1000)  # None after a fault, which `env` reports when it is sealed
