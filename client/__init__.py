"""The holder of tickets: a client for servers whose tools may take long. `coatcheck` is its command line."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from coatcheck.client.answers import accept, cancel, decline
    from coatcheck.client.async_client import AsyncCoatcheck
    from coatcheck.client.async_ticket import AsyncTicket
    from coatcheck.client.errors import ClientError
    from coatcheck.client.sync_client import Coatcheck, Ticket, wait_all

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
    "AsyncCoatcheck": "coatcheck.client.async_client",
    "AsyncTicket": "coatcheck.client.async_ticket",
    "ClientError": "coatcheck.client.errors",
    "Coatcheck": "coatcheck.client.sync_client",
    "Ticket": "coatcheck.client.sync_client",
    "accept": "coatcheck.client.answers",
    "cancel": "coatcheck.client.answers",
    "decline": "coatcheck.client.answers",
    "wait_all": "coatcheck.client.sync_client",
}


def __getattr__(name: str) -> Any:
    """The name, from its module. Not before it is used: the SDK takes a second to import, which a command's help and
    completion, in this same package, must not cost."""
    if name not in _HOMES:
        raise AttributeError(f"module 'coatcheck.client' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
