"""The configuration a project brings, file by file: what the user trusted, and how it differs now (D23).

Reads files as bytes and interprets none, but to find the programs that MCP files name. What a file of another place does
(a program that a hook names) is judged by whoever reads the hook.
"""

import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Literal, TypeAlias

from msgspec import Struct

from sould.agents.base.filechanges import FileChanges, Stamp
from sould.agents.base.gitplaces import repository_marks, work_tree_of
from sould.agents.base.regularfile import without_waiting
from sould.agents.permissions.servedfiles import served_files

HOMES = (".sould", ".agents", ".kimi/skills", ".claude/skills", ".codex/skills")
FILES = (".mcp.json",)
NO_CONFIGURATION = frozenset({".sould/memory.md"})
"""Text in those places that the agent is meant to write."""
MOST = 5_000
"""Files that are looked at; what is beyond counts as changed."""
LARGEST = 16 * 1024 * 1024
"""Bytes of a file that count, with its size."""

Contents: TypeAlias = Mapping[str, str]
"""Path to digest."""


class Change(Struct, frozen=True):
    """One file that is not as the user trusted it. `digest` is of its content now."""

    path: Path
    how: Literal["there", "added", "changed", "removed"]
    digest: str = ""


def contents(workspace: Path, known: "Seen | None" = None) -> Contents:
    """Every configuration file of the workspace, and of the directories above it up to the git root.

    With `known`, a file that the disk says is the same is not read again: good enough for news, not for a decision.
    """
    found: dict[str, str] = {}
    real = Path(os.path.realpath(workspace))
    for path in (*served_files(real), *_files(real)):
        if len(found) >= MOST:
            break
        found.setdefault(os.path.realpath(path), digest(path) if known is None else known.digest(path))
    return found


def stamp_of(workspace: Path, changes: FileChanges, others: Iterable[Path]) -> Stamp | None:
    """How everything stands that `contents` looks at, and the `others`; None: look again each time."""
    real = Path(os.path.realpath(workspace))
    marks = repository_marks(real)  # which say how far up is looked
    upwards = changes.stamp(marks)
    homes = _homes(real)
    named = changes.stamp((), homes)
    stamp = changes.stamp((*marks, *others), (*homes, *served_files(real)))
    return stamp if changes.holds(upwards) and changes.holds(named) else None


class Seen:
    """Digests that are worked out once for as long as a file is not written."""

    def __init__(self) -> None:
        self._digests: dict[Path, tuple[object, str]] = {}

    def digest(self, path: Path) -> str:
        """As `digest`."""
        try:
            status = path.stat()
        except OSError:
            return digest(path)
        stamp = (status.st_ctime_ns, status.st_mtime_ns, status.st_size, status.st_ino)
        known = self._digests.get(path)
        if known is None or known[0] != stamp:
            known = self._digests[path] = (stamp, digest(path))
        return known[1]


def differences(trusted: Contents, now: Contents) -> tuple[Change, ...]:
    """What was added, changed and removed, by path."""
    changes = [
        Change(Path(path), "changed" if path in trusted else "added", found)
        for path, found in now.items()
        if trusted.get(path) != found
    ]
    changes += [Change(Path(path), "removed") for path in trusted if path not in now and not os.path.lexists(path)]
    return tuple(sorted(changes, key=lambda change: change.path))


def unlike(trusted: Contents, workspace: Path, paths: Iterable[Path]) -> tuple[Path, ...]:
    """Those of `paths` that are configuration of the workspace and not as they were trusted."""
    homes = [*_homes(workspace), *served_files(workspace)]
    return tuple(path for path in paths if _within(path, homes) and trusted.get(os.path.realpath(path)) != digest(path))


def digest(path: Path) -> str:
    """The content as sha256, as edits name texts; of a file that is too large, its beginning and size."""
    try:
        with open(path, "rb", opener=without_waiting) as file:
            data, size = file.read(LARGEST + 1), os.fstat(file.fileno()).st_size
    except OSError as error:
        return f"unreadable {error.errno}"
    if len(data) > LARGEST:
        return f"{hashlib.sha256(data).hexdigest()} of {size}"
    return hashlib.sha256(data).hexdigest()


def _up(workspace: Path) -> list[Path]:
    """The workspace and what is above it, up to the git root."""
    chain = [workspace, *workspace.parents]
    return chain[: chain.index(work_tree_of(workspace) or workspace) + 1]


def _homes(workspace: Path) -> list[Path]:
    return [directory / home for directory in _up(workspace) for home in (*HOMES, *FILES)]


def _within(path: Path, homes: Iterable[Path]) -> bool:
    real = Path(os.path.realpath(path))
    return any(path.is_relative_to(home) or real.is_relative_to(os.path.realpath(home)) for home in homes)


def _files(workspace: Path) -> Iterator[Path]:
    """Through links too where they stay inside, each directory once."""
    root = _up(workspace)[-1]
    left_out = {workspace / name for name in NO_CONFIGURATION}
    open_ends, seen = _homes(workspace)[::-1], set[str]()
    while open_ends:
        path = open_ends.pop()
        if not os.path.lexists(path):
            continue  # most of them are not there
        real = os.path.realpath(path)
        if path.is_file():
            if path not in left_out:
                yield path
        elif real not in seen and Path(real).is_relative_to(root):
            seen.add(real)
            open_ends += [path / name for name in _names(path)]


def _names(directory: Path) -> list[str]:
    try:
        return sorted(os.listdir(directory), reverse=True)
    except OSError:
        return []
