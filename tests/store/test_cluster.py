"""The store on a cluster of three: every script stays within one hash slot, and changes reach every process."""

from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from redis.cluster import RedisCluster
from redis.crc import key_slot

from coatcheck.tasks_store import ANONYMOUS, Event, Feed, Patience, StoreMisaddressed, StoreSettings, TaskStore
from coatcheck.tasks_store.keys import HOLD, WORKERS, TaskKeys, call_key, listed_keys
from coatcheck.tasks_store.model import BUCKETS, new_task_id
from tests.store.listening import ListeningStore
from tests.store.scenarios import SCENARIOS, Scenario, attempt
from tests.store.stages import call, queued
from tests.support import wait_until
from tests.support.ports import free_port
from tests.support.valkey import Valkey

SLOTS = 16_384
MASTERS = 3


@pytest.fixture(scope="module")
def cluster_url() -> Iterator[str]:
    """The address of a cluster of three masters."""
    with ExitStack() as stack:
        buses = [free_port() for _ in range(MASTERS)]
        nodes = [
            stack.enter_context(
                Valkey(
                    port=free_port(),
                    cluster_enabled="yes",
                    cluster_port=str(bus),
                    cluster_config_file="nodes.conf",
                )
            )
            for bus in buses
        ]
        clients = [stack.enter_context(node.client()) for node in nodes]
        for number, client in enumerate(clients):
            first, last = number * SLOTS // MASTERS, (number + 1) * SLOTS // MASTERS - 1
            client.execute_command("CLUSTER", "ADDSLOTSRANGE", first, last)
            client.execute_command("CLUSTER", "SET-CONFIG-EPOCH", number + 1)
            client.execute_command("CLUSTER", "MEET", "127.0.0.1", nodes[0].port, buses[0])

        def agreed() -> bool:
            infos = [client.execute_command("CLUSTER", "INFO") for client in clients]
            return all(b"cluster_state:ok" in info and b"cluster_size:%d" % MASTERS in info for info in infos)

        wait_until(agreed, 30.0, "a cluster that agrees")
        yield f"redis+cluster://127.0.0.1:{nodes[0].port}"


@pytest.fixture
def cluster(cluster_url: str) -> Iterator[RedisCluster]:
    """A plain client of the emptied cluster."""
    client = RedisCluster.from_url(cluster_url.replace("redis+cluster", "redis"))
    client.flushall(target_nodes=RedisCluster.PRIMARIES)
    yield client
    client.close()


@pytest.fixture
def store(cluster_url: str, cluster: RedisCluster) -> Iterator[ListeningStore]:
    """The empty store on the cluster, listened to."""
    store = ListeningStore(StoreSettings(redis_url=cluster_url), Patience.WORKER)
    yield store
    store.close()


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
def test_every_script_replies_on_a_cluster_what_it_replies_on_one_server(
    scenario: Scenario, store: ListeningStore, cluster: RedisCluster
) -> None:
    send = scenario.prepare(store, cluster)
    store.heard.clear()
    attempt(send)
    attempt(send)
    heard = [code for name, code in store.heard if name == scenario.script]
    assert [heard[0], heard[-1]] == [scenario.first, scenario.second]  # some ask each node


def test_the_shared_keys_work_on_a_cluster(store: TaskStore) -> None:
    assert store.secret() == store.secret()
    store.ping()
    assert store.given(queued(store), "confirm") is None


def test_lists_are_read_from_all_nodes(store: TaskStore) -> None:
    ids = {store.create(call())[0].task_id for _ in range(40)}
    found: list[str] = []
    cursor = "first"
    while cursor:
        page = store.listing.page(call().owner, limit=7, cursor="" if cursor == "first" else cursor)
        found += [task.task_id for task in page.tasks]
        cursor = page.cursor
    assert len(found) == 40
    assert set(found) == ids
    of_tenant = store.listing.page(call().owner, of_tenant=True).tasks
    assert [task.task_id for task in of_tenant] == found
    nodes = {key_slot(TaskKeys.of(task_id).task.encode()) * MASTERS // SLOTS for task_id in ids}
    assert len(nodes) == MASTERS


def test_a_change_on_any_node_reaches_the_feed(cluster_url: str, store: TaskStore, cluster: RedisCluster) -> None:
    feed = Feed(StoreSettings(redis_url=cluster_url))
    ids: dict[str, str] = {}
    while len(ids) < 8:
        task_id = new_task_id()
        ids.setdefault(task_id[0], store.create(call(), task_id)[0].task_id)
    nodes = {key_slot(TaskKeys.of(task_id).task.encode()) * MASTERS // SLOTS for task_id in ids.values()}
    assert len(nodes) > 1
    with feed.watch("nothing") as subscribed:
        assert subscribed.wait(10.0)
        for task_id in ids.values():
            with feed.watch(task_id) as watch:
                store.cancel(call().owner, task_id)
                assert watch.wait(10.0) == [Event(task_id)]
    feed.close()


def test_an_address_of_one_node_is_told(cluster_url: str) -> None:
    """Each node refuses the slots of the others."""
    plain = TaskStore(StoreSettings(redis_url=cluster_url.replace("redis+cluster", "redis")), Patience.DOOR)

    def touch_every_bucket() -> None:
        for bucket in range(BUCKETS):
            plain.maintenance.recover(f"{bucket}{'0' * 32}", held=False)

    with pytest.raises(StoreMisaddressed, match=r"redis\+cluster://"):
        touch_every_bucket()
    plain.close()


def test_all_keys_of_a_task_share_one_slot() -> None:
    for _ in range(100):
        new = call(idempotency_key="once", owner=ANONYMOUS)
        task_id = new_task_id(new.call)
        k = TaskKeys.of(task_id)
        lists = listed_keys(task_id[0], new.owner).values()
        names = [k.task, k.inputs, k.steps, k.due, call_key(task_id, new.call), *lists]
        assert len({key_slot(name.encode()) for name in names}) == 1
    assert key_slot(WORKERS.encode()) == key_slot(HOLD.encode())


def test_the_buckets_are_spread_over_the_slots() -> None:
    slots = {key_slot(TaskKeys.of(f"{bucket}{'0' * 32}").due.encode()) for bucket in range(8)}
    assert len(slots) == 8
    assert len({slot * MASTERS // SLOTS for slot in slots}) == MASTERS
