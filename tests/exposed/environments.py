"""Python environments with another version of Celery and nothing of ours."""

import subprocess
import sys
import tempfile
from pathlib import Path

from tests.support.platform import ROOT

VERSIONS = {
    "5.3": ("celery[redis]==5.3.6", "kombu==5.3.7"),
    "5.7": ("celery[redis]==5.7.0", "kombu==5.7.0"),
}
"""The oldest and the newest Celery that another application may have; ours is between them."""


def python_with_celery(version: str) -> Path:
    """The interpreter of an environment with this version of Celery, made when it is first asked for."""
    environment = ROOT / "build" / f"celery-{version}"
    if not environment.is_dir():
        environment.parent.mkdir(exist_ok=True)
        # Moved into place when it is whole: an interrupted test leaves nothing that looks like an environment.
        with tempfile.TemporaryDirectory(dir=environment.parent) as folder:
            made = Path(folder) / "environment"
            subprocess.run([sys.executable, "-m", "venv", made], check=True)
            pip = [made / "bin" / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
            subprocess.run([*pip, *VERSIONS[version]], check=True)
            made.rename(environment)
    return environment / "bin" / "python"
