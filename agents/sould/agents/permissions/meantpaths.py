"""What a path stands for that a model wrote and where nothing is: users mention `@src/a.py`, programs print `src/a.py:12`.

Such a path is only another spelling, and the file that it stands for is taken as if it had been named, and judged as any. Where more
than the spelling is wrong, the nearest paths that exist are named. Nothing outside the project is looked at.
"""

import difflib
import os
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path, PurePath, PurePosixPath
from typing import Final
from urllib.parse import unquote, urlsplit

from msgspec import Struct

from sould.agents.base.diskfile import list_directory
from sould.agents.base.lookalikes import looks
from sould.agents.base.workspace import OutsideError, ResolvedPath, Workspace, WorkspaceError
from sould.agents.permissions.visible import file_name
from sould.agents.wire.messages import Location

IsThere = Callable[[str], bool]
MOST_NAMES: Final = 20_000
"""Names that are looked at for one that is near."""
MOST_ALIKE: Final = 10_000
"""Names in a directory that are looked at for one that looks the same."""
MOST_NAMED: Final = 3
_PASSED_OVER: Final = frozenset(
    {".git", ".hg", ".svn", ".jj", "node_modules", "site-packages", "__pycache__", ".venv", "venv"}
)
_QUOTES: Final = ("``", "''", '""', "<>")
_WHERE: Final = re.compile(r"(?::\d+(?:[:,-]\d+)*:?|#L\d+(?:-L?\d+)?)\Z")
"""A line as compilers, editors and links write it behind a path."""
_ESCAPED: Final = re.compile(r"\\([ ()'\"&$;!\[\]])")
_DRIVE: Final = re.compile(r"[A-Za-z]:\\")


class NamedPaths(Struct, frozen=True):
    """Paths of a workspace as models write them and as they are shown. Nothing here depends on what lies outside of it."""

    workspace: Workspace

    def meant(self, given: str) -> ResolvedPath:
        """The path a model gave or, where nothing is there, the one of the project that it is another spelling of. Judged as `resolve`.

        Raises:
            OutsideError: see `resolve`.
        """
        found = self.resolve(given)
        if not found.inside:
            return found
        meant = self.resolve(_respelled(given, self._is_there))
        if meant.inside and not os.path.lexists(meant.path) and meant.path.is_relative_to(self.workspace.root):
            same = looking_the_same(meant.path, self.workspace.root)
            return self.resolve(str(same)) if same is not None else meant
        return meant

    def resolve(self, path: str) -> ResolvedPath:
        """A path as it is written. It is judged when it is opened.

        Raises:
            OutsideError: it can name nothing, or it is relative and leaves the project.
        """
        found = self.workspace.resolve(path)
        if not (os.path.isabs(path) or path == "~" or path.startswith("~/")):
            written = Path(os.path.normpath(self.workspace.root / path))
            if not self._is_below(written):
                raise OutsideError(
                    f"{path} leads out of the project. If you mean that path, write it in full: {written}"
                )
        return found

    def named(self, given: str) -> tuple[str, tuple[Location, ...]]:
        """A title's name for the path a model gave, and its location. Where links lead is only said inside the project."""
        try:
            found = self.meant(given)
        except WorkspaceError:
            return file_name(given[:200]), ()
        path = found.path if found.inside else found.written
        return file_name(self.shown(path)), (Location(path=str(path)),)

    def shown(self, path: Path) -> str:
        """Relative to the working directory when below it, else absolute."""
        return str(path.relative_to(self.workspace.root)) if path.is_relative_to(self.workspace.root) else str(path)

    @property
    def directories(self) -> tuple[Path, ...]:
        """Those that count as inside."""
        return (self.workspace.root, *self.workspace.additional)

    def _is_there(self, given: str) -> bool:
        try:
            found = self.resolve(given)
        except WorkspaceError:
            return False
        return found.inside and os.path.lexists(found.path)

    def _is_below(self, path: Path) -> bool:
        return any(path.is_relative_to(directory) for directory in self.directories)


def _respelled(given: str, is_there: IsThere) -> str:
    """The path itself where something is there; else the one that it is another spelling of.

    `is_there` says of a path whether something is there, and no of all that lie outside. What is not there in any spelling is to be
    made: then quotes, the form of an address and backslashes are no part of a name, and neither is an `@` before a directory that is there.
    """
    if is_there(given):
        return given
    plain = _plain(given)
    mentioned = plain.removeprefix("@")
    spellings = (plain, mentioned, *(_WHERE.sub("", each) for each in (plain, mentioned)))
    found = next((each for each in spellings if each and is_there(each)), None)
    if found is not None:
        return found
    folder, mentioned_folder = os.path.dirname(plain), os.path.dirname(mentioned)
    is_new_there = mentioned_folder != folder and is_there(mentioned_folder) and not is_there(folder)
    return mentioned if is_new_there else plain


def _plain(given: str) -> str:
    """Without quotes around it, as a path where it is an address, and with slashes."""
    path = given.strip()
    while len(path) > 2 and path[0] + path[-1] in _QUOTES:
        path = path[1:-1].strip()
    if path.startswith("file:/"):
        path = _of_address(path)
    if "\\" in path and not _DRIVE.match(path):
        path = _ESCAPED.sub(r"\1", path) if _ESCAPED.search(path) else path.replace("\\", "/")
    return path or given


def _of_address(address: str) -> str:
    try:
        return unquote(urlsplit(address).path)
    except ValueError:
        return address


def looking_the_same(path: Path, root: Path) -> Path | None:
    """The one path below `root` whose names look like those of a path where nothing is: NFD for NFC, other spaces and quotes. Blocks."""
    at = root
    for name in path.relative_to(root).parts:
        if os.path.islink(at):
            return None  # what it leads to is not looked at
        following = at / name
        if not os.path.lexists(following):
            if name.isascii() and not set(name) & set(" '\""):
                return None
            wanted = looks(name)
            same = [each for each in _names(at, MOST_ALIKE) if looks(each) == wanted]
            if len(same) != 1:
                return None
            following = at / same[0]
        at = following
    return at


def _names(directory: Path, most: int) -> list[str]:
    names: list[str] = []
    try:
        with os.scandir(directory) as entries:
            for entry in entries:
                names.append(entry.name)
                if len(names) > most:
                    return []
    except OSError:
        return []
    return names


def misplaced(absolute: Path, roots: Sequence[Path]) -> str:
    """That a path does not exist, and which is meant, where the project was taken for the uppermost directory; else "". Blocks.

    It is said only where the path's first directory does not exist at all. What is in the uppermost directory is no secret, and
    of nothing else outside the project it shows whether it is there.
    """
    parts = absolute.parts[1:]
    if not parts or os.path.lexists(os.path.join("/", parts[0])):
        return ""
    ends = (Path(*parts[begin:]) for begin in range(len(parts)))
    near = next(((root, end) for end in ends for root in roots if os.path.lexists(root / end)), None)
    if near is None:
        return ""
    root, end = near
    return f"{file_name(absolute)} does not exist{_did_you_mean([end])} Paths are relative to {root}"


def missing(path: Path, root: Path) -> str:
    """That nothing is at a path, and which paths below `root` are near. Blocks."""
    if not path.is_relative_to(root):
        return f"{file_name(path)} does not exist"
    wanted = PurePosixPath(path.relative_to(root))
    return f"{file_name(wanted)} does not exist{_did_you_mean(_nearest(wanted, root))}"


def _did_you_mean(near: Sequence[PurePath]) -> str:
    return f"; did you mean {' or '.join(f'`{file_name(each)}`' for each in near)}?" if near else ""


def _nearest(wanted: PurePosixPath, root: Path) -> list[PurePosixPath]:
    """The same name elsewhere, else ones like it, the nearest first."""
    names = [*_below(root)]
    near = [each for each in names if each.name.casefold() == wanted.name.casefold()]
    if not near:
        close = difflib.get_close_matches(wanted.name, {each.name for each in names}, n=MOST_NAMED, cutoff=0.75)
        near = [each for each in names if each.name in close]
    return sorted(near, key=lambda each: -_likeness(each, wanted))[:MOST_NAMED]


def _likeness(one: PurePosixPath, other: PurePosixPath) -> float:
    return difflib.SequenceMatcher(None, str(one).casefold(), str(other).casefold(), autojunk=False).ratio()


def _below(root: Path) -> Iterator[PurePosixPath]:
    """The names in a project, relative, those further up first; not what others put there."""
    pending, count = [PurePosixPath()], 0
    while pending:
        following: list[PurePosixPath] = []
        for directory in pending:
            for name, is_directory in _listed(root / directory):
                count += 1
                if count > MOST_NAMES:
                    return
                yield directory / name
                if is_directory and name not in _PASSED_OVER:
                    following.append(directory / name)
        pending = following


def _listed(directory: Path) -> Collection[tuple[str, bool]]:
    try:
        return list_directory(directory)
    except WorkspaceError:
        return ()
