"""The journal: its lines, coalescing, group commit, and what an open file looks like to others."""

import asyncio
import os
import stat
from collections.abc import AsyncIterator
from pathlib import Path

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sould.agents.base.errors import SessionOpenElsewhereError, SouldError
from sould.agents.journal.channel import Channel, Cursor, Record
from sould.agents.journal.journal import Journal, JournalWriter, read_records
from sould.agents.journal.openline import OpenLine
from sould.agents.journal.records import metadata_line, record_line, seal
from sould.agents.wire.content import FunctionCall, TextPart
from sould.agents.wire.messages import (
    ApprovalRequest,
    CompactionBegin,
    StepBegin,
    ToolCall,
    ToolCallPart,
    ToolResult,
    ToolReturn,
    TurnBegin,
    TurnEnd,
    WireMessage,
)
from sould.agents.wire.stream import joined
from soultest.luck import examples
from soultest.streams import messages, until


@pytest.fixture
async def writer() -> AsyncIterator[JournalWriter]:
    writer = JournalWriter(sync_delay=0.01)
    yield writer
    await asyncio.to_thread(writer.close)


def channel_of(journal: Journal) -> Channel:
    return Channel(
        next_seq=journal.recovered.last_seq + 1,
        tap=lambda record: None if record.volatile else journal.append(record),
    )


def published(journal: Journal, *stream: WireMessage) -> list[Record]:
    channel = channel_of(journal)
    return [channel.publish(message) for message in stream]


def kimi_style(path: Path) -> str:
    """How a simple Wire reader shows a session: known types in order, the rest skipped."""
    shown = ""
    lines = [line for line in path.read_text().splitlines() if line.endswith("}")]
    for line in lines:
        message = orjson.loads(line).get("message", {})
        if message.get("type") == "ContentPart":
            shown += message["payload"].get("text", "")
    return shown


GOLDEN = """{"type":"metadata","protocol_version":"1.10","format":1,"session_id":"s1","cwd":"/w","created":1.5,"c":"225b7168"}
{"timestamp":2.5,"message":{"type":"TurnBegin","payload":{"user_input":"hi","turn_id":"t","client_id":"","command":false}},"n":1,"c":"8a40893b"}
{"timestamp":3.5,"message":{"type":"ContentPart","payload":{"type":"text","text":"hello é"}},"n":2,"c":"d02b3ce6"}
{"timestamp":4.5,"message":{"type":"ToolCall","payload":{"type":"function","id":"c","function":{"name":"Shell","arguments":null},"extras":null,"preview":null}},"incomplete":true,"n":3,"c":"f021998d"}
""".encode()


def test_golden_lines() -> None:
    lines = (
        metadata_line({"session_id": "s1", "cwd": "/w", "created": 1.5}),
        record_line(1, 2.5, TurnBegin(user_input="hi", turn_id="t")),
        record_line(2, 3.5, TextPart(text="hello é")),
        record_line(3, 4.5, ToolCall(id="c", function=FunctionCall(name="Shell")), incomplete=True),
    )
    assert b"".join(lines) == GOLDEN


def test_the_line_of_a_message_that_streams_becomes_that_of_a_whole_one() -> None:
    text = OpenLine(2, 3.5, TextPart(text="he"))
    assert text.begin() + text.more("llo") + text.more(" é") + text.end() == GOLDEN.splitlines(keepends=True)[2]
    first = ToolCall(id="c", function=FunctionCall(name="Shell"), extras={"arguments": '"{'})
    for pieces in ((), ("",), ('{"a', '":"\\n', '"}')):
        call = OpenLine(3, 4.5, first)
        line = b"".join((call.begin(), *map(call.more, pieces), call.end()))
        whole = orjson.loads(record_line(3, 4.5, joined(first, pieces)))
        assert {**orjson.loads(line), "c": ""} == {**whole, "c": ""}


def test_what_early_versions_saved_of_a_message_is_still_read(tmp_path: Path) -> None:
    def partial(offset: int, text: str) -> bytes:
        delta = {"type": "ContentPart", "payload": {"type": "text", "text": text}}
        message = {"type": "Partial", "payload": {"offset": offset, "message": delta}}
        return seal({"timestamp": 1.5, "message": message, "n": 1})

    path = tmp_path / "wire.jsonl"
    path.write_bytes(metadata_line({}) + partial(0, "hel") + partial(3, "lo"))
    (record,) = read_records(path)
    assert (record.incomplete, record.message) == (True, TextPart(text="hello"))
    with path.open("ab") as file:
        file.write(record_line(1, 2.5, TextPart(text="hello you")))
    assert [record.message for record in read_records(path)] == [TextPart(text="hello you")]


def test_text_that_is_not_unicode_is_written_as_question_marks() -> None:
    line = record_line(1, 2.5, TextPart(text="name-\udcff"))
    assert orjson.loads(line)["message"]["payload"]["text"] == "name-?"


@settings(
    max_examples=examples(60),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
@given(stream=st.lists(messages, max_size=30))
async def test_reading_gives_back_every_message_once(
    stream: list[WireMessage], tmp_path_factory: pytest.TempPathFactory, writer: JournalWriter
) -> None:
    path = tmp_path_factory.mktemp("j") / "wire.jsonl"
    journal = Journal.create(path, writer, {})
    count = max((record.seq for record in published(journal, *stream)), default=0)
    await journal.commit()
    early = [record.seq for record in read_records(path)]
    await journal.aclose()
    records = list(read_records(path))
    assert [record.seq for record in records] == early == list(range(1, count + 1))
    again = await Journal.open(path, writer)
    assert again.recovered.records == len(records)
    assert (again.recovered.torn_bytes, again.recovered.damage, again.recovered.cut) == (0, (), None)
    await again.aclose()


async def test_a_message_in_a_thousand_deltas_is_one_record(tmp_path: Path, writer: JournalWriter) -> None:
    path = tmp_path / "wire.jsonl"
    journal = Journal.create(path, writer, {})
    published(journal, *[TextPart(text="ab")] * 1000, TurnEnd())
    await journal.aclose()
    lines = path.read_bytes().splitlines()
    assert [orjson.loads(line).get("n") for line in lines] == [None, 1, 2]
    assert kimi_style(path) == "ab" * 1000


async def test_a_stream_that_is_saved_piece_by_piece_costs_the_file_its_text(
    tmp_path: Path, writer: JournalWriter
) -> None:
    path = tmp_path / "wire.jsonl"
    journal = Journal.create(path, writer, {})
    channel = channel_of(journal)
    for _ in range(1000):
        channel.publish(TextPart(text="x" * 10))
        writer.save()
    channel.publish(TurnEnd())
    await journal.aclose()
    assert path.stat().st_size < 10_500
    assert kimi_style(path) == "x" * 10_000


async def test_what_was_published_survives_the_process_once_saved_and_others_can_read_it(
    tmp_path: Path, writer: JournalWriter
) -> None:
    path = tmp_path / "wire.jsonl"
    journal = Journal.create(path, writer, {})
    channel = channel_of(journal)
    channel.publish(TextPart(text="thinking about "))
    channel.publish(TextPart(text="it"))
    writer.save()
    assert kimi_style(path) == ""
    (record,) = read_records(path)
    assert (record.incomplete, record.message) == (True, TextPart(text="thinking about it"))
    channel.publish(TurnEnd())
    writer.save()
    assert [record.incomplete for record in read_records(path)] == [False, False]
    assert kimi_style(path) == "thinking about it"
    await journal.aclose()


async def test_what_nobody_is_shown_is_saved_by_itself(tmp_path: Path, writer: JournalWriter) -> None:
    path = tmp_path / "wire.jsonl"
    journal = Journal.create(path, writer, {})
    channel = channel_of(journal)
    for text in ("alone", " for now", "x" * 5000):
        channel.publish(TextPart(text=text))
        await until(lambda expected=text: expected.encode() in path.read_bytes())
    await journal.aclose()


async def test_partial_tool_calls_are_put_together_with_their_arguments(tmp_path: Path, writer: JournalWriter) -> None:
    path = tmp_path / "wire.jsonl"
    journal = Journal.create(path, writer, {})
    channel = channel_of(journal)
    channel.publish(ToolCall(id="c", function=FunctionCall(name="Shell")))
    await journal.commit()
    channel.publish(ToolCallPart(arguments_part='{"command":'))
    await journal.commit()
    channel.publish(ToolCallPart(arguments_part='"ls"}'))
    await journal.commit()
    (record,) = read_records(path)
    assert record.message == ToolCall(id="c", function=FunctionCall(name="Shell", arguments='{"command":"ls"}'))
    await journal.aclose()


async def test_many_sessions_commit_at_once(tmp_path: Path, writer: JournalWriter) -> None:
    journals: list[Journal] = []
    for number in range(30):
        (tmp_path / str(number)).mkdir()
        journals.append(Journal.create(tmp_path / str(number) / "wire.jsonl", writer, {}))
        published(journals[-1], TurnBegin(user_input="a"), TurnEnd())
    async with asyncio.TaskGroup() as group:
        for journal in journals * 3:
            group.create_task(journal.commit())
    for journal in journals:
        assert [record.seq for record in read_records(journal.path)] == [1, 2]
        await journal.aclose()


async def test_the_files_are_for_their_owner_only(tmp_path: Path, writer: JournalWriter) -> None:
    journal = Journal.create(tmp_path / "wire.jsonl", writer, {})
    await journal.aclose()
    assert {stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()} == {0o600}


async def test_no_descriptor_is_inherited(tmp_path: Path, writer: JournalWriter) -> None:
    journal = Journal.create(tmp_path / "wire.jsonl", writer, {})
    listing = await asyncio.create_subprocess_exec(
        "ls", "-l", "/proc/self/fd", stdout=asyncio.subprocess.PIPE, close_fds=False
    )
    shown, _ = await listing.communicate()
    assert b"wire.jsonl" not in shown
    await journal.aclose()


async def test_a_journal_has_one_writer(tmp_path: Path, writer: JournalWriter) -> None:
    path = tmp_path / "wire.jsonl"
    journal = Journal.create(path, writer, {})
    with pytest.raises(SessionOpenElsewhereError, match=f"open in pid {os.getpid()}"):
        await Journal.open(path, writer)
    await journal.aclose()
    await (await Journal.open(path, writer)).aclose()


@pytest.mark.parametrize(
    ("stream", "turn", "step", "calls", "requests"),
    [
        pytest.param((), None, 0, [], [], id="nothing"),
        pytest.param((TurnEnd(turn_id="t"),), None, 0, [], [], id="turn ended"),
        pytest.param((StepBegin(n=2),), "t", 2, [], [], id="in a model call"),
        pytest.param((StepBegin(n=1), "call"), "t", 1, ['{"a":1}'], [], id="tool started"),
        pytest.param((StepBegin(n=1), "call", "request"), "t", 1, ['{"a":1}'], ["r"], id="waiting for approval"),
        pytest.param((StepBegin(n=1), "call", "result"), "t", 1, [], [], id="between result and model call"),
    ],
)
async def test_what_was_left_open_is_told_on_opening(
    stream: tuple[WireMessage | str, ...],
    turn: str | None,
    step: int,
    calls: list[str],
    requests: list[str],
    tmp_path: Path,
    writer: JournalWriter,
) -> None:
    named: dict[str, list[WireMessage]] = {
        "call": [ToolCall(id="c", function=FunctionCall(name="Shell")), ToolCallPart(arguments_part='{"a":1}')],
        "request": [ApprovalRequest(id="r", tool_call_id="c", sender="Shell", action="run", description="ls")],
        "result": [ToolResult(tool_call_id="c", return_value=ToolReturn(is_error=False))],
    }
    path = tmp_path / "wire.jsonl"
    journal = Journal.create(path, writer, {})
    channel = channel_of(journal)
    if stream:
        channel.publish(TurnBegin(user_input="go", turn_id="t"))
    for item in stream:
        for message in named[item] if isinstance(item, str) else [item]:
            channel.publish(message)
    await journal.aclose()
    again = await Journal.open(path, writer)
    found = again.recovered
    assert (found.open_turn.turn_id if found.open_turn else None, found.open_step) == (turn, step)
    assert [call.function.arguments for call in found.open_calls] == calls
    assert [request.id for request in found.open_requests] == requests
    assert found.clean == (turn is None)
    await again.aclose()


async def test_an_open_compaction_is_told(tmp_path: Path, writer: JournalWriter) -> None:
    path = tmp_path / "wire.jsonl"
    journal = Journal.create(path, writer, {})
    published(journal, CompactionBegin(compaction_id="k"))
    await journal.aclose()
    again = await Journal.open(path, writer)
    assert again.recovered.open_compaction == CompactionBegin(compaction_id="k")
    await again.aclose()


async def test_another_wire_writers_file_is_read_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "wire.jsonl"
    path.write_text(
        '{"type": "metadata", "protocol_version": "1.10"}\n'
        '{"timestamp": 1.0, "message": {"type": "TurnBegin", "payload": {"user_input": "hi"}}}\n'
        "not json\n"
        '{"timestamp": 2.0, "message": {"type": "NewThing", "payload": {"x": 1}}}\n'
        '{"timestamp": 3.0, "message": {"type": "TurnEnd", "payload": {}}}\n'
    )
    assert [(record.seq, record.type) for record in read_records(path)] == [
        (1, "TurnBegin"),
        (2, "NewThing"),
        (3, "TurnEnd"),
    ]
    with pytest.raises(SouldError, match="another program"):
        await Journal.open(path, JournalWriter())
    assert path.read_text().count("\n") == 5


async def test_unknown_types_are_kept_and_passed_over(tmp_path: Path, writer: JournalWriter) -> None:
    path = tmp_path / "wire.jsonl"
    journal = Journal.create(path, writer, {})
    published(journal, TurnBegin(user_input="a"))
    await journal.aclose()
    with path.open("ab") as file:
        file.write(
            seal({"timestamp": 1.0, "message": {"type": "Hologram", "payload": {"x": 1}}, "later": True, "n": 2})
        )
    again = await Journal.open(path, writer)
    assert published(again, TurnEnd())[0].seq == 3
    assert [record.seq for record in again.read(Cursor(1))] == [1, 3]
    await again.aclose()
    assert [(record.type, record.message is None) for record in read_records(path)][1] == ("Hologram", True)


@pytest.mark.parametrize("content", [b"", b"\xef\xbb\xbf", b"\0" * 4096])
async def test_an_empty_file_becomes_a_journal_again(content: bytes, tmp_path: Path, writer: JournalWriter) -> None:
    path = tmp_path / "wire.jsonl"
    path.write_bytes(content)
    journal = await Journal.open(path, writer)
    published(journal, TurnEnd())
    await journal.aclose()
    assert orjson.loads(path.read_bytes().splitlines()[0])["session_id"] == tmp_path.name
    assert [record.type for record in read_records(path)] == ["TurnEnd"]


async def test_a_byte_order_mark_does_no_harm(tmp_path: Path, writer: JournalWriter) -> None:
    path = tmp_path / "wire.jsonl"
    path.write_bytes(b"\xef\xbb\xbf" + metadata_line({"cwd": "/w"}) + record_line(1, 1.0, TurnEnd()))
    journal = await Journal.open(path, writer)
    assert (journal.recovered.metadata or {})["cwd"] == "/w"
    assert (journal.recovered.records, journal.recovered.damage, journal.recovered.torn_bytes) == (1, (), 0)
    await journal.aclose()


async def test_a_directory_in_the_place_of_the_file_is_an_error_in_words(tmp_path: Path) -> None:
    (tmp_path / "wire.jsonl").mkdir()
    with pytest.raises(SouldError, match="cannot be opened"):
        await Journal.open(tmp_path / "wire.jsonl", JournalWriter())
