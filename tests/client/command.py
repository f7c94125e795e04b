"""The `coatcheck` command: in this process, in one of its own, or at a terminal."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pexpect
from click.testing import CliRunner

from coatcheck.client.command.group import cli
from tests.support.platform import ROOT

PYTHON = [sys.executable, "-m", "coatcheck"]


@dataclass(frozen=True, slots=True)
class Ended:
    """A command that has ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> dict[str, Any]:
        """The one JSON object that was printed."""
        found: dict[str, Any] = json.loads(self.out)
        assert self.out.count("\n") == 1, self.out
        return found


@dataclass(frozen=True, slots=True)
class Command:
    """Runs the command with these variables beside those of the test."""

    env: Mapping[str, str]

    def __call__(self, *arguments: str, stdin: str = "", **env: str) -> Ended:
        """The command has ended, in this process, which saves it the second that the SDK takes to load."""
        runner = CliRunner()
        result = runner.invoke(
            cli, arguments, input=stdin, env={**self.env, **env}, prog_name="coatcheck", catch_exceptions=False
        )
        return Ended(result.exit_code, result.stdout, result.stderr)

    def process(self, *arguments: str, stdin: str = "", **env: str) -> Ended:
        """The command has ended by itself, in a process of its own, its three streams pipes."""
        done = subprocess.run(
            [*PYTHON, *arguments],
            input=stdin,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
            env=self._env(env),
            cwd=ROOT,
        )
        assert "Traceback" not in done.stderr, done.stderr
        return Ended(done.returncode, done.stdout, done.stderr)

    def start(self, *arguments: str, **env: str) -> "subprocess.Popen[bytes]":
        """The command runs, its three streams pipes."""
        return subprocess.Popen(
            [*PYTHON, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=self._env(env),
            cwd=ROOT,
        )

    @contextmanager
    def terminal(self, *arguments: str, **env: str) -> Iterator["pexpect.spawn[str]"]:
        """The command runs at a terminal, and is gone afterwards."""
        spawned = pexpect.spawn(
            PYTHON[0],
            [*PYTHON[1:], *arguments],
            env=self._env({"TERM": "xterm-256color", "PROMPT_TOOLKIT_NO_CPR": "1", **env}),
            cwd=str(ROOT),
            encoding="utf-8",
            timeout=30,
            dimensions=(50, 160),
        )
        try:
            yield spawned
        finally:
            spawned.close(force=True)

    def _env(self, more: Mapping[str, str]) -> dict[str, str]:
        return {**os.environ, "PYTHONPATH": str(ROOT), **self.env, **more}
