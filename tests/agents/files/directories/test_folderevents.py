"""Whoever wants to be told of folders is, by inotify at once and by watchfiles a little later; both miss nothing that they could see."""

import asyncio
import shutil
import sys
from collections.abc import AsyncIterator, Callable, Collection
from contextlib import suppress
from pathlib import Path

import pytest

from sould.agents.files.directories import rareevents
from sould.agents.files.directories.folderevents import FolderEvents
from sould.agents.files.directories.rareevents import WatchfilesEvents
from soultest.streams import until
from soultest.watchers import STEP, WATCHERS


class Listener:
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.told: set[tuple[str, str]] = set()
        self.was_lost = False
        self._news = asyncio.Event()

    def happened(self, folder: str, name: str) -> None:
        self.told.add((folder, name))

    def burst_over(self) -> None:
        self._news.set()

    def lost(self) -> None:
        self.was_lost = True

    async def until(self, holds: Callable[[], bool]) -> None:
        """Something is told that makes this true."""
        async with asyncio.timeout(30):
            while not holds():
                self._news.clear()
                await self._news.wait()

    async def hears(self, folder: Path, name: str) -> None:
        """It is told of this entry."""
        await self.until(lambda: (str(folder), name) in self.told)


class Told:
    """Events of one kind, and those who listen to them."""

    def __init__(self, events: FolderEvents) -> None:
        self.events = events
        self.listeners: list[Listener] = []

    async def listener(self, *folders: Path) -> Listener:
        """One that is told of these by now, and has heard of nothing yet."""
        made = Listener()
        self.listeners.append(made)
        self.listen(made, *folders)
        if isinstance(self.events, WatchfilesEvents):  # which says that it knows nothing of what was before
            await made.until(lambda: made.was_lost)
        made.told.clear()
        made.was_lost = False
        return made

    def listen(self, listener: Listener, *folders: Path) -> None:
        self.events.listen(listener, [*map(str, folders)])


@pytest.fixture(params=WATCHERS)
async def told(request: pytest.FixtureRequest) -> AsyncIterator[Told]:
    made = Told(request.param())
    yield made
    for listener in made.listeners:
        made.events.listen(listener, ())


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "project" / "skills"
    (made / "one").mkdir(parents=True)
    (made / "one" / "SKILL.md").write_text("one")
    return made


def replaced(path: Path) -> None:
    draft = path.with_name("draft")
    draft.write_text("2")
    draft.replace(path)


EDITS: dict[str, Callable[[Path], object]] = {
    "written": lambda path: path.write_text("2"),
    "replaced": replaced,
    "removed": lambda path: path.unlink(),
    "another mode": lambda path: path.chmod(0o622),
    "moved away": lambda path: path.rename(path.with_name("other")),
}


@pytest.mark.parametrize("edit", EDITS)
async def test_every_change_of_an_entry_is_told(edit: str, told: Told, folder: Path) -> None:
    listener = await told.listener(folder / "one")
    EDITS[edit](folder / "one" / "SKILL.md")
    await listener.hears(folder / "one", "SKILL.md")


async def test_what_happens_deeper_or_elsewhere_is_not_told(told: Told, folder: Path) -> None:
    listener, other = await told.listener(folder), await told.listener(folder / "one")
    (folder / "one" / "more").mkdir()
    (folder.parent / "main.c").touch()
    await other.hears(folder / "one", "more")
    (folder / "last").touch()
    await listener.hears(folder, "last")
    assert {name for _, name in listener.told} == {"last"}


async def test_each_listener_is_told_of_its_own_folders(told: Told, folder: Path) -> None:
    one, both = await told.listener(folder), await told.listener(folder, folder.parent)
    (folder.parent / "main.c").touch()
    await both.hears(folder.parent, "main.c")
    (folder / "two").mkdir()
    await both.hears(folder, "two")
    await one.hears(folder, "two")
    assert one.told == {(str(folder), "two")}


async def test_whoever_leaves_is_told_no_more(told: Told, folder: Path) -> None:
    left, stays = await told.listener(folder), await told.listener(folder, folder.parent)
    told.listen(left)
    (folder / "two").touch()
    await stays.hears(folder, "two")
    assert not left.told


async def test_a_folder_that_is_made_anew_is_watched_by_whoever_asks_again(told: Told, folder: Path) -> None:
    listener = await told.listener(folder, folder / "one")
    shutil.rmtree(folder / "one")
    await listener.hears(folder, "one")
    (folder / "one").mkdir()
    told.listen(listener, folder)
    told.listen(listener, folder, folder / "one")
    listener.told.clear()
    await _touched(folder / "one", listener)


async def _touched(folder: Path, listener: Listener) -> None:
    """Until its listener hears of it: the folder may not be watched yet."""
    while not listener.told:
        (folder / "SKILL.md").write_text("1")
        await asyncio.wait([asyncio.ensure_future(listener.until(lambda: bool(listener.told)))], timeout=STEP)


async def test_a_folder_that_is_not_there_keeps_no_other_from_being_watched(told: Told, folder: Path) -> None:
    listener = await told.listener(folder / "missing", folder)
    (folder / "two").touch()
    await listener.hears(folder, "two")


async def test_a_folder_is_known_by_the_name_it_was_asked_for(told: Told, folder: Path, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(folder.parent, target_is_directory=True)
    listener = await told.listener(link / "skills")
    (folder / "two").touch()
    await listener.hears(link / "skills", "two")


async def test_a_flood_is_told_as_that(folder: Path) -> None:
    told = Told(WatchfilesEvents(STEP))
    listener = await told.listener(folder)
    for number in range(4 * rareevents.MOST_CHANGES):
        (folder / str(number)).touch()
    await listener.until(lambda: listener.was_lost)
    told.listen(listener)


def threads() -> Collection[str]:
    """Of this process, by what they are called."""
    found: list[str] = []
    for task in Path("/proc/self/task").iterdir():
        with suppress(FileNotFoundError, ProcessLookupError):  # it has ended
            found.append((task / "comm").read_text())
    return found


@pytest.mark.skipif(sys.platform != "linux", reason="threads are listed in /proc")
async def test_with_the_last_listener_the_watcher_ends(folder: Path) -> None:
    told = Told(WatchfilesEvents(STEP))
    listener = await told.listener(folder)
    assert any("notify" in name for name in threads())
    told.listen(listener)
    await until(lambda: not any("notify" in name for name in threads()))
