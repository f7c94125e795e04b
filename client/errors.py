"""What can go wrong between a client and its tickets. Each message is a sentence that says what to do."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from mcp_types import InputRequest


def typed(task_id: str) -> str:
    """The id as it is typed in a shell, also when it begins with a dash."""
    return f"{'-- ' if task_id.startswith('-') else ''}{shlex.quote(task_id)}"


def leaf(group: BaseException) -> BaseException:
    """The first cause: what a task group adds around it says nothing."""
    while isinstance(group, BaseExceptionGroup):
        group = group.exceptions[0]
    return group


class ClientError(Exception):
    """The root of every error that this folder raises on purpose."""


class ServerError(ClientError):
    """The server could not be asked, or did not answer as one would."""

    may_have_been_served = False
    """An earlier try of the same request, or this one, may have reached the server."""


class Unreachable(ServerError):
    """Nothing was sent: there was no connection to send it over."""

    def __init__(self, server: str, why: str) -> None:
        super().__init__(
            f"Nothing answers at {server} ({why}). Check that it runs and that the address is right: "
            "--url, COATCHECK_URL or the profile."
        )


class ProxyFailed(Unreachable):
    """Nothing was sent: the proxy that the environment names does not lead to the server."""

    def __init__(self, server: str, variable: str, why: str) -> None:
        ServerError.__init__(
            self,
            f"The proxy that {variable} names does not lead to {server} ({why}). "
            f"Correct {variable}, or add the server's host to NO_PROXY.",
        )


class TlsFailed(ServerError):
    """Nothing was sent: the server's certificate was not accepted."""

    def __init__(self, server: str, why: str) -> None:
        super().__init__(
            f"The TLS connection to {server} failed ({why}). If the server has a certificate of your own authority, "
            "install that authority on this machine or name its file in SSL_CERT_FILE."
        )


class AnswerLost(ServerError):
    """The request may have been served, but its answer did not arrive."""

    may_have_been_served = True

    def __init__(self, server: str, why: str, idempotency_key: str = "") -> None:
        self.why = why
        self.idempotency_key = idempotency_key
        again = "Try again."
        if idempotency_key:
            again = (
                "The call may have started. Call again with the same arguments and the idempotency key "
                f"{idempotency_key}: a server that honours it finds the work that has begun; another starts it anew."
            )
        super().__init__(f"No answer came from {server} ({why}). {again}")


class AnswerTooLarge(ServerError):
    """The request was served, and its answer is more than is read."""

    may_have_been_served = True

    def __init__(self, server: str, most: int) -> None:
        super().__init__(
            f"The answer of {server} is larger than {most // 1_000_000} MB and was not read to its end. "
            "Ask for less, or tell whoever runs the server."
        )


class Busy(ServerError):
    """The server asked for patience, for longer than there was."""

    def __init__(self, server: str, status: int, retry_after_s: float | None) -> None:
        self.retry_after_s = retry_after_s
        when = "later" if retry_after_s is None else f"in {retry_after_s:g} s"
        super().__init__(f"{server} takes no requests now (HTTP {status}). Try again {when}.")


class Unauthorised(ServerError):
    """The server does not know the token, or not any more."""

    def __init__(self, server: str, *, had_token: bool) -> None:
        todo = "Put a new one into COATCHECK_TOKEN or the profile" if had_token else "Put one into COATCHECK_TOKEN"
        refused = "did not accept the token; it may have expired" if had_token else "wants a token"
        super().__init__(f"{server} {refused}. {todo} and run the command again; your tickets are kept.")


class Forbidden(ServerError):
    """The server knows the token, and it is not enough."""

    def __init__(self, server: str, scopes: str) -> None:
        needed = f" It takes the scopes {scopes}." if scopes else ""
        super().__init__(f"{server} does not allow this (HTTP 403).{needed} Ask for a token that may do it.")


class TokenInTheClear(ServerError):
    """Nothing was sent: the token would have been readable on the way."""

    def __init__(self, server: str) -> None:
        super().__init__(
            f"The token is not sent to {server}, because plain http would show it to everyone on the way. Use https."
        )


class NotAnEndpoint(ServerError):
    """Something answers at the address, and it is no MCP endpoint."""

    def __init__(self, server: str, status: int) -> None:
        hint = "" if server.rstrip("/").endswith("/mcp") else f" Is it {server.rstrip('/')}/mcp?"
        super().__init__(f"There is no MCP endpoint at {server} (HTTP {status}).{hint}")


class RequestRejected(ServerError):
    """The server, or something before it, took the request for none that it serves."""

    def __init__(self, server: str, status: int, why: str) -> None:
        self.status = status
        super().__init__(f"{server} rejected the request (HTTP {status}): {why}.")


class Misunderstood(ServerError):
    """The answer was not what the protocol says."""

    def __init__(self, server: str, what: str) -> None:
        super().__init__(f"{server} sent an answer that is not MCP 2026-07-28: {what}. Tell whoever runs the server.")


class UnsupportedServer(ServerError):
    """The server speaks no revision of the protocol that is spoken here."""

    def __init__(self, server: str, versions: str) -> None:
        super().__init__(
            f"{server} does not speak MCP 2026-07-28{versions}. Tasks of older revisions are not understood here: "
            "use another client for this server, or ask for a newer server."
        )


class TasksNotOffered(ServerError):
    """The server does not speak the tasks extension."""

    def __init__(self, server: str) -> None:
        super().__init__(
            f"{server} does not offer tasks (the extension io.modelcontextprotocol/tasks), so it has no tickets. "
            "Its tools can be called; `coatcheck discover` shows what it offers."
        )


class Refused(ClientError):
    """The server answered with a JSON-RPC error."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        self.code = code
        self.message = message
        self.data = data
        super().__init__(f"The server refused: {message} ({code}).")


class UnknownTicket(ClientError):
    """The server knows no such task for this caller now."""

    def __init__(self, task_id: str, server: str, *, is_kept: bool = False) -> None:
        forget = f"coatcheck tickets --forget={shlex.quote(task_id)}"
        kept = f" Its ticket is kept, for the right token or profile. Forget it with:\n  {forget}" if is_kept else ""
        super().__init__(
            f"{server} does not know task {task_id} for this caller: it expired, belongs to somebody else, or lives on "
            f"another server.{kept}"
        )


class AnswerRefused(ClientError):
    """The answer does not fit what was asked; nothing of it was stored."""

    def __init__(self, key: str, message: str) -> None:
        self.key = key
        super().__init__(f"The answer to {key} was not accepted: {message}.")


class NothingAsked(ClientError):
    """The task does not ask for this input, or not any more."""

    def __init__(self, key: str, outstanding: Mapping[str, object]) -> None:
        asked = f"It asks for: {', '.join(outstanding)}." if outstanding else "It asks for nothing now."
        super().__init__(f"The task does not ask for {key}. {asked}" if key else asked)


class InputNeeded(ClientError):
    """The work waits for answers that nobody here gave."""

    def __init__(self, task_id: str, requests: Mapping[str, InputRequest]) -> None:
        self.task_id = task_id
        self.requests = requests
        how = (
            f"Answer with:\n  coatcheck answer {typed(task_id)}" if task_id else "Call it from a terminal to be asked."
        )
        super().__init__(f"Input is needed: {', '.join(requests)}. {how}")


class WaitedEnough(ClientError):
    """The wait ended at the time that was set for it; the task goes on."""

    def __init__(self, task_id: str, timeout_s: float) -> None:
        self.task_id = task_id
        super().__init__(
            f"Task {task_id} did not end within {timeout_s:g} s, and goes on. "
            f"Come back with:\n  coatcheck wait {typed(task_id)}"
        )


class NotFinished(ClientError):
    """The task has no result yet."""

    def __init__(self, task_id: str, status: str) -> None:
        self.status = status
        super().__init__(
            f"Task {task_id} is not finished (it is {status}). Wait for it with:\n  coatcheck wait {typed(task_id)}"
        )


class TaskFailed(ClientError):
    """The task ended with a JSON-RPC error."""

    def __init__(self, task_id: str, code: int, message: str, data: Any = None) -> None:
        self.task_id = task_id
        self.code = code
        self.data = data
        super().__init__(f"Task {task_id} failed: {message} ({code}).")


class TaskCancelled(ClientError):
    """The task was cancelled before it had a result."""

    def __init__(self, task_id: str) -> None:
        self.task_id = task_id
        super().__init__(f"Task {task_id} was cancelled.")


class CallUnanswered(ClientError):
    """A call went out, and neither its ticket nor its result has arrived."""

    def __init__(self, tool: str, idempotency_key: str) -> None:
        self.idempotency_key = idempotency_key
        super().__init__(
            f"A call of {tool} is without its answer, and its arguments were not kept. A server that honours its key "
            "finds the work that has begun. Repeat the call with the same arguments:\n"
            f"  coatcheck call {shlex.quote(tool)} --idempotency-key {shlex.quote(idempotency_key)} --arg …\n"
            f"Or forget it:\n  coatcheck tickets --forget {shlex.quote(idempotency_key)}"
        )


class LedgerError(ClientError):
    """The ledger could not be read or written."""


class LedgerBusy(LedgerError):
    """Another process holds the ledger."""

    def __init__(self, path: Path) -> None:
        super().__init__(
            f"The ledger {path} is locked by another program. Try again once that has finished, "
            "or name another file in COATCHECK_LEDGER."
        )


class LedgerUnusable(LedgerError):
    """The ledger's file cannot be opened, written or extended."""

    def __init__(self, path: Path, why: str) -> None:
        super().__init__(
            f"The ledger {path} cannot be used ({why}). Check its folder's permissions and space, "
            "or name another file in COATCHECK_LEDGER."
        )


class LedgerTooNew(LedgerError):
    """The ledger was written by a later version."""

    def __init__(self, path: Path) -> None:
        super().__init__(f"The ledger {path} was written by a newer Coatcheck. Update, or set COATCHECK_LEDGER.")


class TicketNotKept(LedgerError):
    """The task runs, and the ledger could not write its id down."""

    def __init__(self, task_id: str, server: str, fault: LedgerError) -> None:
        self.task_id = task_id
        super().__init__(f"{fault} Keep this id yourself: task {task_id} at {server}.")


class LedgerDamaged(UserWarning):
    """The ledger could not be read and was kept aside."""


class InvalidSettings(ClientError):
    """The environment or the profiles do not say how to reach a server."""


class InvalidArguments(ClientError):
    """What was typed cannot be read."""
