"""The values of mirrored headers, and what they are compared with."""

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coatcheck.web.errors import HeaderMismatch
from coatcheck.web.protocol.headers import check_mirrors, check_params, decoded
from coatcheck.workers.toolkit.header_params import HeaderParam

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)


def encoded(text: str) -> str:
    """The base64 form of a text."""
    return f"=?base64?{base64.b64encode(text.encode()).decode()}?="


def as_a_client_sends(text: str) -> str:
    """The header value that the specification has a client send."""
    is_plain = text.isascii() and (text.isprintable() or text == "") and text == text.strip()
    return text if is_plain and not (text.startswith("=?base64?") and text.endswith("?=")) else encoded(text)


@given(TEXT)
def test_what_a_client_encodes_is_what_is_read(text: str) -> None:
    """HDR-3."""
    assert decoded("X", as_a_client_sends(text)) == text
    assert decoded("X", f" \t{as_a_client_sends(text)} ") == text


@given(
    st.text(max_size=20)
    | st.text("=?base64+/A1 \t", max_size=20)
    | st.text("ABCabc012+/=-_ ", max_size=12).map("=?base64?{}?=".format)
)
def test_a_value_has_one_reading_or_none(raw: str) -> None:
    """HDR-3: it is plain and means itself, or it is the one way to encode what it means."""
    try:
        text = decoded("X", raw)
    except HeaderMismatch:
        return
    assert raw.strip(" \t") in (text, encoded(text))


@pytest.mark.parametrize(
    "raw",
    [
        "=?base64?***?=",
        "=?base64?YQ?=",
        "=?base64?YR==?=",
        "=?base64?Y Q==?=",
        "=?base64?/w==?=",
        "=?base64?7aCA?=",
        "=?base64?YQ==\n?=",
        "\xe9",
        "a\x00b",
        "a\x7f",
        "a\r\nb",
    ],
)
def test_a_malformed_value_is_refused(raw: str) -> None:
    """HDR-3, C56."""
    with pytest.raises(HeaderMismatch):
        decoded("X", raw)


@pytest.mark.parametrize("raw", ["=?BASE64?YQ==?=", "=?base64?=", "=?base64?YQ==", "a?="])
def test_what_only_looks_encoded_is_plain(raw: str) -> None:
    """HDR-3: the marks are case-sensitive and both have to be there."""
    assert decoded("X", raw) == raw


def test_only_headers_that_may_be_encoded_are_decoded() -> None:
    """HDR-2."""
    check_mirrors("Mcp-Name", "a", encoded("a"), may_be_encoded=True)
    with pytest.raises(HeaderMismatch):
        check_mirrors("Mcp-Method", "a", encoded("a"))


def test_an_empty_encoded_value_is_not_the_name() -> None:
    """C56."""
    with pytest.raises(HeaderMismatch):
        check_mirrors("Mcp-Name", "abc", "=?base64??=", may_be_encoded=True)


REGION = HeaderParam("Region", ("region",), "string")
COUNT = HeaderParam("Count", ("paging", "count"), "integer")
IS_DRY = HeaderParam("Dry", ("dry",), "boolean")


def check(arguments: dict[str, object], **sent: str) -> None:
    """The headers, given without their prefix, go with the arguments."""
    check_params((REGION, COUNT, IS_DRY), arguments, lambda name: sent.get(name.lower().removeprefix("mcp-param-")))


@pytest.mark.parametrize(
    ("arguments", "sent"),
    [
        ({}, {}),
        ({"region": None, "paging": {}}, {}),
        ({"region": ""}, {"region": ""}),
        ({"region": "us"}, {"region": " us "}),
        ({"region": "a, b"}, {"region": "a, b"}),
        ({"region": "é"}, {"region": encoded("é")}),
        ({"region": "true"}, {"region": "true"}),
        ({"paging": {"count": 42}}, {"count": "42"}),
        ({"paging": {"count": 42}}, {"count": "42.0"}),
        ({"paging": {"count": 42.0}}, {"count": "42"}),
        ({"paging": {"count": -7}}, {"count": encoded("-7")}),
        ({"paging": {"count": 2**53 - 1}}, {"count": str(2**53 - 1)}),
        ({"dry": True}, {"dry": "true"}),
        ({"region": ["left to the schema"]}, {}),
        ({"paging": "left to the schema"}, {}),
    ],
)
def test_a_mirrored_argument_and_its_header_agree(arguments: dict[str, object], sent: dict[str, str]) -> None:
    """HDR-4."""
    check(arguments, **sent)


@pytest.mark.parametrize(
    ("arguments", "sent"),
    [
        ({"region": "us"}, {}),
        ({"region": "us"}, {"region": "eu"}),
        ({"region": "us"}, {"region": "US"}),
        ({"region": "us"}, {"region": "=?base64?***?="}),
        ({}, {"region": "us"}),
        ({"region": None}, {"region": "null"}),
        ({"paging": {"count": 42}}, {}),
        ({"paging": {"count": 42}}, {"count": "43"}),
        ({"paging": {"count": 42}}, {"count": "4_2"}),
        ({"paging": {"count": 42}}, {"count": "٤٢"}),
        ({"paging": {"count": 42}}, {"count": "0x2a"}),
        ({"paging": {"count": 42}}, {"count": "NaN"}),
        ({"paging": {"count": 1}}, {"count": "1" * 5000}),
        ({"paging": {"count": 1}}, {"count": "1e999999"}),
        ({"paging": {"count": 2**53 + 1}}, {"count": str(2**53)}),
        ({"dry": True}, {"dry": "True"}),
        ({"dry": True}, {"dry": "1"}),
        ({"dry": False}, {}),
    ],
)
def test_a_header_that_is_missing_unexpected_or_different_is_refused(
    arguments: dict[str, object], sent: dict[str, str]
) -> None:
    """HDR-4."""
    with pytest.raises(HeaderMismatch):
        check(arguments, **sent)


@given(st.integers(), st.text(max_size=12) | st.integers().map(str) | st.floats().map(str))
def test_a_number_and_any_header_agree_or_are_refused(count: int, raw: str) -> None:
    """HDR-4: nothing else is raised, and what agrees is the same number."""
    try:
        check({"paging": {"count": count}}, count=raw)
    except HeaderMismatch:
        return
    assert float(decoded("X", raw)) == float(count)
