"""The list of sessions in SQLite: fast, and worth nothing. Whatever is wrong with it, it is built anew from the sessions.

Where not even that works (read-only or full disk) it lives in memory. Safe to use from several threads and processes.
"""

import base64
import contextlib
import logging
import os
import sqlite3
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from threading import RLock
from typing import Final, TypeAlias, TypeVar, get_args

import orjson

from sould.agents.base.errors import OptionError
from sould.agents.sessions.store.info import Archived, Origins, SessionInfo
from sould.agents.soul.session_request import Origin

logger = logging.getLogger(__name__)

VERSION = 4
BUSY_SECONDS = 2.0
MEMORY = ":memory:"
_SCHEMA = """
CREATE TABLE sessions (
    id TEXT PRIMARY KEY, cwd TEXT NOT NULL, additional TEXT NOT NULL, title TEXT NOT NULL,
    created REAL NOT NULL, updated REAL NOT NULL, turns INTEGER NOT NULL, archived INTEGER NOT NULL,
    origin TEXT NOT NULL, directory TEXT NOT NULL
) WITHOUT ROWID;
CREATE INDEX by_time ON sessions (updated DESC, id DESC);
CREATE INDEX by_directory ON sessions (directory, updated DESC, id DESC);
CREATE INDEX by_cwd ON sessions (cwd, updated DESC, id DESC);
CREATE TABLE stamp (value INTEGER NOT NULL);
INSERT INTO stamp VALUES (0);
"""
_COLUMNS = "id, cwd, additional, title, created, updated, turns, archived, origin, directory"
_NOT_ITS_FAULT = {
    sqlite3.SQLITE_BUSY,
    sqlite3.SQLITE_LOCKED,
    sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_PERM,
}
"""Failures that are not the file's fault: it is left alone and memory used."""

ResultT = TypeVar("ResultT")
AllSessions: TypeAlias = Callable[[], Iterable[SessionInfo]]
"""Reads all of them from where they really are."""
Row: TypeAlias = tuple[str, str, str, str, float, float, int, int, Origin, str]


class SessionIndex:
    """Session infos by id, time and directory."""

    def __init__(self, path: Path, sessions: AllSessions) -> None:
        """The index is the file `path`; what it is built from is `sessions`."""
        self._path = path
        self._sessions = sessions
        self._lock = RLock()
        self._connection: sqlite3.Connection | None = None
        self._inode: int | None = None
        """Of the file behind the connection; None: it is in memory."""

    @property
    def stamp(self) -> int:
        """What `set_stamp` was last told, 0 at first."""
        return self._run(lambda db: int(db.execute("SELECT value FROM stamp").fetchone()[0]))

    def set_stamp(self, value: int) -> None:
        """Remember which state of the sessions the index stands for."""
        self._run(lambda db: db.execute("UPDATE stamp SET value = ?", (value,)))

    def ids(self) -> set[str]:
        """All ids."""
        return self._run(lambda db: {row[0] for row in db.execute("SELECT id FROM sessions")})

    def get(self, session_id: str) -> SessionInfo | None:
        """One session."""
        query = f"SELECT {_COLUMNS} FROM sessions WHERE id = ?"  # noqa: S608 -- constants
        row: Row | None = self._run(lambda db: db.execute(query, (session_id,)).fetchone())
        return _info(row) if row else None

    def put(self, info: SessionInfo) -> None:
        """Add or replace one."""
        self._run(lambda db: _insert(db, (info,)))

    def remove(self, ids: Iterable[str]) -> None:
        """Take some out."""
        rows = [(session_id,) for session_id in ids]
        self._run(lambda db: db.executemany("DELETE FROM sessions WHERE id = ?", rows))

    def newest(
        self,
        cwd: Path | None,
        before: tuple[float, str] | None,
        limit: int,
        *,
        used: bool,
        archived: Archived,
        origins: Origins = "any",
    ) -> list[SessionInfo]:
        """Up to `limit` sessions (-1: all) by falling (updated, id), those `before` a pair only.

        `cwd`: those of the directory that it leads to, and those opened by this very path, which may have led elsewhere then.
        `used`: none that are blank.
        """
        conditions, values = _conditions(cwd, used=used, archived=archived)
        conditions.append(_OF_ORIGIN[origins])
        if before:
            conditions.append("(updated, id) < (?, ?)")
            values.extend(before)
        query = (
            f"SELECT {_COLUMNS} FROM sessions WHERE {' AND '.join(conditions)} ORDER BY updated DESC, id DESC LIMIT ?"  # noqa: S608 -- constants
        )
        return self._run(lambda db: [_info(row) for row in db.execute(query, (*values, limit))])

    def count_others(self, cwd: Path | None, *, used: bool, archived: Archived, origins: Origins) -> int:
        """How many sessions `newest` leaves out for their origin alone."""
        conditions, values = _conditions(cwd, used=used, archived=archived)
        query = f"SELECT COUNT(*) FROM sessions WHERE {' AND '.join(conditions)} AND NOT ({_OF_ORIGIN[origins]})"  # noqa: S608 -- constants
        return self._run(lambda db: int(db.execute(query, values).fetchone()[0]))

    def blank(self, before: float) -> list[str]:
        """The ids of the blank sessions last updated before a moment."""
        query = "SELECT id FROM sessions WHERE turns = 0 AND title = '' AND updated < ?"
        return self._run(lambda db: [row[0] for row in db.execute(query, (before,))])

    def close(self) -> None:
        """Let go of the file; the next use opens it again."""
        with self._lock:
            if self._connection:
                self._connection.close()
                self._connection = None

    def _run(self, work: Callable[[sqlite3.Connection], ResultT]) -> ResultT:
        with self._lock:
            try:
                if self._inode is not None and self._inode != self._inode_now():
                    self.close()  # deleted or replaced under us
                if self._connection is None:
                    self._connection = self._opened(str(self._path))
                return work(self._connection)
            except (sqlite3.Error, StaleError) as error:
                logger.warning("the session index is rebuilt: %s", error)
                self._connection = self._rebuilt(error)
                return work(self._connection)

    def _opened(self, path: str) -> sqlite3.Connection:
        db = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)
        try:
            db.execute("PRAGMA journal_mode = WAL")
            db.execute("PRAGMA synchronous = NORMAL")
            version = db.execute("PRAGMA user_version").fetchone()[0]
            if version == 0:
                self._fill(db)
            elif version != VERSION:
                raise StaleError(f"it has version {version}")
        except BaseException:
            db.close()
            raise
        self._inode = None if path == MEMORY else self._inode_now()
        return db

    def _inode_now(self) -> int | None:
        try:
            return self._path.stat().st_ino
        except OSError:
            return None

    def _fill(self, db: sqlite3.Connection) -> None:
        db.execute("BEGIN IMMEDIATE")
        try:
            if db.execute("PRAGMA user_version").fetchone()[0] == 0:  # nobody was faster
                for statement in _SCHEMA.strip().rstrip(";").split(";"):
                    db.execute(statement)
                _insert(db, self._sessions())
                db.execute(f"PRAGMA user_version = {VERSION}")
            db.execute("COMMIT")
        except BaseException:
            with contextlib.suppress(sqlite3.Error):
                db.execute("ROLLBACK")
            raise

    def _rebuilt(self, error: Exception) -> sqlite3.Connection:
        self.close()
        if self._path.exists() and not damaged(error):
            return self._opened(MEMORY)
        try:
            remove(self._path)
            return self._opened(str(self._path))
        except (OSError, sqlite3.Error) as again:
            logger.warning("the session index lives in memory: %s", again)
            return self._opened(MEMORY)


class StaleError(Exception):
    """The file is an index of another version."""


_OF_ORIGIN: Final[Mapping[Origins, str]] = {
    "any": "TRUE",
    "attended": "origin <> 'run'",
    **{each: f"origin = '{each}'" for each in get_args(Origin)},
}


def _conditions(cwd: Path | None, *, used: bool, archived: Archived) -> tuple[list[str], list[str | float]]:
    """Of a row, with the values of their places."""
    conditions = ["(turns > 0 OR title <> '')" if used else "TRUE"]
    values: list[str | float] = []
    if archived != "include":
        conditions.append(f"archived = {int(archived == 'only')}")
    if cwd is not None:
        conditions.append("(directory = ? OR cwd = ?)")
        values += [os.path.realpath(cwd), str(cwd)]
    return conditions, values


def damaged(error: Exception) -> bool:
    """Whether a failure of SQLite is the file's fault; else it is left alone."""
    code = getattr(error, "sqlite_errorcode", None)
    return not (isinstance(code, int) and code & 0xFF in _NOT_ITS_FAULT)


def remove(path: Path) -> None:
    """Delete a database with what SQLite keeps beside it. Raises OSError."""
    for suffix in ("", "-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)


def _insert(db: sqlite3.Connection, infos: Iterable[SessionInfo]) -> None:
    rows = (
        (
            info.id,
            str(info.cwd),
            orjson.dumps([str(path) for path in info.additional]).decode(),
            info.title,
            info.created,
            info.updated,
            info.turns,
            info.archived,
            info.origin,
            str(info.directory),
        )
        for info in infos
    )
    db.executemany(f"INSERT OR REPLACE INTO sessions ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)  # noqa: S608 -- constants


def _info(row: Row) -> SessionInfo:
    session_id, cwd, additional, title, created, updated, turns, archived, origin, directory = row
    paths: list[str] = orjson.loads(additional)
    return SessionInfo(
        session_id,
        Path(cwd),
        tuple(map(Path, paths)),
        title,
        created,
        updated,
        turns,
        bool(archived),
        origin,
        Path(directory),
    )


def cursor_behind(last: SessionInfo) -> str:
    """Where a list goes on after this session, for clients."""
    return base64.urlsafe_b64encode(orjson.dumps([last.updated, last.id])).decode()


def position_of(cursor: str | None) -> tuple[float, str] | None:
    """What `newest` takes as `before`. Raises OptionError: the cursor is not one of ours."""
    if cursor is None:
        return None
    try:
        position: list[object] = orjson.loads(base64.urlsafe_b64decode(cursor))
        updated, session_id = position
    except (ValueError, TypeError):
        raise OptionError("This cursor is not from this list; start again without it.") from None
    if not isinstance(updated, float) or not isinstance(session_id, str):
        raise OptionError("This cursor is not from this list; start again without it.")
    return updated, session_id
