"""`coatcheck init`: the first files of a project."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from coatcheck.launch.init import CannotWrite, Project, write
from tests.support.client import Client
from tests.support.platform import ROOT
from tests.support.ports import free_port
from tests.support.processes import Process

CELERY = 'from celery import Celery\n\napp = Celery("shop")\n'
ENV = {"PATH": os.defpath, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"}


def init(folder: Path, *options: str) -> str:
    """Return what the command prints in the folder."""
    command = [sys.executable, "-m", "coatcheck", "init", *options]
    return subprocess.check_output(command, cwd=folder, env=ENV, text=True, timeout=60)


def content(folder: Path) -> dict[str, str]:
    """Return the text of every file of the folder, by its name in it."""
    return {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*") if path.is_file()}


def test_in_an_empty_folder_the_first_tool_runs_and_its_test_passes(tmp_path: Path) -> None:
    said = init(tmp_path)
    assert set(content(tmp_path)) == {
        "coatcheck.toml", "agent_tools.py", "test_agent_tools.py", ".env.example", "Procfile",
    }  # fmt: skip
    assert "coatcheck run" in said
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:randomly"]
    subprocess.run(command, cwd=tmp_path, env={**ENV, "PYTHONPATH": f"{ROOT}:{tmp_path}"}, check=True, timeout=60)

    port = free_port()
    env = {**ENV, "PORT": str(port), "FLOWER_PORT": str(free_port()), "WEB_CONCURRENCY": "1"}
    run = [sys.executable, "-m", "coatcheck", "run"]
    with Process(run, name="run", folder=tmp_path, cwd=tmp_path, env=env) as process:
        process.wait_for_line("\nready\n", 60.0)
        with Client(f"http://127.0.0.1:{port}/mcp") as client:
            task_id = client.start("refund", {"order": "A-17", "amount": 30})
            asked = client.wait_for(task_id, "input_required")["inputRequests"]["approve"]
            assert asked["params"]["message"] == "Refund 30.00 of 20.00 for order A-17?"
            client.update(task_id, {"approve": {"action": "accept", "content": {"approved": True}}})
            assert client.wait_for(task_id)["result"]["structuredContent"] == {"refunded": 20.0}
        process.stop()


def test_it_finds_the_celery_application_and_stands_beside_it(tmp_path: Path) -> None:
    (tmp_path / "shop").mkdir()
    (tmp_path / "tests").mkdir()
    (tmp_path / "manage.py").touch()
    (tmp_path / "shop" / "celery.py").write_text(CELERY)
    (tmp_path / ".venv" / "more").mkdir(parents=True)
    (tmp_path / ".venv" / "more" / "app.py").write_text(CELERY)
    (tmp_path / "broken.py").write_text("Celery(")
    said = init(tmp_path)
    assert "coatcheck expose --app shop.celery:app" in said
    assert "django.setup()" in said
    assert (tmp_path / "coatcheck.toml").read_text().endswith('tools = ["shop.agent_tools"]\n')
    assert "from shop.agent_tools import refund" in (tmp_path / "tests" / "test_agent_tools.py").read_text()


def test_what_is_there_stays_and_is_told(tmp_path: Path) -> None:
    (tmp_path / "Procfile").write_text("web: gunicorn shop.wsgi\n")
    (tmp_path / "pyproject.toml").write_text("[tool.coatcheck]\nport = 9000\n")
    (tmp_path / ".env.example").symlink_to("nowhere")
    (tmp_path / "agent_tools.py").write_text("# mine\n")
    said = init(tmp_path)
    assert "kept as it is  agent_tools.py" in said
    assert "coatcheck_worker: coatcheck worker" in said
    assert content(tmp_path).keys() == {"Procfile", "pyproject.toml", "agent_tools.py", "test_agent_tools.py"}
    assert (tmp_path / "Procfile").read_text() == "web: gunicorn shop.wsgi\n"
    assert (tmp_path / "agent_tools.py").read_text() == "# mine\n"


def test_a_dry_run_shows_all_and_writes_nothing(tmp_path: Path) -> None:
    said = init(tmp_path, "--dry-run")
    assert "would write  agent_tools.py" in said
    assert "    def refund(ctx: Context" in said
    assert content(tmp_path) == {}


def test_a_folder_that_is_none_is_told(tmp_path: Path) -> None:
    with pytest.raises(subprocess.CalledProcessError) as ended:
        init(tmp_path, "nowhere")
    assert ended.value.returncode == 2


def test_where_one_file_cannot_be_written_none_is(tmp_path: Path) -> None:
    with pytest.raises(CannotWrite, match="Nothing was written"):
        write(tmp_path, {Path("a"): "a", Path("x" * 300): "b"})
    assert content(tmp_path) == {}


def test_a_project_without_an_application_has_its_tools_at_the_top(tmp_path: Path) -> None:
    (tmp_path / "tasks.py").write_text("import celery\n\nqueue = celery.Celery()\n")
    found = Project.found_in(tmp_path)
    assert (found.celery_app, found.module, found.is_django) == ("tasks:queue", "agent_tools", False)
