"""The channel: order, numbering, holding for slow subscribers, requests answered once."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sould.agents.journal.channel import Channel, Cursor, Record, RequestClosedError
from sould.agents.wire.content import FunctionCall, TextPart, ThinkPart
from sould.agents.wire.messages import (
    ApprovalRequest,
    ApprovalResponse,
    QuestionResponse,
    RequestClosed,
    StepBegin,
    ToolCall,
    ToolCallPart,
    ToolCallRequest,
    ToolOutput,
    ToolResult,
    ToolReturn,
    TurnEnd,
    WireMessage,
)
from soultest.streams import Screen, messages, rendered


def approval(request_id: str = "r1") -> ApprovalRequest:
    return ApprovalRequest(id=request_id, tool_call_id="c", sender="Shell", action="run", description="ls")


def published(*stream: WireMessage) -> list[Record]:
    channel = Channel()
    return [channel.publish(message) for message in stream]


def test_messages_are_numbered_from_one_without_gaps() -> None:
    assert [record.seq for record in published(StepBegin(n=1), TurnEnd(), StepBegin(n=1))] == [1, 2, 3]


def test_deltas_of_one_message_share_its_number_and_count_its_characters() -> None:
    records = published(TextPart(text="ab"), TextPart(text="c"), ThinkPart(think="d"), TextPart(text="e"))
    assert [(record.seq, record.offset) for record in records] == [(1, 0), (1, 2), (2, 0), (3, 0)]


def test_encrypted_thinking_is_a_message_of_its_own() -> None:
    records = published(ThinkPart(think="a"), ThinkPart(think="b", encrypted="x"), ThinkPart(think="c"))
    assert [record.seq for record in records] == [1, 2, 3]


def test_argument_fragments_belong_to_their_call_and_its_opening_is_a_position() -> None:
    call = ToolCall(id="a", function=FunctionCall(name="Shell"))
    records = published(call, ToolCallPart(arguments_part="{"), ToolCallPart(arguments_part="}", tool_call_id="a"))
    assert [(record.seq, record.offset) for record in records] == [(1, 0), (1, 1), (1, 2)]
    assert records[0].after == Cursor(1, 1)


def test_fragments_of_an_earlier_call_are_a_message_of_their_own() -> None:
    first = ToolCall(id="a", function=FunctionCall(name="Shell"))
    second = ToolCall(id="b", function=FunctionCall(name="Shell"))
    parts = [ToolCallPart(arguments_part="1", tool_call_id=call) for call in ("a", "a", "b")]
    assert [record.seq for record in published(first, second, *parts)] == [1, 2, 3, 3, 4]


def test_volatile_messages_take_no_number_and_end_no_message() -> None:
    records = published(TextPart(text="a"), ToolOutput(tool_call_id="c", text="x"), TextPart(text="b"))
    assert [(record.seq, record.volatile) for record in records] == [(1, False), (1, True), (1, False)]


def test_a_subscriber_that_keeps_up_gets_every_delta_as_it_is() -> None:
    channel, screen = Channel(), Screen()
    channel.subscribe(screen.take, on_cut=screen.cut)
    stream = [TextPart(text="a"), TextPart(text="b"), TurnEnd()]
    for message in stream:
        channel.publish(message)
    assert [record.message for record in screen.records] == stream


@given(st.lists(messages, max_size=40), st.lists(st.integers(1, 4), max_size=20))
def test_a_merged_stream_renders_like_the_raw_one(stream: list[WireMessage], rooms: list[int]) -> None:
    channel, raw, slow = Channel(), Screen(), Screen(room=1)
    channel.subscribe(raw.take, on_cut=raw.cut)
    subscription = channel.subscribe(slow.take, on_cut=slow.cut)
    pauses = iter(rooms)
    for at, message in enumerate(stream):
        channel.publish(message)
        if at % 3 == 0 and slow.room <= 0:
            slow.room = next(pauses, 0)
            if slow.room:
                subscription.resume()
    slow.room = 1_000_000
    subscription.resume()
    assert rendered(slow.records) == rendered(raw.records)
    assert len(slow.records) <= len(raw.records)


@given(st.lists(messages, max_size=40))
def test_the_raw_view_never_merges(stream: list[WireMessage]) -> None:
    channel, raw, held = Channel(), Screen(), Screen(room=1)
    channel.subscribe(raw.take, on_cut=raw.cut)
    subscription = channel.subscribe(held.take, merged=False, on_cut=held.cut)
    for message in stream:
        channel.publish(message)
    held.room = 1_000_000
    subscription.resume()
    assert held.records == raw.records


def test_a_subscriber_too_far_behind_is_cut_and_told_where_to_resume() -> None:
    channel, screen = Channel(), Screen(room=2)
    subscription = channel.subscribe(screen.take, limit=10_000, on_cut=screen.cut)
    channel.publish(TurnEnd())
    channel.publish(TextPart(text="abc"))
    for _ in range(2_000):
        channel.publish(TextPart(text="0123456789"))
    assert screen.cut_at == Cursor(2, 3) == subscription.cursor
    assert subscription.held == 0
    assert len(screen.records) == 2


def test_merging_keeps_a_long_message_far_below_the_limit_of_single_deltas() -> None:
    channel, screen = Channel(), Screen(room=1)
    subscription = channel.subscribe(screen.take, on_cut=screen.cut)
    channel.publish(TurnEnd())
    for _ in range(10_000):
        channel.publish(TextPart(text="x"))
    assert subscription.held < 11_000
    subscription.resume()
    assert [record.message for record in screen.records[1:]] == [TextPart(text="x" * 10_000)]


def test_a_sink_may_publish_and_everybody_sees_the_same_order() -> None:
    channel, other = Channel(), Screen()

    def answering(record: Record) -> bool:
        if record.seq == 1:
            channel.publish(TurnEnd())
        return True

    channel.subscribe(answering, on_cut=other.cut)
    channel.subscribe(other.take, on_cut=other.cut)
    channel.publish(StepBegin(n=1))
    assert [record.seq for record in other.records] == [1, 2]


def test_a_closed_subscription_gets_nothing_more() -> None:
    channel, screen = Channel(), Screen()
    subscription = channel.subscribe(screen.take, on_cut=screen.cut)
    subscription.close()
    subscription.close()
    channel.publish(TurnEnd())
    assert screen.records == []


async def test_the_first_answer_wins_and_everybody_sees_it_with_its_author() -> None:
    channel, screen = Channel(), Screen()
    channel.subscribe(screen.take, on_cut=screen.cut)
    asked = asyncio.create_task(channel.request(approval()))
    await asyncio.sleep(0)
    assert channel.pending == (approval(),)
    assert channel.resolve(ApprovalResponse(request_id="r1", response="approve"), "zed").outcome == "accepted"
    late = channel.resolve(ApprovalResponse(request_id="r1", response="reject"), "emacs")
    assert (late.outcome, late.by) == ("already", "zed")
    answer = ApprovalResponse(request_id="r1", response="approve", answered_by="zed")
    assert await asked == answer
    assert [record.message for record in screen.records] == [approval(), answer]
    assert channel.pending == ()


async def test_answers_to_nothing_and_of_the_wrong_kind_are_unknown() -> None:
    channel = Channel()
    assert channel.resolve(ApprovalResponse(request_id="r1", response="approve"), "zed").outcome == "unknown"
    asked = asyncio.create_task(channel.request(approval()))
    await asyncio.sleep(0)
    assert channel.resolve(QuestionResponse(request_id="r1"), "zed").outcome == "unknown"
    channel.withdraw("r1", "expired")
    with pytest.raises(RequestClosedError, match="expired"):
        await asked


async def test_an_external_tools_result_is_left_for_the_soul_to_publish() -> None:
    channel, screen = Channel(), Screen()
    channel.subscribe(screen.take, on_cut=screen.cut)
    asked = asyncio.create_task(channel.request(ToolCallRequest(id="c1", name="open")))
    await asyncio.sleep(0)
    result = ToolResult(tool_call_id="c1", return_value=ToolReturn(is_error=False))
    assert channel.resolve(result, "zed").outcome == "accepted"
    assert await asked == result
    assert [type(record.message) for record in screen.records] == [ToolCallRequest]


async def test_cancelling_the_asker_withdraws_the_request() -> None:
    channel, screen = Channel(), Screen()
    channel.subscribe(screen.take, on_cut=screen.cut)
    asked = asyncio.create_task(channel.request(approval()))
    await asyncio.sleep(0)
    asked.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asked
    assert screen.records[-1].message == RequestClosed(request_id="r1", reason="cancelled")
    assert channel.pending == ()


def test_a_listener_is_told_of_its_kinds_only_before_subscribers_and_may_publish() -> None:
    channel = Channel()
    told: list[tuple[str, WireMessage]] = []

    def listen(record: Record) -> None:
        told.append(("listener", record.message))
        if record.message == StepBegin(n=1):
            channel.publish(TurnEnd())

    def take(record: Record) -> bool:
        told.append(("subscriber", record.message))
        return True

    listening = channel.listen((StepBegin, TurnEnd), listen)
    channel.subscribe(take, on_cut=lambda _: None)
    channel.publish(TextPart(text="a"))
    channel.publish(StepBegin(n=1))
    listening.close()
    channel.publish(TurnEnd())
    assert told == [
        ("subscriber", TextPart(text="a")),
        ("listener", StepBegin(n=1)),
        ("subscriber", StepBegin(n=1)),
        ("listener", TurnEnd()),
        ("subscriber", TurnEnd()),
        ("subscriber", TurnEnd()),
    ]
