"""All limits in one place: what is counted, for whom, and what is said when it is too much."""

from collections.abc import Callable, Mapping
from typing import Final

from coatcheck.tasks_store import Fullness, NewTask, Owner, Quota
from coatcheck.web.access.backlog_limit import BacklogLimit
from coatcheck.web.access.rate_limit import RateLimit
from coatcheck.web.errors import InvalidParams, LimitReached
from coatcheck.web.settings.limits import LimitSettings
from coatcheck.workers.messages.dispatcher import Dispatcher

QUOTA_RETRY_S: Final = 10.0
"""When a client may try again that has too many tasks: some of them have to end first."""

_WORDS: Final = {
    Fullness.OWNER: "You have too many tasks that have not ended; wait for some, or cancel them",
    Fullness.TENANT: "Your organisation has too many tasks that have not ended; wait for some",
}


class Limits:
    """Keeps one caller from taking what others need.

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
        # Rare, so no process has to save round trips; and exact, so that a client that is finding out how to prove
        # itself gets all that it may have on one connection.
        self._failures = RateLimit(
            "failures", failures / 60, 2 * failures, 0, quota, "Too many requests without a valid token"
        )

    def check_request(self, owner: Owner, count: int = 1) -> None:
        """One more request of this owner may be served, which costs as much as so many. Raises LimitReached."""
        if self._knows_owners:
            self._requests.take(owner.key, count)

    def check_poll(self, owner: Owner, task_id: str) -> None:
        """One more look at this task may be served. Raises LimitReached."""
        if self._knows_owners:
            self._polls.take(f"{owner.key}:{task_id[:64]}")

    def check_failure(self, address: str) -> None:
        """One more request of this address that proves no owner may be told so. Raises LimitReached."""
        self._failures.take(address)

    def check_answers(self, answers: Mapping[str, bytes]) -> None:
        """No answer is too large. Raises InvalidParams."""
        for key, answer in answers.items():
            _check_size(f"inputResponses.{key}", answer, self._settings.answer_bytes)

    def check_task(self, new: NewTask, task_id: str) -> None:
        """One more task may be made, and is counted until it ends. Raises LimitReached, InvalidParams."""
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
        """A task that was counted and then not made is no longer counted."""
        if self._knows_owners:
            self._quota().dismiss(owner, task_id)


def _check_size(what: str, text: bytes, most: int) -> None:
    if most and len(text) > most:
        raise InvalidParams(f"{what}: has {len(text)} bytes of JSON, and the limit is {most}")
