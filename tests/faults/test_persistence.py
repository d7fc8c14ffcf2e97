"""Torn, damaged, full, killed, shared and foreign journals."""

import asyncio
import contextlib
import os
import random
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Generator, Iterator
from pathlib import Path

import pytest

from sould.agents.base.errors import JournalFullError, SessionNotFoundError, SessionOpenElsewhereError
from sould.agents.journal.channel import Channel
from sould.agents.journal.journal import Journal, JournalWriter, read_records
from sould.agents.journal.journalfile import JournalFile
from sould.agents.journal.log import SessionLog
from sould.agents.journal.openline import OpenLine
from sould.agents.journal.records import metadata_line, record_line
from sould.agents.sessions.store.store import SessionStore
from sould.agents.wire.content import FunctionCall, TextPart, ThinkPart
from sould.agents.wire.messages import ToolCall, ToolCallPart, TurnBegin, TurnEnd, WireMessage
from sould.agents.wire.stream import Cursor, piece
from soultest.disks import mounted
from soultest.streams import until

KILLS = int(os.environ.get("SOULD_FAULT_KILLS", "8"))
"""The catalogue says 1,000."""


@pytest.fixture
async def writer() -> AsyncIterator[JournalWriter]:
    writer = JournalWriter(retry_interval=0.02, sync_delay=0.01)
    yield writer
    await asyncio.to_thread(writer.close)


@contextlib.contextmanager
def child(directory: Path, mode: str) -> Generator[subprocess.Popen[str]]:
    support = Path(__file__).parents[1] / "support"
    command = [sys.executable, "-m", "soultest.journalchild", str(directory), mode]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": str(support)}
    )
    with process:
        try:
            yield process
        finally:
            process.kill()


def line_of(process: subprocess.Popen[str]) -> str:
    assert process.stdout
    return process.stdout.readline().rstrip("\n")


def words(path: Path) -> list[str]:
    return [record.payload["user_input"] for record in read_records(path) if record.type == "TurnBegin"]


LINES = [metadata_line({"session_id": "s"})] + [
    record_line(n, 1.0, TurnBegin(user_input=f"record {n}")) for n in (1, 2, 3)
]
WHOLE = b"".join(LINES)

# --- junk in the file ---------------------------------------------------------------------------------------

JUNK = {
    "nothing": b"",
    "nuls": bytes(64),
    "half a record": LINES[3][:30],
    "random bytes": random.Random(58).randbytes(40),
    "junk lines": b'junk\n{"more":"junk"}\n\n',
}


@pytest.mark.parametrize("junk", JUNK)
async def test_a_torn_tail_is_set_aside_and_the_next_record_survives(
    junk: str, tmp_path: Path, writer: JournalWriter
) -> None:
    ends = [len(b"".join(LINES[: count + 1])) for count in range(4)]
    for cut in range(0, len(WHOLE) + 1, 1 if junk == "nothing" else 5):
        directory = tmp_path / str(cut)
        directory.mkdir()
        path = directory / "wire.jsonl"
        path.write_bytes(WHOLE[:cut] + JUNK[junk])
        # a record is whole when all but its newline is there
        kept = sum(cut >= end - 1 for end in ends[1:])
        journal = await Journal.open(path, writer)
        assert journal.recovered.records == kept
        aside = journal.recovered.torn_path
        assert (aside is not None) == (journal.recovered.torn_bytes > 0)
        if aside:
            assert aside.stat().st_size == journal.recovered.torn_bytes
            assert f"{journal.recovered.torn_bytes} bytes" in journal.recovered.notice
        channel = Channel(next_seq=journal.recovered.last_seq + 1, tap=journal.append)
        channel.publish(TurnBegin(user_input="next"))
        await journal.aclose()
        assert words(path) == [*(f"record {n + 1}" for n in range(kept)), "next"]
        again = await Journal.open(path, writer)
        assert (again.recovered.records, again.recovered.torn_bytes) == (kept + 1, 0)
        await again.aclose()


# --- flipped bits -------------------------------------------------------------------------------------------


def test_every_single_flipped_bit_costs_at_most_its_own_record(tmp_path: Path) -> None:
    path = tmp_path / "wire.jsonl"
    for position in range(len(WHOLE)):
        for bit in range(8):
            damaged = bytearray(WHOLE)
            damaged[position] ^= 1 << bit
            path.write_bytes(damaged)
            found = [record.seq for record in read_records(path)]
            start = 0
            hit = -1
            for number, line in enumerate(LINES):
                if start <= position < start + len(line):
                    hit = number
                start += len(line)
            assert set(found) | {hit} >= {1, 2, 3}
            assert found == sorted(found)


async def test_damage_in_the_middle_is_passed_over_reported_and_left_alone(
    tmp_path: Path, writer: JournalWriter
) -> None:
    path = tmp_path / "wire.jsonl"
    damaged = LINES[0] + LINES[1] + bytes(4096) + LINES[2][:20] + b"?" + LINES[2][21:] + LINES[3]
    path.write_bytes(damaged)
    journal = await Journal.open(path, writer)
    assert journal.recovered.records == 2
    assert journal.recovered.torn_bytes == 0
    positions = [damage.position for damage in journal.recovered.damage]
    assert positions[0] == len(LINES[0]) + len(LINES[1])
    assert str(positions[0]) in journal.recovered.notice
    await journal.aclose()
    assert path.read_bytes() == damaged


# --- killed writers -----------------------------------------------------------------------------------------


async def test_nothing_acknowledged_is_lost_however_often_the_writer_is_killed(tmp_path: Path) -> None:
    chance = random.Random(60)
    acknowledged = -1
    for _ in range(KILLS):
        with child(tmp_path, "turns") as process:
            for _ in range(chance.randrange(1, 40)):
                acknowledged = int(line_of(process))
            process.send_signal(signal.SIGKILL)
            while said := line_of(process):
                acknowledged = int(said)
        records = list(read_records(tmp_path / "wire.jsonl"))
        ended = [record.payload["turn_id"] for record in records if record.type == "TurnEnd"]
        assert set(map(str, range(acknowledged + 1))) <= set(ended)
        assert [record.seq for record in records] == list(range(1, len(records) + 1))


async def test_what_a_killed_stream_had_shown_is_kept_and_named(tmp_path: Path, writer: JournalWriter) -> None:
    with child(tmp_path, "stream") as process:
        assert line_of(process) == "streamed"
    log = await SessionLog.open(tmp_path, writer)
    assert log.recovery.cut == 3
    assert "cut off" in log.recovery.notice
    assert log.recovery.open_turn is not None
    assert log.recovery.open_step == 1
    assert log.context.messages[-1].content == (TextPart(text="0123456789" * 1000),)
    log.publish(TurnEnd())
    await log.aclose()
    again = await SessionLog.open(tmp_path, writer)
    assert again.recovery.clean
    assert [record.message for record in again.replay()][2] == TextPart(text="0123456789" * 1000)
    await again.aclose()


STREAMS: dict[str, tuple[WireMessage, list[str]]] = {
    "text": (TextPart(text='say "'), ["é😀\n", "\\ and more", "u"]),
    "thought": (ThinkPart(think="hm"), [" n", "ull"]),
    "call": (ToolCall(id="c", function=FunctionCall(name="Shell"), extras={"text": "x"}), ['{"command":', '"ls"}']),
    "part": (ToolCallPart(arguments_part="{", tool_call_id="c"), ['"a":1', "}"]),
}


@pytest.mark.parametrize("kind", STREAMS)
async def test_wherever_a_streaming_message_is_cut_all_of_it_that_was_written_is_kept(
    kind: str, tmp_path: Path, writer: JournalWriter
) -> None:
    first, more = STREAMS[kind]
    line = OpenLine(2, 1.0, first)
    written = [line.begin(), *map(line.more, more), line.end()]
    pieces = [piece(first), *more]
    known = b"".join(LINES[:2])
    for cut in range(len(written[0]), sum(map(len, written))):
        whole = sum(cut >= len(b"".join(written[: count + 1])) for count in range(len(pieces)))
        directory = tmp_path / str(cut)
        directory.mkdir()
        path = directory / "wire.jsonl"
        path.write_bytes(known + b"".join(written)[:cut])
        journal = await Journal.open(path, writer)
        assert journal.recovered.torn_bytes < len(written[-1])
        channel = Channel(next_seq=journal.recovered.last_seq + 1, tap=journal.append)
        channel.publish(TurnBegin(user_input="next"))
        replayed = [record.message for record in journal.read(Cursor(1))]
        await journal.aclose()
        assert [record.message for record in read_records(path)] == replayed
        assert [record.incomplete for record in read_records(path)] == [False, cut < len(b"".join(written)) - 1, False]
        kept = piece(replayed[1])
        assert kept.startswith("".join(pieces[:whole]))
        assert "".join(pieces).startswith(kept)
        again = await Journal.open(path, writer)
        assert again.recovered.torn_bytes == 0
        assert again.recovered.last_seq == 3
        await again.aclose()


# --- full disks ---------------------------------------------------------------------------------------------


def test_a_file_size_limit_makes_the_session_read_only_until_it_is_lifted(tmp_path: Path) -> None:
    with child(tmp_path, "limit") as process:
        said, _ = process.communicate(timeout=30)
    refusal, whole, kept = said.splitlines()
    assert "read-only because the disk is full" in refusal
    assert (whole, kept) == ("whole", "all kept")


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    disk = tmp_path / "disk"
    disk.mkdir()
    with mounted(disk, "256k"):
        yield disk


@pytest.mark.needs_root
async def test_a_full_disk_refuses_prompts_loses_nothing_and_recovers_by_itself(
    small_disk: Path, writer: JournalWriter
) -> None:
    store = SessionStore(small_disk)
    stored = store.create(Path("/w"))
    log = await SessionLog.create(stored.directory, writer, session_id=stored.info.id, cwd=Path("/w"))
    filler = small_disk / "filler"
    filler.write_bytes(bytes(100_000))
    path = stored.directory / "wire.jsonl"

    def saved_turns() -> list[object]:
        return [record.payload["turn_id"] for record in read_records(path)]

    published = 0
    while log.error is None:
        log.publish(TurnBegin(user_input="x" * 5000, turn_id=str(published)))
        published += 1
        with contextlib.suppress(JournalFullError):
            await log.commit()
    assert saved_turns() == [str(turn) for turn in range(published - 1)]
    # an attempt to save writes what fits and takes it back, so between two of them the file ends with a whole record
    await until(lambda: path.read_bytes().endswith(b"}\n"))
    with pytest.raises(JournalFullError, match="disk is full"):
        await log.commit()
    log.publish(TurnEnd(turn_id="kept in memory"))
    assert len(list(log.replay())) == published + 1
    store.touch(stored.info.id, prompt="must not raise")
    assert store.list().items
    filler.unlink()
    await until(lambda: log.error is None)
    log.publish(TurnEnd(turn_id="after"))
    await log.commit()
    assert saved_turns() == [*map(str, range(published)), "kept in memory", "after"]
    await log.aclose()
    store.close()


@pytest.mark.needs_root
def test_a_new_session_on_a_full_disk_is_refused_whole(small_disk: Path) -> None:
    store = SessionStore(small_disk)
    with contextlib.suppress(OSError), (small_disk / "filler").open("wb", buffering=0) as filler:
        while True:
            filler.write(bytes(4096))
    with pytest.raises(JournalFullError, match="cannot be stored"):
        store.create(Path("/w"))
    assert os.listdir(small_disk / "sessions") == []
    store.close()


# --- two writers --------------------------------------------------------------------------------------------


async def test_the_second_writer_is_told_who_has_the_session_and_may_read_it(
    tmp_path: Path, writer: JournalWriter
) -> None:
    path = tmp_path / "wire.jsonl"
    path.write_bytes(WHOLE)
    with child(tmp_path, "hold") as process:
        assert line_of(process) == "open"
        with pytest.raises(SessionOpenElsewhereError, match=f"open in pid {process.pid};"):
            await SessionLog.open(tmp_path, writer)
        assert len(list(read_records(path))) == 3
    log = await SessionLog.open(tmp_path, writer)
    await log.aclose()


# --- failed syncs -------------------------------------------------------------------------------------------


def test_after_a_failed_sync_the_unsynced_lines_are_written_anew_once(tmp_path: Path) -> None:
    path = tmp_path / "wire.jsonl"
    path.touch()
    descriptor = os.open(path, os.O_RDWR | os.O_APPEND)
    file = JournalFile(path, descriptor, 0)
    file.add(LINES[0])
    file.add(LINES[1])
    file.flush(sync=True)
    file.add(LINES[2])
    file.flush(sync=False)
    with not_syncable(descriptor):
        file.flush(sync=True)
        assert file.error is not None
        assert "read-only" in file.error.message
        file.add(LINES[3])
    assert file.dirty
    file.flush(sync=True)
    assert file.error is None
    assert path.read_bytes() == WHOLE
    file.close()


def test_a_message_that_streams_goes_on_after_a_failed_sync(tmp_path: Path) -> None:
    path = tmp_path / "wire.jsonl"
    path.touch()
    descriptor = os.open(path, os.O_RDWR | os.O_APPEND)
    file = JournalFile(path, descriptor, 0)
    line = OpenLine(1, 1.0, TextPart(text="one"))
    written = [LINES[0], line.begin(), line.more(" two"), line.more(" three"), line.end()]
    file.add(written[0] + written[1])
    file.flush(sync=True)
    file.add(written[2])
    assert not file.save(), "an open line is not synced for its own sake"
    with not_syncable(descriptor):
        file.flush(sync=True)
        file.add(written[3])
        assert not file.save(), "the writer thread repairs first"
        assert file.error is not None
    file.flush(sync=True)
    file.add(written[4])
    assert file.save()
    assert path.read_bytes() == b"".join(written)
    file.close()


def test_a_journal_that_reads_back_differently_stays_read_only(tmp_path: Path) -> None:
    path = tmp_path / "wire.jsonl"
    path.touch()
    descriptor = os.open(path, os.O_RDWR | os.O_APPEND)
    file = JournalFile(path, descriptor, 0)
    for line in LINES[:3]:
        file.add(line)
    file.flush(sync=True)
    file.add(LINES[3])
    file.flush(sync=False)
    with not_syncable(descriptor):
        file.flush(sync=True)
    with path.open("r+b") as damaged:
        damaged.seek(len(LINES[0]) + len(LINES[1]) + 30)
        damaged.write(b"\0")
    file.flush(sync=True)
    assert file.error is not None
    assert "open the session again" in file.error.message
    file.close()


@contextlib.contextmanager
def not_syncable(descriptor: int) -> Generator[None]:
    """Puts something behind the descriptor that takes bytes but cannot be synced: a pipe."""
    file = os.dup(descriptor)
    reading, writing = os.pipe()
    os.dup2(writing, descriptor)
    yield
    os.dup2(file, descriptor)
    for spare in (file, reading, writing):
        os.close(spare)


# --- bad sessions in a list ---------------------------------------------------------------------------------


def make_bad(kind: str, directory: Path) -> None:
    directory.mkdir()
    journal = directory / "wire.jsonl"
    match kind:
        case "directory instead of a file":
            journal.mkdir()
        case "empty file":
            journal.touch()
        case "nuls":
            journal.write_bytes(bytes(4096))
        case "broken session.json":
            (directory / "session.json").write_text('{"id": 7')
        case "link to nowhere":
            journal.symlink_to(directory / "nowhere")
        case _:
            pass


@pytest.mark.parametrize(
    "kind",
    ["directory instead of a file", "empty file", "nuls", "broken session.json", "link to nowhere", "empty directory"],
)
async def test_a_bad_session_never_hides_the_others(kind: str, tmp_path: Path, writer: JournalWriter) -> None:
    store = SessionStore(tmp_path)
    good = [store.create(Path("/w")).info.id for _ in range(3)]
    make_bad(kind, tmp_path / "sessions" / "bad")
    (tmp_path / "sessions" / "stray file").touch()
    assert {info.id for info in store.list().items} == set(good)
    (tmp_path / "index.sqlite").unlink()
    assert {info.id for info in store.list().items} == set(good)
    with pytest.raises(SessionNotFoundError, match="bad"):
        store.find("bad")
    store.close()
