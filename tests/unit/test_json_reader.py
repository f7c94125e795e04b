"""The body of a request has one reading or none."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coatcheck.web.errors import MalformedJson
from coatcheck.web.protocol.json_body import MAX_DEPTH, read_json

TEXT = st.text(st.characters(exclude_categories=["Cs"]))
JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=20,
)


@given(JSON_VALUES, st.booleans())
def test_what_was_written_is_what_is_read(value: object, ascii_only: bool) -> None:
    """HTTP-1."""
    assert read_json(json.dumps(value, ensure_ascii=ascii_only).encode()) == value


@given(st.binary(max_size=60) | st.text('{}[]",:\\u0dDeE+-.10tfn ', max_size=40).map(str.encode))
def test_any_bytes_are_read_or_refused_and_nothing_else_is_raised(body: bytes) -> None:
    """HTTP-1."""
    try:
        value = read_json(body)
    except MalformedJson:
        return
    assert read_json(json.dumps(value).encode()) == value


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b" ",
        b"{",
        b'{"a":1',
        b'{"a":1}x',
        b"{'a':1}",
        b'{"a":1,}',
        b'\xef\xbb\xbf{"a":1}',
        b'{"a":"\xff"}',
        b'{"a":"\xed\xa0\x80"}',
        b'{"a":"\\ud800"}',
        b'{"\\uDC00":1}',
        b'{"a":"\\ude00\\ud83d"}',
        b'{"a":1,"a":1}',
        b'{"a":1,"\\u0061":2}',
        b'{"x":[{"a":1,"a":2}]}',
        b'{"a":NaN}',
        b'{"a":-Infinity}',
        b'{"a":1e999}',
        b'{"a":-1e999}',
        b'{"a":01}',
        b'{"a":"\n"}',
        b'{"a":' + b"9" * 5000 + b"}",
        b"[" * 100_000,
        b"[" * (MAX_DEPTH + 1) + b"]" * (MAX_DEPTH + 1),
        b'{"a":' * 5_000 + b"1" + b"}" * 5_000,
    ],
)
def test_a_text_that_readers_could_take_differently_is_refused(body: bytes) -> None:
    """HTTP-1."""
    with pytest.raises(MalformedJson):
        read_json(body)


def test_a_whole_surrogate_pair_is_one_character() -> None:
    """HTTP-1."""
    assert read_json(b'{"a":"\\ud83d\\ude00"}') == {"a": "\N{GRINNING FACE}"}


def test_nesting_is_read_down_to_the_limit_and_wide_bodies_are_not_deep() -> None:
    """HTTP-1."""
    assert read_json(b"[" * MAX_DEPTH + b"]" * MAX_DEPTH)
    assert read_json(b"[" + b",".join([b"[]"] * 1000) + b"]") == [[]] * 1000
