"""Where git stands in a project, told by a few looks at its files, and what a commit or the index has of some of them.

Read only, as `gitprogram`. `now` costs some ten looks and is asked often; all else runs git and is asked when that moved.
Nothing here knows who moved it.
"""

import os
import stat
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, TypeAlias

from msgspec import Struct

from sould.agents.base.filestamp import FileStamp, file_stamp
from sould.agents.base.gitplaces import SMALL, git_directories, read_text
from sould.agents.files.directories.gitfiles import MOST_GIT
from sould.agents.files.directories.gitprogram import GitProgram

_PACKED: Final = 64 * 1024 * 1024
_PATIENCE: Final = 10.0
"""Seconds that git may take."""
_AT_ONCE: Final = 500
"""Paths that one git is given."""


class GitMoment(Struct, frozen=True):
    """How git stood. Equal moments: nothing of what matters here has moved in between."""

    branch: str
    """What HEAD says: a branch, or a commit."""
    commit: str | None
    """That commit; "" where there is none yet, None where only git can tell."""
    index: FileStamp
    stash: FileStamp
    tables: FileStamp = ()
    """Where git keeps its references in tables, not in files."""


class GitEntry(Struct, frozen=True):
    """A file in a commit or in the index. `blob` is "" where it is being merged, or is no file."""

    mode: int
    blob: str


Entries: TypeAlias = Mapping[str, GitEntry]
"""By path relative to the root."""


class GitMoments:
    """Of the work tree at `root`, if there is one."""

    def __init__(self, root: Path, variables: Mapping[str, str]) -> None:
        self.root: Final = root
        self._git = GitProgram(root, variables)
        self._packed: tuple[FileStamp, str, str] = ((), "", "")
        """How the packed references looked, and what they said of a branch."""

    def now(self) -> GitMoment | None:
        """How git stands; None: there is none here, or it is being made."""
        places = git_directories(self.root)
        head = read_text(places[0] / "HEAD", SMALL) if places is not None else None
        if places is None or head is None:
            return None
        own, common = places
        branch = head.strip()
        tables = file_stamp(common / "reftable" / "tables.list")
        commit = self._commit(common, branch) if not tables else None
        return GitMoment(branch, commit, file_stamp(own / "index"), file_stamp(common / "refs" / "stash"), tables)

    def _commit(self, common: Path, branch: str) -> str | None:
        if not branch.startswith("ref: "):
            return branch
        name = branch.removeprefix("ref: ")
        loose = read_text(common / name, SMALL)
        return loose.strip() if loose is not None else self._packed_commit(common / "packed-refs", name)

    def _packed_commit(self, packed: Path, name: str) -> str | None:
        look = file_stamp(packed)
        if not look:
            return ""
        if self._packed[:2] != (look, name):
            text = read_text(packed, _PACKED)
            if text is None:
                return None
            lines = (line for line in text.split("\n") if line.endswith(f" {name}"))
            self._packed = look, name, next((line.partition(" ")[0] for line in lines), "")
        return self._packed[2]

    # --- by git itself: blocks ------------------------------------------------------------------------------------------

    def commit_of(self, moment: GitMoment) -> str:
        """The commit that was checked out, "" where there was none; `moment` is now."""
        if moment.commit is not None:
            return moment.commit
        return self._run("rev-parse", "--verify", "-q", "HEAD").decode().strip()

    def commit_at(self, seconds: float) -> str:
        """The commit that was checked out at a time since 1970, as far as git remembers; "" where it does not."""
        second = int(seconds) - 1  # git keeps whole seconds: what happened in the same one counts as later
        return self._run("rev-parse", "--verify", "-q", f"HEAD@{{{second} +0000}}").decode().strip()

    def committed(self, commit: str, paths: Collection[str]) -> dict[str, GitEntry]:
        """What a commit has of the paths."""
        if not commit:
            return {}
        found: dict[str, GitEntry] = {}
        for some in _portions(paths):
            for about, path in _listed(self._run("ls-tree", "-z", commit, "--", *some)):
                mode, _, blob = about.split(" ")
                found[path] = _entry(mode, blob)
        return found

    def staged(self, paths: Collection[str]) -> dict[str, GitEntry]:
        """What the index has of the paths."""
        found: dict[str, GitEntry] = {}
        for some in _portions(paths):
            for about, path in _listed(self._run("ls-files", "-z", "-s", "--", *some)):
                mode, blob, stage = about.split(" ")
                found[path] = _entry(mode, blob if stage == "0" else "")
        return found

    def contents(self, blobs: Collection[str]) -> dict[str, bytes]:
        """What blobs hold; those that are gone or very large are left out."""
        wanted = [blob for blob in blobs if blob]
        latest = time.monotonic() + _PATIENCE
        sizes = self._git.sizes(wanted, latest) if wanted else {}
        return self._git.contents([blob for blob, size in sizes.items() if size <= MOST_GIT], latest)

    def _run(self, *arguments: str) -> bytes:
        return self._git.run(("--literal-pathspecs", *arguments), time.monotonic() + _PATIENCE)


def _portions(paths: Collection[str]) -> Iterator[Sequence[str]]:
    each = list(paths)
    return (each[at : at + _AT_ONCE] for at in range(0, len(each), _AT_ONCE))


def _listed(output: bytes) -> Iterator[tuple[str, str]]:
    for line in output.split(b"\0"):
        about, _, path = line.partition(b"\t")
        if path:
            yield about.decode(), os.fsdecode(path)


def _entry(mode: str, blob: str) -> GitEntry:
    number = int(mode, 8)
    return GitEntry(number, blob if stat.S_ISREG(number) or stat.S_ISLNK(number) else "")
