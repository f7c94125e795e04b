"""What the scripts' replies stand for. Field order is that of the scripts."""

from collections.abc import Iterable, Sequence
from typing import Any

from coatcheck.tasks_store.encryption import Vault
from coatcheck.tasks_store.model import Claim, Given, NextRun, Owner, Status, Task, TaskError, Verdict


def task_of(task_id: str, fields: Sequence[Any], vault: Vault) -> Task:
    """The task that `get.lua` found."""
    tool, status, created, updated, ttl, poll, message, result, code, why, data, progress, *requests = fields
    return Task(
        task_id=task_id,
        tool=tool.decode(),
        status=Status(status.decode()),
        created_ms=int(created),
        updated_ms=int(updated),
        ttl_ms=int(ttl),
        poll_interval_ms=int(poll),
        message=message.decode(),
        progress=progress,
        input_requests={
            key.decode(): vault.open(task_id, f"request:{key.decode()}", request) for key, request in _pairs(requests)
        },
        result=vault.open(task_id, "result", result) or None,
        error=TaskError(int(code), why.decode(), vault.open(task_id, "error_data", data) or None) if code else None,
    )


def claim_of(task_id: str, run_id: str, fields: Sequence[Any], vault: Vault) -> Claim:
    """The claim that `claim.lua` granted."""
    number, owner, tool, arguments, capabilities, trace, created, expires, steps, inputs = fields
    return Claim(
        task_id=task_id,
        run_id=run_id,
        run_number=int(number),
        tool=tool.decode(),
        owner=Owner.from_key(owner.decode()),
        arguments=vault.open(task_id, "arguments", arguments),
        capabilities=capabilities,
        trace=trace,
        created_ms=int(created),
        expires_ms=int(expires),
        steps={key.decode(): vault.open(task_id, f"step:{key.decode()}", result) for key, result in _pairs(steps)},
        inputs=_inputs(task_id, inputs, vault),
    )


def next_run_of(task_id: str, following: Sequence[bytes | int]) -> NextRun | None:
    """The run that a script's reply tells of by tool, number and owner, if it does."""
    if not following:
        return None
    tool, number, owner = following
    assert isinstance(tool, bytes)
    assert isinstance(owner, bytes)
    return NextRun(task_id, tool.decode(), int(number), Owner.from_key(owner.decode()).tag)


def words_of(text: bytes) -> tuple[str, ...]:
    return tuple(text.decode().split())


def _pairs(flat: Sequence[bytes]) -> Iterable[tuple[bytes, bytes]]:
    return zip(flat[::2], flat[1::2], strict=True)


def _inputs(task_id: str, flat: Sequence[bytes], vault: Vault) -> dict[str, Given]:
    """The inputs hash, field by field, as one `Given` per input key."""
    parts: dict[str, dict[str, bytes]] = {}
    for name, value in _pairs(flat):
        part, _, key = name.decode().partition(":")
        parts.setdefault(key, {})[part] = value
    return {
        key: Given(
            request=vault.open(task_id, f"request:{key}", part["request"]),
            answer=vault.open(task_id, f"answer:{key}", part["answer"]) if "answer" in part else None,
            verdict=Verdict(part.get("verdict", b"").decode()),
            why=part.get("why", b"").decode(),
            validator=part.get("validator", b"").decode(),
        )
        for key, part in parts.items()
    }
