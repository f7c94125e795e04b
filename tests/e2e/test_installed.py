"""The distribution, installed beside a project that has packages named like the folders of this repository."""

import json
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path
from zipfile import ZipFile

import pytest

from tests.support.platform import ROOT, Platform
from tests.support.valkey import Valkey

PARTS = ("client", "launch", "tasks_store", "web", "workers")

PACKED = ("LICENSE", "README.md", "coatcheck", "pyproject.toml", *PARTS)
"""What a distribution is built from; in a copy, because setuptools builds in place."""

BUILD_SDIST = "from setuptools.build_meta import build_sdist; import sys; build_sdist(sys.argv[1])"

THEIR_TOOLS = f"""
import {", ".join(PARTS)}
from coatcheck import Context, Elicit, tool

@tool
def who_is_who(ctx: Context) -> list[str]:
    "Ask, then return the names of the project's own packages."
    ctx.ask("go", Elicit("Go on?", {{}}))
    return [part.NAME for part in ({", ".join(PARTS)})]
"""

A_TOOL = """
from coatcheck import tool

@tool
def hello() -> str:
    "Greet."
    return "hello"
"""

pytestmark = pytest.mark.timeout(300)


def pip(*arguments: str | Path) -> None:
    """Run pip with these arguments."""
    options = ["--quiet", "--disable-pip-version-check", "--no-input"]
    subprocess.run([sys.executable, "-m", "pip", *map(str, arguments), *options], check=True)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with a source distribution, and with the wheel that was built from it."""
    folder = tmp_path_factory.mktemp("built")
    checkout, backend = folder / "checkout", folder / "backend"
    checkout.mkdir()
    for name in PACKED:
        if (ROOT / name).is_dir():
            ignored = shutil.ignore_patterns("__pycache__")
            shutil.copytree(ROOT / name, checkout / name, symlinks=True, ignore=ignored)
        else:
            shutil.copy(ROOT / name, checkout / name)
    pip("install", "--target", backend, "setuptools>=77")
    build = [sys.executable, "-c", BUILD_SDIST, str(folder)]
    subprocess.run(build, cwd=checkout, env={"PYTHONPATH": str(backend)}, stdout=subprocess.DEVNULL, check=True)
    pip("wheel", "--no-deps", "--wheel-dir", folder, *folder.glob("*.tar.gz"))
    return folder


@pytest.fixture(scope="module")
def installed(built: Path) -> Path:
    """The folder that the wheel is installed into."""
    folder = built / "site"
    pip("install", "--no-deps", "--target", folder, *built.glob("*.whl"))
    return folder


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Somebody's project, which has packages of these names."""
    for part in PARTS:
        (tmp_path / part).mkdir()
        (tmp_path / part / "__init__.py").write_text(f'NAME = "their {part}"\n')
    (tmp_path / "their_tools.py").write_text(THEIR_TOOLS)
    return tmp_path


@pytest.fixture(scope="module")
def beside_celery(built: Path) -> tuple[Path, dict[str, str], dict[str, str]]:
    """An environment with Celery 5.7.0 that the wheel was installed into, and its versions before and after."""
    folder = built / "beside"
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    python = folder / "bin" / "python"
    pip("--python", python, "install", "celery[redis]==5.7.0")
    before = versions(python)
    pip("--python", python, "install", *built.glob("*.whl"))
    return folder, before, versions(python)


def versions(python: Path) -> dict[str, str]:
    """The version of each package of an environment."""
    command = [python, "-m", "pip", "list", "--format=json", "--disable-pip-version-check"]
    printed = subprocess.run(command, capture_output=True, check=True).stdout
    return {package["name"]: package["version"] for package in json.loads(printed)}


def test_it_changes_no_version_of_a_project_with_celery(
    beside_celery: tuple[Path, dict[str, str], dict[str, str]],
) -> None:
    _, before, after = beside_celery
    assert before.items() <= after.items()
    assert len(after.keys() - before.keys() - {"coatcheck"}) <= 31


@pytest.mark.parametrize(
    ("command", "code", "printed"),
    [
        ("--version", 0, "coatcheck, version"),
        ("check", 1, "ok    broker"),  # no worker runs, and it says so
        ("token new ann", 0, ""),
        ("web --version", 0, "gunicorn"),
        ("tools", 2, "coatcheck[cli]"),
        ("run", 2, "coatcheck[embedded]"),
        ("flower", 2, "coatcheck[flower]"),
    ],
)
def test_a_command_works_or_says_which_extra_it_lacks(
    beside_celery: tuple[Path, dict[str, str], dict[str, str]], tmp_path: Path, command: str, code: int, printed: str
) -> None:
    program = beside_celery[0] / "bin" / "coatcheck"
    with Valkey(appendonly="yes") as store:
        env = {"REDIS_URL": store.url, "COATCHECK_TOOLS": "a_tool", "PYTHONPATH": str(tmp_path)}
        (tmp_path / "a_tool.py").write_text(A_TOOL)
        done = subprocess.run(
            [program, *command.split()], cwd=tmp_path, env=env, capture_output=True, text=True, timeout=60, check=False
        )
    assert (done.returncode, printed in done.stdout + done.stderr) == (code, True), done


def test_a_wheel_installs_one_top_level_name(built: Path) -> None:
    (wheel,) = built.glob("*.whl")
    names = ZipFile(wheel).namelist()
    assert {name.split("/")[0] for name in names if ".dist-info/" not in name} == {"coatcheck"}
    assert "coatcheck/py.typed" in names


def test_a_distribution_holds_every_file_of_the_package(built: Path) -> None:
    (wheel,), (sdist,) = built.glob("*.whl"), built.glob("*.tar.gz")
    wanted = {
        f"coatcheck/{path.relative_to(ROOT)}"
        for part in PARTS
        for path in (ROOT / part).rglob("*")
        if path.suffix in {".py", ".lua", ".csv"}
    }
    assert wanted <= set(ZipFile(wheel).namelist())
    with tarfile.open(sdist) as archive:
        assert wanted <= {name.partition("/")[2] for name in archive.getnames()}


@pytest.mark.parametrize("first", ["theirs", "ours"])
def test_it_stands_beside_a_project_with_packages_of_the_same_names(installed: Path, project: Path, first: str) -> None:
    """Whichever of the two comes first on the path."""
    path = f"{project}:{installed}" if first == "theirs" else f"{installed}:{project}"
    with Platform(
        tools="their_tools",
        env={"PYTHONPATH": path},
        cwd=project,
    ) as platform:
        platform.start()
        with platform.client() as client:
            task_id = client.start("who_is_who")
            client.wait_for(task_id, "input_required")
            client.update(task_id, {"go": {"action": "accept", "content": {}}})
            ended = client.wait_for(task_id)
        assert ended["result"]["structuredContent"] == [f"their {part}" for part in PARTS]
