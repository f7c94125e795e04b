"""`make run`, and the whole life of a task over what it started."""

import os
import re
import subprocess
import sys
from base64 import b64decode
from functools import partial
from typing import Any

from tests.e2e.checkout import Checkout
from tests.e2e.readme import Command, code, commands
from tests.support.client import TASKS, VERSION
from tests.support.needs import program_of
from tests.support.platform import ROOT
from tests.support.waiting import wait_until

META = {"io.modelcontextprotocol/serverInfo": {"name": "coatcheck", "version": "0.1.0"}}
APPROVAL = {"approve_outline": {"action": "accept", "content": {"approved": True, "comment": "Go on"}}}
CSV = "city,people\nAachen,252\nBonn,336\nCelle,69\n"
WHAT_IS_NAMED = ("taskId", "createdAt", "lastUpdatedAt")
"""What is different in each task."""


def without_names(task: dict[str, Any]) -> dict[str, Any]:
    """The task but for what is different in each."""
    return {name: value for name, value in task.items() if name not in WHAT_IS_NAMED}


def id_in(output: str) -> str:
    """The id of the task that a response is about; words that stand nowhere when it is about none."""
    found = re.search(r'"taskId":"(\w+)"', output)
    return found[1] if found else "no task"


def test_a_task_lives_from_its_call_to_its_result(checkout: Checkout) -> None:
    """DISC-1, TASK-3, TASK-6, TASK-8"""
    with checkout.client() as client:
        discovered = client.discover().result
        assert discovered["supportedVersions"] == [VERSION]
        assert discovered["capabilities"] == {"tools": {}, "extensions": {TASKS: {}, "io.coatcheck/idempotency": {}}}

        with checkout.paused_worker():
            created = client.call("generate_report", {"source": CSV}).result
            task_id = created["taskId"]
            common = {"ttlMs": 172_800_000, "pollIntervalMs": 1000, "_meta": META}
            working = {"status": "working", "statusMessage": "Waiting for a worker", **common}
            assert without_names(created) == {"resultType": "task", **working}
            assert without_names(client.get(task_id).result) == {"resultType": "complete", **working}

        parked = client.wait_for(task_id, "input_required")
        asked = parked.pop("inputRequests")["approve_outline"]
        assert asked["method"] == "elicitation/create"
        assert asked["params"]["mode"] == "form"
        assert asked["params"]["requestedSchema"]["required"] == ["approved"]
        waiting = {"status": "input_required", "statusMessage": "Waiting for input", **common}
        assert without_names(parked) == {"resultType": "complete", **waiting}

        assert client.update(task_id, APPROVAL).result == {"resultType": "complete", "_meta": META}

        completed = client.wait_for(task_id)
        result = completed.pop("result")
        ended = {"status": "completed", "statusMessage": "Completed", **common}
        assert without_names(completed) == {"resultType": "complete", **ended}
        text, image = result.pop("content")
        assert text["text"].startswith("# Report: your CSV\n\n3 rows, 2 columns, 0 missing cells.")
        assert "> Approved with the comment: Go on" in text["text"]
        assert (image["type"], image["mimeType"]) == ("image", "image/png")
        assert b64decode(image["data"], validate=True).startswith(b"\x89PNG\r\n\x1a\n")
        report = result.pop("structuredContent")
        assert [column["name"] for column in report["columns"]] == ["city", "people"]
        assert report["columns"][1]["maximum"] == 336
        assert result == {"resultType": "complete", "isError": False, "_meta": META}


def test_the_commands_of_the_readme_give_the_answers_that_stand_there(checkout: Checkout) -> None:
    program_of("curl")
    section = "The life of a task"
    function, told = code(section, "bash"), commands(section)
    shown_id = next(command.line for command in told if command.line.startswith("ID=")).removeprefix("ID=")
    task_id = ""

    def answer(command: Command) -> str | None:
        """What the command prints, with the id of its task in place of the shown one, once that is as shown."""
        env = {**os.environ, "PORT": str(checkout.port), "ID": task_id}
        output = subprocess.check_output(["bash", "-c", function + command.line], env=env, text=True, timeout=30)
        return output if command.gives(output.replace(id_in(output), shown_id)) else None

    for command in told:
        if command.line.startswith("ID="):
            continue
        output = wait_until(partial(answer, command), 20.0, f"{command.answer}\nof {command.line}")
        assert output is not None
        if '"resultType":"task"' in output:
            task_id = id_in(output)


def test_the_tool_in_the_readme_works_as_it_stands(checkout: Checkout) -> None:
    """K5.14."""
    with checkout.client() as client:
        task_id = client.start("close_month", {"month": "2026-10"})
        asked = client.wait_for(task_id, "input_required")["inputRequests"]["approve"]
        assert asked["params"]["message"] == "Close 2026-10 at {'sales': 3.5}?"
        client.update(task_id, {"approve": {"action": "accept", "content": {"approved": True}}})
        assert client.wait_for(task_id)["result"]["structuredContent"] == {"sales": 3.5}


def test_the_official_python_client_sees_a_task_through(checkout: Checkout) -> None:
    example = [sys.executable, str(ROOT / "docs/examples/official_client.py"), checkout.url]
    told = subprocess.check_output(example, input="y\n", stderr=subprocess.STDOUT, text=True, timeout=60)
    statuses = re.findall(r"task \w+: (\w+)$", told, re.MULTILINE)
    assert [status for status in statuses if status != "working"] == ["input_required", "completed"]
    assert statuses[0] == "working"
    assert "Approve this outline?" in told
    assert "# Report: sales\n\n300 rows, 9 columns" in told
    assert told.endswith("(image)\n")


def test_the_command_finds_what_runs_from_its_folder(checkout: Checkout) -> None:
    """K5.3."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("COATCHECK_")}
    env |= {"PYTHONPATH": str(ROOT), "HOME": str(checkout.folder)}

    def says(*arguments: str) -> str:
        command = [sys.executable, "-m", "coatcheck", *arguments]
        return subprocess.check_output(command, cwd=checkout.folder, env=env, text=True, timeout=60)

    assert f"at {checkout.url}" in says("discover")
    assert "ok    worker          1 alive" in says("check")


def test_ctrl_c_ends_everything_and_the_next_start_has_every_task(checkout: Checkout) -> None:
    """TASK-4"""
    with checkout.client() as client:
        task_id = client.start("generate_report", {"source": CSV})
        parked = client.wait_for(task_id, "input_required")

    checkout.interrupt()
    checkout.process.wait(timeout=10)  # what the launcher promises
    assert checkout.processes() == {}

    checkout.start()
    with checkout.client() as client:
        assert client.get(task_id).result == parked
        client.update(task_id, APPROVAL)
        assert client.wait_for(task_id)["status"] == "completed"
