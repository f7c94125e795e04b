"""A platform that knows its callers by tokens."""

import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tests.support.platform import ROOT, Platform


@contextmanager
def guarded(folder: Path, *names: str, env: Mapping[str, str]) -> Iterator[tuple[Platform, dict[str, str]]]:
    """The platform serves the bundled tools, and these callers have these tokens."""
    tokens: dict[str, str] = {}
    with (folder / "tokens.toml").open("a") as entries:
        for name in names:
            made = subprocess.run(
                [sys.executable, "-m", "coatcheck.web.operations.tokens", "new", name],
                stdout=entries,
                stderr=subprocess.PIPE,
                text=True,
                check=True,
                cwd=ROOT,
            )
            tokens[name] = made.stderr.split()[-1]
    settings = {"COATCHECK_AUTH": "tokens", "COATCHECK_TOKENS_FILE": str(folder / "tokens.toml"), **env}
    with Platform(tools="coatcheck.workers.tools,tests.client.tools", env=settings) as platform:
        yield platform.start(), tokens
