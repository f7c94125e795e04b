"""Processes that cannot start because of a tool: what is wrong is the last that they say."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.platform import ROOT, Platform
from tests.support.ports import free_port

COMMANDS = {
    "web": ["gunicorn", "--config", "web/gunicorn.conf.py", "coatcheck.web.wsgi:app"],
    "worker": ["celery", "-A", "coatcheck.workers", "worker"],
    "flower": ["celery", "-A", "coatcheck.workers", "flower"],
}

MODULES = {
    "undescribed": (
        "from coatcheck import tool\n\n@tool\ndef undescribed(x: int) -> int:\n    return x\n",
        "tool 'undescribed': has no description; a docstring tells the model what the tool is for",
    ),
    "secretive": (
        """
from coatcheck import Elicit, tool

@tool(ask_first={"who": Elicit("Your password?", {"word": str})})
def secretive() -> str:
    'Ask.'
    return ""
""",
        "message: a form must not ask for what looks like a secret; use ElicitURL",
    ),
    "broken": ("import nowhere_at_all\n", "No module named 'nowhere_at_all'"),
    "empty": ("", "tool module 'empty': it holds no function with @tool, and exposes no Celery task"),
}


@pytest.mark.parametrize("process", COMMANDS)
@pytest.mark.parametrize("module", MODULES)
def test_what_is_wrong_with_a_tool_is_the_last_that_a_process_says(
    platform: Platform, tmp_path: Path, process: str, module: str
) -> None:
    """Whoever started it has not to look for it in a traceback."""
    text, fault = MODULES[module]
    (tmp_path / f"{module}.py").write_text(text)
    env = {
        **os.environ,
        "PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}",
        "COATCHECK_TOOLS": module,
        "REDIS_URL": platform.valkey.url,
        "PORT": str(free_port()),
    }
    command = [sys.executable, "-m", *COMMANDS[process]]
    ended = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False, timeout=60.0)
    assert ended.returncode != 0
    said = [line for line in ended.stderr.splitlines() if "[INFO]" not in line and "[ERROR]" not in line]
    assert said[-2] == "coatcheck cannot start:"
    assert said[-1].endswith(fault)
