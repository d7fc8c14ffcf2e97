"""Sessions in kimi-cli's layout, `SHARE/sessions/<md5 of the directory>/<id>/`: found, judged, made, and told to its clients.

`SHARE` is kimi's own directory. What lies there may be anybody's: a session is taken only if its directory and all files in
it are the user's own and none is a link or a device. The store keeps a link to each that it takes.
"""

import hashlib
import logging
import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, cast

import orjson

from sould.agents.base.privatefile import write_private
from sould.agents.sessions.store.info import JOURNAL, SessionInfo, default_title, first_prompt, shown_title

logger = logging.getLogger(__name__)

STATE: Final = "state.json"
CONTEXT: Final = "context.jsonl"
_METADATA: Final = "metadata.json"
"""Where kimi-cli's own editor extension keeps a title."""
_KNOWN: Final = "kimi.json"
HEAD: Final = 256 * 1024
"""Bytes in which a title is looked for."""
LARGEST_STATE: Final = 4 * 1024 * 1024
_BLOCK: Final = 1 << 20
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
            and all(_is_own_directory(place) for place in (target.parents[2], target))
        )
    except (OSError, IndexError):
        return False


def _is_own_directory(path: Path) -> bool:
    found = os.lstat(path)
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid()


def kept_in(share: Path, cwd: Path) -> Iterator[Path]:
    """The directories that may be sessions of a directory, every link on the way followed."""
    folder = folder_of(Path(os.path.realpath(share)), cwd)
    try:
        if _is_own_directory(share.resolve()) and os.path.realpath(folder) == str(folder):
            with os.scandir(folder) as entries:
                yield from [Path(entry.path) for entry in entries if entry.is_dir(follow_symlinks=False)]
    except OSError as error:
        logger.info("%s: no session can be read: %s", folder, error.strerror)


def read_session(directory: Path, cwd: Path) -> SessionInfo | None:
    """What is known of a session that we have not kept so far; None: it is not to be touched, or nothing of one. Blocks."""
    try:
        with os.scandir(directory) as entries:
            files = {entry.name: entry.stat(follow_symlinks=False) for entry in entries}
        own = _is_own_directory(directory) and all(map(_is_harmless, files.values()))
        kept = [files[name] for name in (JOURNAL, CONTEXT) if name in files]
        if not own or not kept:
            return None
        state = _read_object(directory / STATE)
        named = state.get("custom_title") or _read_object(directory / _METADATA).get("title")
        turns = _count(directory / JOURNAL, _TURN) or _count(directory / CONTEXT, _PROMPT)
        updated = max(found.st_mtime for found in kept)
        return SessionInfo(
            id=directory.name,
            cwd=cwd,
            additional=tuple(additional_in(state)),
            title=shown_title(named) if isinstance(named, str) else _title(directory),
            created=updated,
            updated=updated,
            turns=turns,
            archived=state.get("archived") is True,
            led_to=Path(os.path.realpath(cwd)),
        )
    except OSError as error:
        logger.info("%s: the session cannot be read: %s", directory, error.strerror)
        return None


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
        with path.open("rb") as source:
            found: object = orjson.loads(source.read(LARGEST_STATE))
    except (FileNotFoundError, orjson.JSONDecodeError):
        return {}
    return cast("dict[str, Any]", found) if isinstance(found, dict) else {}


def keep_state_of_kimi(directory: Path) -> None:
    """Leave only what kimi-cli itself keeps in a session's state: choices in it that are ours, the user has not made here.

    Raises OSError.
    """
    state = _read_object(directory / STATE)
    kept = {key: value for key, value in state.items() if key in _STATE_KEYS and value is not None}
    if kept != state:
        write_private(directory / STATE, orjson.dumps(kept))


def _title(directory: Path) -> str:
    try:
        with (directory / JOURNAL).open("rb") as source:
            return default_title(first_prompt(source.read(HEAD)))
    except FileNotFoundError:
        return ""


def _count(path: Path, pattern: re.Pattern[bytes]) -> int:
    """How often a pattern is in a file, which may be of any size."""
    found, rest = 0, b""
    try:
        with path.open("rb") as source:
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
    if os.path.realpath(directory) != str(directory) or not (_is_own_directory(share) and _is_own_directory(directory)):
        raise PermissionError(1, "it is another user's, or a link leads to it", str(directory))
    if any(os.path.lexists(directory / name) for name in (JOURNAL, CONTEXT)):
        raise FileExistsError(17, "it holds a conversation that cannot be read", str(directory))
    return directory


def note_latest(share: Path, cwd: Path, session_id: str) -> None:
    """Note in `kimi.json` which session of a directory was used last, if it is in this layout. What else it says stays."""
    if not (folder_of(share, cwd) / session_id).is_dir():
        return
    path = Path(os.path.realpath(share / _KNOWN))
    try:
        found: object = orjson.loads(path.read_bytes()) if path.exists() else {}
        document = cast("dict[str, Any]", found) if isinstance(found, dict) else None
        known: object = document.setdefault("work_dirs", []) if document is not None else None
        if document is None or not isinstance(known, list):
            logger.warning("%s is left as it is: it has no list of directories", path)
            return
        entries = cast("list[object]", known)
        ours = next((each for each in map(_entry, entries) if each and _is_of(each, cwd)), None)
        if ours is None:
            ours = {"path": str(cwd), "kaos": "local"}
            entries.append(ours)
        if ours.get("last_session_id") != session_id:
            ours["last_session_id"] = session_id
            write_private(path, orjson.dumps(document, option=orjson.OPT_INDENT_2))
    except (OSError, ValueError) as error:
        logger.warning("%s is left as it is: %s", path, error)


def _entry(value: object) -> dict[str, Any] | None:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else None


def _is_of(entry: dict[str, Any], cwd: Path) -> bool:
    return entry.get("path") == str(cwd) and entry.get("kaos", "local") == "local"
