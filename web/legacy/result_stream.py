"""The stream that answers `tasks/result` of a task that has not ended."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import ClassVar

from tasks_store import Task, TaskNotFound
from web.auth.caller import Caller
from web.envelope import RequestId
from web.errors import TooManyStreams
from web.events import COMMENT, event
from web.legacy.inputs import can_be_asked, request_message
from web.legacy.revisions import Revision
from web.legacy.wire import status_notification
from web.outlet import Outlet
from web.stream import Stream


class ResultStream(Stream):
    """Asks the client, once each, what the task asks; tells its changes; and ends with its result.

    At most what is known at one moment waits for a slow reader, and after it the newest state.

    Source: 2025-11-25, basic/utilities/tasks, "Input Required Status" and "Result Retrieval".
    """

    def __init__(self, opening: "ResultOpening", outlet: Outlet) -> None:
        super().__init__(opening.caller, (opening.task_id,), outlet)
        self._opening = opening
        self._told: Task | None = None
        self._news: Task | None = None
        self._asked: set[str] = set()

    def begin(self, head: bytes) -> None:
        """The response has begun, and its head is not held back."""
        self.outlet.write(head + COMMENT)

    def tell(self, task: Task) -> None:
        """The client hears of this state, unless it has heard of it before, or of a newer one by then."""
        if task != self._told:
            self._news = task
            self.advance()

    def forget(self, task_id: str) -> None:
        """The task is gone, and so will never have a result."""
        self._end(self._opening.refused(TaskNotFound(task_id)))

    def advance(self) -> None:
        """As much has been told as the client takes."""
        super().advance()
        if self._news is None or not self.outlet.is_empty or self.is_ended:
            return
        task, before = self._news, self._told
        self._told, self._news = task, None
        if task.status.is_terminal:
            self._end(self._opening.ended(task))
            return
        messages = [] if before is None else [status_notification(task)]
        messages += self._questions(task)
        if messages:
            self.outlet.write(b"".join(map(event, messages)))

    @property
    def _last_word(self) -> bytes:
        return self._opening.refused(TooManyStreams("This stream ends before the task does; ask again for its result"))

    def _questions(self, task: Task) -> list[bytes]:
        revision = self._opening.revision
        new = {key: request for key, request in task.input_requests.items() if key not in self._asked}
        self._asked |= new.keys()
        return [
            request_message(revision, task.task_id, key, request)
            for key, request in new.items()
            if can_be_asked(revision, request)
        ]


@dataclass(frozen=True, slots=True)
class ResultOpening:
    """A `tasks/result` whose parameters have been read and whose caller has a seat."""

    method: ClassVar[str] = "tasks/result"

    request_id: RequestId
    caller: Caller
    task_id: str
    revision: Revision
    ended: Callable[[Task], bytes]
    """The response that a task leads to which has ended; it never raises."""
    refused: Callable[[Exception], bytes]
    """The response when there will be no result."""

    def open(self, outlet: Outlet, _server_info: Mapping[str, str]) -> ResultStream:
        """The stream on this connection."""
        return ResultStream(self, outlet)
