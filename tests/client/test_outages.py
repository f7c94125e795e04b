"""Calls and waits go on through broken networks, busy servers and expired tokens, and never start work twice.

Against a scripted server, because ours does not do these things on demand.
"""

import threading
import time
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest

from coatcheck.client import ClientError, Coatcheck, accept
from coatcheck.client.errors import (
    AnswerLost,
    Busy,
    CallUnanswered,
    Forbidden,
    InputNeeded,
    Misunderstood,
    NotAnEndpoint,
    Refused,
    RequestRejected,
    ServerError,
    TasksNotOffered,
    TlsFailed,
    Unauthorised,
    Unreachable,
    UnsupportedServer,
)
from coatcheck.client.ledger import SENT, Ledger
from coatcheck.client.models import IDEMPOTENCY_KEY
from coatcheck.client.sync_client import Ticket
from coatcheck.client.wire import IDEMPOTENCY
from tests.client.scripted import (
    TASKS,
    Asked,
    Error,
    Hangup,
    Raw,
    Result,
    Scripted,
    Stream,
    acknowledged,
    asking,
    completed,
    created,
    discovered,
    task,
    told,
)
from tests.support.ports import free_port

HONOURS_KEYS = discovered(**{TASKS: {}, IDEMPOTENCY: {}})
AT_ONCE = Result({"resultType": "complete", "content": [{"type": "text", "text": "now"}]})
CACHING = {"ttlMs": 0, "cacheScope": "public"}
BUSY = Raw(503, headers={"Retry-After": "0"})

Make = Callable[..., Coatcheck]


@pytest.fixture
def make(ledger: Ledger) -> Any:
    """Makes clients, and closes them."""
    made: list[Coatcheck] = []

    def make(server: Scripted | str, **options: Any) -> Coatcheck:
        url = server if isinstance(server, str) else server.url
        made.append(Coatcheck(url, ledger=ledger.path, **{"patience_s": 30, "outage_s": 30, **options}))
        return made[-1]

    yield make
    for client in made:
        client.close()


def ticket(client: Coatcheck, **arguments: Any) -> Ticket:
    answer = client.call("brew", **arguments)
    assert isinstance(answer, Ticket)
    return answer


def keys(server: Scripted) -> set[str]:
    return {asked.params["_meta"][IDEMPOTENCY_KEY] for asked in server.of("tools/call")}


class TestCalls:
    def test_a_lost_answer_is_asked_for_again_with_the_same_key(self, make: Make) -> None:
        scripts = {"server/discover": HONOURS_KEYS, "tools/call": [Hangup(), Hangup(), created()]}
        with Scripted(scripts) as server:
            assert ticket(make(server)).task_id == "t-1"
            assert len(server.of("tools/call")) == 3
            assert len(keys(server)) == 1

    def test_a_lost_answer_of_a_server_that_honours_no_keys_is_told_and_not_repeated(
        self, make: Make, ledger: Ledger
    ) -> None:
        with Scripted({"tools/call": [Hangup(), created()]}) as server:
            with pytest.raises(AnswerLost, match="may have started") as caught:
                make(server).call("brew")
            assert len(server.of("tools/call")) == 1
            assert keys(server) == {caught.value.idempotency_key}
            (entry,) = ledger.entries()
            assert (entry.status, entry.idempotency_key) == (SENT, caught.value.idempotency_key)

    def test_a_server_is_believed_by_what_it_says_and_not_by_its_name(self, make: Make) -> None:
        scripts = {"server/discover": discovered("coatcheck", **{TASKS: {}}), "tools/call": [Hangup(), created()]}
        with Scripted(scripts) as server:
            with pytest.raises(AnswerLost):
                make(server).call("brew")
            assert len(server.of("tools/call")) == 1

    @pytest.mark.parametrize("then", [Raw(401), Raw(503, headers={"Retry-After": "3600"})])
    def test_a_call_that_may_have_started_stays_known_whatever_comes_after(
        self, make: Make, ledger: Ledger, then: Raw
    ) -> None:
        with Scripted({"server/discover": HONOURS_KEYS, "tools/call": [Hangup(), then]}) as server:
            with pytest.raises(AnswerLost, match="may have started") as caught:
                make(server, token="t").call("brew")
            assert keys(server) == {caught.value.idempotency_key}
        assert [entry.status for entry in ledger.entries()] == [SENT]

    def test_two_calls_have_two_keys(self, make: Make) -> None:
        with Scripted({"tools/call": AT_ONCE}) as server:
            client = make(server)
            client.call("brew")
            client.call("brew")
            assert len(keys(server)) == 2

    @pytest.mark.parametrize("busy", [BUSY, Raw(429, headers={"Retry-After": "0"}), Raw(503)])
    def test_a_busy_server_is_asked_again(self, make: Make, busy: Raw) -> None:
        with Scripted({"tools/call": [busy, busy, created()]}) as server:
            assert ticket(make(server)).task_id == "t-1"
            assert len(server.of("tools/call")) == 3

    def test_the_pause_is_at_least_as_long_as_the_server_asks(self, make: Make) -> None:
        pauses: list[float] = []
        with Scripted({"tools/call": [Raw(429, headers={"Retry-After": "1"}), created()]}) as server:
            ticket(make(server, on_trouble=lambda _fault, pause_s: pauses.append(pause_s)))
        assert len(pauses) == 1
        assert pauses[0] >= 1

    def test_a_server_that_asks_for_more_patience_than_there_is_is_given_up(self, make: Make, ledger: Ledger) -> None:
        with Scripted({"tools/call": Raw(503, headers={"Retry-After": "3600"})}) as server:
            with pytest.raises(Busy, match="3600 s"):
                make(server).call("brew")
            assert len(server.of("tools/call")) == 1
        assert ledger.entries() == []

    def test_an_answer_at_once_leaves_no_ticket(self, make: Make, ledger: Ledger) -> None:
        with Scripted({"tools/call": AT_ONCE}) as server:
            result = make(server).call("brew")
        assert not isinstance(result, Ticket)
        assert ledger.entries() == []

    def test_a_refused_call_leaves_no_ticket(self, make: Make, ledger: Ledger) -> None:
        with Scripted({"tools/call": Error(-32602, "no such tool")}) as server, pytest.raises(Refused) as caught:
            make(server).call("brew")
        assert (caught.value.code, caught.value.message) == (-32602, "no such tool")
        assert ledger.entries() == []

    def test_arguments_that_a_tool_wants_in_headers_are_mirrored_once_the_server_says_so(self, make: Make) -> None:
        schema = {"type": "object", "properties": {"pot": {"type": "string", "x-mcp-header": "Pot"}}}
        listed = Result(
            {
                "resultType": "complete",
                "tools": [{"name": "brew", "inputSchema": schema}],
                "ttlMs": 0,
                "cacheScope": "public",
            }
        )
        scripts = {"tools/call": [Error(-32020, "headers"), created()], "tools/list": listed}
        with Scripted(scripts) as server:
            ticket(make(server), pot="blue")
            assert [asked.headers.get("mcp-param-pot") for asked in server.of("tools/call")] == [None, "blue"]

    def test_null_arguments_reach_the_tool(self, make: Make) -> None:
        with Scripted({"tools/call": created()}) as server:
            ticket(make(server), pot=None)
            assert server.of("tools/call")[0].params["arguments"] == {"pot": None}

    def test_what_a_tool_asks_before_it_begins_is_answered_and_the_state_given_back(self, make: Make) -> None:
        """MRTR-1."""
        request = asking("sugar").value["inputRequests"]
        first = Result({"resultType": "input_required", "inputRequests": request, "requestState": "sealed"})
        with Scripted({"tools/call": [first, created()]}) as server:
            answer = make(server).start("brew", {}, on_input=lambda _key, _request: accept(spoons=2))
            assert isinstance(answer, Ticket)
            second = server.of("tools/call")[1].params
            assert second["requestState"] == "sealed"
            assert second["inputResponses"] == {"sugar": {"action": "accept", "content": {"spoons": 2}}}
            assert len(keys(server)) == 1

    def test_a_tool_that_asks_before_it_begins_when_nobody_answers_is_told_so(self, make: Make, ledger: Ledger) -> None:
        first = Result({"resultType": "input_required", "inputRequests": asking("q").value["inputRequests"]})
        with Scripted({"tools/call": first}) as server, pytest.raises(InputNeeded):
            make(server).call("brew")
        assert ledger.entries() == []


class TestRepeating:
    """A process that died between sending a call and hearing of it."""

    def test_a_call_whose_arguments_were_kept_is_made_again_with_its_key(self, make: Make, ledger: Ledger) -> None:
        with Scripted({"server/discover": HONOURS_KEYS, "tools/call": created()}) as server:
            ledger.send(server.url, "brew", "the key", '{"pot": "blue"}')
            (entry,) = ledger.entries()
            answer = make(server).repeat(entry)
            assert isinstance(answer, Ticket)
            assert keys(server) == {"the key"}
            assert server.of("tools/call")[0].params["arguments"] == {"pot": "blue"}
        (entry,) = ledger.entries()
        assert (entry.task_id, entry.arguments) == ("t-1", None)

    @pytest.mark.parametrize(
        "fault", [Raw(401), Error(-32602, "no such tool"), Raw(503, headers={"Retry-After": "99"})]
    )
    def test_a_call_that_could_not_be_repeated_now_stays_known(
        self, make: Make, ledger: Ledger, fault: Raw | Error
    ) -> None:
        with Scripted({"server/discover": HONOURS_KEYS, "tools/call": fault}) as server:
            ledger.send(server.url, "brew", "the key", "{}")
            (entry,) = ledger.entries()
            with pytest.raises(ClientError):
                make(server).repeat(entry)
        assert ledger.entries() == [entry]

    @pytest.mark.parametrize(("says", "kept"), [(HONOURS_KEYS, None), (discovered(**{TASKS: {}}), '{"pot": "blue"}')])
    def test_one_that_cannot_be_repeated_safely_is_told_how(
        self, make: Make, ledger: Ledger, says: Result, kept: str | None
    ) -> None:
        with Scripted({"server/discover": says, "tools/call": created()}) as server:
            ledger.send(server.url, "brew", "the key", kept)
            (entry,) = ledger.entries()
            with pytest.raises(CallUnanswered, match="--idempotency-key 'the key'"):
                make(server).repeat(entry)
            assert server.of("tools/call") == []

    def test_arguments_are_kept_only_if_asked_and_only_until_the_answer(self, make: Make, ledger: Ledger) -> None:
        seen: list[str | None] = []

        def look(_asked: Asked) -> Result:
            seen.extend(entry.arguments for entry in ledger.entries())
            return AT_ONCE

        with Scripted({"tools/call": look}) as server:
            make(server).call("brew", pot="blue")
            make(server, keep_arguments=True).call("brew", pot="blue")
        assert seen == [None, '{"pot": "blue"}']
        assert ledger.entries() == []


class TestWaits:
    def test_a_server_without_streams_is_polled(self, make: Make) -> None:
        """Also what a client does as long as its server answers subscriptions/listen with -32601."""
        with Scripted({"tools/call": created(), "tasks/get": [Result(task()), Result(task()), completed()]}) as server:
            result = ticket(make(server)).wait()
            assert result.content[0].text == "done"  # type: ignore[union-attr]
            assert server.methods().count("subscriptions/listen") == 1
            assert server.methods().count("tasks/get") == 3

    def test_polls_keep_the_interval_that_the_server_gives_now(self, make: Make) -> None:
        """TASK-12."""
        moments: list[float] = []

        def poll(interval_ms: int) -> Callable[[Asked], Result]:
            def answer(_asked: Asked) -> Result:
                moments.append(time.monotonic())
                return Result(task(pollIntervalMs=interval_ms))

            return answer

        scripts = {"tools/call": created(), "tasks/get": [poll(50), poll(300), completed()]}
        with Scripted(scripts) as server:
            ticket(make(server)).wait()
            ended = time.monotonic()
        assert moments[1] - moments[0] >= 0.05
        assert ended - moments[1] >= 0.3

    def test_a_stream_is_preferred_and_its_changes_are_seen_without_polling(self, make: Make) -> None:
        stream = Stream(
            [
                acknowledged("t-1"),
                told(task(statusMessage="one")),
                told(task(statusMessage="two")),
                told(completed().value),
            ],
            is_held=True,
        )
        scripts = {
            "tools/call": created(),
            "tasks/get": [Result(task(pollIntervalMs=60_000)), completed()],
            "subscriptions/listen": stream,
        }
        seen: list[str | None] = []
        with Scripted(scripts) as server:
            ticket(make(server)).wait(on_status=lambda task: seen.append(task.status_message))
            (listen,) = server.of("subscriptions/listen")
            assert listen.params["notifications"] == {"taskIds": ["t-1"]}
            assert server.methods().count("tasks/get") == 2
        assert sorted(seen[1:3], key=str) == ["one", "two"]

    def test_a_stream_that_breaks_is_opened_again_after_a_look(self, make: Make) -> None:
        scripts = {
            "tools/call": created(),
            "tasks/get": [Result(task()), Result(task()), completed()],
            "subscriptions/listen": [
                Stream([acknowledged("t-1")]),
                Stream([acknowledged("t-1"), told(completed().value)]),
            ],
        }
        with Scripted(scripts) as server:
            ticket(make(server)).wait()
            assert server.methods().count("subscriptions/listen") == 2

    def test_streams_that_end_over_and_over_do_not_become_a_loop_without_a_pause(self, make: Make) -> None:
        seconds: list[float] = []

        def answer(_asked: Asked) -> Result:
            seconds.append(time.monotonic())
            return completed() if len(seconds) > 6 else Result(task(pollIntervalMs=60_000))

        scripts = {
            "tools/call": created(),
            "tasks/get": answer,
            "subscriptions/listen": Stream([acknowledged("t-1")]),
        }
        with Scripted(scripts) as server:
            ticket(make(server)).wait()
        pauses = [after - before for before, after in pairwise(seconds)]
        assert all(pause >= 0.02 * 2**number for number, pause in enumerate(pauses, 1))

    def test_a_stream_that_leaves_the_task_out_is_not_waited_on(self, make: Make) -> None:
        """SUB-1: a server honours a subset of what was asked."""
        scripts = {
            "tools/call": created(),
            "tasks/get": [Result(task()), completed()],
            "subscriptions/listen": Stream([acknowledged()], is_held=True),
        }
        with Scripted(scripts) as server:
            ticket(make(server)).wait()
            assert server.methods().count("subscriptions/listen") == 1

    def test_a_wait_bears_broken_connections_and_busy_servers(self, make: Make) -> None:
        troubles: list[ServerError] = []
        scripts = {
            "tools/call": created(),
            "tasks/get": [Hangup(), BUSY, Result(task()), Hangup(), Raw(502), completed()],
        }
        with Scripted(scripts) as server:
            client = make(server, on_trouble=lambda fault, _pause_s: troubles.append(fault))
            assert not ticket(client).wait().is_error
        assert [type(fault) for fault in troubles] == [AnswerLost, Busy, AnswerLost, AnswerLost]

    def test_an_outage_past_the_limit_ends_the_wait_and_not_the_ticket(self, make: Make, ledger: Ledger) -> None:
        with Scripted({"tools/call": created(), "tasks/get": Hangup()}) as server:
            client = make(server, outage_s=0.3)
            with pytest.raises(AnswerLost):
                ticket(client).wait()
        (entry,) = ledger.entries()
        assert entry.task_id == "t-1"

    def test_a_server_that_is_away_from_the_start_is_waited_for(self, make: Make) -> None:
        """A ticket of an earlier process: its server is known to exist."""
        with Scripted({"tasks/get": completed()}) as server:
            client = make(server)
        port = server.url
        with Scripted({"tasks/get": completed()}) as other:
            other_port = other.url
        assert port != other_port
        with pytest.raises(Unreachable):
            client.ticket("t-1").status()
        with pytest.raises(Unreachable):
            make(port, outage_s=0.3).ticket("t-1").wait()

    def test_each_input_is_asked_once_even_if_the_server_still_lists_it(self, make: Make) -> None:
        acknowledgement = Result({"resultType": "complete"})
        scripts = {
            "tools/call": created(),
            "tasks/get": [asking("a", "b"), asking("a", "b"), asking("b"), completed()],
            "tasks/update": acknowledgement,
        }
        asked: list[str] = []

        def answer(key: str, _request: object) -> Any:
            asked.append(key)
            return accept()

        with Scripted(scripts) as server:
            ticket(make(server)).wait(on_input=answer)
            updates = [update.params["inputResponses"] for update in server.of("tasks/update")]
        assert asked == ["a", "b"]
        assert updates == [{"a": {"action": "accept"}}, {"b": {"action": "accept"}}]

    def test_an_answer_of_an_earlier_process_is_not_asked_again(self, make: Make) -> None:
        scripts = {
            "tools/call": created(),
            "tasks/get": asking("a", "b"),
            "tasks/update": Result({"resultType": "complete"}),
        }
        with Scripted(scripts) as server:
            first = ticket(make(server))
            first.answer("a", accept())
            with pytest.raises(InputNeeded) as caught:
                make(server).ticket("t-1").wait()
        assert list(caught.value.requests) == ["b"]

    def test_a_lost_acknowledgement_is_asked_for_again(self, make: Make) -> None:
        """TASK-8: the same update sent twice changes nothing."""
        scripts = {"tools/call": created(), "tasks/update": [Hangup(), Result({"resultType": "complete"})]}
        with Scripted(scripts) as server:
            ticket(make(server)).answer("a", accept(x=1))
            assert len(server.of("tasks/update")) == 2

    def test_a_wait_in_another_thread_can_be_left_by_an_error_of_a_callback(self, make: Make) -> None:
        def stop(_task: object) -> None:
            raise RuntimeError("enough")

        with (
            Scripted({"tools/call": created(), "tasks/get": Result(task())}) as server,
            pytest.raises(RuntimeError, match="enough"),
        ):
            ticket(make(server)).wait(on_status=stop)

    def test_callbacks_run_in_the_thread_that_waits(self, make: Make) -> None:
        threads: list[threading.Thread] = []
        with Scripted({"tools/call": created(), "tasks/get": completed()}) as server:
            ticket(make(server)).wait(on_status=lambda _task: threads.append(threading.current_thread()))
        assert threads == [threading.current_thread()]


class TestTokens:
    def test_the_token_is_sent_and_a_refused_one_is_told(self, make: Make) -> None:
        with Scripted({"server/discover": Raw(401)}) as server:
            with pytest.raises(Unauthorised, match="COATCHECK_TOKEN"):
                make(server, token="stale").discover()
            assert server.asked[0].headers["authorization"] == "Bearer stale"
        with Scripted({"server/discover": Raw(401)}) as server, pytest.raises(Unauthorised, match="wants a token"):
            make(server).discover()

    def test_a_token_that_expires_in_mid_wait_is_replaced_by_its_source(self, make: Make) -> None:
        def checked(asked: Asked) -> Any:
            return completed() if asked.headers["authorization"] == "Bearer fresh" else Raw(401)

        tokens = iter(["first", "fresh"])
        with Scripted({"tools/call": created(), "tasks/get": [Result(task()), checked]}) as server:
            assert not ticket(make(server, token=lambda: next(tokens))).wait().is_error

    def test_a_token_that_expires_in_mid_wait_without_a_source_ends_the_wait_and_not_the_ticket(
        self, make: Make, ledger: Ledger
    ) -> None:
        with (
            Scripted({"tools/call": created(), "tasks/get": [Result(task()), Raw(401)]}) as server,
            pytest.raises(Unauthorised, match="your tickets are kept"),
        ):
            ticket(make(server, token="short-lived")).wait()
        assert [entry.task_id for entry in ledger.entries()] == ["t-1"]

    def test_a_call_that_has_waited_enough_does_not_wait_for_the_source_of_its_token(self, make: Make) -> None:
        given = threading.Event()

        def login() -> str:
            given.wait(10)
            given.set()
            return "late"

        with Scripted({}) as server:
            client = make(server, token=login)
            with pytest.raises(Unreachable):
                client.start("tea", {}, timeout_s=0.1)
            assert not given.is_set()
            given.set()

    def test_the_source_of_a_token_may_take_longer_than_a_server(
        self, make: Make, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Else its time counts as the server's, which is then said not to answer."""
        troubles: list[ServerError] = []
        monkeypatch.setattr("mcp.client.session.DISCOVER_TIMEOUT_SECONDS", 0.1)

        def login() -> str:
            threading.Event().wait(0.3)
            return "good"

        with Scripted({}) as server:
            make(server, token=login, on_trouble=lambda fault, _pause_s: troubles.append(fault)).discover()
            assert [asked.headers["authorization"] for asked in server.asked] == ["Bearer good"]
        assert troubles == []

    def test_too_little_scope_is_told_with_the_scopes_it_takes(self, make: Make) -> None:
        challenge = {"WWW-Authenticate": 'Bearer error="insufficient_scope", scope="tools:call tools:read"'}
        with (
            Scripted({"tools/call": Raw(403, headers=challenge)}) as server,
            pytest.raises(Forbidden, match="tools:call tools:read"),
        ):
            make(server, token="weak").call("brew")


class TestWrongServers:
    def test_nothing_listens(self, make: Make) -> None:
        with pytest.raises(Unreachable, match="Nothing answers"):
            make(f"http://127.0.0.1:{free_port()}/mcp").tools()

    def test_a_page_is_not_an_endpoint(self, make: Make) -> None:
        page = Raw(200, b"<html></html>", {"Content-Type": "text/html"})
        with Scripted({"server/discover": page}) as server, pytest.raises(NotAnEndpoint):
            make(server).tools()

    def test_a_missing_page_hints_at_the_usual_path(self, make: Make) -> None:
        missing = Raw(404, b"<html></html>", {"Content-Type": "text/html"})
        with (
            Scripted({"server/discover": missing}) as server,
            pytest.raises(NotAnEndpoint, match=r"Is it http://127\.0\.0\.1:\d+/mcp\?"),
        ):
            make(server.url.removesuffix("/mcp")).tools()

    @pytest.mark.parametrize(
        ("status", "words"),
        [
            (301, "is at http://elsewhere.test/mcp now"),
            (400, "Bad Request"),
            (403, "forbidden for this address or network"),
            (407, "proxy on the way asks for a login"),
            (408, "No answer came"),
            (413, "too large"),
            (414, "address is too long"),
            (418, "Teapot"),
            (421, "not responsible for this host name"),
            (431, "headers are too large, most likely the token"),
            (451, "Legal Reasons"),
            (500, "No answer came"),
            (505, "No answer came"),
            (599, "No answer came"),
        ],
    )
    @pytest.mark.parametrize("content_type", ["text/html", "application/json"])
    def test_a_status_is_told_for_what_it_is(self, make: Make, status: int, words: str, content_type: str) -> None:
        """K2.11: of a server, or of a proxy before it, with a page or with JSON of its own."""
        body = b'{"error":"<html></html>"}'
        odd = Raw(status, body, {"Content-Type": content_type, "Location": "http://elsewhere.test/mcp"})
        with Scripted({"server/discover": odd}) as server, pytest.raises(ServerError, match=words) as told:
            make(server, token="a" * 9_000, patience_s=0.1, outage_s=0.1).tools()
        assert f"HTTP {status}" in str(told.value)
        assert not isinstance(told.value, NotAnEndpoint)

    @pytest.mark.parametrize("status", [403, 405, 406, 413, 415, 431])
    def test_a_server_that_says_why_is_repeated(self, make: Make, status: int) -> None:
        """K2.11: without its line breaks and without the token."""
        said = Error(-32600, "Not\x1b for\n that Host, and not with s3cr3t-t0k3n.", status)
        with Scripted({"server/discover": said}) as server, pytest.raises(RequestRejected) as told:
            make(server, token="s3cr3t-t0k3n").tools()
        assert told.value.status == status
        assert "Not  for  that Host, and not with …" in str(told.value)

    def test_tls_to_a_server_without_it(self, make: Make) -> None:
        with Scripted({}) as server, pytest.raises(TlsFailed, match="SSL_CERT_FILE"):
            make(server.url.replace("http://", "https://")).tools()

    @pytest.mark.parametrize("code", [-32601, -32602, -32600])
    def test_an_older_server(self, make: Make, code: int) -> None:
        with (
            Scripted({"server/discover": Error(code, "initialize first")}) as server,
            pytest.raises(UnsupportedServer, match="2026-07-28"),
        ):
            make(server).tools()

    def test_a_server_of_other_revisions_is_told_with_those(self, make: Make) -> None:
        refusal = Error(-32022, "no", data={"supported": ["2031-01-01"], "requested": "2026-07-28"})
        with Scripted({"server/discover": refusal}) as server, pytest.raises(UnsupportedServer, match="2031-01-01"):
            make(server).tools()

    def test_a_server_without_tasks_can_be_called_and_has_no_tickets(self, make: Make) -> None:
        with Scripted({"server/discover": discovered(), "tools/call": AT_ONCE}) as server:
            client = make(server)
            assert not isinstance(client.call("brew"), Ticket)
            with pytest.raises(TasksNotOffered):
                client.ticket("t-1").status()

    @pytest.mark.parametrize(
        "answer",
        [
            Result({"resultType": "task", "taskId": "t-1", "status": "waiting"}),
            Result({"resultType": "surprise"}),
            Result({"resultType": "complete", "content": "text"}),
        ],
    )
    def test_an_answer_that_is_not_the_protocol_is_told_so(self, make: Make, answer: Result) -> None:
        with Scripted({"tools/call": answer}) as server, pytest.raises(Misunderstood):
            make(server).call("brew")

    def test_a_body_that_is_not_json_is_told_so(self, make: Make) -> None:
        nonsense = Raw(200, b"{", {"Content-Type": "application/json"})
        with Scripted({"tasks/get": nonsense}) as server, pytest.raises(Misunderstood):
            make(server).ticket("t-1").status()


@pytest.mark.parametrize(
    "odd", [{"ttlMs": 10**40}, {"ttlMs": -(10**40)}, {"createdAt": "2026-11-29T10:00:00"}, {"pollIntervalMs": 20.0}]
)
def test_odd_times_of_a_server_end_in_no_traceback(make: Make, odd: dict[str, Any]) -> None:
    """K5.1."""
    content = {"resultType": "complete", "content": [{"type": "text", "text": "done"}]}
    last = Result(task("completed", result=content, **odd))
    with Scripted({"tools/call": created(**odd), "tasks/get": [Result(task(**odd)), last]}) as server:
        assert ticket(make(server)).wait().content


@pytest.mark.parametrize("asked", ["9" * 400, "Mon, 01 Jan 0001 00:00:00 -0000", "soon", "-1"])
def test_odd_pauses_of_a_server_end_in_no_traceback(make: Make, asked: str) -> None:
    """K5.1."""
    with Scripted({"server/discover": Raw(503, headers={"Retry-After": asked})}) as server, pytest.raises(Busy):
        make(server, patience_s=0).discover()
