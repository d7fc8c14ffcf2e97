"""Sessions in kimi-cli's layout, `SHARE/sessions/<md5 of the directory>/<id>/`: found, judged, made, and told to its clients.

`SHARE` is kimi's own directory. What lies there may be anybody's: a session is taken only if its directory and all files in
it are the user's own and none is a link or a device. The store keeps a link to each that it takes.
"""

import contextlib
import errno
import hashlib
import json
import logging
import os
import re
import shutil
import stat
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO, Final, cast

import orjson
from msgspec.structs import replace

from sould.agents.base.file_ownership import is_private_group
from sould.agents.base.privatefile import write_private
from sould.agents.journal.records import unseal
from sould.agents.sessions.store.info import INFO, JOURNAL, SessionInfo, default_title, first_prompt, shown_title

logger = logging.getLogger(__name__)

STATE: Final = "state.json"
CONTEXT: Final = "context.jsonl"
_METADATA: Final = "metadata.json"
"""Where kimi-cli's own editor extension keeps a title."""
_KNOWN: Final = "kimi.json"
_NOTING: Final = threading.Lock()
"""Held while it is read and written."""
_CHANGING: Final = threading.Lock()
"""Held while a session's state is read and written."""
HEAD: Final = 256 * 1024
"""Bytes in which a title is looked for."""
LARGEST_STATE: Final = 4 * 1024 * 1024
_BLOCK: Final = 1 << 20
_SAMPLE: Final = 1 << 20
"""Bytes at the end of a file in which the last line of ours is looked for first."""
_LARGEST_LINE: Final = 1 << 28
_TURN = re.compile(rb'"message":\s?\{"type":\s?"TurnBegin"')
_PROMPT = re.compile(rb'\{"role":\s?"user"')
_LONGEST_MATCH: Final = 40
_STATE_KEYS: Final = frozenset(
    {
        *(
            "version",
            "approval",
            "additional_dirs",
            "custom_title",
            "title_generated",
            "title_generate_attempts",
            "todos",
        ),
        *("plan_mode", "plan_session_id", "plan_slug", "wire_mtime", "archived", "archived_at", "auto_archive_exempt"),
    }
)
"""What kimi-cli keeps in a session's state."""


def share_directory(environment: Mapping[str, str], cwd: Path) -> Path:
    """kimi-cli's own directory: `KIMI_SHARE_DIR`, seen from `cwd`, else `~/.kimi`."""
    named = environment.get("KIMI_SHARE_DIR")
    return cwd / named if named else Path(environment.get("HOME") or "~").expanduser() / ".kimi"


def folder_of(share: Path, cwd: Path) -> Path:
    """Where the sessions of a directory are."""
    return share / "sessions" / hashlib.md5(str(cwd).encode(), usedforsecurity=False).hexdigest()


def leads_to_session(link: Path) -> bool:
    """Whether a link of the store leads to a session's directory in this layout that is the user's own."""
    try:
        target = Path(os.readlink(link))
        return (
            target.name == link.name
            and target.parents[1].name == "sessions"
            and os.path.realpath(target) == str(target)
            and all(_is_own_directory(place) for place in (target, *target.parents[:3]))
        )
    except (OSError, IndexError):
        return False


def drop_deleted(link: Path) -> None:
    """Remove a link of the store to a session in this layout that was deleted; one whose disk is away, or kimi's directory, stays."""
    with contextlib.suppress(OSError, IndexError):
        target = Path(os.readlink(link))
        kept = target.name == link.name and target.parents[1].name == "sessions" and target.parents[1].is_dir()
        try:
            os.lstat(target)
        except FileNotFoundError:
            if kept:
                link.unlink()


def _is_own_directory(path: Path) -> bool:
    found = os.lstat(path)
    others = found.st_mode & stat.S_IWOTH or (
        found.st_mode & stat.S_IWGRP and not is_private_group(found.st_gid, os.getuid())
    )
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not others


def kept_in(share: Path, cwd: Path) -> Iterator[Path]:
    """The directories that may be sessions of a directory, every link on the way followed."""
    folder = folder_of(Path(os.path.realpath(share)), cwd)
    try:
        if os.path.realpath(folder) == str(folder) and all(map(_is_own_directory, (folder, *folder.parents[:2]))):
            with os.scandir(folder) as entries:
                yield from [Path(entry.path) for entry in entries if entry.is_dir(follow_symlinks=False)]
    except OSError as error:
        logger.info("%s: no session can be read: %s", folder, error.strerror)


def read_session(directory: Path, cwd: Path) -> SessionInfo | None:
    """What is known of a session that we have not kept so far; None: it is not to be touched, or nothing of one. Blocks."""
    try:
        updated = last_written(directory)
        if updated is None:
            return None
        state = _read_object(directory / STATE)
        named = state.get("custom_title") or _read_object(directory / _METADATA).get("title")
        return SessionInfo(
            id=directory.name,
            cwd=cwd,
            additional=tuple(additional_in(state)),
            title=shown_title(named) if isinstance(named, str) else _title(directory),
            created=when_begun(directory) or updated,
            updated=updated,
            turns=count_turns(directory),
            archived=state.get("archived") is True,
            led_to=Path(os.path.realpath(cwd)),
        )
    except OSError as error:
        logger.info("%s: the session cannot be read: %s", directory, error.strerror)
        return None


def read_again(directory: Path, info: SessionInfo) -> SessionInfo:
    """What is known of a session, with what kimi-cli has written since it was read or since we wrote. Blocks."""
    try:
        if last_written(directory.resolve()) in (None, info.updated) or is_ours(directory):
            return info
        found = read_session(directory.resolve(), info.cwd)
        if found is None:
            return info
        title = found.title if info.title in ("", _title(directory)) else info.title
        return replace(info, title=title, turns=found.turns, updated=found.updated)
    except OSError as error:
        logger.info("%s: the session cannot be read again: %s", directory, error.strerror)
        return info


def when_begun(directory: Path) -> float:
    """When the first record of a session was written, in wall seconds; 0.0: its journal does not say. Raises OSError."""
    try:
        with open_own(directory / JOURNAL) as source:
            latest, head = os.fstat(source.fileno()).st_mtime, source.read(HEAD)
    except FileNotFoundError:
        return 0.0
    said = (fields.get("timestamp") for fields in map(parsed, head.split(b"\n")) if fields is not None)
    moments = (float(moment) for moment in said if isinstance(moment, int | float))
    return next((moment for moment in moments if 0 < moment <= latest), 0.0)


def require_own(directory: Path) -> None:
    """What is in a session's directory may be read and replaced. Raises OSError: something is not the user's own."""
    if last_written(directory) is None:
        raise PermissionError(1, "something in it is not the user's own, or is a link", str(directory))


def last_written(directory: Path) -> float | None:
    """When something was said in a session; None: it is not to be touched, or nothing of one. Raises OSError."""
    with os.scandir(directory) as entries:
        files = {entry.name: entry.stat(follow_symlinks=False) for entry in entries}
    if not (_is_own_directory(directory) and all(map(_is_harmless, files.values()))):
        return None
    return max((files[name].st_mtime for name in (JOURNAL, CONTEXT) if name in files), default=None)


def is_ours(directory: Path) -> bool:
    """Whether a session's journal is one that we wrote, and nobody after us. Raises OSError."""
    try:
        with open_own(directory / JOURNAL) as source:
            behind = _behind_ours(source)
            source.seek(0)
            empty = not source.read(1)
    except FileNotFoundError:
        behind, empty = None, True
    if empty:
        return not (directory / CONTEXT).exists()
    return behind is not None and not any(map(foreign, behind))


def _behind_ours(source: BinaryIO) -> Sequence[bytes] | None:
    """The lines behind the last one that we wrote; None: there is none of ours where they may be looked for."""
    size, sample = source.seek(0, os.SEEK_END), _SAMPLE
    while True:
        start = source.seek(max(0, size - sample))
        lines = source.read().split(b"\n")[1 if start else 0 :]
        for at in reversed(range(len(lines))):
            if unseal(lines[at]):
                return lines[at + 1 :]
        if not start or sample >= _LARGEST_LINE:
            return None
        sample *= 4


def foreign(line: bytes) -> dict[str, Any] | None:
    """What is in a line that is not of ours; None also for one of ours that was damaged."""
    fields = parsed(line)
    return fields if fields is not None and "c" not in fields else None


def parsed(line: bytes) -> dict[str, Any] | None:
    """The object in a line, if it holds one."""
    try:
        value: object = orjson.loads(line)
    except orjson.JSONDecodeError:
        return None
    return cast("dict[str, Any]", value) if isinstance(value, dict) else None


def open_own(path: Path) -> BinaryIO:
    """Open a file to read it, if it is one, the user's own, and not a link. Raises OSError."""
    source = os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC), "rb")
    found = os.fstat(source.fileno())
    if not (stat.S_ISREG(found.st_mode) and found.st_uid == os.getuid()):
        source.close()
        raise PermissionError(1, "it is no file of the user's own", str(path))
    return source


def _is_harmless(found: os.stat_result) -> bool:
    return found.st_uid == os.getuid() and (stat.S_ISREG(found.st_mode) or stat.S_ISDIR(found.st_mode))


def additional_in(state: dict[str, Any]) -> Iterator[Path]:
    """The directories that the user added to the session, as far as they exist."""
    found = state.get("additional_dirs")
    for path in cast("list[object]", found) if isinstance(found, list) else ():
        if isinstance(path, str) and os.path.isabs(path) and os.path.isdir(path):
            yield Path(os.path.realpath(path))


def state_of(directory: Path) -> dict[str, Any]:
    """What kimi-cli keeps of a session beside its conversation; {} when nothing of it can be read."""
    try:
        return _read_object(directory / STATE)
    except OSError:
        return {}


def _read_object(path: Path) -> dict[str, Any]:
    try:
        with open_own(path) as source:
            found: object = orjson.loads(source.read(LARGEST_STATE))
    except (FileNotFoundError, orjson.JSONDecodeError):
        return {}
    return cast("dict[str, Any]", found) if isinstance(found, dict) else {}


def keep_state_of_kimi(directory: Path) -> None:
    """Leave only what kimi-cli itself keeps in a session's state: choices in it that are ours, the user has not made here.

    Raises OSError.
    """
    state = _read_object(directory / STATE)
    dropped = {key: None for key, value in state.items() if key not in _STATE_KEYS or value is None}
    if dropped:
        change_state(directory, dropped)


def change_state(directory: Path, fields: Mapping[str, Any]) -> None:
    """Set these fields of a session's state, or drop those that are None; what else it says stays. Blocks.

    Raises:
        OSError: the file is not the user's own, is a link, or is too large; or the disk refuses. It stays as it is.
    """
    path = directory / STATE
    with _CHANGING:
        try:
            found = _read_whole(path)
        except ValueError:
            found = {}  # it is damaged: nobody can read it
        if found is None:
            raise OSError(errno.EFBIG, os.strerror(errno.EFBIG), str(path))
        state = cast("dict[str, Any]", found) if isinstance(found, dict) else {}
        changed = {key: value for key, value in {**state, **fields}.items() if key not in fields or value is not None}
        if changed != state:
            write_private(path, _dumped(changed))


def note_in_state(directory: Path, fields: Mapping[str, Any]) -> None:
    """As `change_state`, of a session that the store has a link to; what cannot be noted is left. For kimi-cli's clients."""
    try:
        if directory.is_symlink():
            change_state(directory, fields)
    except OSError as error:
        logger.warning("%s is left as it is: %s", directory / STATE, error.strerror)


def titled(title: str) -> dict[str, Any]:
    """How a state says a title, and that kimi-cli is to make none itself."""
    return {"custom_title": title or None, "title_generated": True}


def archived(at: float | None) -> dict[str, Any]:
    """How a state says that the session was archived then; None: it was taken out, and is not to be archived for its age."""
    return {"archived": at is not None, "archived_at": at, "auto_archive_exempt": at is None}


def _title(directory: Path) -> str:
    try:
        with open_own(directory / JOURNAL) as source:
            return default_title(first_prompt(source.read(HEAD)))
    except FileNotFoundError:
        return ""


def count_turns(directory: Path) -> int:
    """How many turns a session's files hold, whoever wrote them. Raises OSError."""
    return _count(directory / JOURNAL, _TURN) or _count(directory / CONTEXT, _PROMPT)


def has_turns(directory: Path) -> bool:
    """Whether a session's files hold a turn, or may hold one that cannot be read."""
    try:
        return count_turns(directory) > 0
    except OSError:
        return True


def _count(path: Path, pattern: re.Pattern[bytes]) -> int:
    """How often a pattern is in a file, which may be of any size."""
    found, rest = 0, b""
    try:
        with open_own(path) as source:
            while block := source.read(_BLOCK):
                data, end = rest + block, 0
                for match in pattern.finditer(data):
                    found, end = found + 1, match.end()
                rest = data[max(end, len(data) - _LONGEST_MATCH) :]
    except FileNotFoundError:
        return 0
    return found


def make_directory(share: Path, cwd: Path, session_id: str) -> Path:
    """A new session's directory in this layout; it may be there already, as long as it holds no conversation.

    Raises:
        FileExistsError: it does.
        OSError: it cannot be made, or is not the user's own.
    """
    share.mkdir(mode=0o700, parents=True, exist_ok=True)
    share = Path(os.path.realpath(share))
    directory = folder_of(share, cwd) / session_id
    for place in (directory.parent.parent, directory.parent, directory):
        place.mkdir(mode=0o700, exist_ok=True)
    if os.path.realpath(directory) != str(directory) or not all(
        map(_is_own_directory, (directory, *directory.parents[:3]))
    ):
        raise PermissionError(1, "it is another user's, others may write to it, or a link leads to it", str(directory))
    if any(os.path.lexists(directory / name) for name in (JOURNAL, CONTEXT)):
        raise FileExistsError(17, "it holds a conversation that cannot be read", str(directory))
    return directory


def take_back(link: Path) -> None:
    """Remove the link to a session that was just made, and what we put into its directory; that goes if nothing else is in it."""
    kept = link.readlink()
    link.unlink()
    for name in (INFO, JOURNAL, f"{JOURNAL}.lock", CONTEXT):
        (kept / name).unlink(missing_ok=True)
    with contextlib.suppress(OSError):
        kept.rmdir()


def throw_away(directory: Path, place: Path) -> None:
    """Move a session to a place where it is removed later; one on another file system goes at once. Raises OSError."""
    if not directory.is_symlink():
        directory.rename(place)
        return
    kept = directory.readlink()
    try:
        kept.rename(place)  # from here on who lists the store may remove the link
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        place = kept.rename(kept.with_name(f".{place.name}"))
    directory.unlink(missing_ok=True)
    shutil.rmtree(place, ignore_errors=True)


def note_latest(share: Path, cwd: Path, session_id: str) -> None:
    """Note in `kimi.json` which session of a directory was used last, if it is in this layout. What else it says stays."""
    if not (folder_of(share, cwd) / session_id).is_dir():
        return
    with _NOTING:
        _note(Path(os.path.realpath(share)) / _KNOWN, cwd, session_id)


def _note(path: Path, cwd: Path, session_id: str) -> None:
    try:
        found = _read_whole(path)
        document = cast("dict[str, Any]", found) if isinstance(found, dict) else None
        known: object = document.setdefault("work_dirs", []) if document is not None else None
        if document is None or not isinstance(known, list):
            logger.warning("%s is left as it is: it has no list of directories, or too much else", path)
            return
        entries = cast("list[object]", known)
        ours = next((each for each in map(_entry, entries) if each and _is_of(each, cwd)), None)
        if ours is None:
            ours = {"path": str(cwd), "kaos": "local"}
            entries.append(ours)
        if ours.get("last_session_id") != session_id:
            ours["last_session_id"] = session_id
            write_private(path, _dumped(document))
    except (OSError, ValueError) as error:
        logger.warning("%s is left as it is: %s", path, error)


def _read_whole(path: Path) -> object:
    """What a file says, {} where there is none; None: it is too large. Raises OSError, ValueError."""
    try:
        with open_own(path) as source:
            content = source.read(LARGEST_STATE + 1)
    except FileNotFoundError:
        return {}
    return _lenient(content) if len(content) <= LARGEST_STATE else None


def _lenient(content: bytes) -> object:
    """What Python's own JSON takes, too: halves of surrogate pairs, and NaN. Raises ValueError."""
    try:
        return orjson.loads(content)
    except orjson.JSONDecodeError:
        return json.loads(content)


def _dumped(value: object) -> bytes:
    try:
        return orjson.dumps(value)
    except TypeError:  # of what only Python's own takes
        return json.dumps(value).encode()


def _entry(value: object) -> dict[str, Any] | None:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else None


def _is_of(entry: dict[str, Any], cwd: Path) -> bool:
    return entry.get("path") == str(cwd) and entry.get("kaos", "local") == "local"
