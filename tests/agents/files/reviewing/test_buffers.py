"""An editor that holds files under review: its undo is no new text, and what is only in it is said to be so."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from sould.agents.base.diskfile import digest_of
from sould.agents.base.localworkspace import LocalWorkspace
from sould.agents.base.workspace import Expected, FileChangedError, JustRead, TextFile
from sould.agents.files.projects.clientfiles import ClientFiles
from sould.agents.files.projects.port import ProjectPort
from sould.agents.files.projects.projects import Projects
from sould.agents.files.projects.sessionfiles import Author, SessionFiles
from sould.agents.files.reviewing.listing import ReviewedHunk, Selection
from sould.agents.files.reviewing.orders import Order
from sould.agents.tools import ToolCallContext
from soultest.bench.tools import no_commands


class Editor(LocalWorkspace):
    """Holds one file, and reports what its user does."""

    port: ProjectPort
    path: Path
    text: str
    dirty = False

    def show(self, port: ProjectPort, path: Path) -> None:
        """Open the file."""
        self.port, self.path, self.text = port, path, path.read_text()
        port.documents.serve(self)
        port.documents.open(path)

    def type(self, text: str) -> None:
        """The user leaves the buffer like this, unsaved."""
        self.text, self.dirty = text, True
        self.port.documents.change(self.path, text)

    async def read_text(self, path: Path) -> TextFile:
        """Of the buffer."""
        return TextFile(path, self.text, digest_of(self.text.encode()), unsaved=self.dirty)

    async def write_text(self, path: Path, text: str, *, expected: Expected) -> TextFile:
        """Into the buffer, and to disk when that was clean."""
        wanted = expected.digest if isinstance(expected, JustRead) else expected
        if wanted != digest_of(self.text.encode()):
            raise FileChangedError("the buffer holds something else")
        if self.dirty:
            self.type(text)
        else:
            self.text = text
            await super().write_text(path, text, expected=expected)
        return TextFile(path, text, digest_of(text.encode()), unsaved=self.dirty)


class Desk:
    """An agent, an editor and one file."""

    def __init__(self, projects: Projects, port: ProjectPort, files: SessionFiles, editor: Editor) -> None:
        self.projects = projects
        self.port = port
        self.files = files
        self.editor = editor

    async def agent(self, text: str) -> TextFile:
        """The agent writes the file."""
        changes = self.files.for_call(ToolCallContext("call", 1, turn_id="T1"))
        found = await self.files.read_text(self.editor.path)
        return await changes.write_text(self.editor.path, text, expected=found.digest)

    async def hunks(self, *, absent: bool = False) -> list[ReviewedHunk]:
        """What there is to review."""
        return [hunk for each in await self.port.pending_now(absent=absent) for hunk in each.hunks]

    async def states(self) -> list[tuple[int, str]]:
        """All hunks there are."""
        return [(each.id, each.state) for each in await self.hunks(absent=True)]

    async def reject(self, number: int) -> None:
        """The user rejects a hunk."""
        outcome = await self.port.review.decide(Order("reject", Selection((number,)), "test"))
        assert [each.id for each in outcome.done] == [number]


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    root, own = tmp_path / "project", tmp_path / "session"
    for place in (root, own):
        place.mkdir()
    (root / "a.txt").write_text("a\nb\nc\n")
    projects = Projects(tmp_path / "state")
    disk = LocalWorkspace(root, (), no_commands)
    clients = ClientFiles(disk, projects.buffers)
    files = await SessionFiles.open(disk, projects, Author("S1", own, tmp_path), clients)
    editor = Editor(root, (), no_commands)
    async with ProjectPort.opened(projects, root, tmp_path, "editor") as port:
        clients.attach("editor", editor)
        editor.show(port, root / "a.txt")
        yield Desk(projects, port, files, editor)
    await files.aclose()


async def test_an_editors_undo_of_a_reject_and_its_redo(desk: Desk) -> None:
    await desk.agent("a\nB\nc\n")
    [hunk] = await desk.hunks()
    await desk.reject(hunk.id)
    assert desk.editor.text == "a\nb\nc\n"

    desk.editor.type("a\nB\nc\n")

    assert await desk.states() == [(hunk.id, "pending")]
    assert await desk.port.review.base(str(desk.editor.path)) == "a\nb\nc\n"
    desk.editor.type("a\nb\nc\n")
    assert await desk.states() == []
    assert await desk.port.review.base(str(desk.editor.path)) == "a\nb\nc\n"


async def test_an_editors_undo_of_the_agents_change_and_its_redo(desk: Desk) -> None:
    await desk.agent("a\nB\nc\n")
    [hunk] = await desk.hunks()

    desk.editor.type("a\nb\nc\n")

    assert await desk.states() == [(hunk.id, "absent")]
    desk.editor.type("a\nB\nc\n")
    assert await desk.states() == [(hunk.id, "pending")]


async def test_what_is_only_in_an_editor_is_absent_when_that_is_killed(desk: Desk) -> None:
    desk.editor.type("a\nb\nc\nu\n")

    written = await desk.agent("a\nB\nc\nu\n")

    assert written.unsaved
    assert desk.editor.path.read_text() == "a\nb\nc\n"
    [file] = await desk.port.pending_now()
    [hunk] = file.hunks
    assert (file.unsaved, hunk.base, hunk.texts) == (True, ("b\n",), ("B\n",))
    desk.port.documents.leave()
    assert await desk.states() == [(hunk.id, "absent")]
    assert await desk.port.review.base(str(desk.editor.path)) == "a\nb\nc\n"


async def test_what_is_only_in_an_editor_is_pending_still_when_a_command_or_git_moves_the_disk(desk: Desk) -> None:
    desk.editor.type("a\nb\nc\nu\n")
    await desk.agent("a\nB\nc\nu\n")
    [hunk] = await desk.hunks()

    desk.editor.path.write_text("other\n")

    assert await desk.hunks() == [hunk]
    assert desk.editor.text == "a\nB\nc\nu\n"


async def test_of_two_editors_with_a_file_the_one_with_unsaved_text_is_written_to(desk: Desk) -> None:
    await desk.agent("a\nB\nc\n")
    [hunk] = await desk.hunks()
    desk.editor.type("a\nB\nc\nu\n")
    other = Editor(desk.editor.path.parent, (), no_commands)
    async with ProjectPort.opened(desk.projects, desk.editor.path.parent, desk.editor.path.parent, "other") as port:
        other.show(port, desk.editor.path)  # opened last, so looked at last

        await desk.reject(hunk.id)

    assert (desk.editor.text, other.text) == ("a\nb\nc\nu\n", "a\nB\nc\n")
    assert desk.editor.path.read_text() == "a\nB\nc\n"
