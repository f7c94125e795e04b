"""The Procfile by itself, under a runner of Procfiles, as the README says."""

import signal
import sys
from pathlib import Path

import httpx

from tests.e2e.readme import commands
from tests.support.platform import ROOT
from tests.support.ports import free_port
from tests.support.processes import Process
from tests.support.valkey import Valkey
from tests.support.waiting import wait_until


def test_a_runner_of_procfiles_starts_the_platform_at_the_port_of_the_web(tmp_path: Path) -> None:
    """K5.4: its `release`, which ends, would end all of it."""
    (line,) = [command.line for command in commands("Deploy it") if "honcho" in command.line]
    setting, *words = line.split()
    assert (setting, words[:2]) == ("PORT=8000", ["honcho", "start"])
    port = free_port()
    with Valkey() as valkey:
        env = {"PORT": str(port), "FLOWER_PORT": str(free_port()), "REDIS_URL": valkey.url, "WEB_CONCURRENCY": "1"}
        env["PATH"] = f"{Path(sys.executable).parent}:/usr/bin:/bin"
        with Process(words, name="honcho", folder=tmp_path, env=env, cwd=ROOT) as process:

            def answers() -> bool:
                assert process.is_running, process.log
                try:
                    return httpx.get(f"http://127.0.0.1:{port}/readyz", trust_env=False).status_code == 200
                except httpx.TransportError:
                    return False

            wait_until(answers, 60.0, "a platform that is ready")
            process.signal(signal.SIGTERM)
            process.wait(30.0)
