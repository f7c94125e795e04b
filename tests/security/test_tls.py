"""`rediss://` with a certificate that nobody vouches for, as platforms hand them out."""

import httpx
import pytest

from tests.support.client import Client
from tests.support.platform import Platform
from tests.support.ports import free_port
from tests.support.tls import TlsProxy, self_signed
from tests.support.valkey import Valkey
from tests.support.waiting import wait_until


@pytest.mark.parametrize("way", ["COATCHECK_REDIS_TLS_VERIFY", "COATCHECK_REDIS_CA_FILE"])
def test_one_setting_is_enough_for_front_door_worker_and_flower(way: str) -> None:
    """C27: not to verify, or whom to believe; the log says which."""
    with Valkey() as valkey:
        certificate, key = self_signed(valkey.folder)
        with TlsProxy(valkey.socket, certificate, key) as proxy:
            setting = "false" if way == "COATCHECK_REDIS_TLS_VERIFY" else str(certificate)
            env = {"REDIS_URL": f"rediss://127.0.0.1:{proxy.port}/0", way: setting}
            with Platform(tools="tests.auth.tools", env=env, valkey=valkey) as platform:
                platform.start()
                with platform.client() as client:
                    assert_works(client)
                assert_flower_sees_the_worker(platform)
                logs = [process.log for process in (*platform.webs, *platform.workers)]
            assert all(("server unverified" in log) == (setting == "false") for log in logs)


@pytest.mark.parametrize("role", ["web", "worker"])
def test_a_certificate_that_cannot_be_verified_is_refused_at_the_start_in_clear_words(role: str) -> None:
    """C27."""
    with Valkey() as valkey, TlsProxy(valkey.socket, *self_signed(valkey.folder)) as proxy:
        env = {"REDIS_URL": f"rediss://127.0.0.1:{proxy.port}/0"}
        with Platform(tools="tests.auth.tools", env=env, valkey=valkey) as platform:
            commands = {
                "web": ["gunicorn", "--config", "web/gunicorn.conf.py", "coatcheck.web.wsgi:app"],
                "worker": ["celery", "-A", "coatcheck.workers", "worker"],
            }
            with platform.process(role, commands[role], {}) as process:
                assert process.wait(60) != 0
                assert "COATCHECK_REDIS_TLS_VERIFY=false" in process.log
                assert "Traceback" not in process.log


def assert_works(client: Client) -> None:
    """A job runs, asks, is resumed by a chord, and ends: all that needs the store, the broker and the results."""
    task_id = client.start("confirm", {"what": "this"})
    client.wait_for(task_id, "input_required")
    client.update(task_id, {"sure": {"action": "accept", "content": {"yes": True}}})
    assert client.wait_for(task_id)["result"]["content"][0]["text"] == "this: {'yes': True}"


def assert_flower_sees_the_worker(platform: Platform) -> None:
    """Flower is connected too."""
    port = free_port()
    command = ["celery", "-A", "coatcheck.workers", "flower", "--address=127.0.0.1", f"--port={port}"]
    env = {"FLOWER_UNAUTHENTICATED_API": "true"}
    with platform.process("flower", command, env) as flower:

        def sees() -> bool:
            assert flower.is_running, flower.log
            try:
                address = f"http://127.0.0.1:{port}/api/workers?refresh=1"
                return "worker-1@" in httpx.get(address, trust_env=False, timeout=20.0).text
            except httpx.TransportError:
                return False

        wait_until(sees, 40.0, f"the worker on Flower's page: {flower.log}")
