"""Settings from `coatcheck.toml`, or from pyproject.toml."""

from pathlib import Path

import pytest

from coatcheck.settings_file import NAMES, InvalidSettingsFile, add_settings_of_file
from coatcheck.variables import KNOWN, OTHERS
from tests.support.settings_table import rows


def test_each_variable_has_a_name_in_the_file() -> None:
    assert sorted(NAMES.values()) == sorted({*KNOWN, *OTHERS})
    assert set(rows()) <= set(NAMES.values())


@pytest.mark.parametrize(
    ("line", "variable", "text"),
    [
        ('tools = ["shop.tools", "more"]', "COATCHECK_TOOLS", "shop.tools,more"),
        ("lease_seconds = 2.5", "COATCHECK_LEASE_SECONDS", "2.5"),
        ("port = 9000", "PORT", "9000"),
        ('redis_url = "redis://[::1]/0"', "REDIS_URL", "redis://[::1]/0"),
        ("allow_anonymous = true", "COATCHECK_ALLOW_ANONYMOUS", "true"),
    ],
)
@pytest.mark.parametrize(("file", "table"), [("coatcheck.toml", ""), ("pyproject.toml", "[tool.coatcheck]\n")])
def test_a_setting_of_the_file_is_taken_as_its_variable(
    tmp_path: Path, file: str, table: str, line: str, variable: str, text: str
) -> None:
    (tmp_path / file).write_text(table + line)
    environ: dict[str, str] = {}
    add_settings_of_file(environ, tmp_path)
    assert environ == {variable: text}


@pytest.mark.parametrize("said", ["1", ""])
def test_the_environment_is_above_the_file(tmp_path: Path, said: str) -> None:
    (tmp_path / "coatcheck.toml").write_text("port = 9000\nflower_port = 9001\n")
    environ = {"PORT": said}
    add_settings_of_file(environ, tmp_path)
    assert environ == {"PORT": said, "FLOWER_PORT": "9001"}


def test_its_own_file_is_read_instead_of_that_of_the_project(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool.coatcheck]\nport = 1\n")
    (tmp_path / "coatcheck.toml").write_text("port = 2\n")
    environ: dict[str, str] = {}
    add_settings_of_file(environ, tmp_path)
    assert environ == {"PORT": "2"}


@pytest.mark.parametrize("text", [None, "[project]\nname = 'shop'\n", "[tool.other]\nport = 1\n"])
def test_a_project_need_not_say_anything(tmp_path: Path, text: str | None) -> None:
    if text is not None:
        (tmp_path / "pyproject.toml").write_text(text)
    environ: dict[str, str] = {}
    add_settings_of_file(environ, tmp_path)
    assert environ == {}


def test_all_that_is_wrong_with_the_file_is_told_at_once_and_nothing_is_taken(tmp_path: Path) -> None:
    (tmp_path / "coatcheck.toml").write_text('lease_second = 2\ntools = ["a,b"]\nport = 1\n[auth]\nmode = "tokens"\n')
    environ: dict[str, str] = {}
    with pytest.raises(InvalidSettingsFile) as refused:
        add_settings_of_file(environ, tmp_path)
    assert str(refused.value).splitlines() == [
        "coatcheck.toml: lease_second is no setting; lease_seconds is one",
        "coatcheck.toml: tools must be a text, a number, true, false, or a list of texts",
        "coatcheck.toml: auth must be a text, a number, true, false, or a list of texts",
    ]
    assert environ == {}


@pytest.mark.parametrize("content", [b"port = \n", b"port = '\xff'\n", b"a" * 100])
@pytest.mark.parametrize("file", ["coatcheck.toml", "pyproject.toml"])
def test_a_file_that_is_not_toml_is_named(tmp_path: Path, file: str, content: bytes) -> None:
    (tmp_path / file).write_bytes(content)
    with pytest.raises(InvalidSettingsFile, match=f"^{file} is not TOML: "):
        add_settings_of_file({}, tmp_path)


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "coatcheck.toml").mkdir()
    with pytest.raises(InvalidSettingsFile, match=r"^coatcheck\.toml cannot be read: "):
        add_settings_of_file({}, tmp_path)


def test_a_table_of_the_project_must_be_one(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool]\ncoatcheck = 3\n")
    with pytest.raises(InvalidSettingsFile, match="must be a table"):
        add_settings_of_file({}, tmp_path)
