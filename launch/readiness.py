"""Wait until the platform is ready for tool calls."""

import http.client
import threading
import time

from coatcheck.launch.events import Events, PlatformNotReady, PlatformReady

READINESS_POLL_S = 0.1
"""Seconds between two requests to `/readyz`."""
MAX_SHOWN_CHARACTERS = 500
"""Characters of a response that an error message shows."""


def report_readiness(port: int, limit_s: float, events: Events, stopped: threading.Event) -> None:
    """Report PlatformReady once `/readyz` responds with 200, or PlatformNotReady when the time limit passes first."""
    deadline = time.monotonic() + limit_s
    while (why := _why_not_ready(port)) is not None:
        if time.monotonic() >= deadline:
            events.put(PlatformNotReady(limit_s, why))
            return
        if stopped.wait(READINESS_POLL_S):
            return
    events.put(PlatformReady())


def _why_not_ready(port: int) -> str | None:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        connection.request("GET", "/readyz")
        response = connection.getresponse()
        body = response.read().decode("utf-8", "replace")
    except (OSError, http.client.HTTPException) as error:
        return f"the web process does not answer on port {port} ({error})"
    finally:
        connection.close()
    if response.status == http.client.OK:
        return None
    return f"/readyz says {response.status}: {body.strip()[:MAX_SHOWN_CHARACTERS]}"
