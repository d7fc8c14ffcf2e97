"""What a call did to files, as it is kept and told. Pure."""

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from sould.agents.files.directories.refs import DIRECTORY, UNKEPT
from sould.agents.files.edits.state import LoggedEdit
from sould.agents.files.review.hunk import AgentCall
from sould.agents.files.reviewing.listing import ReviewedHunk

MOST_NAMED = 200
"""Paths of one call that its result names."""


class CallChange(Struct, frozen=True):
    """What a path was and is, by digest (or DIRECTORY, UNKEPT); None: nothing."""

    path: Path
    before: str | None
    after: str | None
    before_mode: int | None = None
    after_mode: int | None = None
    shared: bool = False
    secret: bool = False
    """Its contents are in memory only."""
    unsure: bool = False
    """The user may have done it, while a program of the call ran."""
    ran: str = ""
    """What ran then, in words, of one that is unsure."""
    changed_at: int = 0
    """When, by the clock of files; 0: nobody knows."""
    met: tuple[ReviewedHunk, ...] = ()
    """Hunks of other sessions that it changed or ended, as they were before."""


class Findings(Struct, frozen=True):
    """What one call did, oldest first; `note` is for its card, "" when there is nothing to say."""

    changes: Sequence[CallChange] = ()
    note: str = ""

    @property
    def paths(self) -> Sequence[Path]:
        """Each once."""
        return tuple(dict.fromkeys(change.path for change in self.changes))


def together(found: Sequence[Findings]) -> Findings:
    """What was found of one call in several intervals."""
    changes = tuple(change for each in found for change in each.changes)
    return Findings(changes, next((each.note for each in found if each.note), ""))


LateListener: TypeAlias = Callable[[str, Findings], None]
"""Is told, with the call's title, what was found when its result had been given."""
UnsureListener: TypeAlias = Callable[[AgentCall], None]
"""Is told of a call that has ended, some of whose changes may be the user's."""


def explained(found: CallChange, own: Sequence[LoggedEdit]) -> Iterator[CallChange]:
    """What is left of a change when the edits that are known of the path are taken out, in the order they were made."""
    mode = found.before_mode
    at = max((n for n, edit in enumerate(own, 1) if edit.after == found.before), default=0)
    before = found.before
    for edit in own[at:]:
        if edit.before != before and before != UNKEPT:
            yield replace(found, before=before, after=edit.before, before_mode=mode, after_mode=edit.before_mode)
        before, mode = edit.after, edit.after_mode
    moved = mode is not None and found.after_mode is not None and mode != found.after_mode
    unknown = UNKEPT in (before, found.after) and not own[at:]
    if before != found.after or unknown or moved:
        yield replace(found, before=before, before_mode=mode)


def halves(change: CallChange) -> Iterator[CallChange]:
    """A change; where a directory took the place of something else, or gave way to it, what went and what came, one after the other."""
    if change.before is None or change.after is None or (change.before == DIRECTORY) == (change.after == DIRECTORY):
        yield change
    else:
        yield replace(change, after=None, after_mode=None)
        yield replace(change, before=None, before_mode=None)


def made_directories(made: Sequence[Path]) -> list[CallChange]:
    """These, as far as they are there. Blocks."""
    return [CallChange(at, None, DIRECTORY, None, os.lstat(at).st_mode) for at in made if at.is_dir()]


def named(paths: Sequence[Path]) -> str:
    names = ", ".join(os.fsencode(path).decode(errors="backslashreplace") for path in paths[:5])
    return names + (", ..." if len(paths) > 5 else "")


def is_text(path: Path) -> bool:
    """Whether a journal can hold the path; a name may be any bytes."""
    try:
        str(path).encode()
    except UnicodeEncodeError:
        return False
    return True
