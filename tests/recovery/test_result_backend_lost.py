"""Answers after the result backend was away for long."""

from collections.abc import Iterator

import pytest

from tests.support.platform import Platform
from tests.support.valkey import Valkey


@pytest.fixture
def results() -> Iterator[Valkey]:
    """A server that counts the parts of chords and does nothing else."""
    with Valkey() as server:
        yield server


def test_answers_resume_tasks_after_the_result_backend_was_away(results: Valkey) -> None:
    """In the process that had sent a chord before."""
    with Platform(tools="tests.web.tools", env={"CELERY_RESULT_BACKEND": results.url}) as platform:
        platform.start()
        with platform.client() as client:
            for is_before in (True, False):
                task_id = client.start("ask_page")
                client.wait_for(task_id, "input_required")
                key = next(iter(client.get(task_id).result["inputRequests"]))
                assert client.update(task_id, {key: {"action": "decline"}}).status == 200
                client.wait_for(task_id, timeout=40.0)
                if is_before:
                    with results.client() as raw:
                        assert [one for one in raw.client_list() if int(one["sub"]) or int(one["psub"])] == []
                    results.kill()
                    answered = client.start("ask_page")
                    client.wait_for(answered, "input_required")
                    assert client.update(answered, {"page": {"action": "decline"}}).status == 200
                    results.start()
                    client.wait_for(answered, timeout=40.0)
