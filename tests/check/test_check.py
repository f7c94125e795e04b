"""Every part is tried, what is wrong is named, and the exit code tells."""

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from tests.support.platform import ROOT, Platform
from tests.support.ports import free_port
from tests.support.tls import TlsProxy, self_signed
from tests.support.valkey import Valkey

LOGIN = {"FLOWER_BASIC_AUTH": "operator:a long password"}


@pytest.fixture(scope="module")
def platform() -> Iterator[Platform]:
    """A running platform."""
    with Platform() as platform:
        yield platform.start()


EXPIRED = f'[[token]]\nsha256 = "{"0" * 64}"\nprincipal = "ann"\nexpires = 2020-01-01T00:00:00Z'


def check(platform: Platform, *arguments: str, env: Mapping[str, str] | None = None) -> tuple[int, dict[str, str]]:
    """The exit code of a check, and the verdict on each part."""
    return verdicts_of(platform, "coatcheck.web.operations.check", *arguments, env=env)


def verdicts_of(platform: Platform, *command: str, env: Mapping[str, str] | None = None) -> tuple[int, dict[str, str]]:
    """The same of another command that leads to the check."""
    process = platform.process("check", [*command], {**LOGIN, **(env or {})})
    printed = len(process.log)
    process.start()
    code = process.wait(60.0)
    told = process.log[printed:].splitlines()
    assert not any("Traceback" in line for line in told), process.log[printed:]
    lines = [line for line in told if line[:6].strip()]
    return code, {line[6:22].strip(): line[:6].strip() for line in lines}


def test_a_deployment_that_works_has_nothing_wrong(platform: Platform) -> None:
    code, verdicts = check(platform)
    assert code == 0
    assert set(verdicts.values()) == {"ok"}
    assert {"settings", "tools", "store", "clock", "broker", "results", "worker", "auth", "flower"} <= set(verdicts)


def test_before_a_release_nothing_needs_to_run(platform: Platform) -> None:
    code, verdicts = check(platform, "--release")
    assert code == 0
    assert not {"worker", "exposed", "public address"} & set(verdicts)


def test_the_command_tries_the_same_parts(platform: Platform) -> None:
    assert verdicts_of(platform, "coatcheck", "check") == check(platform)
    assert verdicts_of(platform, "coatcheck", "check", "--release") == check(platform, "--release")
    code, verdicts = verdicts_of(platform, "coatcheck", "check", env={"COATCHECK_TOOLS": "no_such_module"})
    assert (code, verdicts["tools"]) == (1, "wrong")


@pytest.mark.parametrize(
    ("env", "part"),
    [
        ({"COATCHECK_LEASE_SECONDS": "soon"}, "settings"),
        ({"COATCHECK_LOG_FORMAT": "xml"}, "settings"),
        ({"REDIS_URL": "reids://127.0.0.1"}, "settings"),
        ({"REDIS_URL": "redis://127.0.0.1:port"}, "settings"),
        *(
            ({name: address}, "settings")
            for name in ("CELERY_BROKER_URL", "COATCHECK_EXPOSE_BROKER_URL")
            for address in ("ftp://x", "amqp://127.0.0.1:port//", "redis+cluster://x", "redis+sentinel://x", "sqs://")
        ),
        *(
            ({name: address}, "settings")
            for name in ("CELERY_RESULT_BACKEND", "COATCHECK_EXPOSE_RESULT_BACKEND")
            for address in ("ftp://x", "redis://127.0.0.1:port", "redis+cluster://x", "redis+sentinel://x", "[")
        ),
        ({"COATCHECK_EXPOSE_RESULT_BACKEND": "db+sqlite:///results.db"}, "settings"),
        ({"COATCHECK_TOOLS": "no_such_module"}, "tools"),
        ({"COATCHECK_EXPOSE": "no-such-file.toml"}, "tools"),
        ({"REDIS_URL": "redis://127.0.0.1:1/0"}, "store"),
        ({"CELERY_BROKER_URL": "amqp://127.0.0.1:1//"}, "broker"),
        ({"CELERY_RESULT_BACKEND": "redis://127.0.0.1:1/0"}, "results"),
        ({"COATCHECK_PUBLIC_URL": "http://mcp.example.com"}, "public address"),
        ({"COATCHECK_PUBLIC_URL": "https://127.0.0.1:1"}, "public address"),
        ({"COATCHECK_ALLOW_ANONYMOUS": "true"}, "auth"),
        ({"COATCHECK_AUTH": "tokens", "COATCHECK_TOKENS_FILE": "no-such-file.toml"}, "auth"),
        ({"COATCHECK_AUTH": "tokens", "COATCHECK_TOKENS": "[[token]"}, "auth"),
        ({"COATCHECK_AUTH": "tokens", "COATCHECK_TOKENS": "# none yet"}, "auth"),
        ({"COATCHECK_AUTH": "tokens", "COATCHECK_TOKENS": EXPIRED}, "auth"),
        (
            {
                "COATCHECK_AUTH": "oauth",
                "COATCHECK_OAUTH_ISSUER": "https://127.0.0.1:1",
                "COATCHECK_PUBLIC_URL": "http://127.0.0.1",
            },
            "auth",
        ),
        ({"COATCHECK_REDIS_CA_FILE": "no-such-file.pem"}, "settings"),
        ({"FLOWER_BASIC_AUTH": "", "FLOWER_ADDRESS": "0.0.0.0"}, "flower"),
        ({"FLOWER_PORT": "tcp://10.0.0.1:5555"}, "flower"),
        ({"FLOWER_PORT": "70000"}, "flower"),
        ({"FLOWER_PERSISTENT": "perhaps"}, "flower"),
        ({"FLOWER_CERTFILE": "no-such-file.pem"}, "flower"),
        ({"FLOWER_BASIC_AUTH": ":"}, "flower"),
        ({"FLOWER_BASIC_AUTH": "user:password,"}, "flower"),
        ({"COATCHECK_TOOLS": "tests.exposed.tools"}, "exposed"),
    ],
)
def test_what_is_wrong_is_named(platform: Platform, env: Mapping[str, str], part: str) -> None:
    code, verdicts = check(platform, env=env)
    assert code == 1
    assert verdicts[part] == "wrong"


def said_of_the_issuer(platform: Platform, port: int, certificates: str) -> str:
    """What a check prints whose issuer is at this port."""
    env = {
        "COATCHECK_AUTH": "oauth",
        "COATCHECK_OAUTH_ISSUER": f"https://127.0.0.1:{port}",
        "COATCHECK_PUBLIC_URL": "http://127.0.0.1",
        "SSL_CERT_FILE": certificates,
    }
    process = platform.process("check", ["coatcheck.web.operations.check", "--release"], env)
    printed = len(process.log)
    process.start()
    assert process.wait(60.0) == 1
    return process.log[printed:]


def test_keys_of_an_issuer_that_cannot_be_had_are_told_with_the_reason(platform: Platform, tmp_path: Path) -> None:
    assert "https://127.0.0.1:1/.well-known/openid-configuration: ConnectError" in said_of_the_issuer(platform, 1, "")
    certificate, key = self_signed(tmp_path)
    with TlsProxy(platform.valkey.socket, certificate, key) as issuer:
        assert "its authority in SSL_CERT_FILE" in said_of_the_issuer(platform, issuer.port, "")
        assert "SSL_CERT_FILE" not in said_of_the_issuer(platform, issuer.port, str(certificate))


def test_what_is_wrong_with_one_part_keeps_no_other_from_being_tried(platform: Platform) -> None:
    everything = set(check(platform)[1])
    broken = {"COATCHECK_TOOLS": "no_such_module", "COATCHECK_LEASE_SECONDS": "soon", "CELERY_BROKER_URL": "ftp://x"}
    code, verdicts = check(platform, env=broken)
    assert code == 1
    assert {part for part, verdict in verdicts.items() if verdict == "wrong"} == {"settings", "tools"}
    assert set(verdicts) == everything - {"broker", "worker", "exposed"}


def test_without_redis_each_part_that_needs_it_says_how_to_mend_that(platform: Platform) -> None:
    process = platform.process(
        "away", ["coatcheck.web.operations.check"], {**LOGIN, "REDIS_URL": "redis://127.0.0.1:1/0"}
    ).start()
    assert process.wait(60.0) == 1
    lines = process.log.splitlines()
    wrong = [number for number, line in enumerate(lines) if line.startswith("wrong")]
    assert {lines[number].split()[1] for number in wrong} == {"store", "clock", "broker", "results", "worker"}
    assert all(lines[number + 1].strip().startswith("→") for number in wrong)


@pytest.mark.parametrize(
    ("name", "part"), [("CELERY_BROKER_URL", "broker"), ("CELERY_RESULT_BACKEND", "results"), ("REDIS_URL", "store")]
)
def test_a_server_that_stands_still_is_told_within_seconds(platform: Platform, name: str, part: str) -> None:
    """K3.1: every part has a limit, so the check comes to its end."""
    ours = {"CELERY_BROKER_URL": platform.valkey.url, "CELERY_RESULT_BACKEND": platform.valkey.url}
    with Valkey() as still:
        still.pause()
        code, verdicts = check(platform, env={**ours, name: still.url})
    assert code == 1
    assert verdicts[part] == "wrong"


@pytest.mark.parametrize("name", ["REDIS_URL", "CELERY_BROKER_URL", "CELERY_RESULT_BACKEND"])
def test_an_address_that_means_nothing_keeps_web_and_worker_from_starting(platform: Platform, name: str) -> None:
    """In words that name the variable, and repeat nothing of an address that may hold a password."""
    for number, command in enumerate(
        (
            ["gunicorn", "--config", "web/gunicorn.conf.py", "coatcheck.web.wsgi:app"],
            ["celery", "-A", "coatcheck.workers", "worker"],
        )
    ):
        process = platform.process(f"{name}-{number}", command, {name: "ftp://:hush@x", "PORT": str(free_port())})
        assert process.start().wait(60.0) != 0
        assert f"coatcheck cannot start:\n{name} has a" in process.log.replace("an unknown", "a")
        assert "Traceback" not in process.log
        assert "hush" not in process.log


@pytest.mark.parametrize(
    ("name", "value"), [("FLOWER_PORT", "tcp://10.0.0.1:5555"), ("FLOWER_MAX_WORKERS", "many"), ("FLOWER_DEBUG", "?")]
)
def test_flower_says_in_words_what_is_wrong_with_its_variables(platform: Platform, name: str, value: str) -> None:
    """K3.8."""
    process = platform.process(f"flower-{name}", ["celery", "-A", "coatcheck.workers", "flower"], {name: value})
    assert process.start().wait(60.0) != 0
    assert f"coatcheck cannot start Flower:\n{name} " in process.log
    assert "Traceback" not in process.log


def test_a_name_that_is_no_setting_is_told_at_the_start_of_each_process_and_by_the_check() -> None:
    """K3.11: with the nearest one that is."""
    told = "COATCHECK_TOOL is set, and is no setting of this version; COATCHECK_TOOLS is one."
    with Platform(env={"COATCHECK_TOOL": "x"}).start() as platform:
        assert told in platform.webs[0].log
        assert told in platform.workers[0].log
        process = platform.process("check", ["coatcheck.web.operations.check"], LOGIN).start()
        assert process.wait(60.0) == 0
        assert f"warn  settings        {told}" in process.log


def test_the_command_of_a_checkout_finds_what_its_caller_has_on_the_path(platform: Platform, tmp_path: Path) -> None:
    """The tools of a team that runs it from a checkout."""
    (tmp_path / "our_tools.py").write_text(
        'from coatcheck import tool\n\n@tool\ndef ours() -> None:\n    """Is ours."""\n'
    )
    made = tmp_path / "bin"
    made.mkdir()
    (made / "python").write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    (made / "python").chmod(0o755)
    rule = re.search(r"^COMMAND := (.*?[^\\])$", (ROOT / "Makefile").read_text(), re.DOTALL | re.MULTILINE)
    assert rule is not None
    makefile = f"BIN := {made}\nCOMMAND := {rule[1]}\nmade:\n\t@$(COMMAND)\n".replace(
        "$(CURDIR)/$(BIN)", "$(BIN)"
    ).replace("$(CURDIR)", str(ROOT))
    (tmp_path / "Makefile").write_text(makefile)
    subprocess.run(["make", "--directory", str(tmp_path), "made"], check=True)
    environment = {**os.environ, "REDIS_URL": platform.valkey.url, "COATCHECK_TOOLS": "our_tools", **LOGIN}
    command = [str(made / "coatcheck"), "check", "--release"]
    for path, code in ((str(tmp_path), 0), ("", 1)):
        done = subprocess.run(
            command, env={**environment, "PYTHONPATH": path}, cwd=made, capture_output=True, text=True, check=False
        )
        assert done.returncode == code, done.stdout + done.stderr


def test_workers_that_take_no_messages_of_a_tool_are_told() -> None:
    """They live, and a call would wait for ever."""
    with Platform().start(workers=0) as platform:
        platform.start_worker(arguments=("--queues", "reports"))
        platform.wait_until_ready()
        assert check(platform)[1]["worker"] == "wrong"
        platform.start_worker(env={"COATCHECK_TOOLS": "coatcheck.workers.tools"})
        assert check(platform)[1]["worker"] == "wrong"
        platform.start_worker()
        assert check(platform)[1]["worker"] == "ok"


def test_workers_that_listen_to_another_broker_are_doubted() -> None:
    """They live, and so may one that is too busy to answer."""
    with Platform().start(workers=0) as platform, Valkey() as other:
        platform.start_worker(env={"CELERY_BROKER_URL": other.url})
        platform.wait_until_ready()
        assert check(platform)[1]["worker"] == "warn"


def test_a_page_of_somebody_else_at_the_public_address_is_no_server(platform: Platform) -> None:
    """Nor is a stream that never ends."""
    for server, verdict in ((parked(), "wrong"), (parked(Streaming), "wrong"), (nullcontext(platform.port), "ok")):
        with server as port:
            _, verdicts = check(platform, env={"COATCHECK_PUBLIC_URL": f"http://127.0.0.1:{port}"})
        assert verdicts["public address"] == verdict


@contextmanager
def parked(handler: type[BaseHTTPRequestHandler] | None = None) -> Iterator[int]:
    """The port of a server that has a page for every request."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler or Parked)
    thread = Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class Parked(BaseHTTPRequestHandler):
    """Answers as the provider of a domain does that leads nowhere yet."""

    def do_GET(self) -> None:
        """A page."""
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(b"<h1>Parked</h1>")

    do_POST = do_GET  # noqa: N815 - its name is the library's

    def log_message(self, *_: object) -> None:
        """Nothing is logged."""


class Streaming(Parked):
    """Answers with events for as long as somebody listens."""

    def do_POST(self) -> None:
        """A stream."""
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        with suppress(OSError):
            while True:
                self.wfile.write(b": still here\n\n")
                time.sleep(0.1)


def test_a_deployment_without_a_worker_is_not_complete() -> None:
    with Platform().start(workers=0) as platform:
        code, verdicts = check(platform)
    assert code == 1
    assert [part for part, verdict in verdicts.items() if verdict == "wrong"] == ["worker"]
