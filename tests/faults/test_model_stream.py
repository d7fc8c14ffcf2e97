"""Faults at the provider: what a model server can do wrong, and what is said about it."""

import asyncio
import contextlib
import logging
import resource
import socket
import time
from collections.abc import AsyncGenerator, Callable
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from sould.agents.base.config import ModelTimeouts
from sould.agents.llm.provider import (
    EmptyAnswerError,
    ProviderConnectionError,
    ProviderProtocolError,
    ProviderStatusError,
    ProviderTimeoutError,
)
from sould.agents.llm.retry import RetryPolicy
from soultest.llm import ModelServer
from soultest.llm_scenarios import HOMOGLYPH
from soultest.llmclient import KEY, QUICK, ask, provider_for

SHORT = ModelTimeouts(connect_s=0.2, first_byte_s=0.2, private_s=0.2, progress_s=0.3)


@pytest.fixture
async def server() -> AsyncGenerator[ModelServer, None]:
    async with ModelServer() as running:
        yield running


# --- statuses -------------------------------------------------------------------------------------------------------


async def test_a_rate_limit_is_waited_out_as_long_as_the_server_asks(server: ModelServer) -> None:
    async with provider_for(server.url) as provider:
        outcome = await ask(provider, "[[s429:1,0.3]]")
    assert outcome.shown == "Hello from the model. "
    assert outcome.finish is not None
    assert [(notice.next_attempt, notice.wait_s, notice.status_code) for notice in outcome.retries] == [(2, 0.3, 429)]
    first, second = server.requests
    assert second.at - first.at >= 0.3


@pytest.mark.parametrize(
    "value",
    [lambda: "86400", lambda: format_datetime(datetime.now(UTC) + timedelta(hours=2), usegmt=True)],
    ids=["seconds", "date"],
)
async def test_a_wait_longer_than_a_minute_stops_with_the_reset_time(
    server: ModelServer, value: Callable[[], str]
) -> None:
    async with provider_for(server.url) as provider:
        outcome = await ask(provider, f"[[retry_after:{value()}]]")
    assert outcome.retries == []
    assert len(server.requests) == 1
    assert isinstance(outcome.error, ProviderStatusError)
    assert outcome.error.kind == "rate_limited"
    assert outcome.error.retry_after is not None
    assert outcome.error.retry_after > 7000
    assert "asks to wait until 20" in outcome.error.message


@pytest.mark.parametrize("value", ["-5", "soon", "", "nan", "inf", "Wed, 21 Oct 2015 07:28:00 GMT"])
async def test_a_wait_that_makes_no_sense_is_replaced_by_our_own(server: ModelServer, value: str) -> None:
    async with provider_for(server.url) as provider:
        outcome = await ask(provider, f"[[retry_after:{value}]]")
    assert [notice.wait_s <= 0.03 for notice in outcome.retries] == [True, True]
    assert isinstance(outcome.error, ProviderStatusError)


async def test_cancelling_works_while_waiting(server: ModelServer) -> None:
    async with provider_for(server.url) as provider:
        asking = asyncio.create_task(ask(provider, "[[retry_after:50]]"))
        await server.until(lambda s: len(s.requests) == 1)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
    assert len(server.requests) == 1


@pytest.mark.parametrize("status", [500, 502, 503, 504, 529, 429, 408])
async def test_a_failing_server_is_asked_three_times_then_named(server: ModelServer, status: int) -> None:
    async with provider_for(server.url) as provider:
        outcome = await ask(provider, f"[[status:{status}]]")
    assert [notice.next_attempt for notice in outcome.retries] == [2, 3]
    assert len(server.requests) == 3
    assert isinstance(outcome.error, ProviderStatusError)
    assert outcome.error.status == status
    assert f"the server says {status}" in outcome.error.message


async def test_a_server_that_recovers_is_not_an_error(server: ModelServer) -> None:
    async with provider_for(server.url) as provider:
        outcome = await ask(provider, "[[cut:before,2]]")
    assert outcome.error is None
    assert outcome.shown == "Hello from the model. "
    assert len(server.requests) == 3


async def test_attempts_end_when_their_time_is_over(server: ModelServer) -> None:
    async with provider_for(server.url) as provider:
        outcome = await ask(provider, "[[status:500]]", RetryPolicy(first_wait_s=1, jitter_s=0, total_s=0.5))
    assert len(server.requests) == 1
    assert isinstance(outcome.error, ProviderStatusError)


# --- cuts ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["reset", "close", "clean"])
async def test_a_cut_after_visible_text_is_an_error_and_never_repeats_it(server: ModelServer, how: str) -> None:
    async with provider_for(server.url) as provider:
        outcome = await ask(provider, f"[[cut:{how}]]")
    assert outcome.shown == "one two "
    assert isinstance(outcome.error, ProviderConnectionError)
    assert len(server.requests) == 1


async def test_a_cut_before_anything_was_shown_is_retried(server: ModelServer) -> None:
    async with provider_for(server.url) as provider:
        outcome = await ask(provider, "[[cut:before]]")
    assert outcome.shown == ""
    assert isinstance(outcome.error, ProviderConnectionError)
    assert len(server.requests) == 3


async def test_a_call_that_was_cut_does_not_look_finished(server: ModelServer) -> None:
    async with provider_for(server.url) as provider:
        outcome = await ask(provider, "[[cut:call]]")
    assert outcome.finish is None
    assert isinstance(outcome.error, ProviderConnectionError)


async def test_a_server_that_is_not_there_is_named_after_three_tries() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
        async with provider_for(f"http://127.0.0.1:{port}/v1") as provider:
            outcome = await ask(provider, "hello")
    assert len(outcome.retries) == 2
    assert isinstance(outcome.error, ProviderConnectionError)
    assert "127.0.0.1" in outcome.error.message


# --- malformed and unusual streams ----------------------------------------------------------------------------------------


async def test_one_bad_event_is_an_error_with_its_bytes(server: ModelServer) -> None:
    async with provider_for(server.url) as provider:
        outcome = await ask(provider, "[[malformed]]")
    assert outcome.shown == "one "
    assert isinstance(outcome.error, ProviderProtocolError)
    assert "{not json" in outcome.error.message


@pytest.mark.parametrize("form", ["event", "comment", "cr", "crlf", "utf8", "bytes"])
async def test_unusual_but_legal_streams_are_read(server: ModelServer, form: str) -> None:
    async with provider_for(server.url) as provider:
        outcome = await ask(provider, f"[[odd:{form}]]")
    assert outcome.error is None
    assert outcome.shown == "grüße 🌍"


async def test_an_error_in_the_stream_is_retried_only_before_text(server: ModelServer) -> None:
    async with provider_for(server.url) as provider:
        before = await ask(provider, "[[midstream:first]]")
        after = await ask(provider, "[[midstream]]")
    assert len(before.retries) == 2
    assert after.shown == "one "
    assert after.retries == []
    assert after.error is not None
    assert "Provider disconnected" in after.error.message


# --- calls ---------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "name", "arguments"),
    [
        ("unclosed", "Shell", '{"command": "echo '),
        ("empty", "", "{}"),
        ("homoglyph", HOMOGLYPH, '{"path": "a.txt"}'),
    ],
)
async def test_a_bad_call_arrives_as_it_was_sent(server: ModelServer, kind: str, name: str, arguments: str) -> None:
    async with provider_for(server.url) as provider:
        outcome = await ask(provider, f"[[badcall:{kind}]]")
    assert list(outcome.calls.values()) == [[name, arguments]]


async def test_an_argument_of_20_megabytes_arrives_whole(server: ModelServer) -> None:
    async with provider_for(server.url) as provider:
        outcome = await ask(provider, "[[badcall:huge]]")
    assert outcome.error is None
    assert [len(arguments) for _, arguments in outcome.calls.values()] == [20_000_012]


@pytest.mark.parametrize(("argument", "count"), [("same", 2), ("null", 2), ("reused", 2), ("500", 500)])
async def test_calls_have_ids_of_their_own(server: ModelServer, argument: str, count: int) -> None:
    async with provider_for(server.url) as provider:
        outcome = await ask(provider, f"[[ids:{argument}]]")
    assert len(outcome.calls) == count
    assert all(arguments in {'{"path":"a.txt"}', '{"path":"b.txt"}'} for _, arguments in outcome.calls.values())


async def test_interleaved_calls_are_put_together(server: ModelServer) -> None:
    async with provider_for(server.url) as provider:
        outcome = await ask(provider, '[[tools:A {"first": "aaaaaaaa"} | B {"second": "bb"}]]')
    assert list(outcome.calls.values()) == [["A", '{"first": "aaaaaaaa"}'], ["B", '{"second": "bb"}']]


# --- empty answers --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("how", "reason"), [("choices", "none given"), ("content", "stop"), ("nothing", "none given")])
async def test_an_empty_answer_is_asked_for_once_more(server: ModelServer, how: str, reason: str) -> None:
    async with provider_for(server.url) as provider:
        outcome = await ask(provider, f"[[empty:{how}]]")
    assert len(server.requests) == 2
    assert isinstance(outcome.error, EmptyAnswerError)
    assert f"finish_reason={reason}" in outcome.error.message


@pytest.mark.parametrize("reason", ["content_filter", "length"])
async def test_an_empty_answer_with_a_reason_is_not_asked_for_again(server: ModelServer, reason: str) -> None:
    async with provider_for(server.url) as provider:
        outcome = await ask(provider, f"[[empty:{reason}]]")
    assert len(server.requests) == 1
    assert isinstance(outcome.error, EmptyAnswerError)
    assert reason in outcome.error.message


async def test_only_reasoning_is_an_empty_answer(server: ModelServer) -> None:
    async with provider_for(server.url) as provider:
        outcome = await ask(provider, "[[empty:reasoning]]")
    assert outcome.shown == "(hm)"
    assert isinstance(outcome.error, EmptyAnswerError)
    assert len(server.requests) == 1


async def test_missing_usage_is_unknown_not_zero(server: ModelServer) -> None:
    async with provider_for(server.url) as provider:
        outcome = await ask(provider, "[[nousage]]")
    assert outcome.shown == "ok"
    assert outcome.finish is not None
    assert outcome.finish.usage is None


# --- not the API --------------------------------------------------------------------------------------------------------------------


async def test_a_web_page_is_an_error_in_one_line(server: ModelServer) -> None:
    async with provider_for(server.url) as provider:
        outcome = await ask(provider, "[[html]]")
    assert isinstance(outcome.error, ProviderProtocolError)
    assert "web page" in outcome.error.message
    assert "\n" not in outcome.error.message
    assert len(server.requests) == 1


async def test_plain_words_are_an_error_that_repeats_them(server: ModelServer) -> None:
    async with provider_for(server.url) as provider:
        outcome = await ask(provider, "[[wrongtype]]")
    assert isinstance(outcome.error, ProviderProtocolError)
    assert "bad day" in outcome.error.message


async def test_a_redirect_is_not_followed(server: ModelServer) -> None:
    async with ModelServer() as elsewhere, provider_for(server.url) as provider:
        outcome = await ask(provider, f"[[redirect:{elsewhere.url}/chat/completions]]")
        assert elsewhere.requests == []
    assert isinstance(outcome.error, ProviderStatusError)
    assert "redirects elsewhere" in outcome.error.message


async def test_a_conversation_that_is_too_long_has_its_own_kind(server: ModelServer) -> None:
    async with provider_for(server.url) as provider:
        outcome = await ask(provider, "[[toolong]]")
    assert outcome.error is not None
    assert (outcome.error.kind, outcome.error.retryable) == ("context_too_long", False)


@pytest.mark.parametrize("form", ["200", "500", "200,application/json"])
async def test_a_compressed_bomb_is_stopped_early(server: ModelServer, form: str) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    async with provider_for(server.url) as provider:
        outcome = await ask(provider, f"[[bomb:{form}]]", RetryPolicy(attempts=1))
    assert outcome.error is not None
    assert len(outcome.error.message) < 700
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 300 * 1024


async def test_an_answer_compressed_unasked_is_read(server: ModelServer) -> None:
    async with provider_for(server.url) as provider:
        outcome = await ask(provider, "[[zipped:a b]]")
    assert outcome.shown == "ab"
    assert server.requests[0].headers["accept-encoding"] == "identity"


# --- stalls -----------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("scenario", "shown"), [("silent:1", "w0 "), ("drip:20", "")])
async def test_bytes_without_events_are_no_progress(server: ModelServer, scenario: str, shown: str) -> None:
    async with provider_for(server.url, timeouts=SHORT) as provider:
        outcome = await ask(provider, f"[[{scenario}]]", RetryPolicy(attempts=1))
    assert outcome.shown == shown
    assert isinstance(outcome.error, ProviderTimeoutError)
    await server.until(lambda s: s.disconnects == 1)


async def test_comments_are_signs_of_life(server: ModelServer) -> None:
    async with provider_for(server.url, timeouts=SHORT) as provider:
        asking = asyncio.ensure_future(ask(provider, "[[keepalive:20]]", RetryPolicy(attempts=1)))
        done, _ = await asyncio.wait({asking}, timeout=3 * SHORT.progress_s)
        assert not done
        asking.cancel()
    await server.until(lambda s: s.disconnects == 1)


async def test_no_first_byte_is_a_timeout_that_is_retried(server: ModelServer) -> None:
    async with provider_for(server.url, timeouts=SHORT) as provider:
        outcome = await ask(provider, "[[hang]]")
    assert isinstance(outcome.error, ProviderTimeoutError)
    assert len(server.requests) == 3


async def test_a_connection_nobody_accepts_is_a_timeout() -> None:
    with socket.socket() as full, contextlib.ExitStack() as waiting:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        for _ in range(4):
            queued = waiting.enter_context(socket.socket())
            queued.setblocking(False)
            queued.connect_ex(full.getsockname())
        async with provider_for(f"http://127.0.0.1:{full.getsockname()[1]}/v1", timeouts=SHORT) as provider:
            outcome = await ask(provider, "hello", RetryPolicy(attempts=1))
    assert isinstance(outcome.error, ProviderTimeoutError)
    assert "did not accept a connection" in outcome.error.message


async def test_a_slow_answer_that_goes_on_has_no_time_limit(server: ModelServer) -> None:
    began = time.monotonic()
    async with provider_for(server.url, timeouts=SHORT) as provider:
        outcome = await ask(provider, "[[paced:12,60]]")
    assert outcome.error is None
    assert time.monotonic() - began > SHORT.progress_s * 2


async def test_a_slow_reader_is_not_the_servers_fault(server: ModelServer) -> None:
    from sould.agents.llm.provider import ChatMessage, ChatRequest
    from sould.agents.wire.content import TextPart

    request = ChatRequest("", (ChatMessage("user", (TextPart(text="[[paced:4,1]]"),)),))
    seen = 0
    async with provider_for(server.url, timeouts=SHORT) as provider, provider.stream(request) as stream:
        async for batch in stream:
            await asyncio.sleep(SHORT.progress_s * 1.2)
            seen += len(batch)
    assert seen == 5


# --- endless -----------------------------------------------------------------------------------------------------------------------------


async def test_leaving_an_endless_stream_closes_the_connection(server: ModelServer) -> None:
    from sould.agents.llm.provider import ChatMessage, ChatRequest
    from sould.agents.wire.content import TextPart

    request = ChatRequest("", (ChatMessage("user", (TextPart(text="[[endless]]"),)),))
    async with provider_for(server.url) as provider:
        async with provider.stream(request) as stream:
            for _ in range(100):
                await anext(stream)
        await server.until(lambda s: s.disconnects == 1)


# --- keys -------------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scenario", ["s401", "html", "malformed", "cut:reset", "cut:before", "status:500", "bomb"])
async def test_the_key_is_in_no_error_and_no_log(
    server: ModelServer, scenario: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    async with provider_for(server.url) as provider:
        outcome = await ask(provider, f"[[{scenario}]]", QUICK)
        error = outcome.error
        assert error is not None
        chain: list[BaseException] = []
        link: BaseException | None = error
        while link is not None:
            chain.append(link)
            link = link.__cause__ or (None if link.__suppress_context__ else link.__context__)
        said = " ".join(f"{link!s} {link!r} {link.args!r} {vars(link)!r}" for link in chain)
        assert KEY not in said + repr(provider) + repr(provider.client.settings)
    assert KEY not in caplog.text
    assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"


async def test_a_key_in_the_middle_of_a_long_body_is_redacted_before_it_is_cut(server: ModelServer) -> None:
    async with provider_for(server.url) as provider:
        outcome = await ask(provider, "[[s401]]")
    assert outcome.error is not None
    assert KEY[:12] not in outcome.error.message
    assert outcome.error.kind == "auth"
