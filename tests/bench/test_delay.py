"""The proxy that makes the way to Redis longer passes everything on, and no piece waits for another."""

import select
import socket
from contextlib import ExitStack

import pytest
from redis import Redis, exceptions

from bench.measures.latency import delayed
from tests.support.valkey import Valkey
from tests.support.waiting import wait_until

LONG_MS = 500
"""Long enough to look at what is on its way."""

CLIENTS = 10


def test_replies_come_whole_in_the_order_of_their_commands(valkey: Valkey) -> None:
    sent = [*(b"%d" % number for number in range(100)), b"x" * 1_000_000, b"last"]
    with delayed(valkey, 1) as url, Redis.from_url(url) as client:
        pipeline = client.pipeline(transaction=False)
        for text in sent:
            pipeline.echo(text)  # type: ignore[no-untyped-call]
        assert pipeline.execute() == sent


def test_commands_are_all_at_the_server_before_the_first_reply_is_back(valkey: Valkey, raw: Redis) -> None:
    raw.config_resetstat()
    with delayed(valkey, LONG_MS) as url, ExitStack() as stack:
        clients = [stack.enter_context(socket.socket(socket.AF_UNIX)) for _ in range(CLIENTS)]
        for client in clients:
            client.connect(url.removeprefix("unix://"))
            client.sendall(b"ECHO text\r\n")
        wait_until(lambda: raw.info("commandstats").get("cmdstat_echo", {}).get("calls") == CLIENTS)
        replied, _, _ = select.select(clients, [], [], 0)
        assert replied == []
        assert [client.recv(100) for client in clients] == [b"$4\r\ntext\r\n"] * CLIENTS


def test_the_end_of_a_connection_is_passed_on_to_the_server(valkey: Valkey, raw: Redis) -> None:
    with delayed(valkey, 1) as url:
        with Redis.from_url(url, client_name="leaves") as client:
            client.ping()
            assert b"leaves" in raw.execute_command("CLIENT", "LIST")
        wait_until(lambda: b"leaves" not in raw.execute_command("CLIENT", "LIST"))


def test_the_end_of_the_server_is_passed_on_to_its_clients() -> None:
    with Valkey() as valkey, delayed(valkey, 1) as url, Redis.from_url(url, retry=None) as client:
        client.ping()
        valkey.kill()
        with pytest.raises(exceptions.ConnectionError):
            client.ping()
