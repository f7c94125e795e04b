"""What a Redis refuses: named, seen by `/readyz`, and no more than the documented rights are needed."""

import re
from collections.abc import Iterator

import httpx
import pytest

from tests.support.platform import ROOT, Platform
from tests.support.ports import free_port
from tests.support.valkey import Valkey
from tests.support.waiting import wait_until

CASE = ("~coatcheck:*", "&coatcheck:*", "+@all", "-@dangerous", "+info")
"""Rights that look sufficient: workers listen to a pattern, which an ACL has to name whole."""


def documented() -> list[str]:
    """Return the rules that docs/deploy.md gives a user."""
    text = (ROOT / "docs" / "deploy.md").read_text(encoding="utf-8")
    found = re.search(r"^ACL SETUSER coatcheck on >PASSWORD\n((?:    .*\n)+)", text, re.MULTILINE)
    assert found is not None
    return found[1].split()


def server_for(rules: tuple[str, ...] | list[str]) -> Valkey:
    """Return a server whose address has a user with these rights."""
    server = Valkey(appendonly="yes").start()
    with server.client() as client:
        client.execute_command("ACL", "SETUSER", "coatcheck", "on", ">pw", *rules)
    server.url = server.url.replace("unix://", "unix://coatcheck:pw@")
    return server


@pytest.fixture(scope="module")
def platform() -> Iterator[Platform]:
    """A platform whose server can be made to refuse."""
    with Platform(tools="tests.auth.tools", valkey=Valkey(appendonly="yes")) as platform:
        yield platform.start()


def readiness(platform: Platform) -> tuple[int, dict[str, object]]:
    """Return what `/readyz` says."""
    answer = httpx.get(f"http://127.0.0.1:{platform.port}/readyz", timeout=10.0, trust_env=False)
    return answer.status_code, answer.json()


@pytest.mark.parametrize(
    ("refuse", "allow"),
    [
        ("CONFIG SET maxmemory 1", "CONFIG SET maxmemory 0"),
        ("REPLICAOF 127.0.0.1 1", "REPLICAOF NO ONE"),
        ("ACL SETUSER default -hset", "ACL SETUSER default +hset"),
        ("ACL SETUSER default -lpush", "ACL SETUSER default +lpush"),
    ],
    ids=["full", "read-only", "without a right of the store", "without a right of the broker"],
)
def test_a_server_that_refuses_what_a_call_needs_is_not_ready(platform: Platform, refuse: str, allow: str) -> None:
    """K3.1: and is again once it does not."""
    wait_until(lambda: readiness(platform)[0] == 200, 10.0, "readiness")
    with platform.valkey.client() as client:
        try:
            client.execute_command(*refuse.split())
            wait_until(lambda: readiness(platform)[0] == 503, 5.0, "the refusal")
            assert "refuses" in readiness(platform)[1].values()
        finally:
            client.execute_command(*allow.split())
    wait_until(lambda: readiness(platform)[0] == 200, 20.0, "readiness")


def test_a_consumer_that_takes_nothing_is_no_sign_of_life_and_the_missing_right_is_named() -> None:
    """K3.2."""
    with Platform(tools="tests.auth.tools", valkey=server_for(CASE)) as platform:
        platform.start_web()
        worker = platform.process(
            "worker", ["celery", "-A", "coatcheck.workers", "worker", "--loglevel", "INFO"], {}
        ).start()
        platform.workers.append(worker)
        worker.wait_for_line("Connection to broker lost", 30.0)
        assert "coatcheck:broker:/0.coatcheck.control.pidbox, which an ACL must name whole" in worker.log
        platform.wait_until_ready(needs_worker=False)
        with platform.valkey.client() as client:
            wait_until(lambda: client.zrange("coatcheck:{fleet}:workers", 0, -1), 30.0, "the sweeper")
        code, found = readiness(platform)
        assert (code, found["workers"]) == (503, 0)
        check = platform.process("check", ["coatcheck.web.operations.check"], {}).start()
        assert check.wait(60.0) == 1
        wrong = [line.split()[1] for line in check.log.splitlines() if line.startswith("wrong")]
        assert wrong == ["broker", "worker"]


def test_the_documented_rights_are_enough_for_everything() -> None:
    """K3.2: a job parks, is answered, resumed by a chord, told of and cancelled; the check and Flower work too."""
    with Platform(tools="tests.auth.tools,tests.recovery.tools", valkey=server_for(documented())) as platform:
        platform.start()
        with platform.client() as client:
            task_id = client.start("confirm", {"what": "this"})
            client.wait_for(task_id, "input_required")
            with platform.client() as other, other.listen(task_id) as messages:
                client.update(task_id, {"sure": {"action": "accept", "content": {"yes": True}}})
                assert any(message.get("params", {}).get("status") == "completed" for message in messages)
            parked = client.start("confirm", {"what": "that"})
            client.wait_for(parked, "input_required")
            client.cancel(parked)
            assert client.wait_for(parked)["status"] == "cancelled"
        check = platform.process("check", ["coatcheck.web.operations.check"], {}).start()
        assert check.wait(60.0) == 0, check.log
        assert not [line for line in check.log.splitlines() if line.startswith(("wrong", "warn"))]
        port = free_port()
        command = ["celery", "-A", "coatcheck.workers", "flower", "--address=127.0.0.1", f"--port={port}"]
        with platform.process("flower", command, {"FLOWER_UNAUTHENTICATED_API": "true"}) as flower:

            def sees() -> bool:
                assert flower.is_running, flower.log
                try:
                    address = f"http://127.0.0.1:{port}/api/workers?refresh=1"
                    return "worker-1@" in httpx.get(address, trust_env=False, timeout=20.0).text
                except httpx.TransportError:
                    return False

            wait_until(sees, 40.0, f"the worker on Flower's page: {flower.log}")
        with platform.valkey.client() as raw:
            denied = raw.execute_command("ACL", "LOG")
        assert denied == []


def test_a_server_that_keeps_nothing_on_disk_is_a_warning_of_the_check_and_no_fault() -> None:
    """K3.4."""
    with Platform(tools="tests.auth.tools", valkey=Valkey()).start() as platform:
        assert "A restart of Redis forgets all tasks" in platform.webs[0].log
        assert "A restart of Redis forgets all tasks" in platform.workers[0].log
        check = platform.process("check", ["coatcheck.web.operations.check"], {}).start()
        assert check.wait(60.0) == 0
        assert "warn  store           A restart of Redis forgets all tasks" in check.log
        assert "keeps it" not in check.log
