"""One front door for most tests of streams; they play the worker themselves, so that they know what happens when."""

from collections.abc import Callable, Iterator

import psutil
import pytest

from coatcheck.tasks_store import (
    ANONYMOUS,
    Asked,
    NewTask,
    Owner,
    Patience,
    Status,
    StoreSettings,
    TaskStore,
)
from tests.streams.listener import Json, Listener, listen_request
from tests.support.client import Client
from tests.support.platform import Platform
from tests.support.valkey import Valkey

RUN = "run-1"
NAME = Asked("name", b'{"method":"elicitation/create","params":{"message":"Your name?"}}')
RESULT = b'{"resultType":"complete","content":[{"type":"text","text":"done"}],"isError":false}'


class Work:
    """Tasks, moved by hand as workers and clients would."""

    def __init__(self, store: TaskStore) -> None:
        self.store = store

    def new(self, owner: Owner = ANONYMOUS) -> str:
        """The id of a task that nobody works on."""
        return self.store.create(NewTask(owner=owner, tool="quick", arguments=b"{}"))[0].task_id

    def run(self, task_id: str) -> None:
        """A run of the task has begun."""
        self.store.claim(task_id, RUN)

    def report(self, task_id: str, message: str) -> None:
        """The run has said how far it is."""
        self.store.progress(task_id, RUN, message, b'{"progress":1}')

    def ask(self, task_id: str) -> None:
        """The task waits for a name."""
        self.store.park(task_id, RUN, [NAME])

    def answer(self, task_id: str) -> None:
        """The name was given."""
        self.store.answer(ANONYMOUS, task_id, {"name": b'{"action":"decline"}'})

    def finish(self, task_id: str) -> None:
        """The task is completed."""
        self.store.finish(task_id, RUN, Status.COMPLETED, message="Done", result=RESULT)

    def finished(self) -> str:
        """The id of a completed task."""
        task_id = self.new()
        self.run(task_id)
        self.finish(task_id)
        return task_id


@pytest.fixture(scope="package")
def platform() -> Iterator[Platform]:
    """A front door with one process, and no worker."""
    with Platform(valkey=Valkey()) as platform:
        yield platform.start(workers=0)


@pytest.fixture
def work(platform: Platform) -> Iterator[Work]:
    """The tasks behind the front door."""
    store = TaskStore(StoreSettings(redis_url=platform.valkey.url), Patience.DOOR)
    yield Work(store)
    store.close()


@pytest.fixture
def client(platform: Platform) -> Iterator[Client]:
    """A client that polls."""
    with platform.client() as client:
        yield client


Listen = Callable[..., Listener]


@pytest.fixture
def listen(platform: Platform) -> Iterator[Listen]:
    """What opens a stream, past its head, which is closed after the test."""
    opened: list[Listener] = []

    def listen(*task_ids: str, **more: object) -> Listener:
        listener = Listener(platform.port, listen_request(list(task_ids), **more))
        opened.append(listener)
        return listener.begun()

    yield listen
    for listener in opened:
        listener.close()


def polled(client: Client, task_id: str) -> Json:
    """The task as a poll tells it, without what belongs to every result."""
    result = client.get(task_id).result
    return {name: value for name, value in result.items() if name not in ("_meta", "resultType")}


def server_process(platform: Platform) -> psutil.Process:
    """The one process that serves requests."""
    (process,) = psutil.Process(platform.webs[0].pid).children()
    return process
