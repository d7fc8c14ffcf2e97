"""Find sessions by their titles and by what the user and the agent said in them.

The texts are kept in a SQLite file of their own, so that reading long journals never holds up the list of sessions. The
file is worth nothing: what is missing, behind or damaged in it is read anew from the journals when somebody searches.
It never holds what tools answered, nor what a deleted session said. Safe to use from several threads and processes.
"""

import contextlib
import logging
import re
import sqlite3
import unicodedata
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import TypeVar

from msgspec import Struct

from sould.agents.base.errors import OptionError
from sould.agents.journal.records import read_records
from sould.agents.sessions.store.index import BUSY_SECONDS, MEMORY, StaleError, damaged, remove
from sould.agents.sessions.store.info import JOURNAL, SessionInfo, StoredSession
from sould.agents.wire.content import TextPart, input_summary
from sould.agents.wire.messages import SteerInput, TurnBegin

logger = logging.getLogger(__name__)

VERSION = 1
SNIPPET = 120
"""Characters of a snippet."""
BEFORE = 40
"""Characters of it before the word that was found."""
_SAID = frozenset({"TurnBegin", "SteerInput", "ContentPart"})
_TEXTS = "id UNINDEXED, title, said"

ResultT = TypeVar("ResultT")


class SessionMatch(Struct, frozen=True):
    """A session that a search found; `snippet` is one line of what was said around the words."""

    info: SessionInfo
    snippet: str


class SessionSearch:
    """The texts of sessions, by their words."""

    def __init__(self, path: Path, *, fulltext: bool | None = None) -> None:
        """`fulltext`: with FTS5; None: if SQLite has it. Without, every search reads all texts."""
        self._path = path
        self._fulltext = _has_fts5() if fulltext is None else fulltext

    def search(
        self, query: str, stored: Sequence[StoredSession], limit: int, *, known: set[str]
    ) -> tuple[SessionMatch, ...]:
        """Those of `stored` that have every word of the query, in the same order; words may go on.

        `known` are the ids of all sessions there are; the texts of others are forgotten.

        Raises:
            OptionError: the query has no word.
        """
        words = "".join(c if c.isprintable() else " " for c in query).split()
        if not words:
            raise OptionError("There is nothing to search for: give a word.")

        def work(db: sqlite3.Connection) -> tuple[SessionMatch, ...]:
            self._catch_up(db, stored, known)
            if self._fulltext and _indexed(words):
                return tuple(_matches(db, words, stored, limit))
            return tuple(_scan(db, words, stored, limit))

        return self._run(work)

    def forget(self, ids: Iterable[str]) -> None:
        """Remove the texts of some sessions."""
        if self._path.exists():
            rows = [(session_id,) for session_id in ids]
            self._run(lambda db: _forget(db, rows))

    def _run(self, work: Callable[[sqlite3.Connection], ResultT]) -> ResultT:
        try:
            return self._once(str(self._path), work)
        except (sqlite3.Error, StaleError) as error:
            logger.warning("the search index is rebuilt: %s", error)
            if damaged(error):
                with contextlib.suppress(OSError, sqlite3.Error):
                    remove(self._path)
                    return self._once(str(self._path), work)
        return self._once(MEMORY, work)

    def _once(self, path: str, work: Callable[[sqlite3.Connection], ResultT]) -> ResultT:
        with closing(sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None)) as db:
            db.execute("PRAGMA journal_mode = WAL")
            db.execute("PRAGMA synchronous = NORMAL")
            db.execute("PRAGMA secure_delete = ON")
            version = VERSION * 2 + self._fulltext
            if db.execute("PRAGMA user_version").fetchone()[0] == 0:
                self._create(db, version)
            if db.execute("PRAGMA user_version").fetchone()[0] != version:
                raise StaleError("it is of another version")
            return work(db)

    def _create(self, db: sqlite3.Connection, version: int) -> None:
        texts = f"VIRTUAL TABLE texts USING fts5({_TEXTS})" if self._fulltext else "TABLE texts (id, title, said)"
        with _transaction(db):
            if db.execute("PRAGMA user_version").fetchone()[0] == 0:  # nobody was faster
                db.execute("CREATE TABLE seen (number INTEGER PRIMARY KEY, id TEXT UNIQUE, state TEXT NOT NULL)")
                db.execute(f"CREATE {texts}")
                db.execute(f"PRAGMA user_version = {version}")

    def _catch_up(self, db: sqlite3.Connection, stored: Sequence[StoredSession], known: set[str]) -> None:
        """Each session by itself, so that others are never kept waiting for long and nothing is read twice."""
        seen: dict[str, str] = dict(db.execute("SELECT id, state FROM seen"))
        _forget(db, [(session_id,) for session_id in seen.keys() - known])
        for session in stored:
            state = _state(session)
            if state != seen.get(session.info.id, ""):
                _put(db, session, state)


def _has_fts5() -> bool:
    with closing(sqlite3.connect(MEMORY)) as db:
        try:
            db.execute("CREATE VIRTUAL TABLE probe USING fts5(text)")
        except sqlite3.OperationalError:
            return False
    return True


@contextlib.contextmanager
def _transaction(db: sqlite3.Connection) -> Generator[None]:
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
        db.execute("COMMIT")
    except BaseException:
        with contextlib.suppress(sqlite3.Error):
            db.execute("ROLLBACK")
        raise


def _forget(db: sqlite3.Connection, ids: Sequence[tuple[str]]) -> None:
    if ids:
        with _transaction(db):
            db.executemany("DELETE FROM texts WHERE rowid = (SELECT number FROM seen WHERE id = ?)", ids)
            db.executemany("DELETE FROM seen WHERE id = ?", ids)


def _put(db: sqlite3.Connection, session: StoredSession, state: str) -> None:
    info, said = session.info, "".join(_said(session.directory / JOURNAL)).strip()
    with _transaction(db):
        db.execute("DELETE FROM texts WHERE rowid = (SELECT number FROM seen WHERE id = ?)", (info.id,))
        db.execute("INSERT OR REPLACE INTO seen (id, state) VALUES (?, ?)", (info.id, state))
        query = "INSERT INTO texts (rowid, id, title, said) SELECT number, id, ?, ? FROM seen WHERE id = ?"
        db.execute(query, (info.title, said, info.id))


def _state(session: StoredSession) -> str:
    """Changes with every word that is said, and with the title."""
    try:
        found = (session.directory / JOURNAL).stat()
    except OSError:
        return f"0:0:{session.info.title}"
    return f"{found.st_size}:{found.st_mtime_ns}:{session.info.title}"


def _said(journal: Path) -> Iterator[str]:
    """What user and agent said. A journal that cannot be read says nothing more."""
    flowing = False
    try:
        for record in read_records(journal):
            match record.message if record.type in _SAID else None:
                case TurnBegin(user_input=said) | SteerInput(user_input=said):
                    yield f"\n\n{input_summary(said)}"
                    flowing = False
                case TextPart(text=text):  # other Wire writers keep a text in pieces
                    yield text if flowing else f"\n\n{text}"
                    flowing = True
                case _:
                    flowing = False
    except OSError as error:
        logger.info("%s cannot be searched: %s", journal, error.strerror)


def _indexed(words: Iterable[str]) -> bool:
    """Whether FTS5 knows all of these as words: not signs, and not scripts that are written without spaces."""
    return all(
        any(c.isalnum() for c in word) and not any(unicodedata.category(c) == "Lo" for c in word) for word in words
    )


def _matches(
    db: sqlite3.Connection, words: Sequence[str], stored: Iterable[StoredSession], limit: int
) -> Iterator[SessionMatch]:
    asked = " ".join('"' + word.replace('"', '""') + '"*' for word in words)
    numbers: dict[str, int] = dict(db.execute("SELECT id, rowid FROM texts WHERE texts MATCH ?", (asked,)))
    found = [session.info for session in stored if session.info.id in numbers]
    pattern = re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, words))})", re.IGNORECASE)
    for info in found[:limit]:
        row: tuple[str] | None = db.execute("SELECT said FROM texts WHERE rowid = ?", (numbers[info.id],)).fetchone()
        said = row[0] if row else ""  # deleted meanwhile
        seen = pattern.search(said)
        place = seen.start() if seen else _place(db, asked, numbers[info.id])
        yield SessionMatch(info, _cut(said, place))


def _place(db: sqlite3.Connection, asked: str, number: int) -> int:
    """Where SQLite sees the first word, which may be written with other accents; the title is at 0.

    `highlight` and `snippet` take long where a word was said often: they are asked last.
    """
    query = "SELECT instr(highlight(texts, 2, char(2), char(3)), char(2)) FROM texts WHERE texts MATCH ? AND rowid = ?"
    found: tuple[int] | None = db.execute(query, (asked, number)).fetchone()
    return max(0, found[0] - 1) if found else 0


def _scan(
    db: sqlite3.Connection, words: Iterable[str], stored: Iterable[StoredSession], limit: int
) -> Iterator[SessionMatch]:
    wanted, found = [word.casefold() for word in words], 0
    query = "SELECT title, said FROM texts WHERE rowid = (SELECT number FROM seen WHERE id = ?)"
    for session in stored:
        row: tuple[str, str] | None = db.execute(query, (session.info.id,)).fetchone()
        if row is None:
            continue
        title, said = row[0].casefold(), row[1].casefold()
        if all(word in title or word in said for word in wanted):
            yield SessionMatch(session.info, _around(row[1], wanted))
            found += 1
            if found == limit:
                return


def _around(said: str, words: Sequence[str]) -> str:
    """A snippet at the first of the words that is in the text, if any is."""
    folded = said.casefold()
    return _cut(said, min((place for word in words if (place := folded.find(word)) >= 0), default=0))


def _cut(said: str, place: int) -> str:
    """One line of the text, from shortly before a place in it."""
    start = max(0, place - BEFORE)
    cut = " ".join(said[start : start + SNIPPET].split())
    return ("…" if start else "") + cut + ("…" if start + SNIPPET < len(said) else "")
