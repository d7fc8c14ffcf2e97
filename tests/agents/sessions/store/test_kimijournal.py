"""A session of kimi-cli becomes a journal of ours: nothing that was said is lost, and nothing is left in its middle."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sould.agents.journal.journal import read_records
from sould.agents.journal.records import Scan
from sould.agents.journal.recovery import OpenWork
from sould.agents.sessions.store import kimijournal
from sould.agents.sessions.store.kimijournal import convert
from soultest.kimisessions import STARTED, lines_of, text, tool_call, tool_result, turn, wire_lines
from soultest.luck import examples

Message = tuple[str, dict[str, Any]]
WORDS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
IDS = st.sampled_from(["c1", "c2", "c3"])
ADDED = {"ToolResult", "RequestClosed", "TurnEnd", "CompactionEnd", "ContextCleared"}
"""What the conversion may add."""


def approval(call_id: str) -> Message:
    payload = {"id": f"r-{call_id}", "tool_call_id": call_id, "sender": "Shell", "action": "run command"}
    return "ApprovalRequest", payload | {"description": "ls"}


def of_subagent(call_id: str, said: str) -> Message:
    inner = {"type": "ContentPart", "payload": {"type": "text", "text": said}}
    return "SubagentEvent", {"task_tool_call_id": call_id, "event": inner}


MESSAGES: st.SearchStrategy[Message] = st.one_of(
    WORDS.map(lambda said: ("TurnBegin", {"user_input": said})),
    st.sampled_from(["/clear", "/compact", "/skill:x go"]).map(lambda said: ("TurnBegin", {"user_input": said})),
    st.just(("TurnEnd", {})),
    st.integers(1, 3).map(lambda n: ("StepBegin", {"n": n})),
    st.sampled_from(["StepInterrupted", "CompactionBegin", "CompactionEnd"]).map(lambda kind: (kind, {})),
    WORDS.map(text),
    WORDS.map(lambda said: ("ContentPart", {"type": "think", "think": said, "encrypted": None})),
    WORDS.map(lambda said: ("SteerInput", {"user_input": [{"type": "text", "text": said}]})),
    IDS.map(lambda call_id: tool_call(call_id, "Shell", command="ls")),
    st.builds(tool_result, IDS, WORDS),
    IDS.map(approval),
    IDS.map(lambda call_id: ("ApprovalRequestResolved", {"request_id": f"r-{call_id}", "response": "approve"})),
    st.builds(of_subagent, IDS, WORDS),
    WORDS.map(lambda said: ("OfTheFuture", {"said": said})),
    st.just(("TurnBegin", {"of": "another shape"})),
)
NOISE = st.sampled_from(
    [b"", b"no json", b"[]", b"{}", b'{"timestamp": 1}', b'{"timestamp": "x", "message": {}}', b"\xff"]
)


def comparable(kind: str, payload: Any) -> tuple[str, str]:
    """A message without what the conversion may add to it."""
    shown = {key: value for key, value in payload.items() if key not in ("turn_id", "command")}
    return kind, json.dumps(shown, sort_keys=True) if kind not in ADDED - {"ToolResult"} else ""


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("sessions")


@settings(max_examples=examples(150))
@given(
    said=st.lists(MESSAGES, max_size=25),
    noise=st.lists(NOISE, max_size=6),
    version=st.sampled_from([None, "1.1", "1.5", "1.10"]),
)
def test_no_message_is_lost_and_everything_has_an_end(
    places: Path, said: list[Message], noise: list[bytes], version: str | None
) -> None:
    directory = places / f"{sum(1 for _ in places.iterdir())}"
    directory.mkdir()
    lines = wire_lines(*said, version=version).splitlines()
    for number, junk in enumerate(noise):
        lines.insert((number * 7) % (len(lines) + 1), junk)
    original = b"\n".join(lines) + b"\n"
    (directory / "wire.jsonl").write_bytes(original)
    convert(directory, places)
    found = list(read_records(directory / "wire.jsonl"))
    assert [record.seq for record in found] == list(range(1, len(found) + 1))
    left = iter(comparable(record.type, record.payload) for record in found)
    kept = [comparable(kind, payload) for kind, payload in said if kind != "TurnEnd"]
    assert all(each in left for each in kept), "every message, in its order"
    rest = [comparable(record.type, record.payload) for record in found]
    for each in kept:
        rest.remove(each)
    assert {kind for kind, _ in rest} <= ADDED
    work, turns = OpenWork(), 0
    for record in found:
        message = record.message
        if message is not None:
            work.apply(message)
            turns += {"TurnBegin": 1, "TurnEnd": -1}.get(record.type, 0)
            assert turns in (0, 1), "turns do not overlap, and each ends once"
    assert [work.turn, work.calls, work.requests, work.compaction] == [None, (), (), None]
    convert(directory, places)
    assert list(read_records(directory / "wire.jsonl")) == found, "once is enough"
    with (directory / "wire.jsonl").open("rb") as source:
        scan = Scan(source)
        assert len(list(scan)) == len(found)
        assert scan.ours
        assert not scan.damage
    if said:
        assert (directory / "wire.kimi.jsonl").read_bytes() == original


def test_times_stay_as_they_were(tmp_path: Path) -> None:
    (tmp_path / "wire.jsonl").write_bytes(wire_lines(*turn("hi", text("yes"))))
    convert(tmp_path, tmp_path)
    assert [record.timestamp for record in read_records(tmp_path / "wire.jsonl")] == [STARTED + at for at in range(4)]


def test_what_a_killed_daemon_left_of_a_conversion_does_not_disturb_the_next(tmp_path: Path) -> None:
    original = wire_lines(*turn("hi", text("yes")))
    (tmp_path / "wire.jsonl").write_bytes(original)
    for name in ("wire.jsonl.new", "wire.kimi.jsonl.new"):
        (tmp_path / name).write_bytes(b"half a li")
    convert(tmp_path, tmp_path)
    assert (tmp_path / "wire.kimi.jsonl").read_bytes() == original
    assert len(list(read_records(tmp_path / "wire.jsonl"))) == 4
    assert not list(tmp_path.glob("*.new"))


def test_each_compaction_gets_the_summary_that_came_of_it(tmp_path: Path) -> None:
    def context(said: str) -> bytes:
        return lines_of({"role": "user", "content": f"<system>{kimijournal.COMPACTED}</system>\n{said}"})

    (tmp_path / "context_1.jsonl").write_bytes(lines_of({"role": "user", "content": "one"}))
    (tmp_path / "context_2.jsonl").write_bytes(context("first"))
    (tmp_path / "context.jsonl").write_bytes(context("second"))
    compaction: list[Message] = [("CompactionBegin", {}), ("CompactionEnd", {})]
    (tmp_path / "wire.jsonl").write_bytes(wire_lines(*turn("one"), *compaction, *turn("two"), *compaction))
    convert(tmp_path, tmp_path)
    ends = [record.payload for record in read_records(tmp_path / "wire.jsonl") if record.type == "CompactionEnd"]
    assert [each["summary"] for each in ends] == ["first", "second"]
    assert (tmp_path / "context.kimi.jsonl").read_bytes() == context("second")


def test_a_compaction_whose_summary_is_lost_leaves_the_model_everything(tmp_path: Path) -> None:
    (tmp_path / "wire.jsonl").write_bytes(wire_lines(*turn("one"), ("CompactionBegin", {}), ("CompactionEnd", {})))
    convert(tmp_path, tmp_path)
    [end] = [record.payload for record in read_records(tmp_path / "wire.jsonl") if record.type == "CompactionEnd"]
    assert end["failed"]


def test_a_turn_in_which_others_run_ends_with_the_last_of_them(tmp_path: Path) -> None:
    flow: list[Message] = [("TurnBegin", {"user_input": "/flow:x"}), *turn("a", text("1")), *turn("b", text("2"))]
    (tmp_path / "wire.jsonl").write_bytes(wire_lines(*flow, ("TurnEnd", {})))
    convert(tmp_path, tmp_path)
    ends = [record.payload for record in read_records(tmp_path / "wire.jsonl") if record.type == "TurnEnd"]
    assert [each.get("stop_reason", "finished") for each in ends] == ["finished"] * 3


def test_what_says_that_it_is_of_sould_is_not_believed_where_kimi_cli_writes(tmp_path: Path) -> None:
    added = ("DirectoryAdded", {"path": "/"})
    (tmp_path / "wire.jsonl").write_bytes(wire_lines(added, *turn("one")))
    convert(tmp_path, tmp_path)
    assert "DirectoryAdded" not in {record.type for record in read_records(tmp_path / "wire.jsonl")}


@pytest.mark.parametrize(
    "last",
    [
        pytest.param(b'{"timestamp": 1760000009.0, "message": {"type": "Cont', id="cut off"),
        pytest.param(wire_lines(text("z" * (1 << 20)), version=None), id="long"),
    ],
)
def test_what_kimi_cli_added_is_taken_over_however_its_last_line_looks(tmp_path: Path, last: bytes) -> None:
    (tmp_path / "wire.jsonl").write_bytes(wire_lines(*turn("one", text("first"))))
    convert(tmp_path, tmp_path)
    with (tmp_path / "wire.jsonl").open("ab") as journal:
        journal.write(wire_lines(*turn("theirs", text("added")), version=None) + last)
    convert(tmp_path, tmp_path)
    asked = [each.payload["user_input"] for each in read_records(tmp_path / "wire.jsonl") if each.type == "TurnBegin"]
    assert asked == ["one", "theirs"]


def test_a_long_last_line_of_ours_needs_no_conversion(tmp_path: Path) -> None:
    (tmp_path / "wire.jsonl").write_bytes(wire_lines(text("z" * (3 << 20))))
    for _ in range(2):
        convert(tmp_path, tmp_path)
    assert [path.name for path in tmp_path.glob("wire.kimi*")] == ["wire.kimi.jsonl"]
