"""What differs from what git has, or from what the user accepted last: `scm`, without an editor. Reads only; no hook or filter runs.

Texts are compared here: git would run the filters and differs that its configuration names.
"""

import asyncio
import time
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Final

from msgspec import Struct

from sould.agents.base.workspace import WorkspaceError
from sould.agents.files.directories.gitprogram import GitProgram
from sould.agents.files.projects.patches import patch
from sould.agents.tools.editor.backends import Arguments, Where
from sould.agents.tools.editor.errors import EditorToolError
from sould.agents.tools.editor.results import Scm, ScmFile

PATIENCE: Final = 10.0
"""Seconds that git has."""
LARGEST: Final = 1_000_000
"""Bytes of a text that is compared."""
_NO_COMMIT: Final = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
"""The empty tree, which git knows without having it."""
_RAW: Final = ("--raw", "-z", "--relative", "--no-renames", "--no-abbrev", "--ignore-submodules")


class _Entry(Struct, frozen=True):
    """A file that differs: the blobs before and after, "" for none; after may be what is on disk."""

    path: Path
    status: str
    before: str = ""
    after: str = ""


async def differing(given: Arguments, where: Where) -> Scm:
    """The files that differ, with their patches.

    Raises:
        EditorToolError: git knows nothing here.
    """
    scope, limit = given.get("scope", "working"), given.get("limit", 100)
    if scope == "base":
        return Scm(tuple([await _since_accepted(Path(each.path), where) for each in await where.reader.pending(())]))
    git = GitProgram(where.site.root, where.site.environment)
    entries = (await asyncio.to_thread(_entries, git, scope))[:limit]
    held = [(each, await _now(each, where)) for each in entries]  # first: this judges whether it may be read
    blobs = {blob for each, now in held if now is not None for blob in (each.before, each.after)}
    texts = await asyncio.to_thread(_texts, git, blobs)
    found = [await _compared(each, now, texts, where, staged=scope == "staged") for each, now in held]
    return Scm(tuple(each for each in found if each is not None))


def _entries(git: GitProgram, scope: str) -> list[_Entry]:
    deadline = time.monotonic() + PATIENCE
    if git.run(("rev-parse", "--is-inside-work-tree"), deadline).strip() != b"true":
        raise EditorToolError("not_supported", "This directory is in no git worktree.")
    if scope == "staged":
        head = git.run(("rev-parse", "-q", "--verify", "HEAD"), deadline).decode().strip() or _NO_COMMIT
        return sorted(_raw(git, git.run(("diff-index", "--cached", *_RAW, head, "--"), deadline)), key=_by_path)
    changed = _raw(git, git.run_comparing(("diff-files", *_RAW), deadline))
    names = git.run(("ls-files", "--others", "--exclude-standard", "-z"), deadline).split(b"\0")
    untracked = (_Entry(git.root / name.decode(errors="surrogateescape"), "?") for name in names if name)
    return sorted((*changed, *untracked), key=_by_path)


def _by_path(entry: _Entry) -> Path:
    return entry.path


def _raw(git: GitProgram, printed: bytes) -> Iterator[_Entry]:
    """`:modes before after status`, and the path behind a NUL."""
    parts = printed.split(b"\0")
    for about, name in zip(parts[::2], parts[1::2], strict=False):
        words = about.decode("ascii", "replace").split(" ")
        if len(words) == 5:
            before, after = (blob if blob.strip("0") else "" for blob in words[2:4])
            yield _Entry(git.root / name.decode(errors="surrogateescape"), words[4], before, after)


def _texts(git: GitProgram, blobs: Collection[str]) -> Mapping[str, str]:
    deadline = time.monotonic() + PATIENCE
    sizes = git.sizes([blob for blob in blobs if blob], deadline)
    found = git.contents([blob for blob, size in sizes.items() if size <= LARGEST], deadline)
    return {blob: data.decode(errors="replace") for blob, data in found.items() if b"\0" not in data}


async def _now(entry: _Entry, where: Where) -> str | None:
    """What the file holds; None: it may not be read, or there is no text."""
    try:
        return (await where.reader.read_text(entry.path)).text
    except WorkspaceError:
        return None


async def _compared(
    entry: _Entry, now: str | None, texts: Mapping[str, str], where: Where, *, staged: bool
) -> ScmFile | None:
    """None: it is the same, but for its times. A file that may not be read has no patch."""
    if now is None or (entry.before and entry.before not in texts):
        return ScmFile(str(entry.path), entry.status)
    after = texts.get(entry.after, "") if staged else now
    before = texts.get(entry.before, "")
    if before == after and not staged:
        return None
    return await _patched(entry.path, entry.status, before, after, where)


async def _since_accepted(path: Path, where: Where) -> ScmFile:
    try:
        before, now = await where.reader.base(path), await where.reader.read_text(path)
    except WorkspaceError:
        return ScmFile(str(path), "M")
    return await _patched(path, "A" if before is None else "M", before or "", now.text, where)


async def _patched(path: Path, status: str, before: str, after: str, where: Where) -> ScmFile:
    name = path.relative_to(where.site.root) if path.is_relative_to(where.site.root) else path
    made = await asyncio.to_thread(patch, before, after, f"a/{name}", f"b/{name}")
    return ScmFile(str(path), status, made)
