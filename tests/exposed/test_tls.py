"""Their broker and their results behind a certificate that nobody vouches for, while ours are elsewhere."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from coatcheck.workers.runs.runner import AWAY
from tests.exposed.conftest import SOON
from tests.exposed.theirs import celery_url, odd_worker
from tests.support.platform import Platform
from tests.support.tls import TlsProxy, self_signed
from tests.support.valkey import Valkey
from tests.support.waiting import wait_until


@pytest.fixture
def theirs() -> Iterator[tuple[Valkey, Path, int]]:
    """Their server, the certificate before it, and the port that it is reached at."""
    with Valkey() as valkey:
        certificate, key = self_signed(valkey.folder)
        with TlsProxy(valkey.socket, certificate, key) as proxy:
            yield valkey, certificate, proxy.port


def settings(ours: Valkey, port: int) -> dict[str, str]:
    """The settings of a platform whose own broker is not theirs."""
    url = f"rediss://127.0.0.1:{port}/0"
    return {
        **SOON,
        "CELERY_BROKER_URL": ours.url,
        "CELERY_RESULT_BACKEND": ours.url,
        "COATCHECK_EXPOSE_BROKER_URL": url,
        "COATCHECK_EXPOSE_RESULT_BACKEND": url,
    }


@pytest.mark.parametrize("way", ["COATCHECK_REDIS_TLS_VERIFY", "COATCHECK_REDIS_CA_FILE"])
def test_the_setting_for_our_servers_is_enough_for_theirs(
    theirs: tuple[Valkey, Path, int], odd_folder: Path, way: str
) -> None:
    """C27"""
    valkey, certificate, port = theirs
    ours = Valkey(appendonly="yes", appendfsync="always")
    env = {**settings(ours, port), way: "false" if way == "COATCHECK_REDIS_TLS_VERIFY" else str(certificate)}
    url = celery_url(valkey.url)
    worker = odd_worker(odd_folder, broker=url, results=url)
    with Platform(tools="tests.exposed.tools", env=env, valkey=ours).start() as platform, platform.client() as client:
        worker.start()
        try:
            assert client.wait_for(client.start("odd.chained"))["result"]["structuredContent"] == 10
        finally:
            worker.close()
        with ours.client() as raw:
            assert not raw.exists("odd")


def test_a_certificate_that_cannot_be_verified_holds_the_work_back_and_is_named(
    theirs: tuple[Valkey, Path, int],
) -> None:
    """C27: nothing is sent to a server that does not prove who it is; the task waits, the log and the check say why."""
    valkey, _, port = theirs
    ours = Valkey(appendonly="yes", appendfsync="always")
    with Platform(tools="tests.exposed.tools", env=settings(ours, port), valkey=ours).start() as platform:
        with platform.client() as client:
            task_id = client.start("odd.say")
            wait_until(lambda: client.get(task_id).result["statusMessage"] == AWAY, what="the message")
            platform.workers[0].wait_for_line("certificate verify failed")
            client.cancel(task_id)
            assert client.wait_for(task_id)["status"] == "cancelled"
        with valkey.client() as raw:
            assert raw.keys() == []
        process = platform.process("check", ["coatcheck.web.operations.check"], {})
        process.start()
        assert process.wait(60.0) == 1
        assert "COATCHECK_REDIS_CA_FILE" in process.log
