"""What the command's exit code tells."""

from enum import IntEnum

from coatcheck.client.errors import (
    AnswerRefused,
    ClientError,
    InputNeeded,
    InvalidArguments,
    InvalidSettings,
    LedgerError,
    NothingAsked,
    Refused,
    ServerError,
    TaskCancelled,
    TaskFailed,
    UnknownTicket,
    WaitedEnough,
)


class Exit(IntEnum):
    """The exit codes; the command's help lists them."""

    COMPLETED = 0
    """The tool has a result, or the command did what it says."""
    TOOL_ERROR = 1
    """The tool ended, and says that it could not do it."""
    USAGE = 2
    """What was typed, or what is configured, cannot be used."""
    FAILED = 3
    """The task failed, or the server refused the call."""
    CANCELLED = 4
    """The task was cancelled."""
    INPUT_NEEDED = 5
    """The task waits for an answer."""
    UNREACHABLE = 6
    """The server could not be asked."""
    DETACHED = 130
    """The wait was interrupted, or has lasted as long as it was to; the task goes on."""


_EXITS: tuple[tuple[type[ClientError], Exit], ...] = (
    (TaskFailed, Exit.FAILED),
    (Refused, Exit.FAILED),
    (TaskCancelled, Exit.CANCELLED),
    (WaitedEnough, Exit.DETACHED),
    (InputNeeded, Exit.INPUT_NEEDED),
    (ServerError, Exit.UNREACHABLE),
    (UnknownTicket, Exit.USAGE),
    (AnswerRefused, Exit.USAGE),
    (NothingAsked, Exit.USAGE),
    (InvalidArguments, Exit.USAGE),
    (InvalidSettings, Exit.USAGE),
    (LedgerError, Exit.USAGE),
)


def exit_of(fault: ClientError) -> Exit:
    """The exit code of a command that ended with this."""
    return next((code for kind, code in _EXITS if isinstance(fault, kind)), Exit.USAGE)
