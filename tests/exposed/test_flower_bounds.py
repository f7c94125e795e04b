"""Flower stays small, however much is done, and nothing depends on it."""

from tests.exposed.flower import logged_in, rows
from tests.exposed.theirs import TheirWorker
from tests.support.client import Client
from tests.support.platform import Platform
from tests.support.waiting import wait_until

MOST = 20


def test_the_shipped_command_keeps_the_newest_runs_alone_and_its_end_is_nobody_elses(
    platform: Platform, client: Client, odd: TheirWorker
) -> None:
    """C30"""
    with logged_in(platform, FLOWER_MAX_TASKS=str(MOST)) as operator:
        ids = [client.start("odd.say", {"text": str(number)}) for number in range(3 * MOST)]
        for task_id in ids:
            client.wait_for(task_id)

        def has_the_last() -> bool:
            return bool(rows(operator, ids[-1]))

        wait_until(has_the_last, 30.0, "the last run")
        kept = rows(operator, "")
        assert len(kept) == MOST
        assert {row["name"] for row in kept} == {"coatcheck.odd.say"}
        assert f"{ids[0]}.1" not in {row["uuid"] for row in kept}
    assert client.wait_for(client.start("odd.say"))["status"] == "completed"
