"""What users and programs do to the files of a project, and with its git: one table for both, as nobody can tell them apart."""

import itertools
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeAlias

from msgspec import Struct
from tests.agents.files.reviewing.contents import files_in, text_of
from tests.agents.files.reviewing.livedesk import LiveDesk, some_hunk_staged

NAMES: Final = ("a.txt", "b.txt", "sub/c.txt", "sub/d.txt", "sub/deep/e.txt")
FOLDERS: Final = ("sub", "moved", "sub/deep")
FIRST: Final = 6
"""Lines that a file begins with."""


class Hand(Struct):
    """Who writes lines, each of them once; `who` is in each."""

    who: str
    numbers: "itertools.count[int]"
    end: str

    def line(self) -> str:
        """One that was never written before."""
        return f"{self.who} {next(self.numbers)}{self.end}"

    def changed(self, text: str, places: list[int], *, remove: bool) -> str:
        """The text with a line more at each place, or in place of the one there."""
        lines = text.splitlines(keepends=True)
        for place in sorted(set(places), reverse=True):
            at = min(place, len(lines))
            if lines and not lines[-1].endswith(("\n", "\r")):
                lines[-1] += self.end
            lines[at : at + (1 if remove else 0)] = [self.line()]
        return "".join(lines)


class Deed(Struct, frozen=True):
    """What is done, with numbers that choose what it is done to."""

    kind: str
    first: int
    second: int
    places: tuple[int, ...]
    remove: bool


Doing: TypeAlias = Callable[[LiveDesk, Deed, Hand], None]


def do(desk: LiveDesk, deed: Deed, hand: Hand) -> None:
    """Do it, where it can be done."""
    _DOINGS[deed.kind](desk, deed, hand)


def _some(desk: LiveDesk, number: int) -> Path | None:
    found = [*files_in(desk.root)]
    return found[number % len(found)] if found else None


def _free(path: Path) -> bool:
    return not path.exists() and not path.is_symlink() and not any(part.is_file() for part in path.parents)


def _put(desk: LiveDesk, path: Path, data: bytes) -> None:
    """At once: what a file holds in the middle of a write may be taken for what a command left (see `docs/review.md`)."""
    written = desk.state / "written"
    written.write_bytes(data)
    written.chmod(path.stat().st_mode if path.exists() else 0o644)
    written.replace(path)


def _edit(desk: LiveDesk, deed: Deed, hand: Hand) -> None:
    path = _some(desk, deed.first)
    text = text_of(path) if path is not None else None
    if path is not None and text is not None:
        _put(desk, path, hand.changed(text, [*deed.places], remove=deed.remove).encode())


def _make(desk: LiveDesk, deed: Deed, hand: Hand) -> None:
    path = desk.root / NAMES[deed.first % len(NAMES)]
    if _free(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        _put(desk, path, "".join(hand.line() for _ in deed.places).encode())


def _delete(desk: LiveDesk, deed: Deed, _: Hand) -> None:
    path = _some(desk, deed.first)
    if path is not None:
        path.unlink()


def _rename(desk: LiveDesk, deed: Deed, _: Hand) -> None:
    path, to = _some(desk, deed.first), desk.root / NAMES[deed.second % len(NAMES)]
    if path is not None and _free(to):
        to.parent.mkdir(parents=True, exist_ok=True)
        path.rename(to)


def _rename_folder(desk: LiveDesk, deed: Deed, _: Hand) -> None:
    path, to = desk.root / FOLDERS[deed.first % len(FOLDERS)], desk.root / FOLDERS[deed.second % len(FOLDERS)]
    if path.is_dir() and not path.is_symlink() and _free(to) and path not in to.parents:
        to.parent.mkdir(parents=True, exist_ok=True)
        path.rename(to)


def _mode(desk: LiveDesk, deed: Deed, _: Hand) -> None:
    path = _some(desk, deed.first)
    if path is not None:
        path.chmod(0o755 if deed.remove else 0o644)


def _binary(desk: LiveDesk, deed: Deed, _: Hand) -> None:
    path = _some(desk, deed.first)
    if path is not None:
        _put(desk, path, b"\0" + bytes(deed.places))


def _link(desk: LiveDesk, deed: Deed, _: Hand) -> None:
    path = _some(desk, deed.first)
    if path is not None:
        link = desk.state / "link"
        link.symlink_to(desk.root / NAMES[deed.second % len(NAMES)])
        link.replace(path)


def _folder(desk: LiveDesk, deed: Deed, hand: Hand) -> None:
    path = _some(desk, deed.first)
    if path is not None:
        path.unlink()
        path.mkdir()
        (path / "inside.txt").write_bytes(hand.line().encode())


def _text(desk: LiveDesk, deed: Deed, hand: Hand) -> None:
    """A text where something else is."""
    path = desk.root / NAMES[deed.first % len(NAMES)]
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    elif not path.is_symlink() and (not path.exists() or text_of(path) is not None):
        return
    _put(desk, path, hand.line().encode())


def _git(*arguments: str) -> Doing:
    def doing(desk: LiveDesk, deed: Deed, hand: Hand) -> None:
        desk.tries(*arguments)

    return doing


def _commit(desk: LiveDesk, deed: Deed, _: Hand) -> None:
    desk.tries("add", "-A")
    desk.tries("commit", "-qm", "all", *(["--amend"] if deed.remove else []))


def _stage_hunk(desk: LiveDesk, deed: Deed, _: Hand) -> None:
    some_hunk_staged(desk, random.Random(deed.first))


def _pop(desk: LiveDesk, _deed: Deed, _hand: Hand) -> None:
    if not desk.tries("stash", "pop", "-q") and desk.git("ls-files", "-u"):
        desk.git("reset", "-q", "--hard")


def _switch(desk: LiveDesk, _deed: Deed, _hand: Hand) -> None:
    desk.tries("switch", "-q", "other" if desk.git("branch", "--show-current").strip() == "main" else "main")


def _restore(desk: LiveDesk, deed: Deed, _: Hand) -> None:
    desk.tries("checkout", "-q", "HEAD", "--", NAMES[deed.first % len(NAMES)])


_DOINGS: Final[dict[str, Doing]] = {
    "edit": _edit,
    "make": _make,
    "delete": _delete,
    "rename": _rename,
    "rename folder": _rename_folder,
    "mode": _mode,
    "binary": _binary,
    "link": _link,
    "folder": _folder,
    "text": _text,
    "commit": _commit,
    "stage": _git("add", "-A"),
    "stage hunk": _stage_hunk,
    "unstage": _git("reset", "-q"),
    "stash": _git("stash", "-q"),
    "pop": _pop,
    "switch": _switch,
    "discard all": _git("reset", "-q", "--hard"),
    "restore": _restore,
}
SETTLING: Final = frozenset({"commit", "stage", "stage hunk", "switch", "restore", "discard all", "pop"})
"""What brings something into git, or out of it: what git has then is accepted."""
STAGING: Final = frozenset({"commit", "stage", "stage hunk", "unstage"})
"""What changes no file at any time."""
KINDS: Final = ("edit", "edit", *_DOINGS)
