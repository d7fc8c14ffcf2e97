"""What a look says of a directory: every file that is not as it was with what it held, and no other; by watching, too."""

import mmap
import os
import shutil
import subprocess
import tempfile
import threading
from collections import Counter
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sould.agents.base.config import CaptureLimits
from sould.agents.files.directories.copying import PreimageStore
from sould.agents.files.directories.directory import QUICK, Directory
from sould.agents.files.directories.folders import FileVersion
from sould.agents.files.directories.gitfiles import GitFiles
from sould.agents.files.directories.refs import DIRECTORY, UNKEPT, is_kept
from sould.agents.files.directories.secretblobs import SecretJudge
from sould.agents.files.directories.watching import Watches
from soultest.luck import examples

NAMES = ["a", "b c", "line\nbreak", "ümlaut", os.fsdecode(b"not text \xff")]
MUCH = 1 << 30
"""Bytes: room for every copy."""
PATHS = [*NAMES, *(f"deep/er/{name}" for name in NAMES), "deep", "deep/er", "else/where"]
KINDS = ["write", "folder", "delete", "append", "link", "move", "replace"]
steps = st.tuples(st.sampled_from(PATHS), st.sampled_from(KINDS), st.integers(0, 999), st.sampled_from(PATHS))
rounds = st.lists(st.lists(steps), min_size=1, max_size=5)
in_place = st.tuples(
    st.sampled_from(PATHS),
    st.sampled_from(["write", "folder", "delete", "append", "link"]),
    st.integers(0, 999),
    st.just("a"),
)


@dataclass
class Judge:
    """Says of nothing that it is a secret, and counts how often it was asked."""

    asked: Counter[Path] = field(default_factory=Counter[Path])

    def secret_in(self, path: Path, *contents: bytes) -> str:
        self.asked[path] += 1
        return ""


@contextmanager
def looking(
    root: Path,
    *,
    watches: Watches | None = None,
    path: str = "",
    quick: float = QUICK,
    secrets: SecretJudge | None = None,
    most: int = 1 << 20,
    limits: CaptureLimits | None = None,
) -> Generator[Directory]:
    """A directory that is looked at, with `path` as the PATH on which git may be; by a program, if it is not `quick`."""
    with tempfile.TemporaryDirectory(prefix="sould-look-") as scratch:
        store, git = PreimageStore(Path(scratch), most), GitFiles(root, {"PATH": path or scratch})
        directory = Directory(root, git, store, limits or CaptureLimits(), (), secrets, watches or Watches(), quick)
        try:
            yield directory
        finally:
            directory.close()
            store.close()


@settings(max_examples=examples(60), deadline=None)
@given(rounds)
def test_a_look_finds_what_changed_and_knows_what_it_was(chosen: list[list[tuple[str, str, int, str]]]) -> None:
    compare(chosen, Watches(), QUICK)


@pytest.mark.long
@settings(max_examples=examples(5), deadline=None)
@given(rounds, st.sampled_from([0, 3, 1000]))
def test_a_program_looks_alike_watched_or_not(chosen: list[list[tuple[str, str, int, str]]], most: int) -> None:
    """`most`: folders; with more of them it is as on systems where nothing can be watched."""
    compare(chosen, Watches(most), 0.0)


@settings(max_examples=examples(15), deadline=None)
@given(rounds)
def test_looking_where_nothing_can_be_watched_finds_the_same(chosen: list[list[tuple[str, str, int, str]]]) -> None:
    compare(chosen, Watches(0), QUICK)


def compare(chosen: list[list[tuple[str, str, int, str]]], watches: Watches, quick: float) -> None:
    """Two sessions share the watching; the second one looks less often."""
    with tempfile.TemporaryDirectory(prefix="sould-looked-") as scratch:
        root = Path(scratch, "project")
        root.mkdir()
        with (
            looking(root, watches=watches, quick=quick) as first,
            looking(root, watches=watches, quick=quick) as second,
        ):
            seen = {id(each): known(each) for each in (first, second)}
            for number, changes in enumerate(chosen):
                for path, kind, value, other in changes:
                    change(root / path, kind, value, root / other)
                for directory in (first, second)[: 1 + number % 2]:
                    seen[id(directory)] = check(directory, seen[id(directory)])


@pytest.mark.long
@settings(max_examples=examples(8), deadline=None)
@given(st.lists(in_place, max_size=6), st.lists(steps, max_size=4), st.booleans())
def test_what_calls_do_while_everything_is_looked_at_is_found(
    during: list[tuple[str, str, int, str]], later: list[tuple[str, str, int, str]], watched: bool
) -> None:
    with tempfile.TemporaryDirectory(prefix="sould-late-") as scratch:
        root = Path(scratch, "project")
        for path in ("a", "b c", "deep/er/a", NAMES[-1]):
            change(root / path, "write", 0, root)
        with looking(root, watches=Watches(1000 if watched else 0), quick=0.0) as directory:
            assert directory.update(patience=0.0) == []
            directory.calls_run()
            before = held(root)
            for path, kind, value, other in during:
                change(root / path, kind, value, root / other)
            found = directory.catch_up(patience=60.0) + directory.update()
            now = held(root)
            made = {path for path in now if now[path] != before.get(path) and now[path] != DIRECTORY}
            assert made <= {each.path for each in found}
            for each in found:
                if each.sure and (each.before is None or is_kept(each.before.ref)):
                    assert content(directory, each.before) == before.get(each.path)
            directory.calls_ended()
            while directory.uncopied:
                directory.copy_some(1.0)
            for path, kind, value, other in later:
                change(root / path, kind, value, root / other)
            check(directory, now)


@settings(max_examples=examples(25), deadline=None)
@given(st.lists(steps, min_size=1, max_size=12), st.lists(steps, min_size=1, max_size=12), st.booleans())
def test_what_the_user_changes_while_a_program_runs_is_found_with_it(
    program: list[tuple[str, str, int, str]], user: list[tuple[str, str, int, str]], watched: bool
) -> None:
    """Both change the same files, in any order, and looks go on meanwhile: what they find one after another leaves nothing out."""
    with tempfile.TemporaryDirectory(prefix="sould-both-") as scratch:
        root = Path(scratch, "project")
        for path in ("a", "b c", "deep/er/a", "else/where"):
            change(root / path, "write", 0, root)
        with (
            looking(root, watches=Watches(1000 if watched else 0)) as often,
            looking(root, watches=Watches(0)) as walking,
        ):
            before = known(often)
            assert known(walking) == before
            told = dict(before)
            with at_once(lambda: meddle(root, program), lambda: meddle(root, user)) as writers:
                while any(writer.is_alive() for writer in writers):
                    follow(often, told)
            follow(often, told)
            assert told == held(root)
            assert often.update() == []
            check(walking, before)


@contextmanager
def at_once(*writers: Callable[[], None]) -> Generator[list[threading.Thread]]:
    """They run from the same moment on, in threads; none does when the block has been left."""
    start = threading.Barrier(len(writers))

    def run(writer: Callable[[], None]) -> None:
        start.wait()
        writer()

    threads = [threading.Thread(target=run, args=(writer,)) for writer in writers]
    for thread in threads:
        thread.start()
    try:
        yield threads
    finally:
        for thread in threads:
            thread.join()


def meddle(root: Path, changes: list[tuple[str, str, int, str]]) -> None:
    """Change things in a place where somebody else does, too."""
    for path, kind, value, other in changes:
        with suppress(OSError, shutil.Error):  # the other one was there first
            change(root / path, kind, value, root / other)


def follow(directory: Directory, told: dict[str, bytes | str]) -> None:
    """Look, and do in `told` what the look says; each difference begins with what was told last."""
    for each in directory.update():
        before, after = content(directory, each.before), content(directory, each.after)
        assert before == told.get(each.path)
        if after is None:
            told.pop(each.path, None)
        else:
            told[each.path] = after


def known(directory: Directory) -> dict[str, bytes | str]:
    """The first look finds nothing that is new."""
    assert directory.update() == []
    return held(directory.root)


def check(directory: Directory, before: dict[str, bytes | str]) -> dict[str, bytes | str]:
    """A look finds what is not as it was, and nothing a second time."""
    found = {each.path: each for each in directory.update()}
    after = held(directory.root)
    assert found.keys() == {path for path in before | after if before.get(path) != after.get(path)}
    for path, each in found.items():
        assert content(directory, each.before) == before.get(path)
        assert content(directory, each.after) == after.get(path)
    assert directory.update() == []
    return after


def test_a_queue_that_ran_over_is_no_loss(tmp_path: Path) -> None:
    most = int(Path("/proc/sys/fs/inotify/max_queued_events").read_text())
    (tmp_path / "a").write_text("as it was")
    with looking(tmp_path) as directory:
        before = known(directory)
        for number in range(most // 2 + 100):  # two events each that do not fold into one
            (tmp_path / f"{number % 7}").touch()
            (tmp_path / f"{number % 7}").unlink()
        (tmp_path / "a").write_text("afterwards")
        check(directory, before)


def test_a_write_through_a_memory_map_is_found_in_files_that_changed_before(tmp_path: Path) -> None:
    file = tmp_path / "data"
    with looking(tmp_path) as directory:
        directory.update(told=False)
        file.write_bytes(b"0" * 4096)
        assert paths(directory) == ["data"]
        with file.open("r+b") as opened:
            mapped = mmap.mmap(opened.fileno(), 0)
        directory.update()  # opening it for writing and closing it is reported
        mapped[:4] = b"late"
        mapped.flush()
        assert paths(directory) == ["data"]
        mapped.close()


def test_a_write_through_a_memory_map_to_a_file_that_was_touched_before_is_found(tmp_path: Path) -> None:
    file = tmp_path / "data"
    file.write_bytes(b"0" * 4096)
    with looking(tmp_path) as directory, file.open("r+b") as opened, mmap.mmap(opened.fileno(), 0) as mapped:
        directory.update()
        mapped[:4] = b"late"
        mapped.flush()
        assert paths(directory) == []  # nothing reports it
        [found] = directory.update(touched=["data", "gone"])
        assert content(directory, found.before) == b"0" * 4096
        assert content(directory, found.after) == b"late" + b"0" * 4092


@pytest.fixture
def roomy(tmp_path: Path) -> Generator[Path]:
    """A place where many files are made in a moment, also when the disk is busy."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else tmp_path) as directory:
        yield Path(directory)


@pytest.mark.long
@pytest.mark.parametrize("share", [0.6, 1.5])
def test_a_program_that_writes_much_while_nobody_reads_leaves_nothing_out(roomy: Path, share: float) -> None:
    """`share`: of what the kernel's queue holds."""
    root, limits = roomy / "root", CaptureLimits(look_s=60.0, copy_s=60.0)
    fill(root)
    with (
        looking(root, most=MUCH, limits=limits) as directory,
        looking(root, watches=Watches(0), most=MUCH, limits=limits) as walking,
    ):
        before = known(directory)
        assert known(walking) == before
        kernel = Watches().join(root)
        assert kernel is not None
        for folder in ("", *(path for path, what in before.items() if what == DIRECTORY)):
            kernel.enter(folder)
        kernel.take()
        churn(root, share)
        change(root / "19", "move", 0, root / "came")
        change(root / "came" / "late", "write", 1, root)
        change(root / "18", "replace", 1, root)
        assert (kernel.take() is None) == (share > 1), "the queue ran over"
        kernel.leave()
        assert check(directory, before) == check(walking, before)


@pytest.mark.long
@pytest.mark.parametrize("share", [0.6, 1.5])
def test_a_program_that_writes_much_while_everything_is_looked_at_and_nobody_reads_is_found(
    roomy: Path, share: float
) -> None:
    root, limits = roomy / "root", CaptureLimits(look_s=60.0, copy_s=60.0)
    fill(root)
    with looking(root, quick=0.0, most=MUCH, limits=limits) as directory:
        assert directory.update(patience=0.0) == []
        directory.calls_run()
        before = held(root)
        churn(root, share)
        found = {each.path for each in (*directory.catch_up(patience=60.0), *directory.update())}
        now = held(root)
        assert {path for path, what in now.items() if what not in (before.get(path), DIRECTORY)} <= found
        directory.calls_ended()
        (root / "1" / "later").write_text("later")
        check(directory, now)


def fill(root: Path) -> None:
    for number in range(200):
        change(root / f"{number % 20}" / f"old {number}", "write", number, root)


def churn(root: Path, share: float) -> None:
    """Make, change, rename and delete files, four events and some for each number, in folders old and new."""
    most = int(Path("/proc/sys/fs/inotify/max_queued_events").read_text())
    for number in range(int(most * share / 4)):
        file = root / f"{number % 20}" / f"new {number}"
        file.write_text(str(number))
        if number % 3 == 0:
            change(file, "append", number, root)
        if number % 5 == 0:
            change(file, "move", 0, root / f"{number % 7}" / f"moved {number}")
        if number % 7 == 0:
            remove(file)
    for number in range(0, 200, 3):
        remove(root / f"{number % 20}" / f"old {number}")


@pytest.mark.long
def test_fifty_thousand_files_are_known_one_by_one(roomy: Path) -> None:
    root = roomy / "root"
    for folder in range(500):
        (root / f"{folder}").mkdir(parents=True)
        for name in range(100):
            os.close(os.open(f"{root}/{folder}/{name}", os.O_CREAT | os.O_WRONLY))
    with looking(root) as directory:
        assert directory.update(patience=0.0) == []
        directory.catch_up(patience=60.0)
        assert directory.update() == []
        while directory.uncopied:
            directory.copy_some(1.0)
        (root / "7" / "7").write_text("changed")
        shutil.rmtree(root / "8")
        (root / "9").rename(root / "moved")
        gone = {"8", "9", *(f"{folder}/{name}" for folder in (8, 9) for name in range(100))}
        found = {each.path: each for each in directory.update()}
        assert found.keys() == gone | {"7/7", "moved", *(f"moved/{name}" for name in range(100))}
        assert content(directory, found["8/1"].before) == b""
        assert content(directory, found["7/7"].after) == b"changed"


def test_what_could_not_be_kept_is_not_read_again_until_it_changes(tmp_path: Path) -> None:
    file, judge = tmp_path / "data", Judge()
    file.write_text("as it was")
    os.utime(file, (1, 1))
    with looking(tmp_path, secrets=judge, most=4) as directory:
        directory.update()
        once = -1
        while judge.asked[file] != once:  # as long as it is new it may change without its times telling
            once = judge.asked[file]
            (tmp_path / "other").write_text(f"{once}")
            directory.update()
        file.write_text("more")
        directory.update()
        assert judge.asked[file] > once


def test_contents_of_no_use_any_more_make_room_for_others(tmp_path: Path) -> None:
    store = PreimageStore(tmp_path, 3000)
    first, second = store.put(b"1" * 1000), store.put(b"2" * 1000)
    assert store.put(b"1" * 1000, like=first) == first
    assert store.put(b"3" * 1500) == UNKEPT
    store.free([first])
    third = store.put(b"3" * 1010)
    assert (store.get(second), store.get(third)) == (b"2" * 1000, b"3" * 1010)
    store.close()


@pytest.mark.parametrize("back", [True, False])
def test_a_root_that_moves_is_looked_at_whole(tmp_path: Path, back: bool) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (root / "a").write_text("a")
    with looking(root) as directory:
        before = known(directory)
        for name in ("a", "c"):  # what changed last is looked at in any case, so that it is others that tell
            (root / name).unlink(missing_ok=True)
        before = check(directory, before)
        root.rename(tmp_path / "aside")
        if back:
            (tmp_path / "aside").rename(root)
        else:
            root.mkdir()
            (root / "other").write_text("other")
        (root / "b").write_text("b")
        check(directory, before)


def paths(directory: Directory) -> list[str]:
    return sorted(each.path for each in directory.update())


def git(at: Path, *arguments: str) -> None:
    subprocess.run(["git", *arguments], cwd=at, check=True)


def change(path: Path, kind: str, number: int, other: Path) -> None:
    """As far as it can be done there."""
    if any(parent.is_file() or parent.is_symlink() for parent in (*path.parents, *other.parents)):
        return
    match kind:
        case "append" if path.is_file() and not path.is_symlink():
            with path.open("a") as file:
                file.write(str(number))
            return
        case "move" if os.path.lexists(path) and not other.is_relative_to(path) and not path.is_relative_to(other):
            remove(other)
            other.parent.mkdir(parents=True, exist_ok=True)
            path.rename(other)
            return
        case "move" | "append":
            return
        case "replace" if path.is_dir():
            shutil.copytree(path, path.with_name("copy"), symlinks=True)
            remove(path)
            path.with_name("copy").rename(path)
            (path / "more").write_text(str(number))
            return
        case _:
            remove(path)
    if kind == "delete":
        return
    (path if kind == "folder" else path.parent).mkdir(parents=True, exist_ok=True)
    if kind == "link":
        path.symlink_to(f"nowhere/{number}")
    elif kind in ("write", "replace"):
        path.write_text(str(number))


def remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def held(root: Path) -> dict[str, bytes | str]:
    """By relative path."""
    return {str(path.relative_to(root)): _held(path) for path in root.rglob("*")}


def _held(path: Path) -> bytes | str:
    if path.is_symlink():
        return os.fsencode(os.readlink(path))
    return path.read_bytes() if path.is_file() else DIRECTORY


def content(directory: Directory, what: FileVersion | None) -> bytes | str | None:
    """What the look says that was, or is, in a place; UNKEPT: something that could not be read."""
    if what is None or what.ref in (DIRECTORY, UNKEPT):
        return what.ref if what else None
    return directory.contents([what])[what.ref]
