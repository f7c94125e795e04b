"""`list_tasks` from outside: whose tasks, which of them, page by page."""

from collections.abc import Callable

import pytest
from redis import Redis

from tests.companions.calling import Companion
from tests.support.client import Client, Reply
from tests.support.waiting import wait_until

KnownClient = Callable[..., Client]


def started(client: Client, *names: str) -> list[str]:
    """The ids of tasks that greet these, each ended before the next began; the newest first."""
    ids = []
    for name in names:
        ids.append(client.start("greet", {"name": name}))
        client.wait_for(ids[-1])
    return ids[::-1]


def insufficient(reply: Reply) -> list[str]:
    """All the scopes that the refusal names."""
    assert (reply.status, reply.error["code"]) == (403, 403)
    assert 'error="insufficient_scope"' in reply.headers["WWW-Authenticate"]
    scopes: list[str] = reply.error["data"]["scopes"]
    return scopes


def test_a_list_shows_what_tasks_get_shows_and_nothing_of_what_is_in_them(known: KnownClient) -> None:
    """TASK-13: neither arguments, questions nor results."""
    client = known("lister")
    (ended,) = started(client, "ada")
    waiting = client.start("confirm", {"what": "the plan"})
    client.wait_for(waiting, "input_required")
    told = Companion(client).page()
    expected = []
    for task_id, tool in ((waiting, "confirm"), (ended, "greet")):
        task = client.get(task_id).result
        expected.append(
            {
                "task_id": task_id,
                "tool": tool,
                "status": task["status"],
                "message": task["statusMessage"],
                "created_at": task["createdAt"],
                "updated_at": task["lastUpdatedAt"],
            }
        )
    shown = [{name: value for name, value in task.items() if name != "expires_at"} for task in told["tasks"]]
    assert shown == expected
    assert all(task["expires_at"] > task["created_at"] for task in told["tasks"])
    assert "next_cursor" not in told
    assert "the plan" not in told["text"]
    assert "ada" not in told["text"]


def test_filters_have_all_to_fit(known: KnownClient) -> None:
    client = known("filterer")
    companion = Companion(client)
    second, first = started(client, "first", "second")
    waiting = client.start("confirm", {"what": "x"})
    client.wait_for(waiting, "input_required")
    at = {task["task_id"]: task["created_at"] for task in companion.page()["tasks"]}
    assert companion.ids(status="completed") == [second, first]
    assert companion.ids(status="input_required") == companion.ids(tool="confirm") == [waiting]
    assert companion.ids(status="completed", tool="confirm") == companion.ids(tool="nothing") == []
    assert companion.ids(created_after=at[second]) == [waiting, second]
    assert companion.ids(created_before=at[second]) == [first]
    assert companion.ids(created_after=at[second], created_before=at[waiting]) == [second]
    elsewhere = at[second].replace("Z", "+00:00")
    assert companion.ids(created_before=elsewhere) == [first]


def test_pages_stay_right_while_tasks_come_and_one_is_purged(known: KnownClient, records: Redis) -> None:
    client = known("pager")
    companion = Companion(client)
    ids = started(client, *map(str, range(5)))
    page = companion.page(limit=2)
    assert [task["task_id"] for task in page["tasks"]] == ids[:2]
    started(client, "late")
    record = f"coatcheck:{{{ids[1][0]}}}:task:{ids[1]}"
    records.hset(record, "expires", "1000")
    records.zadd(f"coatcheck:{{{ids[1][0]}}}:due", {ids[1]: 1000})
    client_sees_none(client, ids[1])
    rest = companion.page(limit=10, cursor=page["next_cursor"])
    assert [task["task_id"] for task in rest["tasks"]] == ids[2:]
    assert ids[1] not in companion.ids()


def client_sees_none(client: Client, task_id: str) -> None:
    """The sweeper has purged the task."""
    wait_until(lambda: client.get(task_id).status == 400, 20.0, "the purge")


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"status": "done"}, "status"),
        ({"limit": 0}, "limit"),
        ({"limit": 101}, "limit"),
        ({"limit": "many"}, "limit"),
        ({"created_after": "yesterday"}, "created_after"),
        ({"created_before": "2026-01-01T00:00:00"}, "created_before"),
        ({"created_before": 5}, "created_before"),
        ({"everyone": "yes"}, "everyone"),
        ({"owner": "ada"}, "owner"),
        ({"cursor": "x"}, "cursor"),
        ({"cursor": "1-900000000000000000000000000000000"}, "cursor"),
    ],
    ids=str,
)
def test_bad_input_is_told_in_words(companion: Companion, arguments: dict[str, object], named: str) -> None:
    """CALL-1"""
    assert named in companion.error("list_tasks", **arguments)


def test_owners_are_kept_apart_and_an_operator_sees_the_tenant(known: KnownClient) -> None:
    """TASK-10, TASK-13, AUTH-4: knowing a cursor of somebody else's page gives nothing either."""
    ann, bob, elsewhere = known("ann", "one"), known("bob", "one"), known("ann", "two")
    (hers,), (his,), (theirs,) = started(ann, "a"), started(bob, "b"), started(elsewhere, "c")
    for client, own in ((ann, hers), (bob, his), (elsewhere, theirs)):
        assert Companion(client).ids() == [own]
    operator = known("olga", "one", scopes=("tasks:write", "ops"))
    page = Companion(operator).page(everyone=True, limit=1)
    assert [(task["task_id"], task["principal"]) for task in page["tasks"]] == [(his, "bob")]
    rest = Companion(operator).page(everyone=True, cursor=page["next_cursor"])
    assert [(task["task_id"], task["principal"]) for task in rest["tasks"]] == [(hers, "ann")]
    assert Companion(operator).ids() == []
    assert Companion(elsewhere).ids(cursor=page["next_cursor"]) in ([], [theirs])
    other = known("otto", "two", scopes=("ops",))
    assert Companion(other).ids(everyone=True) == [theirs]


def test_who_is_no_operator_is_told_all_that_it_takes(known: KnownClient) -> None:
    """AUTH-1: as any call that needs more than was granted, so that the client can step up."""
    client = known("nosy", "three")
    assert insufficient(Companion(client).reply("list_tasks", everyone=True)) == ["ops"]
    assert Companion(client).ids(everyone=False) == []


def test_tasks_of_tools_that_the_caller_may_not_use_are_left_out(known: KnownClient) -> None:
    """TASK-13: of the same owner with a lesser token, and of an operator with the operator's scope alone."""
    writer, reader = known("carl", "four", ("secrets", "tasks:write")), known("carl", "four", ())
    hidden = writer.start("secret")
    (shown,) = started(writer, "x")
    assert Companion(writer).ids() == [shown, hidden]
    assert Companion(reader).ids() == [shown]
    assert Companion(reader).ids(tool="secret") == []
    assert Companion(known("olga", "four", ("ops",))).ids(everyone=True) == [shown]


def test_where_nobody_has_to_prove_who_they_are_everyone_is_the_one_owner(companion: Companion) -> None:
    (task_id,) = started(companion.client, "x")
    everyone = companion.page(everyone=True, limit=5)["tasks"]
    assert task_id in [task["task_id"] for task in everyone]
    assert {task["principal"] for task in everyone} == {"anonymous"}
