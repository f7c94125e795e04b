"""Write gunicorn's own lines as JSON."""

from typing import Any

from gunicorn.glogging import Logger

from coatcheck.workers.telemetry.logs import write_as


class JsonLog(Logger):  # type: ignore[misc]
    """Writes one JSON object per line, as the application does."""

    def setup(self, cfg: Any) -> None:
        """Make the handlers that the options ask for write JSON."""
        super().setup(cfg)
        for log in (self.error_log, self.access_log):
            write_as("json", log)
