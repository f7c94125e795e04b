"""What operators want to know of all tasks together."""

from collections import Counter
from collections.abc import Mapping
from typing import Any, Final

from coatcheck.tasks_store import keys
from coatcheck.tasks_store.keys import DUE, TaskKeys
from coatcheck.tasks_store.scripts import script
from coatcheck.tasks_store.sender import Sender

BATCH: Final = 500
"""How many records are looked at in one round trip."""

MOST: Final = 100_000
"""How many records are looked at in all, so that a look ends."""

REPORT_MS: Final = 10_000
"""How long what a process reported holds. One that lives says it again every few seconds."""

_STREAMS: Final = {"seen": keys.STREAMS_SEEN, "streams": keys.STREAMS}


class Statistics:
    """Counts over the whole deployment. Methods raise `StoreUnavailable` as those of the task store do."""

    def __init__(self, sender: Sender) -> None:
        self._sender = sender

    def add(self, process: str, number: int, counts: Mapping[str, int]) -> None:
        """The counts are part of the deployment's; once for each number, which grows by one with each call."""
        self._sender.send(
            script("tally"),
            {"counts": keys.COUNTS, "last": keys.counted_key(process)},
            number=number,
            more=[part for name, count in counts.items() for part in (name, count)],
        )

    def counts(self) -> dict[str, int]:
        """All that was counted, since the store began."""
        with self._sender.client() as client:
            counted: dict[Any, Any] = client.hgetall(keys.COUNTS)
        return {name.decode(): int(count) for name, count in counted.items()}

    def report_streams(self, process: str, count: int) -> None:
        """The process holds this many streams, until it says otherwise or is not heard of for a while."""
        self._sender.send(script("report"), _STREAMS, process=process, count=count, within=REPORT_MS)

    def streams(self) -> int:
        """How many streams all web processes hold that are alive."""
        return int(self._sender.send(script("listeners"), _STREAMS, within=REPORT_MS)[1])

    def statuses(self) -> Counter[str]:
        """How many records have each status. Ended tasks count until they are purged."""
        found: Counter[str] = Counter()
        with self._sender.client() as client:
            for index in DUE:
                start = 0
                while sum(found.values()) < MOST:
                    ids: list[Any] = client.zrange(index, start, start + BATCH - 1)
                    pipeline = client.pipeline(transaction=False)
                    for task_id in ids:
                        pipeline.hget(TaskKeys.of(task_id.decode()).task, "status")
                    found.update(status.decode() for status in pipeline.execute() if status)
                    start += BATCH
                    if len(ids) < BATCH:
                        break
        return found
