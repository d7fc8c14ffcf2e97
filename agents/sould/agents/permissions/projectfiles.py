"""The configuration a project brings, file by file: what the user trusted, and how it differs now (D23).

The programs of the project that its MCP and hook files name are configuration as much as the files are.

Reads files as bytes and interprets none, but to find the programs that MCP files name. What a file of another place does
(a program that a hook names) is judged by whoever reads the hook.
"""

import hashlib
import os
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Literal, TypeAlias, cast

import orjson
from msgspec import Struct

from sould.agents.base.filechanges import FileChanges, Stamp
from sould.agents.base.filestamp import FileStamp, file_stamp
from sould.agents.base.gitplaces import repository_marks, work_tree_of
from sould.agents.base.regularfile import read_beginning, without_waiting

MCP_FILES = (".mcp.json", ".sould/mcp.json")
"""Below the workspace; the later one wins where both name a server."""
HOOKS_FILE = ".sould/hooks.toml"
LARGEST_SERVED = 1024 * 1024
DEEPEST = 10
_BETWEEN = re.compile(r"[\s=:,;&|<>()'\"`]+")
"""What stands around a path in an option, a list of paths or a command line."""
WRITTEN = re.compile(r">+\|?\s*[^\s;&|<>]+")
"""A redirection: what a command writes there changes with every run, and is no program."""
MOST_WORDS = 2000
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


def served_files(workspace: Path, names: tuple[str, ...] = (*MCP_FILES, HOOKS_FILE)) -> tuple[Path, ...]:
    """Every file of the workspace that a string in those files names, seen from the directory the entry runs in."""
    root = Path(os.path.realpath(workspace))
    found: dict[Path, None] = {}
    for name in names:
        for number, (base, word) in enumerate(_words(_document(root / name), "", 0)):
            if number >= MOST_WORDS:
                break
            path = Path(os.path.realpath(root / base / word))
            if path.is_relative_to(root) and path.is_file():
                found[path] = None
    return tuple(found)


def _document(path: Path) -> object:
    try:
        data = read_beginning(path, LARGEST_SERVED)
        return tomllib.loads(data.decode()) if path.suffix == ".toml" else orjson.loads(data)
    except (OSError, orjson.JSONDecodeError, UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError):
        return None


def pieces(text: str) -> Iterator[str]:
    """What of a text may be the name of a file it reads: all of it, what it is made of, a Python module's file (`-m`)."""
    for word in dict.fromkeys((text, *_BETWEEN.split(WRITTEN.sub(" ", text)))):
        if word and "\0" not in word and len(word) < os.pathconf("/", "PC_PATH_MAX"):
            yield word
            if word.replace(".", "").isidentifier():
                module = word.replace(".", "/")
                yield from (f"{module}.py", f"{module}/__main__.py")


def _words(node: object, base: str, depth: int) -> Iterator[tuple[str, str]]:
    """Each string, and what it is made of, with the `cwd` that holds where it stands."""
    if depth > DEEPEST:
        return
    if isinstance(node, str):
        yield from ((base, word) for word in pieces(node))
    elif isinstance(node, list):
        for each in cast("list[object]", node):
            yield from _words(each, base, depth + 1)
    elif isinstance(node, dict):
        members = cast("dict[str, object]", node)
        cwd = members.get("cwd")
        inner = cwd if isinstance(cwd, str) and "\0" not in cwd else base
        for each in members.values():
            yield from _words(each, inner, depth + 1)


class FileDiffers(Struct, frozen=True):
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
        self._digests: dict[Path, tuple[FileStamp, str]] = {}

    def digest(self, path: Path) -> str:
        """As `digest`."""
        stamp = file_stamp(path)
        if not stamp:
            return digest(path)
        known = self._digests.get(path)
        if known is None or known[0] != stamp:
            known = self._digests[path] = (stamp, digest(path))
        return known[1]


def differences(trusted: Contents, now: Contents) -> tuple[FileDiffers, ...]:
    """What was added, changed and removed, by path."""
    changes = [
        FileDiffers(Path(path), "changed" if path in trusted else "added", found)
        for path, found in now.items()
        if trusted.get(path) != found
    ]
    changes += [FileDiffers(Path(path), "removed") for path in trusted if path not in now and not os.path.lexists(path)]
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
