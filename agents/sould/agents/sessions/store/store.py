"""Stored sessions: one directory each under `sessions/`, or a link to one in kimi-cli's layout, listed through an index.

Directories are the truth, the index only makes lists fast. An id is looked up, never joined to a path unseen (D15).
Nothing here opens a journal for writing, and one bad session never hides the others.
"""

import builtins
import logging
import os
import re
import shutil
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TypeAlias

from msgspec.structs import replace

from sould.agents.base.errors import JournalFullError, OptionError, SessionNotFoundError, SouldError, why_refused
from sould.agents.journal.locking import lock_file
from sould.agents.sessions.store import kimilayout
from sould.agents.sessions.store.index import SessionIndex, cursor_behind, position_of
from sould.agents.sessions.store.info import (
    JOURNAL,
    Archived,
    InfoPage,
    Origins,
    SessionInfo,
    StoredSession,
    WeighedSession,
    default_title,
    new_id,
    origin_after,
    read_info,
    require_text,
    shown_title,
    size_of,
    write_info,
)
from sould.agents.sessions.store.search import SessionMatch, SessionSearch
from sould.agents.soul.session_request import Origin

__all__ = ["Archived", "InfoPage", "Origins", "SessionInfo", "SessionMatch", "SessionStore", "StoredSession"]

logger = logging.getLogger(__name__)

_ID = re.compile(r"[0-9A-Za-z_-]{1,64}")
MAX_PAGE = 1000
MOST_MATCHES = 5

DoLater: TypeAlias = Callable[[Callable[[], None]], None]
"""Does small work that waits for a disk, in the order given, soon and in a thread of its own; all before the process ends."""


class SessionStore:
    """All sessions of a state directory.

    Every method is synchronous; `list`, `search` and `weigh` are for a thread, all others take milliseconds at most.
    """

    def __init__(self, state: Path, later: DoLater = lambda job: job()) -> None:
        """`state` is the state directory; made, 0700, when it is missing.

        `later` writes what is counted and named of a session that is known: replacing a file takes a millisecond or two
        of waiting, and the index holds the same already.
        """
        self._root = state / "sessions"
        self._trash = state / "trash"
        for directory in (state, self._root):
            directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._index = SessionIndex(state / "index.sqlite", self._read_all)
        self._search = SessionSearch(state / "search.sqlite")
        self._later = later
        self._links: tuple[int, frozenset[str]] = 0, frozenset()
        """By the stamp at which they were looked for."""
        self._unwritten: dict[str, SessionInfo] = {}
        self._writing = threading.Lock()
        """Held while a session's facts are written, which the loop hardly ever waits for: what is newer is written last."""

    def create(
        self,
        cwd: Path,
        *,
        additional: Sequence[Path] = (),
        origin: Origin = "",
        session_id: str = "",
        share: Path | None = None,
    ) -> StoredSession:
        """A new session's directory, with an id of ours where none is given. `share`: kimi-cli's, in whose layout it is kept.

        Raises:
            JournalFullError: the disk refuses.
            OptionError: there cannot be a session with this id.
            SouldError: a path that is no text cannot be kept.
        """
        now = time.time()
        if session_id and not _ID.fullmatch(session_id):
            raise OptionError(
                f"{session_id!r} cannot name a session: use 1 to 64 letters, digits, hyphens and underscores."
            )
        led_to = Path(os.path.realpath(cwd))
        info = SessionInfo(
            session_id or new_id(now), cwd, tuple(additional), created=now, updated=now, origin=origin, led_to=led_to
        )
        require_text(cwd, led_to, *additional)
        directory, before = self._root / info.id, self._stamp()
        try:
            if share is None:
                directory.mkdir(mode=0o700)
            else:
                kept = kimilayout.make_directory(share, cwd, info.id)
                kimilayout.keep_state_of_kimi(kept)
                self._link(kept)
        except OSError as error:
            raise _not_stored(share or self._root, error) from error
        try:
            write_info(directory, info)
        except OSError as error:
            directory.unlink() if share is not None else shutil.rmtree(directory, ignore_errors=True)
            raise _not_stored(share or self._root, error) from error
        self._index.put(info)
        self._follow(before)
        return StoredSession(info, directory)

    def take_back(self, session_id: str) -> None:
        """Undo `create`: what was in the session's directory before it stays. Raises as `delete`."""
        directory = self._directory(session_id)
        if not directory.is_symlink():
            self.delete(session_id)
            return
        with self._writing:
            self._unwritten.pop(session_id, None)
            kimilayout.take_back(directory)
        self._index.remove((session_id,))

    def take_in(self, share: Path, cwd: Path, wanted: str = "") -> None:
        """Link what kimi-cli keeps for `cwd` into the store; a session without a conversation only if it is `wanted`. Blocks.

        Raises:
            SouldError: the directory is no text.
        """
        require_text(cwd)
        for directory in kimilayout.kept_in(share, cwd):
            if _ID.fullmatch(directory.name) and not self._knows(directory):
                self._take(directory, cwd, wanted)

    def _knows(self, directory: Path) -> bool:
        """Whether its id is taken. What was said in it since it was linked is noted."""
        link = self._root / directory.name
        if not (link.is_symlink() and link.readlink() == directory):
            return link.exists()
        info = self._index.get(link.name) or read_info(link)
        if info is not None:
            self._index.put(info)
            self._look_again(info)
        return info is not None

    def _take(self, directory: Path, cwd: Path, wanted: str) -> None:
        info = kimilayout.read_session(directory, cwd)
        if info is None or (info.blank and info.id != wanted):
            return
        try:
            before = self._stamp()
            kimilayout.keep_state_of_kimi(directory)
            write_info(directory, info)
            self._link(directory)  # last: what is linked has been gone through
        except OSError as error:
            logger.warning("session %s in %s is left out: %s", info.id, directory, error.strerror)
            return
        self._index.put(info)
        self._follow(before)

    def _look_again(self, info: SessionInfo) -> SessionInfo:
        """What is known of a session with what kimi-cli has said in it since."""
        directory = self._root / info.id
        found = kimilayout.read_again(directory, info) if directory.is_symlink() else info
        if found != info:
            self._unwritten[info.id] = found
            self._index.put(found)
            self._write(directory, info.id)
        return found

    def _link(self, directory: Path) -> None:
        """Let the store have a session that is kept elsewhere. Raises OSError."""
        link = self._root / directory.name
        if link.is_symlink() and not link.exists():
            link.unlink()  # what it led to was deleted by hand
        if not (link.is_symlink() and link.readlink() == directory):
            link.symlink_to(directory)

    def find(self, session_id: str) -> StoredSession:
        """The session with this id, whether the index knows it or not.

        Raises:
            SessionNotFoundError: there is none.
        """
        info = self._index.get(session_id)
        if info and self._holds(info.id):
            return StoredSession(info, self._root / info.id)
        directory = self._directory(session_id)
        info = read_info(directory)
        if info is None:
            raise SessionNotFoundError(f"Nothing of session {session_id} can be read in {directory}.")
        self._index.put(info)
        return StoredSession(info, directory)

    def begins_with(self, beginning: str) -> StoredSession:
        """The session with this id, or the only one whose id begins so.

        Raises:
            SessionNotFoundError: there is none, or there are several.
        """
        try:
            return self.find(beginning)
        except SessionNotFoundError:
            matches = [name for name in self._names() if beginning and name.startswith(beginning)]
            if len(matches) == 1:
                return self.find(matches[0])
            if matches:
                raise SessionNotFoundError(self._which(beginning, matches)) from None
            raise

    def _which(self, beginning: str, matches: Sequence[str]) -> str:
        found = [self._index.get(name) for name in sorted(matches, reverse=True)[:MOST_MATCHES]]
        shown = [f"  {info.id}  {' '.join(info.title.split())[:60] or '(no title)'}" for info in found if info]
        more = ["  …"] if len(matches) > MOST_MATCHES else []
        said = f"{len(matches)} session ids begin with {beginning!r}:"
        return "\n".join([said, *shown, *more, "Give more of the id."])

    def list(
        self,
        cwd: Path | None = None,
        cursor: str | None = None,
        limit: int = 50,
        *,
        used: bool = False,
        archived: Archived = "exclude",
        origins: Origins = "any",
    ) -> InfoPage:
        """Sessions, most recently updated first; `cwd`: only that directory's, by whatever path; `used`: none that are blank.

        A cursor of ours goes on after it.

        Raises:
            OptionError: a cursor that is not ours.
        """
        self._refresh()
        limit = max(1, min(limit, MAX_PAGE))
        found = self._index.newest(cwd, position_of(cursor), limit + 1, used=used, archived=archived, origins=origins)
        left_out = 0
        if cursor is None and origins != "any":
            left_out = self._index.count_others(cwd, used=used, archived=archived, origins=origins)
        items = tuple(found[:limit])
        return InfoPage(items, cursor_behind(items[-1]) if len(found) > limit else None, left_out)

    def search(
        self,
        query: str,
        cwd: Path | None = None,
        limit: int = 20,
        *,
        archived: bool = False,
        origins: Origins = "any",
    ) -> tuple[SessionMatch, ...]:
        """Sessions that have every word of `query` in their title or in what was said, most recently updated first.

        `cwd`: only that directory's; `archived`: also those. What was said since the last search is read first.

        Raises:
            OptionError: the query has no word.
        """
        self._refresh()
        infos = self._index.newest(
            cwd, None, -1, used=True, archived="include" if archived else "exclude", origins=origins
        )
        stored = [StoredSession(info, self._root / info.id) for info in infos]
        return self._search.search(query, stored, max(1, min(limit, MAX_PAGE)), known=self._index.ids())

    def weigh(self, before: float | None, over: int) -> builtins.list[WeighedSession]:
        """The sessions last updated before a moment (None: any) that take more than `over` bytes, oldest first."""
        self._refresh()
        infos = map(self._look_again, reversed(self._index.newest(None, None, -1, used=False, archived="include")))
        old = (info for info in infos if before is None or info.updated < before)
        return [each for info in old if (each := WeighedSession(info, size_of(self._root / info.id))).size > over]

    def below(self, directory: Path) -> builtins.list[SessionInfo]:
        """The sessions that work in a directory or in one below it, most recently updated first; also archived ones."""
        self._refresh()
        infos = self._index.newest(None, None, -1, used=True, archived="include")
        return [info for info in infos if info.directory.is_relative_to(directory)]

    def touch(
        self,
        session_id: str,
        *,
        prompt: str = "",
        turns: int | None = None,
        additional: Sequence[Path] | None = None,
        created: float | None = None,
    ) -> SessionInfo:
        """The session was used just now. `prompt` becomes the title of a session without one; it ends an archive.

        Raises:
            SessionNotFoundError: there is none.
        """
        stored = self.find(session_id)
        info = stored.info
        if info.archived and prompt:
            self._note_archive(stored.directory, archived=False)
        return self._save(
            stored.directory,
            replace(
                info,
                archived=info.archived and not prompt,
                title=info.title or default_title(prompt),
                turns=info.turns if turns is None else turns,
                additional=info.additional if additional is None else tuple(additional),
                created=info.created if created is None else created,
                updated=time.time(),
            ),
        )

    def rename(self, session_id: str, title: str) -> SessionInfo:
        """Give it a title; "" goes back to none, to be taken from the next prompt.

        Raises:
            SessionNotFoundError: there is none.
        """
        stored = self.find(session_id)
        info = self._save(stored.directory, replace(stored.info, title=shown_title(title)))
        self._later(partial(kimilayout.note_in_state, stored.directory, kimilayout.titled(info.title)))
        return info

    def note_opening(self, session_id: str, origin: Origin) -> SessionInfo:
        """It is opened there. It stays as it is, and when it was used last.

        Raises:
            SessionNotFoundError: there is none.
        """
        stored = self.find(session_id)
        origin = origin_after(stored.info.origin, origin)
        if origin == stored.info.origin:
            return stored.info
        return self._save(stored.directory, replace(stored.info, origin=origin))

    def archive(self, session_id: str, *, archived: bool) -> SessionInfo:
        """Take it out of lists and search, or back into them. It stays as it is, and when it was used last.

        Raises:
            SessionNotFoundError: there is none.
            JournalFullError: the disk refuses.
        """
        stored = self.find(session_id)
        info = replace(stored.info, archived=archived)
        try:
            with self._writing:
                self._unwritten.pop(session_id, None)
                write_info(stored.directory, info)
        except OSError as error:
            raise JournalFullError(f"Session {session_id} cannot be archived: {why_refused(error)}.") from error
        self._index.put(info)
        self._note_archive(stored.directory, archived=archived)
        return info

    def require_unused(self, session_id: str) -> None:
        """Nobody writes to the session now.

        Raises:
            SessionNotFoundError: there is none.
            SessionOpenElsewhereError: somebody writes to it.
        """
        os.close(lock_file(self._directory(session_id) / f"{JOURNAL}.lock"))

    def delete(self, session_id: str) -> None:
        """Remove it with everything in it; gone at once for everybody, even if the process ends in the middle.

        Raises:
            SessionNotFoundError: there is none.
            SessionOpenElsewhereError: somebody writes to it.
        """
        directory = self._directory(session_id)
        lock = lock_file(directory / f"{JOURNAL}.lock")
        try:
            before = self._stamp()
            self._trash.mkdir(mode=0o700, exist_ok=True)
            with self._writing:
                self._unwritten.pop(session_id, None)
                kimilayout.throw_away(directory, self._trash / f"{session_id}-{time.time_ns()}")
            self._index.remove((session_id,))
            self._search.forget((session_id,))
            self._follow(before)
        except OSError as error:
            raise SouldError(f"Session {session_id} cannot be deleted: {error.strerror}.") from error
        finally:
            os.close(lock)
        shutil.rmtree(self._trash, ignore_errors=True)

    def forget_blank(self, before: float) -> None:
        """Delete the blank sessions that were begun before a moment and that nobody has open."""
        for session_id in self._index.blank(before):
            try:
                self.delete_blank(session_id)
            except SouldError as error:  # it is not listed either way
                logger.info("blank session %s: %s", session_id, error.message)

    def delete_blank(self, session_id: str) -> None:
        """Delete a session that holds nothing, as far as we know: one in which kimi-cli has said something since stays.

        Raises as `delete`.
        """
        directory = self._directory(session_id)
        if directory.is_symlink() and kimilayout.has_turns(directory):
            self._look_again(self.find(session_id).info)
        else:
            self.delete(session_id)

    def close(self) -> None:
        """Let go of the index."""
        self._index.close()

    def _save(self, directory: Path, info: SessionInfo) -> SessionInfo:
        self._unwritten[info.id] = info
        self._index.put(info)
        self._later(partial(self._write, directory, info.id))
        return info

    def _note_archive(self, directory: Path, *, archived: bool) -> None:
        noted = kimilayout.archived(time.time() if archived else None)
        self._later(partial(kimilayout.note_in_state, directory, noted))

    def _write(self, directory: Path, session_id: str) -> None:
        with self._writing:
            info = self._unwritten.pop(session_id, None)
            if info is None:
                return  # written already, or gone
            try:
                write_info(directory, info)
            except OSError as error:  # a title is not worth a failed turn
                logger.warning("session %s: %s", info.id, error.strerror)

    def _directory(self, session_id: str) -> Path:
        if _ID.fullmatch(session_id) and session_id in self._names():
            return self._root / session_id
        raise SessionNotFoundError(f"There is no session {session_id!r}.")

    def _names(self) -> Iterator[str]:
        with os.scandir(self._root) as entries:
            for entry in entries:
                if _ID.fullmatch(entry.name) and (
                    entry.is_dir(follow_symlinks=False)
                    or (entry.is_symlink() and kimilayout.leads_to_session(Path(entry.path)))
                ):
                    yield entry.name

    def _holds(self, session_id: str) -> bool:
        """Whether a session that is known is still there."""
        path = self._root / session_id
        return kimilayout.leads_to_session(path) if path.is_symlink() else path.is_dir()

    def _read_all(self) -> Iterator[SessionInfo]:
        yield from filter(None, (read_info(self._root / name) for name in self._names()))

    def _refresh(self) -> None:
        """Notice sessions that came or went without us."""
        stamp, known = self._stamp(), self._index.ids()
        linked = self._linked(stamp)
        if stamp == self._index.stamp:
            names = {name for name in linked if self._holds(name)}
            gone = linked - names
        else:
            names = set(self._names())
            gone = known - names
        for name in linked - names:
            kimilayout.drop_deleted(self._root / name)
        self._index.remove(gone)
        for info in filter(None, (read_info(self._root / name) for name in names - known)):
            self._index.put(info)
        self._index.set_stamp(stamp)

    def _linked(self, stamp: int) -> frozenset[str]:
        """The sessions that are kept elsewhere, where they may come and go unseen."""
        if self._links[0] != stamp:
            with os.scandir(self._root) as entries:
                self._links = stamp, frozenset(entry.name for entry in entries if entry.is_symlink())
        return self._links[1]

    def _stamp(self) -> int:
        """Changes whenever a session is made or removed."""
        return self._root.stat().st_mtime_ns

    def _follow(self, before: int) -> None:
        """A change of our own: what the index stood for before it, it stands for after it."""
        if self._index.stamp == before:
            self._index.set_stamp(self._stamp())


def _not_stored(place: Path, error: OSError) -> JournalFullError:
    return JournalFullError(f"A new session cannot be stored in {place}: {why_refused(error)}.")
