"""Connection records: one whole state at any moment, private, and nothing but a state."""

import multiprocessing
import os
import resource
import signal
import stat
from pathlib import Path

import pytest

from sould.daemon.process.records import StoredRecord, read_record, record_path, sweep_records

TOKEN = "0123456789abcdef" * 2


def test_what_was_written_last_is_read_with_the_note_whether_a_line_was_cut(tmp_path: Path) -> None:
    path = record_path(str(tmp_path), TOKEN)
    record = StoredRecord(path)
    assert read_record(path) is None
    record.write(b"one")
    record.write(b"three")
    assert read_record(path) == (b"three", (), False, False)
    record.note_cut(cut=True)
    record.note_taking(under_way=True)
    record.write(b"4", (5, 2**64 - 1))
    record.mark(0, 6)
    record.close()
    assert read_record(path) == (b"4", (6, 2**64 - 1), True, True)
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600


def test_a_state_larger_than_the_file_makes_it_grow(tmp_path: Path) -> None:
    path = record_path(str(tmp_path), TOKEN)
    record = StoredRecord(path, capacity=16)
    record.note_taking(under_way=True)
    for size in (10, 100, 10_000, 5):
        record.write(b"x" * size, range(size))
        assert read_record(path) == (b"x" * size, tuple(range(size)), False, True)
    record.forget()
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("at", ["its beginning", "its growth"])
def test_on_a_full_disk_a_connection_is_served_and_no_state_is_left_that_holds_no_more(tmp_path: Path, at: str) -> None:
    path = record_path(str(tmp_path), TOKEN)
    Path(path).write_bytes(b"of an earlier daemon")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        if at == "its beginning":
            resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))
        record = StoredRecord(path, capacity=16)
        record.write(b"one")
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))
        for size in (10, 100, 10_000, 5):
            record.write(b"x" * size)
        record.note_cut(cut=True)
        assert read_record(path) is None
        record.forget()
        assert os.listdir(tmp_path) == []
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.parametrize("damage", [b"", b"sould record", b"x" * 100, b"sould record 1\n\0" + b"\0" * 200])
def test_a_damaged_record_is_none(tmp_path: Path, damage: bytes) -> None:
    path = tmp_path / "c.x"
    path.write_bytes(damage)
    assert read_record(str(path)) is None


def test_what_an_earlier_version_left_is_read(tmp_path: Path) -> None:
    left = (
        b"sould record 1\n\0" + b"\1\0" + b"\0" * 6 + (3).to_bytes(8, "little") + (2).to_bytes(8, "little") + b"\0" * 24
    )
    path = tmp_path / "c.x"
    path.write_bytes(left + b"one." + b"no..")
    assert read_record(str(path)) == (b"no", (), False, False)


def _write_for_ever(path: str) -> None:
    record = StoredRecord(path)
    number = 0
    while True:
        number += 1
        record.write(b"%d " % number * (number % 700), [number << 32 | number] * (number % 7))
        for place in range(number % 7):
            record.mark(place, (number + 1) << 32 | number + 1)


@pytest.mark.long
def test_a_kill_at_any_moment_leaves_one_whole_state(tmp_path: Path) -> None:
    for attempt in range(10):
        path = str(tmp_path / f"c.{attempt}")
        writer = multiprocessing.get_context("spawn").Process(target=_write_for_ever, args=(path,))
        writer.start()
        while not os.path.exists(path) or read_record(path) is None:
            assert writer.is_alive()
        assert writer.pid is not None
        os.kill(writer.pid, signal.SIGKILL)
        writer.join()
        found = read_record(path)
        assert found is not None
        numbers = set(found[0].split())
        assert len(numbers) == 1
        number = int(numbers.pop())
        assert len(found.state.split()) == number % 700
        assert len(found.marks) == number % 7
        whole = {each << 32 | each for each in (number, number + 1)}
        assert whole.issuperset(found.marks)


def test_records_nobody_came_back_for_are_removed_after_a_day(tmp_path: Path) -> None:
    for token, age in ((TOKEN, 100_000), (TOKEN[::-1], 10)):
        path = record_path(str(tmp_path), token)
        StoredRecord(path).close()
        then = os.stat(path).st_mtime - age
        os.utime(path, (then, then))
    (tmp_path / "sock").touch()
    os.utime(tmp_path / "sock", (0, 0))
    sweep_records(str(tmp_path))
    assert sorted(os.listdir(tmp_path)) == sorted([f"c.{TOKEN[::-1]}", "sock"])
