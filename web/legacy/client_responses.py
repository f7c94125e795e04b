"""Handle the responses of legacy clients to requests of the server."""

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
    """Tell whether the message is a response to a request of the server."""
    return isinstance(body, Mapping) and "method" not in body and ("result" in body or "error" in body)


class ClientResponses:
    """Handles responses on any web process: the id of a response names the task and the input."""

    def __init__(self, connections: Callable[[], Connections], jobs: Jobs, scopes: Scopes) -> None:
        self._connections = connections
        self._jobs = jobs
        self._scopes = scopes

    def take(self, body: Mapping[str, object], call: Call) -> None:
        """Store the answer, as `tasks/update` does.

        An error means that the client cannot show the input: it stays open, and the call that waits for it is told. An
        invalid answer, and one for an unknown, answered or foreign input, is ignored: a response has no response that
        could report it.

        Raises:
            InvalidMessage: it is not a valid response.

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
