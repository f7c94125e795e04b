"""Two small tools: one that returns at once, and one that asks for two inputs at the same time."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Annotated, Literal

from pydantic import Field

from coatcheck.workers.runs.context import Context
from coatcheck.workers.toolkit.errors import ToolError
from coatcheck.workers.toolkit.inputs import Answer, Elicit
from coatcheck.workers.toolkit.tool import tool
from coatcheck.workers.tools.report.reading import read_csv
from coatcheck.workers.tools.report.table import Kind
from coatcheck.workers.tools.sample_tables import SAMPLES, sample_text

Equipment = Literal["screen", "whiteboard", "video"]
Time = Literal["09:00", "11:00", "14:00", "16:00"]


@dataclass(frozen=True, slots=True)
class SampleColumn:
    """A column of a sample."""

    name: str
    kind: Kind


@dataclass(frozen=True, slots=True)
class SampleTable:
    """A bundled table; `name` is what generate_report takes as its source."""

    name: str
    description: str
    row_count: int
    columns: tuple[SampleColumn, ...]


@dataclass(frozen=True, slots=True)
class Samples:
    """All bundled tables."""

    samples: tuple[SampleTable, ...]


@dataclass(frozen=True, slots=True)
class Room:
    """A room that can be planned."""

    name: str
    seats: int
    equipment: frozenset[Equipment]


@dataclass(frozen=True, slots=True)
class Meeting:
    """A plan: nothing is booked."""

    topic: str
    day: date
    time: Time
    room: str
    people: int
    equipment: tuple[Equipment, ...]


ROOMS = (
    Room("Anvil", 4, frozenset({"whiteboard"})),
    Room("Lantern", 8, frozenset({"screen", "whiteboard"})),
    Room("Harbour", 20, frozenset({"screen", "video"})),
)
"""Sorted by size, so that the first room that fits is the smallest."""


@tool(title="List the sample tables", mode="sync", annotations={"readOnlyHint": True, "openWorldHint": False})
def list_samples() -> Samples:
    """List the bundled sample tables that generate_report knows by name, with their columns and number of rows."""
    return Samples(tuple(describe_sample(name, description) for name, description in SAMPLES.items()))


def describe_sample(name: str, description: str) -> SampleTable:
    """Return the columns and the number of rows of a sample."""
    table = read_csv(sample_text(name))
    columns = tuple(SampleColumn(column.name, column.kind) for column in table.columns)
    return SampleTable(name, description, table.row_count, columns)


@tool(
    title="Plan a meeting",
    ttl=timedelta(days=7),
    requires={"elicitation": {"form": {}}},
    annotations={"readOnlyHint": True, "openWorldHint": False},
)
def plan_meeting(
    ctx: Context,
    topic: Annotated[str, Field(min_length=1, max_length=200, description="What the meeting is about.")],
) -> Meeting:
    """Plan a meeting: asks when it is and who comes, both at once, then finds the smallest room that fits."""
    answers = ctx.ask_all({"when": when_form(topic), "who": who_form(topic)})
    return plan(topic, answers["when"], answers["who"])


def when_form(topic: str) -> Elicit:
    """Return the form for the day and the time."""
    return Elicit(
        f"When shall the meeting about {topic} be?",
        {
            "day": Annotated[date, Field(title="Day", description="A working day, today or later.")],
            "time": Annotated[Time, Field(title="Start")],
        },
        validate=check_day,
    )


def who_form(topic: str) -> Elicit:
    """Return the form for what the room must offer."""
    return Elicit(
        f"Who comes to the meeting about {topic}, and what does it need?",
        {
            "people": Annotated[int, Field(title="Number of people", ge=2, le=ROOMS[-1].seats)],
            "equipment": Annotated[list[Equipment] | None, Field(title="Equipment")],
        },
    )


def plan(topic: str, when: Answer, who: Answer) -> Meeting:
    """Return the meeting that both forms describe. Raises ToolError if one was not filled in, or no room fits."""
    if not (when.accepted and who.accepted):
        raise ToolError(
            "The meeting was not planned: both forms have to be filled in. Call the tool again for new ones."
        )
    people, equipment = who.content["people"], tuple(who.content.get("equipment") or ())
    room = find_room(people, equipment)
    return Meeting(topic, date.fromisoformat(when.content["day"]), when.content["time"], room.name, people, equipment)


def check_day(content: Mapping[str, str]) -> None:
    """Raise ValueError unless the day is a working day that is not over in every time zone."""
    day = date.fromisoformat(content["day"])
    # In the client's time zone it can still be yesterday.
    if day < (datetime.now(UTC) - timedelta(hours=12)).date():
        raise ValueError(f"{day} is in the past: choose today or a later day.")
    if day.weekday() >= 5:
        raise ValueError(f"{day} is a {day:%A}: choose a day from Monday to Friday.")


def find_room(people: int, equipment: tuple[Equipment, ...]) -> Room:
    """Return the smallest room with enough seats and all of the equipment. Raises ToolError if there is none."""
    for room in ROOMS:
        if room.seats >= people and room.equipment.issuperset(equipment):
            return room
    rooms = "; ".join(f"{room.name}: {room.seats} seats, {', '.join(sorted(room.equipment))}" for room in ROOMS)
    raise ToolError(
        f"No room fits. Call the tool again, for fewer people or with less equipment. The rooms are {rooms}."
    )
