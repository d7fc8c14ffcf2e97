"""The files: every text is saved before it is overwritten, attributed, and survives the process."""

import asyncio
import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sould.agents.base.diskfile import digest_of
from sould.agents.base.errors import ProjectOpenElsewhereError
from sould.agents.base.localworkspace import LocalWorkspace
from sould.agents.base.workspace import FileChangedError, TextFile, WorkspaceError
from sould.agents.files.edits.blobs import BlobMissingError, BlobStore
from sould.agents.files.edits.editlog import EditLogFile, Intent, Settled
from sould.agents.files.edits.logkeeping import LOG
from sould.agents.files.edits.project import Project
from sould.agents.files.edits.sessionlogs import OLD_LOG
from sould.agents.files.edits.state import LoggedEdit
from sould.agents.files.projects.projects import Projects
from sould.agents.files.projects.sessionfiles import Author, SessionFiles
from sould.agents.tools import ToolCallContext
from soultest.bench.tools import no_commands
from soultest.gitinit import git_init
from soultest.luck import examples


class Desk:
    """A directory with sessions that work in it, kept apart from their state."""

    def __init__(self, base: Path) -> None:
        self.root = base / "project"
        self.state = base / "state"
        self.root.mkdir()
        self.state.mkdir()
        self.projects = Projects(self.state)
        self.store = self.projects.store

    async def open(self, session_id: str = "session") -> SessionFiles:
        directory = self.state / "sessions" / session_id
        directory.mkdir(parents=True, exist_ok=True)
        disk = LocalWorkspace(self.root, (), no_commands)
        return await SessionFiles.open(disk, self.projects, Author(session_id, directory, self.state))

    async def log(self) -> Path:
        """The project's log."""
        log_id, _ = await self.projects.borrow(self.root)
        await self.projects.give_back(log_id)
        return self.state / "projects" / log_id / LOG


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def call(number: int, turn: str = "turn") -> ToolCallContext:
    return ToolCallContext(f"call_{number}", 1, turn_id=turn)


async def write(files: SessionFiles, path: Path, text: str, number: int = 1) -> None:
    expected = digest_of(path.read_bytes()) if path.exists() else None
    await files.for_call(call(number)).write_text(path, text, expected=expected)


def changed(files: SessionFiles) -> Mapping[Path, Sequence[LoggedEdit]]:
    """The session's edits of the files that are not as they were, by resolved path."""
    return {path: edits for path, edits in files.projects.edits.items() if edits[0].before != edits[-1].after}


async def text_of(files: SessionFiles, digest: str) -> str:
    return (await files.projects.content(digest)).decode()


texts = st.text(alphabet="ab\r\n\ufeffé", max_size=20)


@pytest.mark.long
@settings(max_examples=examples(40), deadline=None)
@given(st.lists(st.tuples(st.sampled_from(["a", "b/c"]), texts), max_size=8), st.booleans())
def test_every_text_can_be_restored_exactly_from_what_was_saved(writes: list[tuple[str, str]], restart: bool) -> None:
    async def scenario(desk: Desk) -> None:
        files = await desk.open()
        history: dict[Path, list[str | None]] = {}
        for number, (name, text) in enumerate(writes):
            path = desk.root / name
            history.setdefault(path, [path.read_bytes().decode() if path.exists() else None])
            await write(files, path, text, number)
            history[path].append(text)
        if restart:
            await files.aclose()
            files = await desk.open()
        for path, versions in history.items():
            if versions[0] == versions[-1]:
                assert path not in changed(files)
                continue
            edits = changed(files)[path]
            saved = [None if edit.before is None else await text_of(files, edit.before) for edit in edits]
            assert [*saved, await text_of(files, edits[-1].after or "")] == versions
            assert path.read_bytes().decode() == versions[-1]
            assert all(edit.settled for edit in edits)
        await files.aclose()

    with tempfile.TemporaryDirectory() as base:
        asyncio.run(scenario(Desk(Path(base))))


async def test_edits_carry_session_turn_and_call(desk: Desk) -> None:
    files = await desk.open()
    path = desk.root / "a"
    await files.for_call(call(1, "first")).write_text(path, "one", expected=None)
    await files.for_call(call(2, "second")).write_text(path, "two", expected=digest_of(b"one"))
    await files.aclose()
    again = await desk.open()
    edits = changed(again)[path]
    assert [(edit.session_id, edit.turn_id, edit.call_id) for edit in edits] == [
        ("session", "first", "call_1"),
        ("session", "second", "call_2"),
    ]
    assert (edits[0].before, await text_of(again, edits[-1].after or "")) == (None, "two")
    await again.aclose()


async def test_what_somebody_else_wrote_in_between_is_saved_too(desk: Desk) -> None:
    files = await desk.open()
    path = desk.root / "a"
    await write(files, path, "agent 1")
    path.write_text("agent 1, and the user")
    await write(files, path, "agent 2")
    edits = changed(files)[path]
    assert edits[1].before != edits[0].after
    assert edits[1].before is not None
    assert await text_of(files, edits[1].before) == "agent 1, and the user"
    await files.aclose()


async def test_a_refused_write_leaves_no_trace(desk: Desk) -> None:
    files = await desk.open()
    path = desk.root / "a"
    path.write_text("old")
    with pytest.raises(FileChangedError):
        await files.write_text(path, "new", expected=digest_of(b"older"))
    with pytest.raises(FileChangedError):
        await files.write_text(path, "new", expected=None)
    assert changed(files) == {}
    assert path.read_text() == "old"
    await files.aclose()
    again = await desk.open()
    assert changed(again) == {}
    await again.aclose()


async def test_nothing_is_written_when_the_old_text_cannot_be_saved(desk: Desk) -> None:
    files = await desk.open()
    path = desk.root / "a"
    path.write_text("old")
    blobs = desk.state / "blobs"
    blobs.rmdir()
    blobs.write_text("a file where the store was")
    with pytest.raises(WorkspaceError, match="old text could not be saved"):
        await files.write_text(path, "new", expected=digest_of(b"old"))
    assert path.read_text() == "old"
    assert changed(files) == {}
    await files.aclose()


@pytest.mark.parametrize(("on_disk", "known"), [("old", False), ("new", True), ("third", True)])
async def test_a_write_the_process_died_in_is_settled_by_what_the_file_holds(
    desk: Desk, on_disk: str, known: bool
) -> None:
    path = desk.root / "a"
    old, new = desk.store.put(b"old"), desk.store.put(b"new")
    files = await desk.open()
    await write(files, desk.root / "b", "another")
    await files.aclose()
    file = EditLogFile(await desk.log())
    intent = Intent(
        n=9, path=str(path), before=old, after=new, session_id="session", turn_id="t", call_id="c", timestamp=1.0
    )
    file.append(intent, sync=True)
    file.close()
    path.write_text(on_disk)
    files = await desk.open()
    assert (path in changed(files)) == known
    if known:
        assert await text_of(files, changed(files)[path][0].before or "") == "old"
        assert changed(files)[path][0].settled == (on_disk == "new")
    await files.aclose()


async def test_a_torn_last_line_is_cut_off_and_the_rest_kept(desk: Desk) -> None:
    files = await desk.open()
    await write(files, desk.root / "a", "one")
    await files.aclose()
    journal = await desk.log()
    journal.write_bytes(b"damaged\n" + journal.read_bytes() + b'{"type":"intent","n":')
    again = await desk.open()
    assert set(changed(again)) == {desk.root / "a"}
    await write(again, desk.root / "b", "two")
    await again.aclose()
    assert journal.read_bytes().endswith(b"\n")
    last = await desk.open()
    assert set(changed(last)) == {desk.root / "a", desk.root / "b"}
    await last.aclose()


async def test_one_process_holds_a_log_at_a_time_and_its_sessions_share_it(desk: Desk) -> None:
    one, other = await desk.open("one"), await desk.open("other")
    await write(one, desk.root / "a", "1")
    await write(other, desk.root / "a", "2")
    assert [[edit.n for edit in files.projects.edits[desk.root / "a"]] for files in (one, other)] == [[1], [2]]
    with pytest.raises(
        ProjectOpenElsewhereError, match=rf"edits\.jsonl.*pid {os.getpid()}; stop that process"
    ) as refused:
        await Projects(desk.state).borrow(desk.root)
    assert refused.value.kind == "project_open_elsewhere"
    await one.aclose()
    await other.aclose()
    _, project = await Projects(desk.state).borrow(desk.root)
    assert [edit.session_id for edit in project.edits()[desk.root / "a"]] == ["one", "other"]
    await project.aclose()


async def test_what_earlier_versions_kept_for_a_session_is_taken_over_once(desk: Desk) -> None:
    path = desk.root / "a"
    path.write_text("somebody wrote it since")
    old, new = desk.store.put(b"old"), desk.store.put(b"new")
    for session, source in (("session", "session"), ("fork", "session")):
        directory = desk.state / "sessions" / session
        directory.mkdir(parents=True)
        file = EditLogFile(directory / OLD_LOG)
        intent = Intent(
            n=1, path=str(path), before=old, after=new, session_id=source, turn_id="t", call_id="c", timestamp=1
        )
        file.append(intent, Settled(n=1, written=True), sync=True)
        file.close()
    for _ in range(2):
        for session in ("session", "fork"):
            files = await desk.open(session)
            assert [(edit.session_id, edit.settled) for edit in files.projects.edits[path]] == [("session", True)]
            assert await text_of(files, changed(files)[path][0].before or "") == "old"
            await files.aclose()
    assert (await desk.log()).read_text().count('"type":"intent"') == 1


async def test_a_directory_that_was_moved_keeps_its_log(desk: Desk) -> None:
    files = await desk.open()
    await write(files, desk.root / "a", "1")
    await files.aclose()
    desk.root = desk.root.rename(desk.root.with_name("moved"))
    files = await desk.open()
    await write(files, desk.root / "a", "2")
    assert [edit.n for edit in files.projects.edits[desk.root / "a"]] == [1, 2]
    await files.aclose()


async def test_a_file_outside_belongs_to_the_project_around_it(desk: Desk) -> None:
    other = git_init(desk.root.with_name("other"))
    files = await desk.open()
    await write(files, other / "sub" / "a", "1")
    await files.aclose()
    log_id, project = await desk.projects.borrow(other)
    assert other / "sub" / "a" in project.edits()
    await desk.projects.give_back(log_id)
    files = await desk.open()
    assert set(changed(files)) == {other / "sub" / "a", other / "sub"}
    await files.aclose()


@pytest.mark.long
@settings(max_examples=examples(60), deadline=None)
@given(st.lists(st.sampled_from(["a", "b"]), min_size=1, max_size=5), st.floats(0, 1))
def test_a_log_that_ends_anywhere_opens_with_all_that_is_whole(names: list[str], part: float) -> None:
    """`kill -9` at any byte: what was settled by the disk or the log is known, and the next edit has a number of its own."""

    async def scenario(desk: Desk) -> None:
        files = await desk.open()
        for number, name in enumerate(names):
            await write(files, desk.root / name, f"{name} {number}", number)
        await files.aclose()
        log = await desk.log()
        whole = log.read_bytes()
        kept = whole[: round(part * len(whole))]
        log.write_bytes(kept)
        project = await Project.open(log.parent, desk.root, desk.store)
        known = {edit.n: edit for edits in project.edits().values() for edit in edits}
        announced = [line for line in kept.split(b"\n")[:-1] if b'"intent"' in line]
        assert sorted(known) == list(range(1, len(announced) + 1))
        for n, edit in known.items():
            assert (await project.content(edit.after or "")).decode() == f"{names[n - 1]} {n - 1}"
        await project.aclose()
        files = await desk.open()
        await write(files, desk.root / "a", "next", 99)
        assert files.projects.edits[desk.root / "a"][-1].n > len(known)
        await files.aclose()

    with tempfile.TemporaryDirectory() as base:
        asyncio.run(scenario(Desk(Path(base))))


async def test_writes_to_one_file_at_the_same_time_are_one_edit_and_one_refusal(desk: Desk) -> None:
    files = await desk.open()
    path = desk.root / "a"
    path.write_text("old")
    digest = digest_of(b"old")
    results = await asyncio.gather(
        *(files.write_text(path, f"new {number}", expected=digest) for number in range(4)), return_exceptions=True
    )
    assert [type(result) for result in results] == [TextFile, FileChangedError, FileChangedError, FileChangedError]
    assert len(changed(files)[path]) == 1
    await files.aclose()


def test_a_blob_is_stored_once_privately_and_verified(tmp_path: Path) -> None:
    store = BlobStore(tmp_path / "blobs")
    digest = store.put(b"text")
    assert store.put(b"text") == digest
    files = [path for path in (tmp_path / "blobs").rglob("*") if path.is_file()]
    assert len(files) == 1
    assert files[0].stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "blobs").stat().st_mode & 0o777 == 0o700
    files[0].write_bytes(b"tixt")
    with pytest.raises(BlobMissingError, match="damaged"):
        store.get(digest)
    store.put(b"text")
    assert store.get(digest) == b"text"
    with pytest.raises(BlobMissingError, match="missing"):
        store.get("0" * 64)
