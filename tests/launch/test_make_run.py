"""The launcher behind `make run`, with real processes: small ones of the tests' own in place of web and worker."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import uuid
from collections.abc import Callable, Iterator
from contextlib import closing
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import psutil
import pytest

from coatcheck.launch.embedded_redis import embedded_redis
from coatcheck.launch.errors import InvalidLaunchSettings, PortTaken, ProcfileUnusable
from coatcheck.launch.events import Events, PlatformNotReady, PlatformReady
from coatcheck.launch.process_list import read_procfile
from coatcheck.launch.readiness import report_readiness
from coatcheck.launch.settings import LaunchSettings
from coatcheck.launch.supervisor import without_password
from tests.support.ports import free_port
from tests.support.waiting import wait_until

ROOT = Path(__file__).parents[2]
PROCFILE = "web: python web.py\nworker: python worker.py\n"
WEB = """
import http.server, os

class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        ready = os.path.exists("be-ready")
        self.send_response(200 if ready else 503)
        self.end_headers()

    def log_message(self, *args):
        pass

http.server.HTTPServer(("127.0.0.1", int(os.environ["PORT"])), Handler).serve_forever()
"""
WORKER = """
import os, pathlib, signal, subprocess, sys, time

# Like a pool that does not listen: its end is its parent's business, or the launcher's.
POOL = '''
import pathlib, signal, time
signal.signal(signal.SIGTERM, lambda *_: pathlib.Path("pool-was-signalled").touch())
signal.signal(signal.SIGINT, lambda *_: pathlib.Path("pool-was-signalled").touch())
pathlib.Path("pool-started").touch()
while True:
    time.sleep(1)
'''

def stop(number, frame):
    with open("worker-signals", "a") as heard:
        heard.write(signal.Signals(number).name + " ")
    sys.exit(0)

for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
    signal.signal(number, stop)
subprocess.Popen([sys.executable, "-c", POOL])
print("worker-sees", os.environ["REDIS_URL"], os.environ.get("COATCHECK_ANYTHING"), sys.executable)
while not os.path.exists("worker-dies"):
    time.sleep(0.02)
sys.exit(3)
"""


class Launch:
    """One `python -m coatcheck.launch` in a folder of its own, and every process that descends from it."""

    def __init__(self, folder: Path, port: int, flower_port: int, **environ: str) -> None:
        self.folder = folder
        self.port = port
        self.mark = uuid.uuid4().hex
        self.output_file = folder / f"output-{self.mark}"
        with self.output_file.open("wb") as output:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "coatcheck.launch", "--procfile", "Procfile"],
                cwd=folder,
                env={
                    "PATH": os.defpath,
                    "PYTHONPATH": str(ROOT),
                    "LAUNCH_MARK": self.mark,
                    "PORT": str(port),
                    "FLOWER_PORT": str(flower_port),
                    **environ,
                },
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    @property
    def output(self) -> str:
        return self.output_file.read_text()

    def wait_for_line(self, line: str) -> None:
        def printed() -> bool:
            return line in self.output.splitlines() or self.process.poll() is not None

        wait_until(printed, what=f"the line {line!r} in {self.output!r}")
        assert line in self.output.splitlines(), self.output

    def wait_for_ready(self) -> None:
        self.wait_for_line("ready")
        wait_until((self.folder / "pool-started").exists, what="the worker's pool")

    def wait_for_end(self) -> int:
        """The exit code. Ten seconds are what a Ctrl-C may take."""
        return self.process.wait(timeout=10)

    def left_over(self) -> list[str]:
        """The command lines of all living processes that descend from this launch."""
        found = []
        for process in psutil.process_iter():
            try:
                if process.environ().get("LAUNCH_MARK") == self.mark and process.status() != psutil.STATUS_ZOMBIE:
                    found.append(" ".join(process.cmdline()))
            except psutil.Error:
                continue
        return found

    def left_nothing(self) -> bool:
        return not self.left_over()

    def command_of(self, name: str) -> psutil.Process:
        """The process among the launcher's children whose command line has the name in it."""
        children = psutil.Process(self.process.pid).children()
        return next(child for child in children if name in " ".join(child.cmdline()))


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Launch]]:
    """Starts a launch in a folder under tmp_path. After the test nothing of it may be left.

    /readyz says 200 while the folder has a file `be-ready`.
    """
    launches: list[Launch] = []

    def start(
        folder: str = "app",
        *,
        procfile: str = PROCFILE,
        port: int = 0,
        flower_port: int = 0,
        ready: bool = True,
        **environ: str,
    ) -> Launch:
        path = tmp_path / folder
        path.mkdir(parents=True, exist_ok=True)
        for name, text in {"Procfile": procfile, "web.py": WEB, "worker.py": WORKER}.items():
            (path / name).write_text(text)
        if ready:
            (path / "be-ready").touch()
        launches.append(Launch(path, port or free_port(), flower_port or free_port(), **environ))
        return launches[-1]

    yield start
    for launch in launches:
        if launch.process.poll() is None:
            launch.process.kill()
            launch.process.wait()
    for launch in launches:
        wait_until(launch.left_nothing, what=f"no process left, but {launch.left_over()}")


def redis_says(path: Path, command: bytes) -> bytes:
    """What the server at the unix socket replies to one inline command."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.connect(str(path))
        connection.sendall(command + b"\r\n")
        return connection.recv(1000)


def found_in(folder: Path, **environ: str) -> dict[str, object]:
    """What the command finds that is started in this folder, without settings of its own."""
    code = "import json; from coatcheck.client.running import running_here; "
    code += "from coatcheck.client.settings import load_settings; "
    code += "print(json.dumps({'url': load_settings().chosen.url, 'REDIS_URL': running_here().get('REDIS_URL')}))"
    env = {"PYTHONPATH": str(ROOT), "HOME": str(folder), **environ}
    told: dict[str, object] = json.loads(subprocess.check_output([sys.executable, "-c", code], cwd=folder, env=env))
    return told


def test_ready_is_said_when_readyz_answers_200_and_not_before(start: Callable[..., Launch]) -> None:
    launch = start(ready=False)
    wait_until((launch.folder / "pool-started").exists, what="the worker's pool")
    assert "ready" not in launch.output.splitlines()
    (launch.folder / "be-ready").touch()
    launch.wait_for_ready()


def test_the_addresses_are_printed_before_ready(start: Callable[..., Launch]) -> None:
    port, flower_port = free_port(), free_port()
    launch = start(port=port, flower_port=flower_port)
    launch.wait_for_ready()
    words = launch.output.split()
    for address in (
        f"http://127.0.0.1:{port}/mcp",
        f"http://127.0.0.1:{flower_port}",
        f"unix://{launch.folder}/.data/redis.sock",
    ):
        assert words.index(address) < words.index("ready")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_stop_signal_ends_everything_and_is_a_success(start: Callable[..., Launch], number: signal.Signals) -> None:
    launch = start()
    launch.wait_for_ready()
    launch.process.send_signal(number)
    assert launch.wait_for_end() == 0, launch.output
    assert launch.left_over() == []


def test_ctrl_c_in_the_terminal_asks_each_process_once_and_its_children_not_at_all(
    start: Callable[..., Launch],
) -> None:
    launch = start()
    launch.wait_for_ready()
    os.killpg(launch.process.pid, signal.SIGINT)  # what a terminal does: the whole foreground group
    assert launch.wait_for_end() == 0, launch.output
    assert (launch.folder / "worker-signals").read_text().split() == ["SIGTERM"]
    assert not (launch.folder / "pool-was-signalled").exists()


def test_a_process_that_will_not_stop_is_killed_in_time(start: Callable[..., Launch]) -> None:
    stubborn = "import signal, time; signal.signal(15, signal.SIG_IGN); open('deaf', 'w'); time.sleep(600)"
    launch = start(procfile=f'web: python web.py\nstubborn: python -c "{stubborn}"\n')
    launch.wait_for_line("ready")
    wait_until((launch.folder / "deaf").exists, what="the stubborn process")
    launch.process.send_signal(signal.SIGINT)
    assert launch.wait_for_end() == 0, launch.output
    assert launch.left_over() == []


def test_nothing_is_left_when_the_launcher_itself_is_killed(start: Callable[..., Launch]) -> None:
    launch = start()
    launch.wait_for_ready()
    launch.process.kill()
    launch.process.wait()
    wait_until(launch.left_nothing, what="no process left")


def test_a_process_that_ends_by_itself_ends_everything_and_is_named(start: Callable[..., Launch]) -> None:
    launch = start()
    launch.wait_for_ready()
    (launch.folder / "worker-dies").touch()
    assert launch.wait_for_end() == 1
    assert "worker ended with exit code 3" in launch.output
    assert launch.left_over() == []


def test_the_end_of_the_embedded_redis_ends_everything_and_is_named(start: Callable[..., Launch]) -> None:
    launch = start()
    launch.wait_for_ready()
    launch.command_of("valkey-server").kill()
    assert launch.wait_for_end() == 1
    assert "redis was killed by signal 9" in launch.output
    assert launch.left_over() == []


@pytest.mark.parametrize("variable", ["PORT", "FLOWER_PORT"])
def test_a_taken_port_is_said_with_the_variable_to_change(start: Callable[..., Launch], variable: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        launch = start(**{variable.lower(): port})
        assert launch.wait_for_end() == 1
    assert f"Port {port} is taken" in launch.output
    assert f"{variable}=" in launch.output
    assert "Traceback" not in launch.output


def test_a_second_start_from_the_same_folder_says_who_runs_there(start: Callable[..., Launch]) -> None:
    first = start()
    first.wait_for_ready()
    second = start()
    assert second.wait_for_end() == 1
    assert f"already running from this folder: pid {first.process.pid}, " in second.output
    assert f"http://127.0.0.1:{first.port}/mcp" in second.output
    assert first.process.poll() is None


def test_two_folders_run_side_by_side(start: Callable[..., Launch]) -> None:
    first, second = start("one"), start("two")
    first.wait_for_ready()
    second.wait_for_ready()


def test_a_folder_can_start_again_after_its_launcher_was_killed(start: Callable[..., Launch]) -> None:
    first = start()
    first.wait_for_ready()
    first.process.kill()
    first.process.wait()
    wait_until(first.left_nothing, what="no process left")
    start().wait_for_ready()


def test_what_redis_was_told_is_there_after_the_next_start(start: Callable[..., Launch]) -> None:
    first = start()
    first.wait_for_ready()
    assert redis_says(first.folder / ".data/redis.sock", b"SET kept yes") == b"+OK\r\n"
    first.process.send_signal(signal.SIGINT)
    assert first.wait_for_end() == 0
    second = start()
    second.wait_for_ready()
    assert redis_says(second.folder / ".data/redis.sock", b"GET kept") == b"$3\r\nyes\r\n"


def test_redis_loses_no_answered_write_when_it_is_killed(start: Callable[..., Launch]) -> None:
    first = start()
    first.wait_for_ready()
    assert redis_says(first.folder / ".data/redis.sock", b"SET kept yes") == b"+OK\r\n"
    first.command_of("valkey-server").kill()
    assert first.wait_for_end() == 1
    second = start()
    second.wait_for_ready()
    assert redis_says(second.folder / ".data/redis.sock", b"GET kept") == b"$3\r\nyes\r\n"


def test_settings_reach_the_processes_and_the_launchers_own_python_comes_first(start: Callable[..., Launch]) -> None:
    launch = start(COATCHECK_ANYTHING="as-it-was")
    launch.wait_for_ready()
    wait_until(lambda: "worker-sees" in launch.output, what="the worker's first line")
    line = next(line for line in launch.output.splitlines() if "worker-sees" in line)
    words = line.partition("worker-sees ")[2].split()
    assert words[:2] == [f"unix://{launch.folder}/.data/redis.sock", "as-it-was"]
    assert Path(words[2]).parent == Path(sys.executable).parent


def test_what_runs_is_found_from_its_folder_and_only_while_it_runs(start: Callable[..., Launch]) -> None:
    """K5.3."""
    launch = start()
    launch.wait_for_ready()
    file = launch.folder / ".data/running.json"
    assert file.stat().st_mode & 0o777 == 0o600
    assert found_in(launch.folder) == {
        "url": f"http://127.0.0.1:{launch.port}/mcp",
        "REDIS_URL": f"unix://{launch.folder}/.data/redis.sock",
    }
    assert found_in(launch.folder, COATCHECK_URL="http://other.example/mcp")["url"] == "http://other.example/mcp"
    launch.process.kill()
    launch.process.wait()
    assert file.exists()
    assert found_in(launch.folder) == {"url": "http://127.0.0.1:8000/mcp", "REDIS_URL": None}
    wait_until(launch.left_nothing, what="no process left")
    again = start()
    again.wait_for_ready()
    again.process.send_signal(signal.SIGINT)
    again.wait_for_end()
    assert not file.exists()


def test_another_data_folder_is_found_by_its_variable(start: Callable[..., Launch], tmp_path: Path) -> None:
    """K5.3."""
    launch = start(COATCHECK_DATA_DIR=str(tmp_path / "elsewhere"))
    launch.wait_for_ready()
    found = found_in(tmp_path, COATCHECK_DATA_DIR=str(tmp_path / "elsewhere"))
    assert found["url"] == f"http://127.0.0.1:{launch.port}/mcp"


@pytest.mark.parametrize("text", ["", "[]", '{"pid": "x"}', '{"pid": 1e400}', '{"pid": 1, "variables": []}', "\udcff"])
def test_a_file_that_says_nothing_is_no_platform(tmp_path: Path, text: str) -> None:
    """K5.3."""
    (tmp_path / "running.json").write_text(text, errors="surrogateescape")
    found = found_in(tmp_path, COATCHECK_DATA_DIR=str(tmp_path))
    assert found == {"url": "http://127.0.0.1:8000/mcp", "REDIS_URL": None}


@pytest.mark.parametrize(("environ", "said"), [({}, "whole"), ({"COATCHECK_LOG_EXCEPTIONS": "places"}, "places")])
def test_whoever_develops_reads_the_whole_of_what_a_tool_raised(
    start: Callable[..., Launch], environ: dict[str, str], said: str
) -> None:
    """K5.2."""
    program = "import os, time; print('exceptions:', os.environ['COATCHECK_LOG_EXCEPTIONS']); time.sleep(600)"
    launch = start(procfile=f'web: python web.py\nworker: python -c "{program}"\n', **environ)
    wait_until(lambda: f"exceptions: {said}" in launch.output, what=f"the worker's first line in {launch.output}")


@pytest.mark.parametrize(
    ("folder", "says"),
    [("a-file", "cannot be used"), ("a-file/below", "cannot be used")],
)
def test_what_the_system_refuses_is_told_in_a_sentence(
    start: Callable[..., Launch], tmp_path: Path, folder: str, says: str
) -> None:
    """K5.1."""
    (tmp_path / "a-file").touch()
    launch = start(COATCHECK_DATA_DIR=str(tmp_path / folder))
    assert launch.wait_for_end() == 1
    assert says in launch.output
    assert "Traceback" not in launch.output


def test_a_data_folder_that_takes_no_file_is_told_in_a_sentence(start: Callable[..., Launch], tmp_path: Path) -> None:
    """K5.1."""
    (tmp_path / "data" / "running.json").mkdir(parents=True)
    launch = start(COATCHECK_DATA_DIR=str(tmp_path / "data"))
    assert launch.wait_for_end() == 1
    assert f"coatcheck: {tmp_path}/data/running.json cannot be used" in launch.output
    assert "Traceback" not in launch.output


def test_a_procfile_that_is_no_text_is_told_in_a_sentence(start: Callable[..., Launch], tmp_path: Path) -> None:
    """K5.1."""
    (tmp_path / "Odd").write_bytes(b"web: \xff\n")
    with pytest.raises(ProcfileUnusable, match="it is not UTF-8 text"):
        read_procfile(tmp_path / "Odd")


def test_the_command_that_frees_a_start_from_a_taken_port_stands_on_its_own_line() -> None:
    """K5.8: and names a port that there is."""
    assert str(PortTaken("PORT", 8000)).splitlines()[1:] == ["  PORT=8001 make run"]
    assert str(PortTaken("PORT", 65535)).splitlines()[1:] == ["  PORT=65534 make run"]


def test_no_redis_is_started_when_one_is_named_and_its_password_is_not_shown(start: Callable[..., Launch]) -> None:
    launch = start(procfile="web: python web.py\n", REDIS_URL="rediss://user:hush@redis.example:6380/1")
    launch.wait_for_line("ready")
    assert "rediss://redis.example:6380/1" in launch.output
    assert "hush" not in launch.output
    assert not any("valkey" in command for command in launch.left_over())


def test_a_folder_with_a_long_name_gets_a_short_socket(start: Callable[..., Launch]) -> None:
    start("/".join(["a-rather-long-folder-name"] * 5)).wait_for_ready()


@pytest.mark.parametrize(
    ("procfile", "why"),
    [
        ("nothing that looks like a process\n", "lists no process"),
        ("web: cd there && python web.py\n", "web must be one command"),
        ("web: python web.py | cat\n", "web must be one command"),
        ("web: python 'web.py\n", "web must be one command"),
    ],
)
def test_a_procfile_that_cannot_be_used_is_said_plainly(start: Callable[..., Launch], procfile: str, why: str) -> None:
    launch = start(procfile=procfile)
    assert launch.wait_for_end() == 1
    assert why in launch.output
    assert "Traceback" not in launch.output


def test_a_command_may_set_variables_and_quote_what_a_shell_would_read(start: Callable[..., Launch]) -> None:
    launch = start(procfile="web: GREETING='a; b' python web.py --mark=${ABSENT:-'c & d'}\n")
    launch.wait_for_line("ready")


def test_a_short_folder_keeps_its_socket_beside_its_data(tmp_path: Path) -> None:
    short, long = Path("/srv/app/.data"), tmp_path / ("x" * 100)
    with embedded_redis(short) as redis:
        assert redis.socket_path == short / "redis.sock"
    with embedded_redis(long) as redis:
        assert len(bytes(redis.socket_path)) < 100
        assert redis.socket_path.parent.stat().st_mode & 0o777 == 0o700
    assert not redis.socket_path.parent.exists()


@pytest.mark.parametrize("port", ["", "8000"])
def test_an_empty_variable_counts_as_unset(port: str) -> None:
    settings = LaunchSettings.from_environ({"PORT": port, "REDIS_URL": "", "COATCHECK_DATA_DIR": ""})
    assert (settings.port, settings.flower_port, settings.redis_url) == (8000, 5555, None)
    assert settings.data_dir == Path(".data").absolute()


@pytest.mark.parametrize("bad", ["0", "65536", "-1", "8000.0", "http", "²", " 8000"])
def test_every_faulty_port_is_named_at_once(bad: str) -> None:
    with pytest.raises(InvalidLaunchSettings) as caught:
        LaunchSettings.from_environ({"PORT": bad, "FLOWER_PORT": bad})
    assert [line.split()[0] for line in str(caught.value).splitlines()] == ["PORT", "FLOWER_PORT"]


def test_two_equal_ports_are_refused() -> None:
    with pytest.raises(InvalidLaunchSettings):
        LaunchSettings.from_environ({"PORT": "5555"})


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("redis://:hush@host:1/0", "redis://host:1/0"),
        ("redis://user:h@sh@host", "redis://host"),
        ("redis://host:6379", "redis://host:6379"),
        ("unix:///a/b@c.sock", "unix:///a/b@c.sock"),
    ],
)
def test_a_url_is_shown_without_its_password(url: str, shown: str) -> None:
    assert without_password(url) == shown


class _Refusing(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(503)
        self.end_headers()
        self.wfile.write(b'{"worker":"none answers"}')

    def log_message(self, *_: object) -> None:
        """Says nothing."""


def test_a_platform_that_does_not_get_ready_is_reported_with_the_body_of_readyz() -> None:
    events = Events()
    with HTTPServer(("127.0.0.1", 0), _Refusing) as server:
        serving = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        serving.start()
        report_readiness(server.server_port, 0.3, events, threading.Event())
        server.shutdown()
        serving.join()
    assert events.get_nowait() == PlatformNotReady(0.3, '/readyz says 503: {"worker":"none answers"}')


def test_a_web_process_that_does_not_answer_is_reported_as_such() -> None:
    events = Events()
    with closing(socket.socket()) as unheard:
        unheard.bind(("127.0.0.1", 0))
        report_readiness(unheard.getsockname()[1], 0, events, threading.Event())
    event = events.get_nowait()
    assert not isinstance(event, PlatformReady)
    assert "the web process does not answer" in str(event)
