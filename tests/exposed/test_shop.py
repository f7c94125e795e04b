"""The example application through the front door, with the oldest and the newest Celery on its side."""

import pytest

from coatcheck.workers.messages.other_application import message_id_of
from tests.exposed.theirs import TheirWorker
from tests.support.client import Client
from tests.support.waiting import wait_until

pytestmark = pytest.mark.usefixtures("shop")


def test_a_result_comes_back_as_the_promised_structure(client: Client) -> None:
    result = client.call("quote", {"product": "tea", "quantity": 2}).result
    assert result["isError"] is False
    assert result["structuredContent"] == {"product": "tea", "quantity": 2, "total": 900}


def test_a_raised_exception_is_an_error_result_with_its_message_alone(client: Client) -> None:
    result = client.call("quote", {"product": "milk"}).result
    assert result["isError"] is True
    assert result["content"] == [{"type": "text", "text": "We have no milk"}]
    assert "Traceback" not in str(result)


def test_arguments_that_break_the_schema_never_reach_their_worker(client: Client, shop: TheirWorker) -> None:
    before = shop.process.log.count("shop.tasks.quote")
    result = client.call("quote", {"product": "tea", "quantity": 0}).result
    assert result["isError"] is True
    assert shop.process.log.count("shop.tasks.quote") == before


def test_progress_of_theirs_is_the_status_message(client: Client) -> None:
    task_id = client.start("shop.tasks.import_orders", {"count": 40})
    wait_until(lambda: client.get(task_id).result["statusMessage"].startswith("Order "), what="a message of progress")
    assert client.wait_for(task_id)["result"]["structuredContent"] == {"imported": 40}


def test_retries_are_work_that_goes_on(client: Client) -> None:
    task_id = client.start("shop.tasks.charge", {"order": 7, "busy": 3})
    seen = wait_until(lambda: (task := client.get(task_id).result)["statusMessage"].startswith("It failed") and task)
    assert seen["status"] == "working"
    assert "the gateway is busy" in seen["statusMessage"]
    assert client.wait_for(task_id)["result"]["structuredContent"] == {"order": 7, "tries": 4}


def test_a_chord_that_replaced_the_task_is_followed_to_its_end(client: Client) -> None:
    task = client.wait_for(client.start("shop.tasks.close_year", {"year": 2025}))
    assert task["result"]["structuredContent"]["months"] == 12


def test_a_computation_that_reports_nothing_completes(client: Client) -> None:
    task = client.wait_for(client.start("shop.tasks.count_primes", {"limit": 2_000_000}))
    assert task["result"]["structuredContent"] == 148_933


def test_a_cancel_kills_the_process_where_the_tool_says_so(client: Client, shop: TheirWorker) -> None:
    task_id = client.start("shop.tasks.restock")
    wait_until(lambda: shop.has_run(f"shop.tasks.restock[{message_id_of(task_id)}] received"), what="its start")
    wait_until(lambda: client.get(task_id).result["statusMessage"] == "Running", what="its start in the record")
    client.cancel(task_id)
    assert client.wait_for(task_id)["status"] == "cancelled"
    assert shop.has_run(f"Terminating {message_id_of(task_id)}")


def test_every_tool_is_listed_with_the_schema_that_was_given(client: Client) -> None:
    tools = {tool["name"]: tool for tool in client.list().result["tools"]}
    assert tools["quote"]["inputSchema"]["required"] == ["product"]
    assert tools["shop.tasks.import_orders"]["inputSchema"]["required"] == ["count"]
    assert tools["shop.tasks.charge"]["inputSchema"]["required"] == ["order"]
    assert tools["shop.tasks.close_year"]["inputSchema"]["type"] == "object"
