"""`coatcheck run` in a project's own folder."""

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from tests.support.client import Client
from tests.support.platform import ROOT
from tests.support.ports import free_port
from tests.support.processes import Process
from tests.support.waiting import wait_until

SETTINGS = """
tools = ["shop_tools"]
port = {port}
flower_port = {flower_port}
web_concurrency = 1
"""

TOOL = """
from coatcheck import tool

@tool
def {name}() -> str:
    "Say which tool this is."
    return "{name}"
"""


class Project:
    """A folder with settings, a module of tools, and what runs from it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port = free_port()
        self.write("first")
        (folder / "coatcheck.toml").write_text(SETTINGS.format(port=self.port, flower_port=free_port()))
        env = {name: "" for name in os.environ if name.startswith("COATCHECK_")}
        self.process = Process(
            [sys.executable, "-m", "coatcheck", "run"],
            name="run",
            folder=folder,
            cwd=folder,
            env={**env, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"},
        )

    def write(self, name: str) -> None:
        """The module has a tool of this name, and no other."""
        (self.folder / "shop_tools.py").write_text(TOOL.format(name=name))

    def says(self, name: str) -> Callable[[], bool]:
        """Whether a call of the tool is answered."""

        def says() -> bool:
            try:
                with Client(f"http://127.0.0.1:{self.port}/mcp") as client:
                    reply = client.call(name)
                    ended = client.wait_for(reply.result["taskId"])
            except (AssertionError, KeyError, httpx.HTTPError):
                return False
            return bool(ended["result"]["content"][0]["text"] == name)

        return says


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    project = Project(tmp_path)
    yield project
    if project.process.is_running:
        project.process.stop()


def test_a_tool_runs_and_runs_anew_when_its_file_has_changed(project: Project) -> None:
    project.process.start()
    project.process.wait_for_line("\nready\n", 60.0)
    assert project.says("first")()
    project.write("second")
    wait_until(project.says("second"), 60.0, f"the new tool\n{project.process.log[-3000:]}")
    (project.folder / "shop_tools.py").write_text("from coatcheck import tools\n")
    project.process.wait_for_line("shop_tools", 30.0, after=len(project.process.log))
    project.write("third")
    wait_until(project.says("third"), 60.0, f"the new tool\n{project.process.log[-3000:]}")
