"""Python environments with another version of Celery: with nothing of ours, and over the environment of the tests."""

import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

from tests.support.platform import ROOT

VERSIONS = {
    "5.3": ("celery[redis]==5.3.6", "kombu==5.3.7"),
    "5.7": ("celery[redis]==5.7.0", "kombu==5.7.0"),
}
"""The oldest and the newest Celery that another application may have; ours is between them."""


OURS = {
    "5.5": ("celery[redis]==5.5.3", "kombu==5.5.4"),
    "5.6": ("celery[redis]==5.6.3", "kombu==5.6.2"),
    "5.7": ("celery[redis]==5.7.0", "kombu==5.7.0"),
}
"""The versions of Celery that we run on, each with the kombu of its time and the redis that this one allows."""


def python_with_celery(version: str) -> Path:
    """The interpreter of an environment with this version of Celery, made when it is first asked for."""
    return _made(f"celery-{version}", VERSIONS[version])


def python_of_ours(version: str) -> Path:
    """The interpreter that has all this one has, but this version of Celery; made when it is first asked for."""
    return _made(f"ours-{version}", OURS[version], beneath=sysconfig.get_path("purelib"))


def _made(name: str, packages: tuple[str, ...], *, beneath: str = "") -> Path:
    environment = ROOT / "build" / name
    if not environment.is_dir():
        environment.parent.mkdir(exist_ok=True)
        # Moved into place when it is whole: an interrupted test leaves nothing that looks like an environment.
        with tempfile.TemporaryDirectory(dir=environment.parent) as folder:
            made = Path(folder) / "environment"
            subprocess.run([sys.executable, "-m", "venv", made], check=True)
            pip = [made / "bin" / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
            subprocess.run([*pip, *packages], check=True)
            if beneath:
                (packed,) = made.glob("lib/python*/site-packages")
                (packed / "beneath.pth").write_text(f"{beneath}\n")
            made.rename(environment)
    return environment / "bin" / "python"
