"""What is large stays in the store."""

from tests.support.client import Client
from tests.support.platform import Platform

TEXT = "x" * 900_000


def test_a_message_and_the_log_hold_nothing_of_a_large_argument_and_result(bare_platform: Platform) -> None:
    """C31: Flower shows what messages show, and falls over when that is large."""
    with bare_platform.client() as client, bare_platform.valkey.client() as raw:
        task_id = client.start("quick", {"text": TEXT})
        (message,) = raw.lrange("coatcheck:broker:coatcheck", 0, -1)
        assert len(message) < 2_000
        assert task_id.encode() in message
        worker = bare_platform.start_worker()
        assert _text(client, task_id) == TEXT
        assert TEXT[:100] not in worker.log


def _text(client: Client, task_id: str) -> str:
    text: str = client.wait_for(task_id)["result"]["content"][0]["text"]
    return text
