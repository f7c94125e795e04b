"""Reads what a side uses: processor time, memory, and the attention of Redis."""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

import psutil
from redis import Redis

from bench.figures import Reading
from bench.servers import Side
from tests.support.processes import Process


@dataclass
class Meter:
    """What a side and Redis used during the block."""

    side: Side
    redis: Redis
    cpu_s: float = 0.0
    redis_cpu_s: float = 0.0
    trips: float = 0.0
    """Times that Redis read from a socket: one for each command or pipeline that was sent to it."""
    client_cpu_s: float = 0.0

    def __enter__(self) -> Self:
        self._take(-1)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._take(1)

    def reading(self, operations: int, seconds: float) -> Reading:
        """So many operations in that time, with what each of them used."""
        count = max(1, operations)
        return Reading(
            operations / seconds,
            cpu_ms=self.cpu_s * 1000 / count,
            redis_cpu_ms=self.redis_cpu_s * 1000 / count,
            trips=self.trips / count,
            client_cpu_ms=self.client_cpu_s * 1000 / count,
        )

    def _take(self, sign: int) -> None:
        self.cpu_s += sign * cpu_seconds(self.side)
        self.client_cpu_s += sign * time.process_time()
        info = self.redis.info()
        self.redis_cpu_s += sign * (info["used_cpu_user"] + info["used_cpu_sys"])
        self.trips += sign * info["total_reads_processed"]


def cpu_seconds(side: Side) -> float:
    """Processor time that all processes of the side have used so far."""
    return sum(times.user + times.system for times in (one.cpu_times() for one in _all(side.processes)))


def rss_mb(processes: list[Process]) -> float:
    """Resident memory of these processes and their children. Pages that they share count for each."""
    return sum(one.memory_info().rss for one in _all(processes)) / 1e6


def commands(redis: Redis) -> int:
    """Commands that Redis has been sent, without those that scripts called."""
    info: dict[str, Any] = redis.info("stats")
    return int(info["total_reads_processed"])


def used_bytes(redis: Redis) -> int:
    """What the data of Redis takes, without the buffers of its clients and its append-only file."""
    info: dict[str, Any] = redis.info("memory")
    return int(info["used_memory"]) - int(info["mem_clients_normal"]) - int(info["mem_aof_buffer"])


def _all(processes: list[Process]) -> Iterator[psutil.Process]:
    for process in processes:
        first = psutil.Process(process.pid)
        yield first
        yield from first.children(recursive=True)
