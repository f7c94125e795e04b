"""Calls companions, and holds every answer against the schema that was shown."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from jsonschema_rs import validator_for

from tests.support.client import Client, Json, Reply


@dataclass
class Companion:
    """The companions as one client sees them."""

    client: Client

    @cached_property
    def described(self) -> dict[str, Json]:
        """The tools of the list, by name."""
        return {tool["name"]: tool for tool in self.client.list().result["tools"]}

    def reply(self, name: str, **arguments: Any) -> Reply:
        """The answer, whole."""
        return self.client.call(name, arguments)

    def told(self, name: str, **arguments: Any) -> Json:
        """The structured result of a call that succeeded, with what it said as `text`."""
        result = self.reply(name, **arguments).result
        assert result["isError"] is False, result
        assert result["resultType"] == "complete"
        validator_for(self.described[name]["outputSchema"]).validate(result["structuredContent"])
        return {**result["structuredContent"], "text": text_of(result)}

    def error(self, name: str, **arguments: Any) -> str:
        """What the model is told of a call that did not succeed."""
        result = self.reply(name, **arguments).result
        assert result["isError"] is True, result
        assert "structuredContent" not in result
        return text_of(result)

    def page(self, **arguments: Any) -> Json:
        """A page of tasks."""
        return self.told("list_tasks", **arguments)

    def ids(self, **arguments: Any) -> list[str]:
        """The ids on a page of tasks."""
        return [task["task_id"] for task in self.page(**arguments)["tasks"]]

    def status(self, task_id: str, wait_seconds: float = 0) -> Json:
        """Where a task stands."""
        return self.told("task_status", task_id=task_id, wait_seconds=wait_seconds)

    def answer(self, task_id: str, **answers: Any) -> Json:
        """What came of these answers."""
        return self.told("task_answer", task_id=task_id, answers=answers)


def text_of(result: Json) -> str:
    """All texts of a result, in lines."""
    return "\n".join(block["text"] for block in result["content"] if block["type"] == "text")
