"""Which client serves a file: the one that has it open, focused last; one that cannot say; else the disk (D44)."""

from pathlib import Path

import pytest

from sould.agents.base.diskfile import digest_of
from sould.agents.base.localworkspace import LocalWorkspace
from sould.agents.base.workspace import TextFile
from sould.agents.files.projects.clientfiles import ClientFiles
from sould.agents.files.reviewing.buffers import Buffers
from soultest.bench.tools import no_commands


class Screen(LocalWorkspace):
    """A client that shows one text in every file."""

    def __init__(self, root: Path, text: str) -> None:
        super().__init__(root, (), no_commands)
        self._text = text

    async def read_text(self, path: Path) -> TextFile:
        return TextFile(path, self._text, digest_of(self._text.encode()), unsaved=True)


class Desk:
    """A file on disk, and clients with texts of their own."""

    def __init__(self, root: Path) -> None:
        self.path = root / "a.txt"
        self.path.write_text("on disk")
        self.buffers = Buffers()
        self.files = ClientFiles(LocalWorkspace(root, (), no_commands), self.buffers)
        for client in ("one", "two"):
            self.files.attach(client, Screen(root, f"in {client}"))

    async def text(self) -> str:
        return (await self.files.read_text(self.path)).text


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


async def test_clients_that_cannot_say_what_they_have_open_serve_their_own_turns(desk: Desk) -> None:
    assert await desk.text() == "in two", "the newest, as nobody has asked"
    desk.files.turn_of("one")
    assert await desk.text() == "in one"
    desk.files.detach("one")
    assert await desk.text() == "in two"
    desk.files.detach("two")
    assert await desk.text() == "on disk"


async def test_the_client_that_has_the_file_open_serves_it_the_one_focused_last_first(desk: Desk) -> None:
    desk.files.turn_of("two")
    desk.buffers.opened("one", desk.path)
    assert await desk.text() == "in one"
    desk.buffers.opened("two", desk.path)
    desk.buffers.focused("one")
    assert await desk.text() == "in one"
    desk.buffers.focused("two")
    assert await desk.text() == "in two"
    desk.buffers.closed("two", desk.path)
    assert await desk.text() == "in one"
    desk.buffers.left("one", desk.path.parent)
    assert await desk.text() == "in two"


async def test_unsaved_files_are_those_that_some_client_says_it_changed(desk: Desk) -> None:
    other = desk.path.with_name("b.txt")
    desk.buffers.changed("one", other)
    assert other in await desk.files.unsaved()
    desk.buffers.saved("one", other)
    assert other not in await desk.files.unsaved()
