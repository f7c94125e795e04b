"""Validate clients' answers against the requests that they answer."""

from collections.abc import Mapping

import orjson

from coatcheck.web.errors import InvalidParams, MissingClientCapability
from coatcheck.web.protocol.serialization import compact_json
from coatcheck.web.server.threads import compute
from coatcheck.workers.toolkit.errors import InvalidAnswer
from coatcheck.workers.toolkit.inputs import check_answer, missing_capability


def checked_answers(requests: Mapping[str, bytes], responses: Mapping[str, object]) -> dict[str, bytes]:
    """Return the valid answers to these requests in the form of the store; other keys are left out.

    Raises:
        InvalidParams: an answer does not fit its request. The message names key and field; no answer is to be stored.

    Source: ext-tasks, tasks.md, "Task Update Requests"; basic/patterns/mrtr, "Error Handling".
    """
    return compute(_checked, requests, responses)


def _checked(requests: Mapping[str, bytes], responses: Mapping[str, object]) -> dict[str, bytes]:
    answers: dict[str, bytes] = {}
    faults: list[str] = []
    for key, request in requests.items():
        if key in responses:
            try:
                answers[key] = compact_json(check_answer(orjson.loads(request), responses[key]))
            except InvalidAnswer as fault:
                faults += [f"inputResponses.{key}: {line}" for line in fault.faults]
    if faults:
        raise InvalidParams("; ".join(faults))
    return answers


def check_askable(requests: Mapping[str, bytes], declared: Mapping[str, object]) -> None:
    """Check that the client declared the capabilities that these inputs need.

    Raises:
        MissingClientCapability: it did not.

    Source: basic/patterns/mrtr, "Server Requirements".
    """
    for request in requests.values():
        if (missing := missing_capability(orjson.loads(request), declared)) is not None:
            raise MissingClientCapability(missing)


def check_declared(required: Mapping[str, object], declared: Mapping[str, object]) -> None:
    """Check that the client declared every required capability, to the depth that is spelled out.

    Raises:
        MissingClientCapability: it names the missing ones.
    """
    lacking = {name: inner for name, inner in required.items() if not _is_declared(name, inner, declared)}
    if lacking:
        raise MissingClientCapability(lacking)


def _is_declared(name: str, required: object, declared: Mapping[str, object]) -> bool:
    given = declared.get(name)
    if not isinstance(given, Mapping):
        return False
    if name == "elicitation" and not given.keys() & {"form", "url"}:
        given = {"form": {}}  # an empty declaration means forms
    return not isinstance(required, Mapping) or all(_is_declared(key, inner, given) for key, inner in required.items())
