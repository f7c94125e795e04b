"""The pictures of Flower in docs/flower.md, taken of a running platform: `python -m tests.exposed.pictures`."""

import subprocess
import sys
import tempfile
from pathlib import Path

import httpx

from tests.e2e.browser import QUIET
from tests.exposed.theirs import SHOP, TheirWorker, celery_url
from tests.support.needs import program_of
from tests.support.platform import ROOT, Platform
from tests.support.ports import free_port
from tests.support.waiting import wait_until

IMAGES = ROOT / "docs" / "images"
MOST_BYTES = 200_000
SIZE = "1480,560"


def picture(url: str, path: Path) -> None:
    """The page at this address is a picture in this file, as a person sees it after its scripts have run."""
    browser = program_of("chromium")
    with tempfile.TemporaryDirectory(prefix="coatcheck-browser-", ignore_cleanup_errors=True) as profile:
        options = [*QUIET, f"--user-data-dir={profile}", "--virtual-time-budget=10000", "--hide-scrollbars"]
        command = [browser, *options, f"--window-size={SIZE}", f"--screenshot={path}", url]
        subprocess.run(command, check=True, capture_output=True, timeout=120)
    assert path.stat().st_size < MOST_BYTES, f"{path.name} is too large for the documentation"


def main() -> None:
    """The pictures are those of today."""
    IMAGES.mkdir(exist_ok=True)
    port = free_port()
    flower = f"http://127.0.0.1:{port}"
    env = {"COATCHECK_TOOLS": "coatcheck.workers.tools", "COATCHECK_EXPOSE": "examples/expose_shop.toml"}
    with Platform(env=env) as platform:
        platform.start()
        columns = "--tasks_columns=name,uuid,state,result,kwargs,received,runtime,worker"
        command = ["celery", "-A", "coatcheck.workers", "flower", "--address=127.0.0.1", f"--port={port}", columns]
        url = celery_url(platform.valkey.url)
        shop = TheirWorker(
            Path(sys.executable), "shop", folder=platform.folder, cwd=SHOP, broker=url, results=url, queue="shop"
        )
        with platform.process("flower", command, {}), platform.client() as client:
            wait_until(lambda: is_up(flower), 30.0, "an answer of Flower")
            shop.start()
            report = client.start("generate_report", {"source": "sales"})
            client.wait_for(report, "input_required")
            client.update(report, {"approve_outline": {"action": "accept", "content": {"approved": True}}})
            client.wait_for(report)
            parked = client.start("generate_report", {"source": "tickets"})
            client.wait_for(parked, "input_required")
            client.wait_for(client.start("close_year", {"year": 2025}))
            client.call("quote", {"product": "tea"})
            client.wait_for(client.start("import_orders", {"count": 20}))
            picture(f"{flower}/tasks", IMAGES / "flower-tasks.png")
            picture(f"{flower}/task/{report}.1", IMAGES / "flower-parked.png")
        shop.close()


def is_up(flower: str) -> bool:
    """Flower answers."""
    try:
        return httpx.get(f"{flower}/healthcheck", trust_env=False).is_success
    except httpx.TransportError:
        return False


if __name__ == "__main__":
    main()
