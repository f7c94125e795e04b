"""Arguments are typed as the tool's schema wants them."""

import io
from pathlib import Path
from typing import Any

import pytest

from coatcheck.client.command.arguments import read_object, read_pairs
from coatcheck.client.errors import InvalidArguments


def read(typed: str, rules: object) -> Any:
    return read_pairs([f"it={typed}"], {"properties": {"it": rules}})["it"]


@pytest.mark.parametrize(
    ("rules", "typed", "value"),
    [
        ({"type": "string"}, "007", "007"),
        ({"type": "string"}, "a=b", "a=b"),
        ({"type": "string"}, "", ""),
        ({"type": "integer"}, "7", 7),
        ({"type": "number"}, "7.5", 7.5),
        ({"type": "number"}, "7", 7),
        ({"type": "boolean"}, "true", True),
        ({"type": "array"}, "[1, 2]", [1, 2]),
        ({"type": "object"}, '{"a": null}', {"a": None}),
        ({"type": ["integer", "null"]}, "null", None),
        ({"anyOf": [{"type": "integer"}, {"type": "string"}]}, "7", 7),
        ({"anyOf": [{"type": "integer"}, {"type": "string"}]}, "seven", "seven"),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, "7", "7"),
        ({"enum": ["small", "large"]}, "small", "small"),
        ({"$ref": "#/$defs/X"}, "7", 7),
        ({"$ref": "#/$defs/X"}, "seven", "seven"),
        (True, "7", 7),
        (None, "seven", "seven"),
    ],
)
def test_a_value_has_the_type_that_the_schema_names(rules: object, typed: str, value: object) -> None:
    assert read(typed, rules) == value
    assert type(read(typed, rules)) is type(value)


@pytest.mark.parametrize(("rules", "typed"), [({"type": "integer"}, "x"), ({"type": "boolean"}, "1")])
def test_a_value_of_another_type_is_refused_by_name(rules: object, typed: str) -> None:
    with pytest.raises(InvalidArguments, match=r"^it is"):
        read(typed, rules)


@pytest.mark.parametrize("rules", [{"type": "number"}, {"type": ["integer", "null"]}, {"$ref": "#/$defs/X"}, None])
@pytest.mark.parametrize("typed", ["NaN", "Infinity", "-Infinity", "1e999", "[NaN]", '{"a": 1, "a": 2}'])
def test_what_json_cannot_say_is_refused_by_name_and_does_not_become_null(rules: object, typed: str) -> None:
    with pytest.raises(InvalidArguments, match=r"^it:"):
        read(typed, rules)


@pytest.mark.parametrize("rules", [{"type": "string"}, {"type": ["number", "string"]}])
def test_text_may_be_called_like_what_is_no_number(rules: object) -> None:
    assert read("NaN", rules) == "NaN"


@pytest.mark.parametrize("pairs", [["it=x", "it=y"], ["it=x", "other=1", "it=x"]])
def test_an_argument_that_is_given_twice_is_refused_by_name(pairs: list[str]) -> None:
    with pytest.raises(InvalidArguments, match=r"^it is given twice"):
        read_pairs(pairs, {})


def test_a_value_may_come_from_a_file(tmp_path: Path) -> None:
    (tmp_path / "table.csv").write_text("a,b\n1,2\n")
    assert read(f"@{tmp_path}/table.csv", {"type": "string"}) == "a,b\n1,2\n"
    (tmp_path / "binary").write_bytes(b"\xff\xfe")
    for name in ("missing", "binary"):
        with pytest.raises(InvalidArguments, match=r"^it: "):
            read(f"@{tmp_path}/{name}", {"type": "string"})


@pytest.mark.parametrize("pair", ["it", "=x", ""])
def test_a_pair_without_a_name_or_a_value_is_refused(pair: str) -> None:
    with pytest.raises(InvalidArguments, match="name=value"):
        read_pairs([pair], {})


def test_an_object_is_read_from_the_line_or_from_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    assert read_object('{"a": 1}') == {"a": 1}
    monkeypatch.setattr("sys.stdin", io.StringIO('{"b": 2}'))
    assert read_object("-") == {"b": 2}


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "[]",
        "7",
        '"x"',
        "{" + '"a":[' * 100_000,
        '{"a": NaN}',
        '{"a": [-Infinity]}',
        '{"a": 1e999}',
        '{"a": 1, "a": 2}',
        '{"a": {"b": 1, "b": 2}}',
        '{"a": "\\ud800"}',
        f'{{"a": {"9" * 5_000}}}',
    ],
)
def test_what_is_not_an_object_is_refused(text: str) -> None:
    with pytest.raises(InvalidArguments):
        read_object(text)
