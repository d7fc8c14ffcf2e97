"""Which workspaces the user trusts. Unknown until the user has said so; never inherited from a parent directory.

Kept in our own state directory, never in the workspace; bound to the directory itself, so that another one put in its
place is unknown again. What is trusted is the workspace's configuration as it was at that moment: the content of every
file of it is kept, and a file that is another one now is not trusted (D23).
"""

import contextlib
import hashlib
import os
import time
from collections.abc import Callable, Generator, Iterable, Mapping
from pathlib import Path
from typing import Any, Literal, TypeAlias

from pydantic import ConfigDict, TypeAdapter, ValidationError

from sould.agents.base.answerfile import JsonAnswers
from sould.agents.base.errors import JournalFullError, SouldError, why_refused
from sould.agents.base.parsed import LATE, Parsed
from sould.agents.base.privatefile import write_private
from sould.agents.base.projectowners import Owners
from sould.agents.permissions.projectfiles import Contents, FileDiffers, contents, differences, digest, unlike

Trust: TypeAlias = Literal["unknown", "trusted", "restricted"]


_WIDE = frozenset({"/", "/tmp", "/var/tmp"})  # noqa: S108 -- named to be refused


class TrustError(SouldError):
    """This directory can never be trusted."""

    kind = "trust"


_UNKNOWN = Owners({})


class _Entry(Parsed):
    model_config = ConfigDict(extra="ignore", strict=True)
    state: Literal["trusted", "restricted"]
    device: int
    inode: int
    since: float = 0.0


_DECISIONS: TypeAdapter[dict[str, Any]] = TypeAdapter(dict[str, Any], config=LATE)
_CONTENTS: TypeAdapter[dict[str, str]] = TypeAdapter(dict[str, str], config=LATE)


class TrustStore:
    """The user's decisions, in one file (0600). A missing or damaged file means that nothing is trusted.

    Beside it, in `trusted/`, a file for each trusted workspace: its configuration by content.
    """

    def __init__(self, path: Path, owners: Owners = _UNKNOWN) -> None:
        """`owners`: as the user who decides sees them."""
        self._path = path
        self._file = JsonAnswers(path, _DECISIONS, durable=True)
        self.owners = owners

    def of_session(self, session: Path, environment: Mapping[str, str]) -> "SessionTrust":
        """The same for one session, by its own directory and the environment of its client."""
        return SessionTrust(self._path, session, Owners(environment))

    def state(self, workspace: Path) -> Trust:
        """What the user said about this directory."""
        resolved = Path(os.path.realpath(workspace))
        entry = self._load().get(str(resolved))
        if entry is None or _identity(resolved) != (entry.device, entry.inode):
            return "unknown"
        if entry.state == "trusted" and _never(resolved):
            return "unknown"
        return entry.state

    def since(self, workspace: Path) -> float:
        """When the user decided last, in wall seconds; 0 when never. What was trusted before a change is older than it."""
        entry = self._load().get(os.path.realpath(workspace))
        return entry.since if entry else 0.0

    def files(self, workspace: Path) -> tuple[Path, ...]:
        """What its other answers depend on beside the files they are given: while these stay as they are, so do those."""
        resolved = Path(os.path.realpath(workspace))
        return workspace, self._path, self._contents_file(resolved)

    def set(self, workspace: Path, state: Trust, seen: Contents | None = None) -> None:
        """Remember the user's decision; `unknown` forgets it. `seen`: the configuration they decided on, else that of now.

        Raises:
            TrustError: the directory is missing, or too wide to be trusted.
        """
        resolved = Path(os.path.realpath(workspace))
        if state == "unknown":
            self._change(lambda entries: {path: entry for path, entry in entries.items() if path != str(resolved)})
            return
        identity = _identity(resolved)
        if identity is None:
            raise TrustError(f"{resolved} is not a directory.")
        if state == "trusted" and _never(resolved):
            raise TrustError(f"{resolved} is too wide to be trusted; trust the project inside it.")
        if state == "trusted":
            with _kept_in(self._contents_file(resolved)):
                self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                self._answers(resolved).replace(dict(contents(resolved) if seen is None else seen))
        entry = _Entry(state=state, device=identity[0], inode=identity[1], since=time.time())
        self._change(lambda entries: {**entries, str(resolved): entry})

    def inherit(self, workspace: Path, source: Path, root: Path, source_root: Path) -> None:
        """Let a workspace be what another one is, whose tree below `source_root` is there again below `root`.

        What is trusted is what the user trusted of the other one, file by file: a file that holds something else here is not.

        Raises:
            TrustError
        """
        state, kept = self.state(source), self._kept(Path(os.path.realpath(source)))
        if state == "unknown":
            return
        old, new = os.path.realpath(source_root), os.path.realpath(root)
        seen = {new + path[len(old) :] if Path(path).is_relative_to(old) else path: kept[path] for path in kept}
        self.set(workspace, state, seen)

    def forget_below(self, directory: Path) -> None:
        """Nothing is decided any more about a directory that goes, nor about those in it."""
        real = os.path.realpath(directory)
        if any(Path(path).is_relative_to(real) for path in self._load()):
            self._change(lambda entries: {p: each for p, each in entries.items() if not Path(p).is_relative_to(real)})

    def changes(self, workspace: Path, now: Contents) -> tuple[FileDiffers, ...]:
        """How the configuration of a trusted workspace, now `contents(workspace)`, is not as trusted; () of any other."""
        if self.state(workspace) != "trusted":
            return ()
        return differences(self._kept(Path(os.path.realpath(workspace))), now)

    def changed(self, workspace: Path, paths: Iterable[Path]) -> tuple[Path, ...]:
        """Those of `paths` that are configuration of the workspace and not as they were trusted."""
        resolved = Path(os.path.realpath(workspace))
        return unlike(self._kept(resolved), resolved, paths)

    def waits_for(self, workspace: Path, path: Path, top: Path) -> str:
        """Why a model is not given a text of the project at `top` unasked: who else decides what it says (D57).

        "" when nobody does, or the user trusts the workspace with this text. Blocks.
        """
        others = self.owners.others(path, top)
        if others and self.state(workspace) == "trusted":
            kept = self._kept(Path(os.path.realpath(workspace)))
            return "" if kept.get(os.path.realpath(path)) == digest(path) else others
        return others

    def _kept(self, workspace: Path) -> Contents:
        return self._answers(workspace).read() or {}

    def _answers(self, workspace: Path) -> JsonAnswers[dict[str, str]]:
        return JsonAnswers(self._contents_file(workspace), _CONTENTS, durable=True)

    def _contents_file(self, workspace: Path) -> Path:
        name = hashlib.sha256(os.fsencode(workspace)).hexdigest()[:32]
        return self._path.parent / "trusted" / f"{name}.json"

    def _load(self) -> dict[str, _Entry]:
        return _entries(self._file.read())

    def _change(self, update: Callable[[dict[str, _Entry]], dict[str, _Entry]]) -> None:
        def updated(known: dict[str, Any] | None) -> dict[str, Any]:
            return {path: entry.model_dump() for path, entry in update(_entries(known)).items()}

        with _kept_in(self._path):
            self._file.change(updated)


class SessionTrust(TrustStore):
    """The user's decisions as one session has them. Never more than the editor it was opened in gives the workspace.

    An editor may hold a workspace restricted that the user trusts here; that it trusts one says nothing about the
    configuration in it, so it never makes trust. What an editor said stays until one says otherwise, also over a restart.
    """

    def __init__(self, path: Path, session: Path, owners: Owners) -> None:
        """`session`: the session's own directory."""
        super().__init__(path, owners)
        self._marker = session / "restricted"

    def state(self, workspace: Path) -> Trust:
        return "restricted" if self._marker.exists() else super().state(workspace)

    def set(self, workspace: Path, state: Trust, seen: Contents | None = None) -> None:
        if state == "trusted" and self._marker.exists():
            raise TrustError("Your editor holds this workspace restricted. Trust it there first, then here.")
        super().set(workspace, state, seen)

    def restrict(self, restricted: bool) -> None:
        """What the session's editor says. Raises JournalFullError: the disk refuses."""
        if restricted == self._marker.exists():
            return
        with _kept_in(self._marker):
            if restricted:
                write_private(self._marker, b"", durable=True)
            else:
                self._marker.unlink(missing_ok=True)
            # The marker is not watched: a directory a session would be. Whoever has an answer looks at it again all the same.
            with contextlib.suppress(FileNotFoundError):
                os.utime(self._path)


@contextlib.contextmanager
def _kept_in(path: Path) -> Generator[None, None, None]:
    try:
        yield
    except OSError as error:
        raise JournalFullError(f"Your decision cannot be saved in {path}: {why_refused(error)}.") from error


def _entries(document: Mapping[str, Any] | None) -> dict[str, _Entry]:
    """One that is damaged says nothing, and leaves the others as they are."""
    entries: dict[str, _Entry] = {}
    for path, raw in (document or {}).items():
        with contextlib.suppress(ValidationError):
            entries[path] = _Entry.model_validate(raw)
    return entries


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return (status.st_dev, status.st_ino) if path.is_dir() else None


def _never(path: Path) -> bool:
    home = Path(os.path.realpath(Path.home()))
    return str(path) in _WIDE or path in (home, *home.parents)
