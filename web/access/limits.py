"""All limits on requests and tasks: what is counted, for whom, and the message of a refusal."""

from collections.abc import Callable, Mapping
from typing import Final

from coatcheck.tasks_store import Fullness, NewTask, Owner, Quota
from coatcheck.web.access.backlog_limit import BacklogLimit
from coatcheck.web.access.rate_limit import RateLimit
from coatcheck.web.errors import InvalidParams, LimitReached
from coatcheck.web.settings.limits import LimitSettings
from coatcheck.workers.messages.dispatcher import Dispatcher

QUOTA_RETRY_S: Final = 10.0
"""Seconds after which a client with too many tasks can try again: some of them have to end first."""

_WORDS: Final = {
    Fullness.OWNER: "You have too many tasks that have not ended; wait for some, or cancel them",
    Fullness.TENANT: "Your organisation has too many tasks that have not ended; wait for some",
}


class Limits:
    """Enforces the limits of an owner, a tenant, an address and a queue.

    Source: ext-tasks, tasks.md, "Security Considerations".
    """

    def __init__(
        self,
        settings: LimitSettings,
        processes: int,
        quota: Callable[[], Quota],
        dispatcher: Callable[[], Dispatcher],
        *,
        knows_owners: bool,
    ) -> None:
        self._settings = settings
        self._quota = quota
        self._knows_owners = knows_owners
        self._backlog = BacklogLimit(settings.backlog, dispatcher)
        requests, polls, failures = settings.requests_per_s, settings.polls_per_s, settings.failures_per_minute
        self._requests = RateLimit("requests", requests, 2 * requests, processes, quota, "Too many requests")
        self._polls = RateLimit("polls", polls, 2 * polls, processes, quota, "This task is polled too often")
        # Failures are rare, so round trips are no concern; and exact, so that a client that is finding out how to
        # authenticate gets its whole limit on one connection.
        self._failures = RateLimit(
            "failures", failures / 60, 2 * failures, 0, quota, "Too many requests without a valid token"
        )

    def check_request(self, owner: Owner, count: int = 1) -> None:
        """Count a request of this owner that costs as much as `count` requests. Raises LimitReached."""
        if self._knows_owners:
            self._requests.take(owner.key, count)

    def check_poll(self, owner: Owner, task_id: str) -> None:
        """Count a poll of this task. Raises LimitReached."""
        if self._knows_owners:
            self._polls.take(f"{owner.key}:{task_id[:64]}")

    def check_failure(self, address: str) -> None:
        """Count an unauthenticated request of this address. Raises LimitReached."""
        self._failures.take(address)

    def check_answers(self, answers: Mapping[str, bytes]) -> None:
        """Check the size of each answer. Raises InvalidParams."""
        for key, answer in answers.items():
            _check_size(f"inputResponses.{key}", answer, self._settings.answer_bytes)

    def check_task(self, new: NewTask, task_id: str) -> None:
        """Check the limits on a new task, and count it until it ends. Raises LimitReached, InvalidParams."""
        _check_size("arguments", new.arguments, self._settings.argument_bytes)
        self.check_answers({key: answer for key, (_, answer) in new.answers.items()})
        self._backlog.check(new.tool)
        if not self._knows_owners:
            return
        settings = self._settings
        fullness = self._quota().admit(
            new.owner, task_id, new.ttl_ms, settings.tasks_per_owner, settings.tasks_per_tenant
        )
        if fullness is not None:
            raise LimitReached(f"{fullness}_tasks", _WORDS[fullness], QUOTA_RETRY_S)

    def forget_task(self, owner: Owner, task_id: str) -> None:
        """Stop counting a task that was not created after all."""
        if self._knows_owners:
            self._quota().dismiss(owner, task_id)


def _check_size(what: str, text: bytes, most: int) -> None:
    if most and len(text) > most:
        raise InvalidParams(f"{what}: has {len(text)} bytes of JSON, and the limit is {most}")
