"""The ledger: every text is saved before it is overwritten, attributed, and survives the process."""

import asyncio
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sould.agents.diskfile import digest_of
from sould.agents.localworkspace import LocalWorkspace
from sould.agents.projects.blobs import BlobMissingError, BlobStore
from sould.agents.projects.journal import Intent, LedgerFile
from sould.agents.projects.ledger import Ledger
from sould.agents.tools import ToolCallContext
from sould.agents.workspace import FileChangedError, TextFile, WorkspaceError
from soultest.bench.tools import no_commands


class Project:
    """A directory with a ledger over it, kept apart from its state."""

    def __init__(self, base: Path) -> None:
        self.root = base / "project"
        self.state = base / "state"
        self.root.mkdir()
        self.state.mkdir()
        self.store = BlobStore(self.state / "blobs")

    async def open(self) -> Ledger:
        disk = LocalWorkspace(self.root, (), no_commands)
        return await Ledger.open(self.state / "review.jsonl", disk, self.store, "session")


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


def call(number: int, turn: str = "turn") -> ToolCallContext:
    return ToolCallContext(f"call_{number}", 1, turn_id=turn)


async def write(ledger: Ledger, path: Path, text: str, number: int = 1) -> None:
    expected = digest_of(path.read_bytes()) if path.exists() else None
    await ledger.for_call(call(number)).write_text(path, text, expected=expected)


texts = st.text(alphabet="ab\r\n\ufeffé", max_size=20)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(["a", "b/c"]), texts), max_size=8), st.booleans())
def test_every_text_can_be_restored_exactly_from_what_was_saved(writes: list[tuple[str, str]], restart: bool) -> None:
    async def scenario(project: Project) -> None:
        ledger = await project.open()
        history: dict[Path, list[str | None]] = {}
        for number, (name, text) in enumerate(writes):
            path = project.root / name
            history.setdefault(path, [path.read_bytes().decode() if path.exists() else None])
            await write(ledger, path, text, number)
            history[path].append(text)
        if restart:
            await ledger.aclose()
            ledger = await project.open()
        for path, versions in history.items():
            if versions[0] == versions[-1]:
                assert path not in ledger.changes
                continue
            change = ledger.changes[path]
            saved = [None if edit.before is None else await ledger.text(edit.before) for edit in change.edits]
            assert [*saved, await ledger.text(change.current or "")] == versions
            assert path.read_bytes().decode() == versions[-1]
            assert all(edit.settled for edit in change.edits)
        await ledger.aclose()

    with tempfile.TemporaryDirectory() as base:
        asyncio.run(scenario(Project(Path(base))))


async def test_edits_carry_session_turn_and_call(project: Project) -> None:
    ledger = await project.open()
    path = project.root / "a"
    await ledger.for_call(call(1, "first")).write_text(path, "one", expected=None)
    await ledger.for_call(call(2, "second")).write_text(path, "two", expected=digest_of(b"one"))
    await ledger.aclose()
    again = await project.open()
    change = again.changes[path]
    assert [(edit.session_id, edit.turn_id, edit.call_id) for edit in change.edits] == [
        ("session", "first", "call_1"),
        ("session", "second", "call_2"),
    ]
    assert (change.base, await again.text(change.current or "")) == (None, "two")
    await again.aclose()


async def test_what_somebody_else_wrote_in_between_is_saved_too(project: Project) -> None:
    ledger = await project.open()
    path = project.root / "a"
    await write(ledger, path, "agent 1")
    path.write_text("agent 1, and the user")
    await write(ledger, path, "agent 2")
    edits = ledger.changes[path].edits
    assert edits[1].before != edits[0].after
    assert edits[1].before is not None
    assert await ledger.text(edits[1].before) == "agent 1, and the user"
    await ledger.aclose()


async def test_a_refused_write_leaves_no_trace(project: Project) -> None:
    ledger = await project.open()
    path = project.root / "a"
    path.write_text("old")
    with pytest.raises(FileChangedError):
        await ledger.write_text(path, "new", expected=digest_of(b"older"))
    with pytest.raises(FileChangedError):
        await ledger.write_text(path, "new", expected=None)
    assert ledger.changes == {}
    assert path.read_text() == "old"
    await ledger.aclose()
    again = await project.open()
    assert again.changes == {}
    await again.aclose()


async def test_nothing_is_written_when_the_old_text_cannot_be_saved(project: Project) -> None:
    ledger = await project.open()
    path = project.root / "a"
    path.write_text("old")
    blobs = project.state / "blobs"
    blobs.rmdir()
    blobs.write_text("a file where the store was")
    with pytest.raises(WorkspaceError, match="old text could not be saved"):
        await ledger.write_text(path, "new", expected=digest_of(b"old"))
    assert path.read_text() == "old"
    assert ledger.changes == {}
    await ledger.aclose()


@pytest.mark.parametrize(("on_disk", "known"), [("old", False), ("new", True), ("third", True)])
async def test_a_write_the_process_died_in_is_settled_by_what_the_file_holds(
    project: Project, on_disk: str, known: bool
) -> None:
    path = project.root / "a"
    old, new = project.store.put(b"old"), project.store.put(b"new")
    file = LedgerFile(project.state / "review.jsonl")
    intent = Intent(
        n=1, path=str(path), before=old, after=new, session_id="session", turn_id="t", call_id="c", timestamp=1.0
    )
    file.append(intent, sync=True)
    file.close()
    path.write_text(on_disk)
    ledger = await project.open()
    assert (path in ledger.changes) == known
    if known:
        assert await ledger.text(ledger.changes[path].base or "") == "old"
        assert ledger.changes[path].edits[0].settled == (on_disk == "new")
    await ledger.aclose()


async def test_a_torn_last_line_is_cut_off_and_the_rest_kept(project: Project) -> None:
    ledger = await project.open()
    await write(ledger, project.root / "a", "one")
    await ledger.aclose()
    journal = project.state / "review.jsonl"
    journal.write_bytes(b"damaged\n" + journal.read_bytes() + b'{"type":"intent","n":')
    again = await project.open()
    assert set(again.changes) == {project.root / "a"}
    await write(again, project.root / "b", "two")
    await again.aclose()
    assert journal.read_bytes().endswith(b"\n")
    last = await project.open()
    assert set(last.changes) == {project.root / "a", project.root / "b"}
    await last.aclose()


async def test_one_process_holds_the_ledger_at_a_time(project: Project) -> None:
    ledger = await project.open()
    with pytest.raises(BlockingIOError):
        await project.open()
    await ledger.aclose()


async def test_writes_to_one_file_at_the_same_time_are_one_edit_and_one_refusal(project: Project) -> None:
    ledger = await project.open()
    path = project.root / "a"
    path.write_text("old")
    digest = digest_of(b"old")
    results = await asyncio.gather(
        *(ledger.write_text(path, f"new {number}", expected=digest) for number in range(4)), return_exceptions=True
    )
    assert [type(result) for result in results] == [TextFile, FileChangedError, FileChangedError, FileChangedError]
    assert len(ledger.changes[path].edits) == 1
    await ledger.aclose()


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
