"""The project's instructions (`AGENTS.md`): which files hold them, what the model is given of them, and what was left out.

They are quoted data, within a budget, and only of the project, its superproject and the main checkout of its worktree: nobody
was asked about what a link leads to elsewhere, nor about what others than the user can write. Nothing here runs or imports
anything of the project. Blocks.
"""

import itertools
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Final, TypeAlias

from msgspec import Struct, field

from sould.agents.base.diskfile import read_file
from sould.agents.base.textencoding import certainly_decoded
from sould.agents.base.workspace import WorkspaceError
from sould.agents.files.directories.checkouts import LinkedWorktree, linked_worktree, superproject_of, top_of
from sould.agents.permissions.policycontext import PolicyContext
from sould.agents.permissions.secretnames import likelihood
from sould.agents.permissions.visible import file_name

BUDGET: Final = 32 * 1024
"""Bytes of instructions, filled from the deepest directory up (wire.md 3.7)."""
_KIB: Final = 1024
_NAMES: Final = ("AGENTS.md", "agents.md")
"""The usual ones, which need no look at all names of a directory."""
_HIDDEN_HOMES: Final = (".sould", ".kimi")
_OTHERS: Final = ("CLAUDE.md", "GEMINI.md", ".cursorrules", ".windsurfrules", ".github/copilot-instructions.md")
"""What other agents read."""
_MOST_NAMES: Final = 20_000
"""Names of a directory that are looked at for one in other letter case."""
_MOST_FOLDERS: Final = 20_000
"""Below the working directory that are looked through for what waits."""
_ASKED: Final = "/trust, or `sould trust` in a terminal, asks you about it"
_NOT_ASKED: Final = "it is read once it is yours alone, or git's `safe.directory` names its project"
_MOST_SUPERPROJECTS: Final = 8
"""Of submodules in submodules."""


Waits: TypeAlias = Callable[[Path, Path], str]
"""Why a file waits for the user's trust, as a clause, by the top of its project too; "" when it does not. See `TrustStore.waits_for`."""


class LeftOut(Struct, frozen=True):
    """A file that the model was not given, or not to its end. `why` is a clause."""

    path: Path
    why: str

    @property
    def name(self) -> str:
        """The path in one line, of what is text. Paths may hold line breaks, and bytes that are none."""
        return file_name(self.path).encode(errors="backslashreplace").decode()

    def __str__(self) -> str:
        return f"{self.name}: {self.why}"


class Instructions(Struct, frozen=True):
    """What the model is given, which says itself what was left out."""

    text: str
    left_out: tuple[LeftOut, ...] = ()


class _Place(Struct, frozen=True):
    """A directory whose instructions count. Links may lead to anywhere below `top`."""

    directory: Path
    top: Path
    main: "_Place | None" = None
    """The same directory in the main checkout, whose files count where this one has none of their name."""


class _Reading(Struct):
    """Reads files one by one until there is no room."""

    waits: Waits
    room: int = BUDGET
    texts: list[str] = field(default_factory=list[str])
    left_out: list[LeftOut] = field(default_factory=list[LeftOut])

    def take(self, path: Path, top: Path, way_on: str = _ASKED) -> None:
        """`way_on`: what the user can do about a file that waits."""
        real = Path(os.path.realpath(path))
        if not real.is_relative_to(top) or likelihood(real, PolicyContext(root=top)) != "no":
            self.leave_out(path, "it is a link that leads out of the project or to a secret: it was not read")
        elif why := self.waits(path, top):
            self.leave_out(path, f"it was not read: {why}; {way_on}")
        elif self.room <= 0:
            self.leave_out(path, f"it was not read: those nearer to the files take all of the {BUDGET // _KIB} KiB")
        else:
            try:
                self._read(path, real)
            except UnicodeError:
                self.leave_out(
                    path, "it is neither in UTF-8 nor in UTF-16: it was not read here; look at it with ReadFile"
                )
            except WorkspaceError as error:
                self.leave_out(path, f"it was not read: {error}")

    def _read(self, path: Path, real: Path) -> None:
        """Raises UnicodeError, WorkspaceError."""
        data, size = read_file(real, self.room)
        text = _text(data)
        self.room -= len(text.encode())
        if size <= len(data):
            self.texts.append(f"{_marks(path)[0]}\n{text.strip()}")
            return
        self.room = 0
        whole_lines = text[: text.rfind("\n") + 1] or text
        given = f"it was cut after {len(whole_lines.encode()):,} of its {size:,} bytes"
        cut = LeftOut(path, f"{given}: all instructions together have {BUDGET // _KIB} KiB")
        self.left_out.append(cut)
        self.texts.append(f"{_marks(path)[0]}\n{whole_lines.strip()}\n<!-- {cut} -->")

    def leave_out(self, path: Path, why: str) -> None:
        found = LeftOut(path, why)
        self.left_out.append(found)
        self.texts.append(f"<!-- {found} -->")


def project_instructions(cwd: Path, waits: Waits) -> Instructions:
    """Of every directory from the top of the project down to `cwd`; the deepest are kept first when the budget runs out.

    The project is what git has checked out there, with the superprojects of a submodule.
    """
    reading = _Reading(waits)
    for place in _places_up(cwd):
        _read_place(place, reading)
    return Instructions("\n\n".join(reversed(reading.texts)) or "None.", tuple(reading.left_out))


def folder_instructions(folders: Iterable[tuple[Path, Path]], given: str, waits: Waits, own: Path) -> Instructions:
    """Of directories in turn, each with the one that links may not leave; not those that the text `given` holds.

    `own`: below it the user is asked about what waits.
    """
    reading = _Reading(waits)
    for directory, top in folders:
        for path in _files_in(directory):
            if not any(mark in given for mark in _marks(path)):
                reading.take(path, top, _ASKED if top == own else _NOT_ASKED)
    return Instructions("\n\n".join(reading.texts), tuple(reading.left_out))


def instruction_files(cwd: Path) -> Iterator[tuple[Path, Path]]:
    """The files that `project_instructions` would read, each with the top of its project."""
    for place in _places_up(cwd):
        for each in (place, place.main):
            if each is not None:
                yield from ((path, each.top) for path in _files_in(each.directory))


def instruction_files_below(cwd: Path) -> Iterator[tuple[Path, Path]]:
    """The files that `folder_instructions` would read, as above: of so many folders, the nearest first."""
    top = Path(os.path.realpath(cwd))
    folders = deque([top])
    for _ in range(_MOST_FOLDERS):
        if not folders:
            return
        folder = folders.popleft()
        if folder != top:
            yield from ((path, top) for path in _files_in(folder))
        try:
            with os.scandir(folder) as entries:
                inner = [each.path for each in itertools.islice(entries, _MOST_NAMES) if _is_folder(each)]
        except OSError:
            continue
        folders.extend(map(Path, sorted(inner)))


def _is_folder(entry: os.DirEntry[str]) -> bool:
    return entry.is_dir(follow_symlinks=False) and entry.name not in (".git", *_HIDDEN_HOMES)


def directories_up(cwd: Path) -> frozenset[Path]:
    """The directories, resolved, whose instructions are the project's own: those of `project_instructions`."""
    return frozenset(Path(os.path.realpath(place.directory)) for place in _places_up(cwd))


def _read_place(place: _Place, reading: _Reading) -> None:
    files = _files_in(place.directory)
    for path in files:
        reading.take(path, place.top)
    if place.main is not None:
        have = {_key(path, place.directory) for path in files}
        for path in _files_in(place.main.directory):
            if _key(path, place.main.directory) not in have:
                files.append(path)
                reading.take(path, place.main.top)
    if not files:
        for name in _OTHERS:
            if os.path.lexists(place.directory / name):
                why = "it was not read: it is written for another agent, and there is no AGENTS.md beside it"
                reading.leave_out(place.directory / name, why)


def _marks(path: Path) -> tuple[str, str]:
    """How the text of a file begins that was given, and how one is named that was left out."""
    name = LeftOut(path, "").name
    return f"<!-- {name} -->", f"<!-- {name}: "


def _key(path: Path, directory: Path) -> str:
    return str(path.relative_to(directory)).casefold()


def _text(data: bytes) -> str:
    """Without the part of a character that the budget cut off. Raises UnicodeError: it is in an encoding that would have to be guessed."""
    for cut in range(4):
        read = certainly_decoded(data[: len(data) - cut])
        if read is not None:
            return read.text.removeprefix("\ufeff")
    raise UnicodeError


def _files_in(directory: Path) -> list[Path]:
    """A project may have put a link, a pipe or a directory in a file's place."""
    plain = _in_any_case(directory)
    hidden = (directory / home / _NAMES[0] for home in _HIDDEN_HOMES)
    return [*([plain] if plain is not None else []), *(path for path in hidden if os.path.lexists(path))]


def _in_any_case(directory: Path) -> Path | None:
    usual = next((directory / name for name in _NAMES if os.path.lexists(directory / name)), None)
    if usual is not None:
        return usual
    try:
        with os.scandir(directory) as entries:
            names = [entry.name for entry in itertools.islice(entries, _MOST_NAMES)]
    except OSError:
        return None
    same = sorted(name for name in names if name.casefold() == _NAMES[1])
    return directory / same[0] if same else None


def _places_up(cwd: Path) -> Iterator[_Place]:
    at, top = cwd, top_of(cwd)
    for _ in range(_MOST_SUPERPROJECTS):
        linked = linked_worktree(top)
        real = Path(os.path.realpath(top))
        for directory in (at, *at.parents):
            yield _Place(directory, real, _in_main(directory, linked))
            if directory == top:
                break
        outer = superproject_of(top)
        if outer is None:
            return
        at, top = real.parent, outer


def _in_main(directory: Path, linked: LinkedWorktree | None) -> _Place | None:
    real = Path(os.path.realpath(directory))
    if linked is None or not real.is_relative_to(linked.root):
        return None
    return _Place(linked.main / real.relative_to(linked.root), linked.main)
