"""What is known of a stored session without opening it, and where that is read from.

`session.json` beside the journal holds it; without that file the journal itself is asked. Reading never raises for a
damaged session: there is simply nothing to know.
"""

import contextlib
import os
import re
import secrets
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Final, Literal, TypeAlias

from msgspec import MsgspecError, Struct
from msgspec.json import Decoder, encode
from msgspec.structs import replace

from sould.agents.base.errors import SouldError
from sould.agents.base.privatefile import write_private
from sould.agents.journal.records import Scan
from sould.agents.permissions.visible import prints_nothing, visible
from sould.agents.soul.session_request import Origin
from sould.agents.wire.content import input_summary
from sould.agents.wire.messages import TurnBegin

INFO = "session.json"
JOURNAL = "wire.jsonl"
TITLE_LENGTH = 50
_CROCKFORD: Final = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_ADDED = re.compile(r"<([A-Za-z][\w-]*)(?:\s[^<>]*)?(?:/>|>.*?</\1\s*>)", re.DOTALL)
"""What editors and programs put beside what was typed comes in tags, such as the files that are open."""
Archived: TypeAlias = Literal["exclude", "include", "only"]
"""Which sessions a list has: without archived ones, with them, or only those."""
Origins: TypeAlias = Origin | Literal["any", "attended"]
"""Which sessions a list has: those of one origin, all, or those that a person may look for: all but of runs with nobody there."""
_RANKS: Final[tuple[Origin, ...]] = ("run", "wire", "", "terminal", "editor")


class SessionInfo(Struct, frozen=True):
    """What a list shows of a session. Times are wall seconds; `title` is "" until the first prompt.

    `cwd` is its directory as its client spelled it; which directory that is, `directory` says.
    """

    id: str
    cwd: Path
    additional: tuple[Path, ...] = ()
    title: str = ""
    created: float = 0.0
    updated: float = 0.0
    turns: int = 0
    archived: bool = False
    """Left out of lists and search, unless they are asked for it."""
    origin: Origin = ""
    """Where it was begun, or opened since; "" where nobody noted it."""
    led_to: Path | None = None
    """Where `cwd` led when the session began; None where nobody noted it: looking now could wait for a network disk."""

    @property
    def directory(self) -> Path:
        """Where it works, every link followed: sessions of one directory have the same, however they were opened."""
        return self.led_to or self.cwd

    @property
    def blank(self) -> bool:
        """It holds nothing that anybody would miss: it was opened, or asked to show something."""
        return not self.turns and not self.title


class StoredSession(Struct, frozen=True):
    """A session on disk, as it was when it was looked up."""

    info: SessionInfo
    directory: Path


class WeighedSession(Struct, frozen=True):
    """A session and what it takes on the disk."""

    info: SessionInfo
    size: int
    """In bytes."""


class InfoPage(Struct, frozen=True):
    """One page of a list; `next_cursor` is None on the last."""

    items: tuple[SessionInfo, ...]
    next_cursor: str | None = None
    left_out: int = 0
    """On the first page: how many the list would have besides, were it of any origin."""


def origin_after(origin: Origin, opened: Origin) -> Origin:
    """Of a session that is opened somewhere: the place where its person is stays, and the editor is theirs before a terminal."""
    return opened if opened and _RANKS.index(opened) > _RANKS.index(origin) else origin


def _path(kind: type, value: object) -> object:
    if kind is Path and isinstance(value, str):
        return Path(value)
    raise TypeError(kind)


_INFO = Decoder(SessionInfo, dec_hook=_path)


def read_info(directory: Path) -> SessionInfo | None:
    """What is known of the session in `directory`; None when neither file says enough."""
    try:
        info = _INFO.decode((directory / INFO).read_bytes())
    except (OSError, MsgspecError):
        return _from_journal(directory)
    return replace(info, id=directory.name)


def write_info(directory: Path, info: SessionInfo) -> None:
    """Replace `session.json` in one step. Raises OSError."""
    write_private(directory / INFO, encode(info, enc_hook=str))


def default_title(prompt: str) -> str:
    """The title a session gets from its first prompt: one line, 50 characters, without what an editor put around it."""
    typed = _ADDED.sub(" ", prompt)
    return visible(" ".join((typed if typed.strip() else prompt).split())[:TITLE_LENGTH].rstrip())


def shown_title(title: str) -> str:
    """A title that somebody gave: one line with nothing in it that cannot be seen. What is one stays as it is."""
    line = " ".join(title.split())
    return visible(line) if any(map(prints_nothing, line)) else line


def first_prompt(head: bytes) -> str:
    """What the user said first that has a title in it, of a journal that begins so."""
    return next(filter(default_title, _prompts(Scan(BytesIO(head)))), "")


def _from_journal(directory: Path) -> SessionInfo | None:
    try:
        with (directory / JOURNAL).open("rb") as source:
            scan = Scan(source)
            prompts = tuple(_prompts(scan))
            changed = os.fstat(source.fileno()).st_mtime
    except OSError:
        return None
    said = scan.metadata or {}
    cwd, created = said.get("cwd"), said.get("created")
    if not isinstance(cwd, str):
        return None
    return SessionInfo(
        id=directory.name,
        cwd=Path(cwd),
        title=next((title for title in map(default_title, prompts) if title), ""),
        created=created if isinstance(created, int | float) else changed,
        updated=changed,
        turns=len(prompts),
    )


def _prompts(scan: Scan) -> Iterator[str]:
    for record in scan:
        if record.type == TurnBegin.__name__:
            message = record.message
            yield input_summary(message.user_input) if isinstance(message, TurnBegin) else ""


def size_of(directory: Path) -> int:
    """The bytes of all files below; what goes meanwhile counts nothing."""
    total = 0
    for place, _, names in os.walk(directory):
        for name in names:
            with contextlib.suppress(OSError):
                total += os.lstat(os.path.join(place, name)).st_size
    return total


def new_id(now: float) -> str:
    """A ULID: 26 characters that sort by time."""
    number = (int(now * 1000) << 80) | secrets.randbits(80)
    return "".join(_CROCKFORD[(number >> shift) & 31] for shift in range(125, -1, -5))


def require_text(*paths: Path) -> None:
    """Raises SouldError: a path is no text."""
    for path in paths:
        try:
            str(path).encode()
        except UnicodeEncodeError:
            raise SouldError(f"The directory name {str(path)!a} is not UTF-8; rename it to work there.") from None
