"""What a Wire client is sent of a message: by its version, as it streams, or whole."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sould.agents.wire.content import FunctionCall, TextPart
from sould.agents.wire.messages import (
    Notification,
    StatusUpdate,
    StepBegin,
    StepRetry,
    SubagentEvent,
    TokenUsage,
    ToolCall,
    ToolCallPart,
    TurnBegin,
    TurnEnd,
    WireMessage,
)
from sould.agents.wire.stream import Cursor, Record
from sould.daemon.wire.lines import StreamedLines, WholeLines
from sould.daemon.wire.versions import NEWEST, OLDEST, WireReader, version_of
from soultest.luck import examples

Json = dict[str, Any]


def lines_of(data: bytes) -> list[Json]:
    return [json.loads(line)["params"] for line in data.splitlines()]


def opened(call_id: str) -> ToolCall:
    return ToolCall(id=call_id, function=FunctionCall(name="Shell"))


def test_only_fields_of_wire_are_sent_unless_ours_are_wanted() -> None:
    begin = TurnBegin(user_input="go", turn_id="t", client_id="c")
    assert WireReader(NEWEST).envelope(begin) == {"type": "TurnBegin", "payload": {"user_input": "go"}}
    ours = WireReader(NEWEST, extensions=True).envelope(begin)
    assert ours is not None
    assert ours["payload"]["turn_id"] == "t"
    status = WireReader(NEWEST).envelope(StatusUpdate(token_usage=TokenUsage(output=2, output_thought=1)))
    assert status is not None
    assert status["payload"]["token_usage"] == {
        "input_other": 0,
        "output": 2,
        "input_cache_read": 0,
        "input_cache_creation": 0,
    }


def test_a_type_is_sent_to_versions_that_have_it_also_within_a_subagents_event() -> None:
    retry = StepRetry(n=1, next_attempt=2, max_attempts=3, wait_s=0.5, error_type="E")
    nested = SubagentEvent(parent_tool_call_id="p", event=retry)
    for message in (retry, nested):
        assert WireReader((1, 9)).envelope(message) is None
        assert WireReader((1, 10)).envelope(message) is not None
    assert WireReader(OLDEST).envelope(TurnEnd()) == {"type": "TurnEnd", "payload": {}}
    assert WireReader((1, 10), unread=frozenset({"Notification"})).envelope(Notification(id="n", title="t")) is None


def test_the_parent_of_a_subagents_event_has_its_older_name_too() -> None:
    event = SubagentEvent(parent_tool_call_id="p", event=StepBegin(n=1))
    old, new = WireReader((1, 5)).envelope(event), WireReader((1, 6)).envelope(event)
    assert old is not None
    assert new is not None
    assert old["payload"]["task_tool_call_id"] == old["payload"]["parent_tool_call_id"] == "p"
    assert "task_tool_call_id" not in new["payload"]


@pytest.mark.parametrize(
    ("said", "version"),
    [("1.10", (1, 10)), ("1.2", (1, 2)), ("9.0", NEWEST), ("0.1", OLDEST), ("x", OLDEST), ("", OLDEST)],
)
def test_a_version_is_compared_by_its_numbers(said: str, version: tuple[int, int]) -> None:
    assert version_of(said) == version


def streamed(pieces: list[tuple[int, str]]) -> list[Record]:
    """Calls 0, 1 … opened in the order in which they are first named, and fragments of theirs, as a soul publishes them."""
    records: list[Record] = []
    seqs: dict[int, int] = {}
    lengths: dict[int, int] = {}
    for number, text in pieces:
        if number not in seqs:
            seqs[number], lengths[number] = len(seqs) + 1, 1
            records.append(Record(seqs[number], 0, opened(str(number)), 0.0))
        behind = seqs[number] != len(seqs)
        part: WireMessage = ToolCallPart(arguments_part=text, tool_call_id=str(number) if behind else None)
        records.append(Record(seqs[number], lengths[number], part, 0.0))
        lengths[number] += len(text)
    return records


@given(st.lists(st.tuples(st.integers(0, 2), st.text("abc", min_size=1, max_size=3)), max_size=12))
@settings(max_examples=examples(200))
def test_a_program_that_takes_each_fragment_for_the_last_call_gets_the_arguments_of_all(
    pieces: list[tuple[int, str]],
) -> None:
    """Servers may go back to an earlier call; Wire has no word for that but the call itself."""
    wanted = {str(number): "" for number, _ in pieces}
    for number, text in pieces:
        wanted[str(number)] += text
    for view in (StreamedLines(WireReader(NEWEST)), WholeLines(WireReader(NEWEST))):
        got: dict[str, str] = {}
        last = ""
        data = b"".join(view.feed(record) for record in streamed(pieces)) + view.flush()
        for said in lines_of(data):
            if said["type"] == "ToolCall":
                last = said["payload"]["id"]
                got[last] = said["payload"]["function"]["arguments"] or ""
            else:
                got[last] += said["payload"]["arguments_part"]
        assert got == wanted


def test_pieces_that_came_at_once_are_streamed_one_by_one_and_merged_into_one() -> None:
    record = Record(1, 0, TextPart(text="abc"), 0.0, pieces=("a", "bc"))
    assert [each["payload"]["text"] for each in lines_of(StreamedLines(WireReader(NEWEST)).feed(record))] == ["a", "bc"]
    whole = WholeLines(WireReader(NEWEST))
    assert whole.feed(record) == b""
    [said] = lines_of(whole.feed(Record(2, 0, StepBegin(n=2), 0.0)))[:1]
    assert said["payload"] == {"type": "text", "text": "abc"}
    assert record.after == Cursor(1, 3)
