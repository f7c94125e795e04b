"""Inputs that a tool needs before its job starts, requested over as many rounds as necessary.

Nothing is stored meanwhile: the sealed `requestState` carries the answers given so far.

Source: basic/patterns/mrtr; ext-tasks, tasks.md, "Task Creation".
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import orjson

from coatcheck.web.errors import InvalidParams
from coatcheck.web.protocol.serialization import compact_json, input_required_result
from coatcheck.web.server.threads import AuthorCodeThread
from coatcheck.web.tool_calls.input_responses import check_askable, checked_answers
from coatcheck.web.tool_calls.request_state import CallBinding, RequestState, StateSealer
from coatcheck.workers.toolkit.inputs import InputRequest
from coatcheck.workers.toolkit.tool import Tool


@dataclass(frozen=True, slots=True)
class FirstAnswers:
    """The answers to all first inputs: input key to request and answer, in the form of the store."""

    answers: Mapping[str, tuple[bytes, bytes]]


def collect_first_answers(
    tool: Tool,
    arguments: Mapping[str, Any],
    state: RequestState,
    responses: Mapping[str, object],
    declared: Mapping[str, object],
    binding: CallBinding,
    sealer: StateSealer,
    author_code: AuthorCodeThread,
) -> FirstAnswers | dict[str, object]:
    """Return the answers that the job starts with, or the result that requests the missing ones.

    Raises:
        InvalidParams: an answer is wrong.
        MissingClientCapability: the client does not support such an input.
        InvalidArguments: the tool does not take the arguments.
    """
    if tool.ask_first is None:
        return FirstAnswers({})
    asked = author_code.run(lambda: tool.first_requests(tool.arguments.load(arguments)))
    requests = {key: compact_json(request.to_wire()) for key, request in asked.items()}
    known = {key: compact_json(state.answers[key]) for key in requests if key in state.answers}
    given = checked_answers({key: requests[key] for key in requests if key not in known}, responses)
    for key, answer in given.items():
        author_code.run(partial(_validate, key, asked[key], orjson.loads(answer)))
    known |= given
    missing = {key: request for key, request in requests.items() if key not in known}
    if missing:
        check_askable(missing, declared)
        answers = {key: orjson.loads(answer) for key, answer in known.items()}
        return input_required_result(
            missing, sealer.seal(binding.salt, RequestState(answers=answers, round=" ".join(missing)))
        )
    return FirstAnswers({key: (requests[key], known[key]) for key in requests})


def _validate(key: str, request: InputRequest, answer: dict[str, Any]) -> None:
    """Run the author's validation of an accepted form. Raises InvalidParams with its message."""
    if request.validate is None or answer.get("action", "accept") != "accept":
        return
    try:
        request.validate(answer.get("content", {}) if "action" in answer else answer)
    except ValueError as fault:
        raise InvalidParams(f"inputResponses.{key}: {fault}") from fault
