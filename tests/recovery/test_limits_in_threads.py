"""A time limit where nothing can be killed: the task ends all the same."""

import pytest

from tests.support.client import Client
from tests.support.platform import Platform


@pytest.fixture(scope="module")
def platform(bare_platform: Platform) -> Platform:
    """A platform whose worker has two threads; one of them is going to be lost."""
    bare_platform.start_worker(pool="threads")
    return bare_platform


def test_a_tool_that_never_comes_by_a_checkpoint_is_fenced_off(client: Client) -> None:
    """C6"""
    deaf = client.start("ignores_its_limit")
    assert client.wait_for(client.start("quick"))["status"] == "completed"
    task = client.wait_for(deaf, timeout=60.0)
    assert (task["status"], task["statusMessage"]) == ("failed", "The tool ran longer than its time limit")
    assert client.wait_for(client.start("quick"))["status"] == "completed"
