"""Everything that a Celery task may do, and what the client is told of it."""

from json import dumps

import pytest

from coatcheck.workers.messages.other_application import message_id_of
from tests.exposed.theirs import TheirWorker
from tests.support.client import Client
from tests.support.waiting import wait_until

pytestmark = pytest.mark.usefixtures("odd")


def text_of(task: dict[str, object]) -> str:
    """The text of a task's result."""
    result = task["result"]
    assert isinstance(result, dict)
    text: str = result["content"][0]["text"]
    return text


@pytest.mark.parametrize(("kind", "text"), [("message", "it rains"), ("mute", "TooWet"), ("key", "'coat'")])
def test_an_exception_that_only_they_can_import_is_told_by_its_message(client: Client, kind: str, text: str) -> None:
    task = client.wait_for(client.start("odd.fail", {"kind": kind}))
    assert task["status"] == "completed"
    assert task["result"]["isError"] is True
    assert text_of(task) == text


@pytest.mark.parametrize(
    ("meta", "text"),
    [
        ({"message": "nope"}, "nope"),
        ({"exc_message": ["no", "good"], "rows": 3}, '["no", "good"]'),
        ({"exc_type": "TooWet", "exc_message": "it rains"}, "it rains"),
        ({"exc_type": "system", "exc_module": "os", "exc_message": ["true"]}, "true"),
        ({"exc_type": 5}, "5"),
        ({"rows": [3]}, '{"rows": [3]}'),
        ({"message": "half of \ud83d"}, "half of \\ud83d"),
        ("plain text", "plain text"),
        (["one", "two"], '["one", "two"]'),
        (None, "no reason was given"),
    ],
    ids=str,
)
def test_a_failure_that_their_code_stored_is_told_in_its_own_words(client: Client, meta: object, text: str) -> None:
    """Celery itself raises when it reads such a result."""
    task = client.wait_for(client.start("odd.stores", {"state": "FAILURE", "meta": dumps(meta)}))
    assert task["status"] == "completed"
    assert task["result"]["isError"] is True
    assert text_of(task) == text


@pytest.mark.parametrize("meta", [None, "stopped by hand", {"message": "stopped"}], ids=str)
def test_a_revocation_that_their_code_stored_is_a_cancelled_task(client: Client, meta: object) -> None:
    task = client.wait_for(client.start("odd.stores", {"state": "REVOKED", "meta": dumps(meta)}))
    assert task["status"] == "cancelled"


@pytest.mark.parametrize("meta", ["the till is locked", {"message": "the till is locked"}], ids=str)
def test_a_retry_that_their_code_stored_goes_on_with_its_reason(client: Client, meta: object) -> None:
    task_id = client.start("odd.stores_and_stays", {"state": "RETRY", "meta": dumps(meta), "seconds": 4})
    said = "It failed and will be tried again: the till is locked"
    wait_until(lambda: client.get(task_id).result["statusMessage"] == said, what="their reason")
    assert client.get(task_id).result["status"] == "working"
    client.cancel(task_id)  # Celery cannot read this state either, so the worker will store no other over it
    assert client.wait_for(task_id, timeout=30.0)["status"] == "cancelled"


@pytest.mark.parametrize(
    ("meta", "said"),
    [
        ({"message": "half of \ud83d"}, "half of \\ud83d"),
        ({"current": 10**30, "message": "Counting stars"}, "Counting stars"),
    ],
    ids=["half a character", "a huge number"],
)
def test_progress_that_no_reader_takes_is_told_as_far_as_it_can_be(client: Client, meta: object, said: str) -> None:
    task_id = client.start("odd.stores_and_stays", {"state": "PROGRESS", "meta": dumps(meta), "seconds": 4})
    wait_until(lambda: client.get(task_id).result["statusMessage"] == said, what="their progress")
    assert client.wait_for(task_id)["status"] == "completed"


def test_arguments_arrive_as_the_keywords_they_were(client: Client) -> None:
    arguments = {"text": "é", "list": [1, 2.5, None], "nested": {"deep": [True]}}
    task = client.wait_for(client.start("odd.echo", arguments))
    assert task["result"]["structuredContent"] == arguments


@pytest.mark.parametrize(("name", "result"), [("odd.chained", 10), ("odd.grouped", [0, 2, 4])])
def test_chains_and_groups_that_replaced_the_task_are_followed(client: Client, name: str, result: object) -> None:
    assert client.wait_for(client.start(name))["result"]["structuredContent"] == result


def test_a_state_of_their_own_is_the_status_message(client: Client) -> None:
    task_id = client.start("odd.shelve", {"seconds": 5})
    wait_until(lambda: client.get(task_id).result["statusMessage"] == "SHELVING: box 3", what="their state")
    assert client.wait_for(task_id)["status"] == "completed"


def test_work_that_leaves_no_result_is_failed_within_seconds(client: Client) -> None:
    task = client.wait_for(client.start("odd.ignored"), timeout=30.0)
    assert task["status"] == "failed"
    assert task["error"]["code"] == -32603
    assert "left no result" in task["error"]["message"]


def test_a_task_that_ignores_its_result_is_asked_to_keep_it_for_once(client: Client) -> None:
    task = client.wait_for(client.start("odd.secretive"))
    assert text_of(task) == "nobody hears of it"


def test_a_rejected_task_ends_with_the_reason(client: Client) -> None:
    """The newest Celery stores a rejection; with older ones nothing is known of it, as of an ignored task."""
    task = client.wait_for(client.start("odd.rejected"), timeout=30.0)
    assert task["result"]["isError"] is True
    assert text_of(task) == "The Celery task was rejected: no"


def test_a_task_that_their_worker_does_not_know_is_failed(client: Client) -> None:
    task = client.wait_for(client.start("odd.nobody_knows_it"))
    assert task["status"] == "failed"
    assert "knows no such Celery task" in task["error"]["message"]


def test_a_task_that_a_long_chain_replaced_is_not_taken_for_lost(client: Client) -> None:
    """Neither a queue nor a worker has its message then; but their workers are not idle."""
    task = client.wait_for(client.start("odd.long_replaced", {"seconds": 2.5}), timeout=30.0)
    assert task["result"]["structuredContent"] == 2


def test_work_that_reports_nothing_for_longer_than_silence_is_found_with_its_worker(client: Client) -> None:
    task_id = client.start("odd.sleep", {"seconds": 5})
    wait_until(lambda: client.get(task_id).result["statusMessage"] == "Running", what="the worker's answer")
    assert client.wait_for(task_id, timeout=30.0)["status"] == "completed"


def test_the_time_limit_counts_from_the_hand_over(client: Client) -> None:
    task = client.wait_for(client.start("odd.limited", {"seconds": 4}))
    assert task["status"] == "failed"
    assert "time limit" in task["error"]["message"]


def test_their_worker_is_told_the_task_and_an_opaque_owner(client: Client) -> None:
    trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    task_id = client.start("odd.headers", meta={"traceparent": trace})
    headers = client.wait_for(task_id)["result"]["structuredContent"]
    assert headers["coatcheck_task_id"] == task_id
    assert headers["traceparent"] == trace
    assert len(headers["coatcheck_owner"]) == 12


def test_a_revoke_by_their_own_code_is_a_cancelled_task(client: Client) -> None:
    assert client.wait_for(client.start("odd.revokes_itself"))["status"] == "cancelled"


def test_a_task_that_opted_in_hears_of_a_cancel(client: Client, odd: TheirWorker) -> None:
    """C17"""
    task_id = client.start("odd.polite")
    wait_until(lambda: client.get(task_id).result["statusMessage"] == "Listening", what="its progress")
    client.cancel(task_id)
    assert client.wait_for(task_id)["status"] == "cancelled"
    assert client.wait_for(client.start("odd.say"))["status"] == "completed"  # the process is free again


def test_a_cancel_of_work_that_waits_for_a_process_means_that_it_is_never_begun(
    client: Client, odd: TheirWorker
) -> None:
    """C15"""
    long = client.start("odd.sleep", {"seconds": 6, "note": "long"})
    wait_until(lambda: odd.has_run("begun long"), what="the long task")
    short = client.start("odd.sleep", {"seconds": 0, "note": "short"})
    client.wait_for(short, "working")
    client.cancel(short)
    assert client.wait_for(short)["status"] == "cancelled"
    assert client.wait_for(long)["status"] == "completed"
    assert client.wait_for(client.start("odd.say"))["status"] == "completed"
    assert not odd.has_run("begun short")


def test_a_cancel_that_the_work_ignores_holds_after_the_grace(client: Client, odd: TheirWorker) -> None:
    task_id = client.start("odd.sleep", {"seconds": 8, "note": "deaf"})
    wait_until(lambda: odd.has_run("begun deaf"), what="its start")
    client.cancel(task_id)
    assert client.get(task_id).result["status"] == "working"
    assert client.wait_for(task_id, timeout=30.0)["status"] == "cancelled"


def test_a_cancel_while_no_worker_of_theirs_is_up_is_heard_by_the_record(client: Client, odd: TheirWorker) -> None:
    """C14"""
    odd.stop()
    task_id = client.start("odd.say", {"text": "C14"})
    client.wait_for(task_id, "working")
    client.cancel(task_id)
    assert client.wait_for(task_id, timeout=30.0)["status"] == "cancelled"
    odd.start()
    assert client.wait_for(client.start("odd.say"))["status"] == "completed"
    assert client.get(task_id).result["status"] == "cancelled"


def test_a_task_that_opted_in_hears_of_a_cancel_that_no_worker_was_up_for(client: Client, odd: TheirWorker) -> None:
    """C14: the revoke is lost, the mark beside the result is not."""
    odd.stop()
    task_id = client.start("odd.polite", {"seconds": 100})
    wait_until(lambda: "odd" in client.get(task_id).result["statusMessage"], what="the hand-over")
    client.cancel(task_id)
    assert client.wait_for(task_id, timeout=30.0)["status"] == "cancelled"
    odd.start()
    wait_until(lambda: odd.has_run(f"odd.polite[{message_id_of(task_id)}] received"), what="the message")
    assert client.wait_for(client.start("odd.say"))["status"] == "completed"  # the only process is free


def test_work_in_a_queue_that_nobody_reads_says_so(client: Client) -> None:
    task_id = client.start("odd.unheard")
    said = "Waiting in the queue a-queue-that-nobody-reads"
    wait_until(lambda: client.get(task_id).result["statusMessage"] == said, what="the message")
    client.cancel(task_id)
    assert client.wait_for(task_id)["status"] == "cancelled"
