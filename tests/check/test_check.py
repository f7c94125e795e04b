"""Every part is tried, what is wrong is named, and the exit code tells."""

from collections.abc import Iterator, Mapping

import pytest

from tests.support.platform import Platform

LOGIN = {"FLOWER_BASIC_AUTH": "operator:a long password"}


@pytest.fixture(scope="module")
def platform() -> Iterator[Platform]:
    """A running platform."""
    with Platform() as platform:
        yield platform.start()


def check(platform: Platform, *arguments: str, env: Mapping[str, str] | None = None) -> tuple[int, dict[str, str]]:
    """The exit code of a check, and the verdict on each part."""
    return verdicts_of(platform, "web.check", *arguments, env=env)


def verdicts_of(platform: Platform, *command: str, env: Mapping[str, str] | None = None) -> tuple[int, dict[str, str]]:
    """The same of another command that leads to the check."""
    process = platform.process("check", [*command], {**LOGIN, **(env or {})})
    printed = len(process.log)
    process.start()
    code = process.wait(60.0)
    lines = [line for line in process.log[printed:].splitlines() if line[:6].strip()]
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
    assert verdicts_of(platform, "client", "check") == check(platform)
    assert verdicts_of(platform, "client", "check", "--release") == check(platform, "--release")
    code, verdicts = verdicts_of(platform, "client", "check", env={"COATCHECK_TOOLS": "no_such_module"})
    assert (code, verdicts["tools"]) == (1, "wrong")


@pytest.mark.parametrize(
    ("env", "part"),
    [
        ({"COATCHECK_LEASE_SECONDS": "soon"}, "settings"),
        ({"COATCHECK_LOG_FORMAT": "xml"}, "settings"),
        ({"COATCHECK_TOOLS": "no_such_module"}, "tools"),
        ({"COATCHECK_EXPOSE": "no-such-file.toml"}, "tools"),
        ({"REDIS_URL": "redis://127.0.0.1:1/0"}, "store"),
        ({"CELERY_BROKER_URL": "amqp://127.0.0.1:1//"}, "broker"),
        ({"CELERY_RESULT_BACKEND": "redis://127.0.0.1:1/0"}, "results"),
        ({"COATCHECK_PUBLIC_URL": "http://mcp.example.com"}, "public address"),
        ({"COATCHECK_PUBLIC_URL": "https://127.0.0.1:1"}, "public address"),
        ({"COATCHECK_ALLOW_ANONYMOUS": "true"}, "auth"),
        ({"FLOWER_BASIC_AUTH": "", "FLOWER_ADDRESS": "0.0.0.0"}, "flower"),
        ({"COATCHECK_TOOLS": "tests.exposed.tools"}, "exposed"),
    ],
)
def test_what_is_wrong_is_named(platform: Platform, env: Mapping[str, str], part: str) -> None:
    code, verdicts = check(platform, env=env)
    assert code == 1
    assert verdicts[part] == "wrong"


def test_a_deployment_without_a_worker_is_not_complete() -> None:
    with Platform().start(workers=0) as platform:
        code, verdicts = check(platform)
    assert code == 1
    assert [part for part, verdict in verdicts.items() if verdict == "wrong"] == ["worker"]
