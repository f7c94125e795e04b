"""The holder of tickets: a client for servers whose tools may take long. `coatcheck` is its command line."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from client.answers import accept, cancel, decline
    from client.async_client import AsyncCoatcheck
    from client.async_ticket import AsyncTicket
    from client.errors import ClientError
    from client.sync_client import Coatcheck, Ticket, wait_all

__all__ = [
    "AsyncCoatcheck",
    "AsyncTicket",
    "ClientError",
    "Coatcheck",
    "Ticket",
    "accept",
    "cancel",
    "decline",
    "wait_all",
]

_HOMES = {
    "AsyncCoatcheck": "client.async_client",
    "AsyncTicket": "client.async_ticket",
    "ClientError": "client.errors",
    "Coatcheck": "client.sync_client",
    "Ticket": "client.sync_client",
    "accept": "client.answers",
    "cancel": "client.answers",
    "decline": "client.answers",
    "wait_all": "client.sync_client",
}


def __getattr__(name: str) -> Any:
    """The name, from its module. Not before it is used: the SDK takes a second to import, which a command's help and
    completion, in this same package, must not cost."""
    if name not in _HOMES:
        raise AttributeError(f"module 'client' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
