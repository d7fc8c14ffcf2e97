"""The session log: one publish, replay without gap or repeat, a context that survives reopening."""

from pathlib import Path
from uuid import uuid4

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sould.agents.base.errors import SouldError
from sould.agents.journal.channel import Cursor, Record
from sould.agents.journal.journal import JournalWriter, read_records
from sould.agents.journal.log import SessionLog
from sould.agents.wire.content import FunctionCall, TextPart
from sould.agents.wire.messages import (
    CompactionEnd,
    ContextCleared,
    StepBegin,
    SystemPrompt,
    ToolCall,
    ToolCallPart,
    ToolOutput,
    ToolResult,
    ToolReturn,
    TurnBegin,
    TurnEnd,
    WireMessage,
)
from soultest.luck import examples
from soultest.streams import Screen, messages, new_log, rendered

TURN: tuple[WireMessage, ...] = (
    SystemPrompt(text="you are"),
    TurnBegin(user_input="go"),
    StepBegin(n=1),
    TextPart(text="a"),
    TextPart(text="b"),
    ToolCall(id="1", function=FunctionCall(name="Shell")),
    ToolCallPart(arguments_part="{}"),
    ToolOutput(tool_call_id="1", text="shown, not kept"),
    ToolResult(tool_call_id="1", return_value=ToolReturn(is_error=False, output="out")),
    StepBegin(n=2),
    TextPart(text="end"),
    TurnEnd(),
)


async def test_replay_shows_each_message_whole(tmp_path: Path, writer: JournalWriter) -> None:
    log = await new_log(tmp_path, writer)
    live = [log.publish(message) for message in TURN]
    durable = [record for record in live if not record.volatile]
    assert rendered(log.replay()) == rendered(durable)
    assert [record.seq for record in log.replay()] == list(range(1, 10))
    await log.aclose()


async def test_everybody_is_shown_only_what_is_in_the_journal_already(tmp_path: Path, writer: JournalWriter) -> None:
    log = await new_log(tmp_path, writer)
    replays: list[int] = []

    def sink(record: Record) -> bool:
        replays.append(len(list(log.replay())) - record.seq)
        return True

    log.channel.subscribe(sink, on_cut=lambda _: None)
    for message in TURN:
        log.publish(message)
    assert set(replays) == {0}
    await log.aclose()


@settings(
    max_examples=examples(60),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
@given(stream=st.lists(messages, min_size=1, max_size=30), data=st.data())
async def test_a_client_that_resumes_anywhere_sees_all_and_nothing_twice(
    stream: list[WireMessage], data: st.DataObject, tmp_path: Path, writer: JournalWriter
) -> None:
    directory = tmp_path / uuid4().hex
    log = await new_log(directory, writer)
    left, arrived = sorted(data.draw(st.lists(st.integers(0, len(stream)), min_size=2, max_size=2)))
    whole, client = Screen(), Screen()
    log.channel.subscribe(whole.take, on_cut=whole.cut)
    subscription = log.channel.subscribe(client.take, on_cut=client.cut)
    for message in stream[:left]:
        log.publish(message)
    subscription.close()
    for message in stream[left:arrived]:
        log.publish(message)
    replayed = log.replay(subscription.cursor)
    for at, record in enumerate(replayed):
        client.take(record)
        if at == 0 and arrived < len(stream):  # the session goes on while the client reads
            log.publish(stream[arrived])
            arrived += 1
    log.channel.subscribe(client.take, on_cut=client.cut)
    for message in stream[arrived:]:
        log.publish(message)

    def durable(records: list[Record]) -> list[tuple[object, ...]]:
        return rendered(record for record in records if not record.volatile)

    assert durable(client.records) == durable(whole.records)
    await log.aclose()


@given(st.lists(st.lists(st.text(min_size=1, max_size=3), min_size=1, max_size=4), min_size=1, max_size=6))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=examples(40))
async def test_text_published_at_once_is_recorded_remembered_and_numbered_as_text_that_comes_delta_by_delta(
    tmp_path: Path, writer: JournalWriter, batches: list[list[str]]
) -> None:
    at_once = await new_log(tmp_path / uuid4().hex, writer)
    single = await new_log(tmp_path / uuid4().hex, writer)
    for log in (at_once, single):
        log.publish(TurnBegin(user_input="go"))
        log.publish(StepBegin(n=1))
    for texts in batches:
        record = at_once.publish(TextPart(text="".join(texts)), tuple(texts))
        assert record.pieces == tuple(texts)
        ends = [single.publish(TextPart(text=text)).after for text in texts]
        assert record.after == ends[-1]
    assert at_once.channel.position == single.channel.position
    assert at_once.context.messages == single.context.messages
    assert [record.message for record in at_once.replay()] == [record.message for record in single.replay()]
    await at_once.aclose()
    await single.aclose()


async def test_a_reopened_log_goes_on_where_it_stopped(tmp_path: Path, writer: JournalWriter) -> None:
    log = await new_log(tmp_path, writer)
    for message in TURN:
        log.publish(message)
    before = log.context.messages, log.context.checkpoint, log.context.system_prompt
    await log.aclose()
    again = await SessionLog.open(tmp_path, writer)
    assert again.recovery.clean
    assert again.recovery.notice == ""
    assert (again.context.messages, again.context.checkpoint, again.context.system_prompt) == before
    assert again.publish(TurnBegin(user_input="more")).seq == 10
    assert [record.seq for record in again.replay(Cursor(9))] == [9, 10]
    await again.aclose()


@pytest.mark.parametrize("damage", ["deleted", "torn", "behind", "junk", "kept"])
async def test_the_context_file_is_rebuilt_from_the_journal(damage: str, tmp_path: Path, writer: JournalWriter) -> None:
    log = await new_log(tmp_path, writer)
    for message in (*TURN, CompactionEnd(summary="S", kept=1), TurnBegin(user_input="next")):
        log.publish(message)
    expected = log.context.messages
    await log.aclose()
    path = tmp_path / "context.jsonl"
    good = path.read_bytes()
    if damage == "deleted":
        path.unlink()
    elif damage != "kept":
        path.write_bytes(
            {"torn": good[:-5], "behind": b"".join(good.splitlines(True)[:-1]), "junk": b"\0" * 40}[damage]
        )
    again = await SessionLog.open(tmp_path, writer)
    assert again.context.messages == expected
    assert path.read_bytes() == good
    await again.aclose()


async def test_the_context_file_has_the_layout_other_wire_programs_read(tmp_path: Path, writer: JournalWriter) -> None:
    log = await new_log(tmp_path, writer)
    for message in TURN:
        log.publish(message)
    await log.aclose()
    lines = [orjson.loads(line) for line in (tmp_path / "context.jsonl").read_bytes().splitlines()]
    roles = [line["role"] for line in lines]
    assert roles == [
        "_system_prompt",
        "_checkpoint",
        "user",
        "_checkpoint",
        "assistant",
        "tool",
        "_checkpoint",
        "assistant",
    ]
    assert lines[5] == {"role": "tool", "content": [{"type": "text", "text": "out"}], "tool_call_id": "1"}


async def test_replaced_history_stays_beside_the_context_file(tmp_path: Path, writer: JournalWriter) -> None:
    log = await new_log(tmp_path, writer)
    for message in (*TURN, ContextCleared(), TurnBegin(user_input="2"), TurnEnd(), ContextCleared()):
        log.publish(message)
    await log.aclose()
    assert "go" in (tmp_path / "context_1.jsonl").read_text()
    assert '"2"' in (tmp_path / "context_2.jsonl").read_text()
    assert (tmp_path / "context.jsonl").read_text().splitlines() == ['{"role":"_system_prompt","content":"you are"}']


async def test_finished_messages_end_with_the_last_finished_turn(tmp_path: Path, writer: JournalWriter) -> None:
    log = await new_log(tmp_path, writer)
    for message in (*TURN, TurnBegin(user_input="running"), TextPart(text="…")):
        log.publish(message)
    await log.commit()
    finished = list(SessionLog.finished_messages(tmp_path))
    assert finished[-1] == TurnEnd()
    assert len(finished) == 9
    await log.aclose()


async def test_a_closed_log_takes_nothing_more(tmp_path: Path, writer: JournalWriter) -> None:
    log = await new_log(tmp_path, writer)
    await log.aclose()
    await log.aclose()
    with pytest.raises(SouldError, match="closed"):
        log.publish(TurnEnd())
    with pytest.raises(SouldError, match="closed"):
        await log.commit()
    assert list(read_records(tmp_path / "wire.jsonl")) == []
