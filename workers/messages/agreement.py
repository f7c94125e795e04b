"""Compare the exposed Celery tasks with what the other application's workers report. Pure."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit

from coatcheck.workers.toolkit.tool import Exposed

SETTING: Final = "COATCHECK_EXPOSE_RESULT_BACKEND"

OFF: Final = ("disabled", "rpc")
"""Result backends that keep no result, or one that only the sender of the message can read."""


@dataclass(frozen=True, slots=True)
class Worker:
    """What a worker of the other application reports."""

    name: str
    queues: Collection[str]
    """The queues that it consumes."""
    tasks: Collection[str]
    """The names of its Celery tasks."""
    conf: Mapping[str, Any]
    """Its settings, without passwords."""


@dataclass(frozen=True, slots=True)
class Results:
    """The place of a result backend, as far as an address without its password shows it."""

    kind: str
    host: str
    database: str | None
    """None if the address does not show it."""
    prefix: str

    @classmethod
    def of(cls, url: str, options: object) -> "Results":
        """Return the place of the result backend with this URL and these transport options."""
        first = urlsplit(url.partition(";")[0])
        prefix = str(options.get("global_keyprefix", "")) if isinstance(options, Mapping) else ""
        host, database = first.netloc.rpartition("@")[2], first.path.strip("/").rpartition("/")[2] or "0"
        match first.scheme:
            case "redis" | "rediss":
                return cls("redis", host if ":" in host else f"{host}:6379", database, prefix)
            case "unix" | "redis+socket":
                return cls("redis", first.path, None, prefix)
            case "sentinel" | "redis+sentinel":
                return cls("redis", "", database, prefix)
        return cls(first.scheme, host, first.path, prefix)


def disagreements(
    works: Collection[Exposed], workers: Collection[Worker], url: str, options: object
) -> Iterator[tuple[str, bool]]:
    """Yield a sentence for each mismatch that keeps calls from getting their results, and whether it is certain."""
    for work in dict.fromkeys(works):
        listening = [worker for worker in workers if work.queue in worker.queues]
        if not listening:
            yield f"none of their workers listens to the queue {work.queue}, which {work.task} is sent to", True
        for worker in listening:
            if work.task not in worker.tasks:
                yield f"{worker.name} listens to the queue {work.queue}, and knows no Celery task {work.task}", True
    for worker in workers:
        if any(work.queue in worker.queues for work in works):
            if "json" not in str(worker.conf.get("accept_content", "json")):
                yield f"{worker.name} takes no messages in JSON (accept_content)", True
            yield from _of_results(worker, url, options)


def unseen_result(work: Exposed, workers: Collection[Worker], url: str, options: object) -> str:
    """Return why this process cannot, or possibly cannot, read the result of this task; empty if it can."""
    for worker in workers:
        if work.queue in worker.queues:
            for why, _ in _of_results(worker, url, options):
                return why
    return ""


def _of_results(worker: Worker, url: str, options: object) -> Iterator[tuple[str, bool]]:
    theirs = str(worker.conf.get("result_backend") or "")
    if not theirs or theirs.startswith(OFF):
        yield f"{worker.name} keeps no results: its result_backend is {theirs.partition(':')[0] or 'not set'}", True
        return
    if (serializer := worker.conf.get("result_serializer", "json")) != "json":
        yield f"{worker.name} writes results as {serializer}, and JSON alone is read (result_serializer)", True
    there = Results.of(theirs, worker.conf.get("result_backend_transport_options"))
    here = Results.of(url, options)
    if there == here or (
        there.host == here.host and None in (there.database, here.database) and _same_else(there, here)
    ):
        return
    is_elsewhere = f"{worker.name} leaves results in {theirs}"
    if there.prefix != here.prefix:
        yield f"{is_elsewhere} under the global_keyprefix {there.prefix!r}, and {here.prefix!r} is read here", True
    elif there.kind != here.kind or _are_other(there.database, here.database) or _is_one_machine(there, here):
        yield f"{is_elsewhere}, and {SETTING} leads elsewhere", True
    else:
        yield f"{is_elsewhere}; whether {SETTING} leads to the same cannot be told from the names", False


def _same_else(one: Results, other: Results) -> bool:
    return (one.kind, one.prefix) == (other.kind, other.prefix)


def _are_other(one: str | None, other: str | None) -> bool:
    return one is not None and other is not None and one != other


def _is_one_machine(one: Results, other: Results) -> bool:
    """Return whether both are sockets, or ports, of one machine, so that different ones are different servers."""
    if one.host.startswith("/") and other.host.startswith("/"):
        return True
    return one.host.partition(":")[0] == other.host.partition(":")[0] != ""
