"""The peer's own environment: what it needs and what Coatcheck needs cannot be installed together."""

import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).parents[1] / "build" / "bench-peer"

PINS = (
    # fastmcp-tasks 4.1.4 needs exactly this fastmcp; no later fastmcp can be installed beside it.
    "fastmcp==4.1.4",
    "fastmcp-tasks==4.1.4",
    "pydocket==0.27.0",
    "mcp==2.3.0",
    "redis==8.0.1",
    "hiredis==3.5.0",
    "uvicorn==0.54.0",
    "uvloop==0.23.0",
    "httptools==0.9.0",
)


def install() -> Path:
    """The Python of an environment that has the peer; it is made once."""
    python = FOLDER / "bin" / "python"
    stamp = FOLDER / "pins.txt"
    wanted = "\n".join(PINS)
    if stamp.is_file() and stamp.read_text() == wanted:
        return python
    print(f"Installing {PINS[1]} into build/{FOLDER.name}; this happens once.", flush=True)
    subprocess.run([sys.executable, "-m", "venv", "--clear", str(FOLDER)], check=True)
    pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input"]
    subprocess.run([*pip, *PINS], check=True)
    stamp.write_text(wanted)
    return python
