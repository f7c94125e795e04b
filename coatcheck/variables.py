"""The names of all variables of this program, so that a slip of the pen in one of them is told."""

import re
from collections.abc import Iterable, Iterator
from difflib import get_close_matches
from typing import Final

LEADER: Final = "COATCHECK_"
"""Begins the names of all variables that no other program has."""

_NAMES: Final = """
    ALLOWED_HOSTS ALLOWED_ORIGINS ALLOW_ANONYMOUS ALLOW_OPEN_FLOWER ANSWER_SECONDS AUTH BACKLOG BODY_SECONDS
    BROKER_PREFIX CONTROL_EXCHANGE
    CANCEL_GRACE_SECONDS COMPANIONS CONCURRENCY CONNECTIONS DATA_DIR DURABILITY ENCRYPTION_KEYS EXPOSE
    EXPOSE_BROKER_URL EXPOSE_CONFIG EXPOSE_LOOK_SECONDS EXPOSE_RESULT_BACKEND EXPOSE_SILENCE_SECONDS
    FAILURES_PER_MINUTE FAULTS GRACE_SECONDS HOST INSTRUCTIONS KEEP_SECONDS LEASE_SECONDS LEDGER LEGACY
    LEGACY_SECONDS LOG_EXCEPTIONS LOG_FORMAT MAX_ANSWER_BYTES MAX_ARGUMENT_BYTES MAX_BODY_BYTES MAX_HEADER_BYTES
    MAX_RESULT_BYTES MAX_RUNS MAX_STEP_BYTES METHOD_SCOPES METRICS_TOKEN OAUTH_ALGORITHMS OAUTH_AUDIENCES
    OAUTH_COOLDOWN_SECONDS OAUTH_ISSUER OAUTH_JWKS_URL OAUTH_PRINCIPAL_CLAIM OAUTH_SCOPE_CLAIM
    OAUTH_TENANT_CLAIM OPERATOR_SCOPE PAGE_SIZE POLLS_PER_SECOND PROFILE PUBLIC_URL QUEUE QUEUE_TYPE
    REDIS_CA_FILE REDIS_CONNECTIONS REDIS_TLS_VERIFY REQUESTS_PER_SECOND REQUIRE_TASK_NAME RESEND_SECONDS SCOPES
    SECRET_KEY SERVER_NAME SHUTDOWN_GRACE_SECONDS STATE_SECONDS STREAMS STREAMS_PER_OWNER SWEEP_SECONDS
    SYNC_SECONDS TASKS_PER_OWNER TASKS_PER_TENANT TOKEN TOKENS TOKENS_FILE TOOLS TRUSTED_PROXIES UNFIT_STORE URL
    WAITING_CALLS WAITING_CALLS_PER_OWNER
"""

KNOWN: Final = frozenset(LEADER + name for name in _NAMES.split())
"""Those of web, worker, launcher and client: they often share one environment. A test compares."""

OTHERS: Final = ("CELERY_BROKER_URL", "CELERY_RESULT_BACKEND", "FLOWER_PORT", "PORT", "REDIS_URL", "WEB_CONCURRENCY")
"""Variables that other programs have too, and which are settings of this one."""

_OF_A_SERVICE: Final = re.compile(
    r"COATCHECK_(\w+_)?(SERVICE_HOST|SERVICE_PORT(_\w+)?|PORT(_\d+_(TCP|UDP|SCTP)(_\w+)?)?)"
)
"""What Kubernetes puts into every container for a service whose name begins with `coatcheck`."""


def unknown_variables(names: Iterable[str]) -> Iterator[str]:
    """Yield a sentence for each variable that looks like one of ours and is none, with the nearest that is one."""
    for name in sorted(names):
        if name.startswith(LEADER) and name not in KNOWN and not _OF_A_SERVICE.fullmatch(name):
            nearest = get_close_matches(name, KNOWN, 1)
            yield f"{name} is set, and is no setting of this version{f'; {nearest[0]} is one' if nearest else ''}."
