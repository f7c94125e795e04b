"""Finds the platform that `make run` runs from this folder, or from the checkout that this command belongs to."""

import json
import os
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[1]


def running_here() -> dict[str, str]:
    """Return the variables by which the platform is found: `PORT`, `FLOWER_PORT` and `REDIS_URL`.

    Empty when none runs: the file of one that was killed names a process that is gone.
    """
    named = os.environ.get("COATCHECK_DATA_DIR")
    for folder in (Path(named),) if named else (Path(".data"), CHECKOUT / ".data"):
        try:
            told = json.loads((folder / "running.json").read_text(encoding="utf-8"))
            os.kill(max(1, int(told["pid"])), 0)
            return {str(name): str(value) for name, value in told["variables"].items()}
        except (OSError, ValueError, KeyError, TypeError, AttributeError, OverflowError):
            continue
    return {}
