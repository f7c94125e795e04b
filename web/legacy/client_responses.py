"""What older clients answer: a POST that holds the response to a request of ours."""

from collections.abc import Callable, Mapping

from coatcheck.tasks_store import TaskNotFound
from coatcheck.web.access.scopes import Scopes
from coatcheck.web.errors import InvalidMessage, InvalidParams
from coatcheck.web.legacy.inputs import input_of
from coatcheck.web.protocol.call import Call
from coatcheck.web.streams.connections import Connections
from coatcheck.web.tool_calls.input_responses import checked_answers
from coatcheck.web.tool_calls.jobs import Jobs


def is_response(body: object) -> bool:
    """The message answers one of ours."""
    return isinstance(body, Mapping) and "method" not in body and ("result" in body or "error" in body)


class ClientResponses:
    """Takes responses on any web process: what a response answers stands in its id."""

    def __init__(self, connections: Callable[[], Connections], jobs: Jobs, scopes: Scopes) -> None:
        self._connections = connections
        self._jobs = jobs
        self._scopes = scopes

    def take(self, body: Mapping[str, object], call: Call) -> None:
        """The input is answered, as `tasks/update` would have done it.

        An error says that the client cannot show what it was asked; the call that waits for it hears of that, and the
        input stays open. Nothing changes for what does not fit, and for an input that is unknown, answered or another
        owner's: a response gets no answer that could say so.

        Raises:
            InvalidMessage: it is no response.

        Source: 2025-11-25, basic/transports, "Sending Messages to the Server".
        """
        if body.get("jsonrpc") != "2.0":
            raise InvalidMessage('jsonrpc is "2.0"')
        found = input_of(body.get("id"))
        if found is None:
            return
        task_id, input_key = found
        try:
            task = self._connections().store.get(call.owner, task_id)
            self._scopes.check_task(call, task.tool)
            if "result" not in body:
                if input_key in task.input_requests:
                    self._connections().store.note_unshown(task_id, input_key)
                return
            answers = checked_answers(task.input_requests, {input_key: body["result"]})
            if answers:
                self._jobs.answer(call.owner, task_id, answers)
        except (TaskNotFound, InvalidParams):
            return
