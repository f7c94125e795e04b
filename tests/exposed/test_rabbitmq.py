"""RabbitMQ as everybody's broker, with classic and with quorum queues; the store stays in Redis."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.ledger import LEDGER, Ledger
from tests.exposed.conftest import SOON
from tests.exposed.theirs import TheirWorker, celery_url, odd_worker
from tests.support.client import Client
from tests.support.platform import Platform
from tests.support.rabbitmq import RabbitMQ
from tests.support.waiting import wait_until

pytestmark = pytest.mark.timeout(300)


@pytest.fixture(scope="module", params=["classic", "quorum"])
def queue_type(request: pytest.FixtureRequest) -> str:
    """How RabbitMQ keeps the queues of both sides."""
    chosen: str = request.param
    return chosen


@pytest.fixture(scope="module")
def rabbitmq(queue_type: str) -> Iterator[RabbitMQ]:
    """The broker of both sides."""
    with RabbitMQ() as server:
        yield server


@pytest.fixture(scope="module")
def platform(rabbitmq: RabbitMQ, queue_type: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Platform]:
    """A platform with tools of its own and exposed ones."""
    ledger = Ledger(tmp_path_factory.mktemp("ledger") / "ledger.sqlite")
    env = {
        **SOON,
        LEDGER: str(ledger.path),
        "CELERY_BROKER_URL": rabbitmq.url,
        "COATCHECK_QUEUE_TYPE": queue_type,
    }
    with Platform(tools="tests.e2e.tools,tests.exposed.tools", env=env) as platform:
        yield platform.start()


@pytest.fixture(scope="module")
def odd(platform: Platform, rabbitmq: RabbitMQ, queue_type: str, odd_folder: Path) -> Iterator[TheirWorker]:
    """The worker of the other application."""
    results = celery_url(platform.valkey.url)
    worker = odd_worker(odd_folder, broker=rabbitmq.url, results=results, QUEUE_TYPE=queue_type)
    worker.start()
    yield worker
    worker.close()


def test_a_task_of_our_own_parks_and_resumes_by_a_chord(client: Client) -> None:
    task_id = client.start("ask_two")
    client.wait_for(task_id, "input_required")
    client.update(task_id, {key: {"action": "decline"} for key in ("first", "second")})
    assert client.wait_for(task_id)["result"]["content"] == [{"type": "text", "text": "decline decline"}]


def test_a_running_task_of_our_own_is_cancelled(client: Client) -> None:
    task_id = client.start("sleep")
    wait_until(lambda: client.get(task_id).result["statusMessage"] == "Running", what="its start")
    client.cancel(task_id)
    assert client.wait_for(task_id)["status"] == "cancelled"


@pytest.mark.usefixtures("odd")
def test_an_exposed_task_is_run_by_their_worker(client: Client) -> None:
    task = client.wait_for(client.start("odd.chained"))
    assert task["result"]["structuredContent"] == 10


@pytest.mark.usefixtures("odd")
def test_an_exposed_task_that_leaves_no_result_is_failed_within_seconds(client: Client) -> None:
    assert client.wait_for(client.start("odd.ignored"), timeout=30.0)["status"] == "failed"


@pytest.mark.usefixtures("odd")
def test_a_cancelled_exposed_task_is_killed_or_hears_of_it(client: Client) -> None:
    task_id = client.start("odd.polite")
    wait_until(lambda: client.get(task_id).result["statusMessage"] == "Listening", what="its progress")
    client.cancel(task_id)
    assert client.wait_for(task_id)["status"] == "cancelled"


def test_a_queue_that_their_broker_does_not_have_is_an_error_and_not_made(client: Client) -> None:
    """RabbitMQ would drop the message without a word."""
    for _ in range(2):
        task = client.wait_for(client.start("odd.unheard"))
        assert task["status"] == "failed", str(task)
        assert "has no queue a-queue-that-nobody-reads" in task["error"]["message"]


def test_an_outage_of_the_broker_alone_loses_nothing(client: Client, rabbitmq: RabbitMQ, odd: TheirWorker) -> None:
    rabbitmq.stop()
    own, exposed = client.start("quick"), client.start("odd.say")
    assert client.get(own).result["status"] == client.get(exposed).result["status"] == "working"
    rabbitmq.start()
    assert client.wait_for(own, timeout=60.0)["status"] == "completed"
    assert client.wait_for(exposed, timeout=60.0)["status"] == "completed"
