"""Settings of authentication."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path
from typing import Final, Self
from urllib.parse import urlsplit

from environs import Env
from marshmallow import ValidationError
from marshmallow.validate import ContainsOnly, Regexp

from coatcheck.tasks_store import milliseconds

LOOPBACK_HOSTS: Final = frozenset({"localhost", "127.0.0.1", "::1"})
"""Host names that only this machine answers to."""

ALGORITHMS: Final = (
    "RS256",
    "RS384",
    "RS512",
    "PS256",
    "PS384",
    "PS512",
    "ES256",
    "ES384",
    "ES512",
    "Ed25519",
    "EdDSA",
)
"""Signature algorithms that can be allowed. All are asymmetric: this server holds no secret of the issuer."""


@dataclass(frozen=True)
class AuthSettings:
    """How callers authenticate. Read once, at the entry point."""

    mode: str = "none"
    """`COATCHECK_AUTH`: `none` admits everybody, on loopback addresses only; `tokens` admits tokens of
    `COATCHECK_TOKENS`; `oauth` admits tokens of `COATCHECK_OAUTH_ISSUER`."""
    allow_anonymous: bool = False
    """`COATCHECK_ALLOW_ANONYMOUS`: accept `COATCHECK_AUTH=none` on other addresses too."""
    tokens_file: Path | None = None
    """`COATCHECK_TOKENS_FILE`: entries of `coatcheck token new`; a change is noticed within a second."""
    tokens: str = field(default="", repr=False)
    """`COATCHECK_TOKENS`: the same entries in the variable itself."""
    issuer: str = ""
    """`COATCHECK_OAUTH_ISSUER`: the authorization server, exactly as its tokens name it in `iss`."""
    jwks_url: str = ""
    """`COATCHECK_OAUTH_JWKS_URL`: the URL of its keys; by default the one in its metadata."""
    audiences: tuple[str, ...] = ()
    """`COATCHECK_OAUTH_AUDIENCES`: accepted values of `aud` besides the public address of `/mcp`, comma-separated."""
    algorithms: tuple[str, ...] = ("RS256", "ES256")
    """`COATCHECK_OAUTH_ALGORITHMS`: the accepted signatures, comma-separated."""
    principal_claim: str = "sub"
    """`COATCHECK_OAUTH_PRINCIPAL_CLAIM`: the claim that identifies the caller."""
    tenant_claim: str = ""
    """`COATCHECK_OAUTH_TENANT_CLAIM`: the claim that identifies the tenant, if there are several."""
    scope_claim: str = "scope"
    """`COATCHECK_OAUTH_SCOPE_CLAIM`: the claim with the granted scopes, such as `scp`."""
    cooldown_ms: int = 30_000
    """`COATCHECK_OAUTH_COOLDOWN_SECONDS`: the minimum time between two fetches of the issuer's keys."""
    asked_scopes: tuple[str, ...] = ()
    """`COATCHECK_SCOPES`: the scopes that clients are told to request at first, comma-separated; by default every scope
    of any tool or method."""
    method_scopes: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """`COATCHECK_METHOD_SCOPES`: scopes that methods need in addition to those of tools, such as
    `tools/call=tools:call,tasks/cancel=tasks:write tasks:read`."""

    operator_scope: str = "tasks:operate"
    """`COATCHECK_OPERATOR_SCOPE`: the scope that lets a caller list all tasks of their tenant with `list_tasks`."""

    @property
    def is_closed_to_strangers(self) -> bool:
        """Tell whether callers authenticate, or the operator allowed anonymous callers."""
        return self.mode != "none" or self.allow_anonymous

    @classmethod
    def read(cls, env: Env) -> Self:
        """Read the settings; `env` keeps the faults and reports them when it is sealed."""
        tokens = env.str("COATCHECK_TOKENS", cls.tokens) or ""
        file = env.str("COATCHECK_TOKENS_FILE", "") or ""
        modes = [_one_of(("none", "tokens", "oauth")), _needs_tokens(bool(tokens or file))]
        mode = env.str("COATCHECK_AUTH", cls.mode, validate=modes) or cls.mode
        # Without a default a variable must be set.
        issuer = env.str("COATCHECK_OAUTH_ISSUER", validate=_check_address) if mode == "oauth" else cls.issuer
        of_methods: list[str] = env.list("COATCHECK_METHOD_SCOPES", [], validate=_check_method_scopes) or []
        algorithms = ContainsOnly(ALGORITHMS, error=f"may list {', '.join(ALGORITHMS)}")
        return cls(
            mode=mode,
            allow_anonymous=env.bool("COATCHECK_ALLOW_ANONYMOUS", cls.allow_anonymous),
            tokens_file=Path(file) if file else None,
            tokens=tokens,
            issuer=issuer or "",
            jwks_url=env.str("COATCHECK_OAUTH_JWKS_URL", cls.jwks_url, validate=_check_address),
            audiences=_words(env.list("COATCHECK_OAUTH_AUDIENCES", [])),
            algorithms=_words(env.list("COATCHECK_OAUTH_ALGORITHMS", list(cls.algorithms), validate=algorithms)),
            principal_claim=env.str("COATCHECK_OAUTH_PRINCIPAL_CLAIM", cls.principal_claim, validate=_CLAIM),
            tenant_claim=env.str("COATCHECK_OAUTH_TENANT_CLAIM", cls.tenant_claim, validate=_CLAIM_IF_ANY),
            scope_claim=env.str("COATCHECK_OAUTH_SCOPE_CLAIM", cls.scope_claim, validate=_CLAIM),
            cooldown_ms=milliseconds(env, "COATCHECK_OAUTH_COOLDOWN_SECONDS", cls.cooldown_ms, least=0.1, most=3_600),
            asked_scopes=_words(env.list("COATCHECK_SCOPES", [], validate=_check_scopes)),
            operator_scope=env.str("COATCHECK_OPERATOR_SCOPE", cls.operator_scope, validate=SCOPE),
            method_scopes={name: frozenset(scopes.split()) for name, _, scopes in map(_of_method, of_methods)},
        )


METHODS: Final = (
    "server/discover",
    "tools/list",
    "tools/call",
    "tasks/get",
    "tasks/update",
    "tasks/cancel",
    "subscriptions/listen",
)
"""What can need scopes; those of older revisions need what theirs of these does."""

SCOPE = Regexp(r"[!#-\[\]-~]+\Z", error="must be one scope, such as tasks:operate")
"""Checks a scope: its characters can be quoted in a challenge. Source: RFC 6749, section 3.3."""

_CLAIM_NAME = r"[ !#-\[\]-~]"
"""Characters of a claim's name, which challenges quote. Source: RFC 6750, section 3."""

_NO_CLAIM = "must be the name of a claim, in ASCII without quotes and backslashes"

_CLAIM = Regexp(rf"{_CLAIM_NAME}+\Z", error=_NO_CLAIM)

_CLAIM_IF_ANY = Regexp(rf"{_CLAIM_NAME}*\Z", error=_NO_CLAIM)


def _check_scopes(names: list[str]) -> None:
    for name in _words(names):
        SCOPE(name)


def _of_method(pair: str) -> tuple[str, str, str]:
    name, equals, scopes = pair.partition("=")
    return name.strip(), equals, scopes


def _check_method_scopes(of_methods: list[str]) -> None:
    for name, equals, scopes in map(_of_method, of_methods):
        if not equals or name not in METHODS:
            raise ValidationError(f"must list method=scope, such as tools/call=tools:call, for {', '.join(METHODS)}")
        _check_scopes(scopes.split())


def is_address(url: str) -> bool:
    """Tell whether this is an `http` or `https` URL with a host."""
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def is_loopback(address: object) -> bool:
    """Tell whether this is a loopback IP address."""
    try:
        return ip_address(str(address)).is_loopback
    except ValueError:
        return False


def is_trustworthy(url: str) -> bool:
    """Tell whether responses from this URL are protected: it is https, or on this machine."""
    return is_address(url) and (url.startswith("https:") or urlsplit(url).hostname in LOOPBACK_HOSTS)


def _words(items: list[str] | None) -> tuple[str, ...]:
    return tuple(item.strip() for item in items or [] if item.strip())


def _one_of(choices: tuple[str, ...]) -> Callable[[str], None]:
    def check(choice: str) -> None:
        if choice not in choices:
            raise ValidationError(f"must be one of {', '.join(choices)}")

    return check


def _needs_tokens(are_given: bool) -> Callable[[str], None]:
    def check(mode: str) -> None:
        if mode == "tokens" and not are_given:
            raise ValidationError("is tokens; set COATCHECK_TOKENS_FILE, or COATCHECK_TOKENS, to those that count")

    return check


def _check_address(url: str) -> None:
    """Check that the URL is trustworthy: keys that an attacker can replace prove nothing."""
    if url and not is_trustworthy(url):
        raise ValidationError("must be an https address")
