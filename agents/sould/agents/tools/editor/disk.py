"""What needs no editor: files as the user sees them, and as accepted; edits; what waits for review. The last to be asked.

An agent of ours has all of it by other names; this is for other agents.
"""

import asyncio
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from operator import attrgetter
from pathlib import Path
from typing import Any, Final

from msgspec import Struct

from sould.agents.base.diskfile import digest_of
from sould.agents.base.workspace import NotAFileError, TextFile, WorkspaceError
from sould.agents.files.directories.gitprogram import GitProgram
from sould.agents.files.projects.patches import patch
from sould.agents.files.review.lines import split
from sould.agents.files.reviewing.listing import FileReview, KnownDecision
from sould.agents.files.reviewing.review import Review
from sould.agents.tools.editor import notebooks
from sould.agents.tools.editor.backends import Arguments, EditorResult, FileEdits, Where
from sould.agents.tools.editor.errors import EditorToolError
from sould.agents.tools.editor.results import (
    Document,
    NotebookCells,
    Nothing,
    PendingHunk,
    ReviewState,
    Scm,
    ScmFile,
    Verdict,
)
from sould.agents.tools.editor.site import ON_DISK, Site
from sould.agents.tools.replacing import EditError, replace_exactly

PATIENCE: Final = 10.0
"""Seconds that git has."""
LARGEST: Final = 1_000_000
"""Bytes of a text that is compared."""
_NO_COMMIT: Final = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
"""The empty tree, which git knows without having it."""
_RAW: Final = ("--raw", "-z", "--relative", "--no-renames", "--no-abbrev", "--ignore-submodules")


class Disk:
    """An `EditorBackend` without an editor."""

    id = name = "disk"

    def tools(self, site: Site) -> Collection[str]:
        """See `EditorBackend`."""
        return ON_DISK

    async def call(self, tool: str, given: Arguments, where: Where) -> EditorResult:
        """See `EditorBackend`."""
        match tool:
            case "doc_read":
                return EditorResult(await _read(given, where))
            case "doc_edit":
                return EditorResult(Nothing(), tuple([await _edits(edit, where) for edit in given["edits"]]))
            case "review":
                return EditorResult(await _review(given, where))
            case "notebook":
                return EditorResult(await _cells(given, where))
            case "notebook_edit":
                return EditorResult(Nothing(), (await _cell_edit(given, where),))
            case "scm":
                return EditorResult(await differing(given, where))
            case _:
                raise EditorToolError("not_supported", f"{tool} needs an editor.")


async def _review(given: Arguments, where: Where) -> ReviewState:
    if given.get("action", "list") != "list":
        raise EditorToolError("no_editor", "No editor is there whose user could be asked.")
    hunks = given.get("hunkIds", ())
    files = await where.reader.pending([Path(file) for file in given.get("files", ())])
    return state_of(files, await where.reader.decisions() if hunks else (), hunks)


async def _read(given: Arguments, where: Where) -> Document:
    assert where.file is not None
    file = await _version(given.get("version", "buffer"), where, where.file)
    lines = split(file.text)
    first = given.get("startLine", 1)
    last = given.get("endLine", len(lines))
    if lines and first > len(lines):
        raise EditorToolError("not_found", f"It has {len(lines)} lines.")
    return Document(
        str(where.file),
        "".join(lines[first - 1 : last]),
        file.digest,
        len(lines),
        first,
        file.unsaved,
        "crlf" if "\r\n" in file.text else "lf",
    )


async def _version(version: str, where: Where, path: Path) -> TextFile:
    if version == "disk":
        return await where.reader.on_disk(path)
    if version == "base" and (text := await where.reader.base(path)) is not None:
        return TextFile(path, text, digest_of(text.encode()))
    return await where.reader.read_text(path)


async def _cells(given: Arguments, where: Where) -> NotebookCells:
    assert where.file is not None
    file = await where.reader.read_text(where.file)
    return await asyncio.to_thread(notebooks.cells, file, given.get("cell", ""), outputs=bool(given.get("outputs")))


async def _cell_edit(given: Arguments, where: Where) -> FileEdits:
    assert where.file is not None
    file = await where.reader.read_text(where.file)
    text = await asyncio.to_thread(notebooks.edited, file, given)
    return FileEdits(where.file, text=text, digest=file.digest)


async def _edits(edit: Mapping[str, Any], where: Where) -> FileEdits:
    """The text of one file after its hunks."""
    path, expected = Path(edit["file"]), edit.get("expectedHash", "")
    if "newText" in edit:
        return FileEdits(path, text=edit["newText"], digest=expected)
    try:
        before = await where.reader.read_text(path)
    except NotAFileError as error:
        raise EditorToolError("not_found", f"There is no file {path.name}.") from error
    except WorkspaceError as error:
        raise EditorToolError("denied", str(error)) from error
    if expected and expected != before.digest:
        raise EditorToolError("stale", f"{path.name} has another text by now; read it again.")
    return FileEdits(path, text=await asyncio.to_thread(_replaced, edit, before.text), digest=before.digest)


def _replaced(edit: Mapping[str, Any], text: str) -> str:
    for hunk in edit["hunks"]:
        try:
            text, _ = replace_exactly(text, hunk["oldText"], hunk["newText"], replace_all=False)
        except EditError as error:
            raise EditorToolError("not_found", str(error)) from error
    return text


def state_of(files: Sequence[FileReview], decisions: Sequence[KnownDecision], hunks: Collection[int]) -> ReviewState:
    """What waits, and what was decided about `hunks`; with some given, of these only."""
    pending = [each for file in files for each in _pending(file) if not hunks or each.hunk_id in hunks]
    verdicts = [Verdict(each.id, each.path, each.verdict, each.by, each.reason) for each in decisions]
    return ReviewState(tuple(pending), tuple(each for each in verdicts if each.hunk_id in hunks))


def asked_about(files: Sequence[FileReview], hunks: Collection[int]) -> list[int]:
    """Those of the hunks, or of all, that wait.

    Raises:
        EditorToolError: not_found: none of them does.
    """
    found = [each.hunk_id for file in files for each in _pending(file) if not hunks or each.hunk_id in hunks]
    if not found:
        raise EditorToolError("not_found", "Nothing of that waits for review; it may be decided already.")
    return found


async def decided(reviews: Sequence[Review], hunks: Collection[int], seconds: float) -> None:
    """Return when none of the hunks waits any more, or when the time is over."""
    changed = asyncio.Event()

    with ExitStack() as stack, suppress(TimeoutError):
        for review in reviews:
            stack.enter_context(review.following(lambda _: changed.set()))
        async with asyncio.timeout(seconds):
            while any(
                each.hunk_id in hunks for review in reviews for file in review.pending() for each in _pending(file)
            ):
                await changed.wait()
                changed.clear()


def _pending(file: FileReview) -> list[PendingHunk]:
    return [
        PendingHunk(hunk.id, hunk.path, hunk.start + 1, hunk.state, len(hunk.base), len(hunk.lines))
        for hunk in file.hunks
        if hunk.state == "pending"
    ]


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
        return sorted(
            _raw(git, git.run(("diff-index", "--cached", *_RAW, head, "--"), deadline)), key=attrgetter("path")
        )
    changed = _raw(git, git.run_comparing(("diff-files", *_RAW), deadline))
    names = git.run(("ls-files", "--others", "--exclude-standard", "-z"), deadline).split(b"\0")
    untracked = (_Entry(git.root / name.decode(errors="surrogateescape"), "?") for name in names if name)
    return sorted((*changed, *untracked), key=attrgetter("path"))


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
