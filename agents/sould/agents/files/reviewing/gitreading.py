"""What git had of files under review when they were looked at last, what it has now, and which hunks and changes of them that has.

What the user staged or committed needs no review. Where nobody can say it stays undecided: what git keeps in another form than the
disk (a filter, another encoding) is compared as it is, but for line ends, which git converts. `read_moved` and `stands` run git,
so they block; the rest is pure.
"""

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from sould.agents.files.directories.nodes import held_in, is_link, ref_of
from sould.agents.files.edits.editlog import GitStood
from sould.agents.files.edits.texts import as_lines
from sould.agents.files.review.difference import LineEdit, edits_between
from sould.agents.files.review.file import FileChange, TrackedFile
from sould.agents.files.review.hunk import PlacedHunk
from sould.agents.files.review.lines import Lines, line_end, with_end, without_ends
from sould.agents.files.review.staging import HunkPart, parts_in
from sould.agents.files.review.text import ReviewedText
from sould.agents.files.reviewing.gitmoments import Entries, GitEntry, GitMoment, GitMoments

WHOLE_SECONDS: Final = 2.0
"""Within which git cannot tell what was checked out at a time."""
_EXECUTABLE: Final = 0o100


class GitVersion(Struct, frozen=True):
    """A file as git has it. `data`: None where that cannot be had."""

    mode: int
    data: bytes | None

    @property
    def digest(self) -> str:
        """Of the data, or where a link leads, "" where that cannot be had."""
        return ref_of(held_in(self.data, self.mode)) or ""


Versions = Mapping[str, GitVersion]
"""By resolved path; what is not in it, git does not have there."""


class Known(Struct, frozen=True):
    """How git stood when a file was looked at last; `staged`: what the index had of it, None where nobody asked."""

    moment: GitMoment
    commit: str
    staged: Entries | None = None


class Past(Struct, frozen=True):
    """What is left of a file when nobody in this daemon knows how git stood: when an agent last wrote it, and what was noted last."""

    written: float | None = None
    noted: GitStood | None = None


class Moved(Struct, frozen=True):
    """What git had of a file and has now. `known`: how it stands now."""

    known: Known
    committed_before: Versions
    staged_before: Versions
    committed: Versions
    staged: Versions
    same_branch: bool
    moves_text: bool
    """What is checked out, or stashed, is something else."""

    @property
    def concerns(self) -> bool:
        """Git has another version of the file than it had."""
        return (self.committed, self.staged) != (self.committed_before, self.staged_before)

    def newly_in(self, file: TrackedFile, marked: Collection[int]) -> dict[int, str]:
        """What is pending in the file, by id, and has come into git, and how; `marked` was brought there by an agent before."""
        staged = ids_in(file, self.staged) - ids_in(file, self.staged_before)
        committed = ids_in(file, self.committed) - ids_in(file, self.committed_before)
        found = dict.fromkeys(sorted(staged), "staged") | dict.fromkeys(sorted(committed), "committed")
        return {number: how for number, how in found.items() if self.same_branch or number not in marked}

    def parts_newly_in(self, file: TrackedFile) -> dict[int, list[HunkPart]]:
        """The parts of hunks of the file, by id and from the top, that have come into the index, or else into a commit."""
        if not self.same_branch:
            return {}
        found: dict[int, list[HunkPart]] = {}
        for now, before in ((self.committed, self.committed_before), (self.staged, self.staged_before)):
            lines = lines_in(file, now)
            if lines is not None and now.get(file.path) != before.get(file.path):
                parts = parts_in(file.text, lines, lines_in(file, before))
                found |= {placed.hunk.id: each for placed, each in parts}
        return found

    def has_staged(self, path: str, data: bytes | None) -> bool:
        """The index has the file like this, but for line ends, which git converts."""
        version = self.staged.get(path)
        if version is None or version.data is None or data is None:
            return version is None and data is None
        return version.data.replace(b"\r\n", b"\n") == data.replace(b"\r\n", b"\n")


def read_moved(
    git: GitMoments, root: Path, files: Sequence[TrackedFile], known: Mapping[str, Known], past: Mapping[str, Past]
) -> dict[str, Moved]:
    """Those of the files below `root` of which git moved. `known`: how it stood; of others, the `past`."""
    now = git.now() if files else None
    if now is None:
        return {}
    chosen = [file for file in files if file.path not in known or known[file.path].moment != now]
    if not chosen:
        return {}
    commit = git.commit_of(now)
    before = {
        file.path: known.get(file.path) or _remembered(git, now, commit, past.get(file.path, Past())) for file in chosen
    }
    names = {path: os.path.relpath(path, root) for file in chosen for path in _paths(file)}
    commits = {
        each: git.committed(each, names.values()) for each in {commit, *(then.commit for then in before.values())}
    }
    index = git.staged(names.values())
    earlier = {path: commits[then.commit] if then.staged is None else then.staged for path, then in before.items()}
    blobs = {entry.blob for entries in (index, *commits.values(), *earlier.values()) for entry in entries.values()}
    contents = git.contents(blobs)

    def versions(file: TrackedFile, entries: Entries) -> Versions:
        found = ((path, entries.get(names[path])) for path in _paths(file))
        return {path: _version(entry, contents) for path, entry in found if entry is not None}

    def moved(file: TrackedFile) -> Moved:
        then = before[file.path]
        return Moved(
            Known(now, commit, {names[path]: index[names[path]] for path in _paths(file) if names[path] in index}),
            versions(file, commits[then.commit]),
            versions(file, earlier[file.path]),
            versions(file, commits[commit]),
            versions(file, index),
            same_branch=then.moment.branch == now.branch,
            moves_text=(then.commit, then.moment.stash) != (commit, now.stash),
        )

    return {file.path: moved(file) for file in chosen}


def stands(git: GitMoments, root: Path, file: TrackedFile) -> Known | None:
    """How git stands with a file; None: there is no git."""
    now = git.now()
    if now is None:
        return None
    names = [os.path.relpath(path, root) for path in _paths(file)]
    return Known(now, git.commit_of(now), git.staged(names))


def noted(known: Known, timestamp: float) -> GitStood:
    """It, as it is kept."""
    staged = {path: (entry.mode, entry.blob) for path, entry in (known.staged or {}).items()}
    return GitStood(known.moment.branch, known.commit, staged, timestamp)


def _remembered(git: GitMoments, now: GitMoment, commit: str, past: Past) -> Known:
    """How git stood when the file was noted or written, as it stands now where nobody knows any more."""
    stood = past.noted
    is_later = past.written is not None and (stood is None or past.written > stood.timestamp + WHOLE_SECONDS)
    then = git.commit_at(past.written) if past.written is not None and is_later else ""
    if stood is None:
        return Known(now, then or commit)
    staged = {path: GitEntry(mode, blob) for path, (mode, blob) in stood.staged.items()}
    return Known(replace(now, branch=stood.branch), then or stood.commit, staged)


def _paths(file: TrackedFile) -> list[str]:
    return [file.path, *(change.before for change in file.changes if change.kind == "rename")]


def _version(entry: GitEntry, contents: Mapping[str, bytes]) -> GitVersion:
    return GitVersion(entry.mode, contents.get(entry.blob))


def ids_in(file: TrackedFile, versions: Versions) -> frozenset[int]:
    """The ids of what is pending in the file and is so in the versions."""
    changes = {change.id for change in file.changes if _has(file, change, versions)}
    lines = lines_in(file, versions)
    if lines is None:
        return frozenset(changes)
    return frozenset(changes | {placed.hunk.id for placed in hunks_in(file.text, lines)})


def lines_in(file: TrackedFile, versions: Versions) -> Lines | None:
    """The text of the file in the versions, with the line ends it has on disk; None: there is none, there or here."""
    version = versions.get(file.path)
    data = version.data if version is not None and not is_link(version.mode) else None
    lines = as_lines(data) if data is not None else None
    if lines is None or not file.exists or file.content:
        return None
    return _ended(lines, file.text.current)


def _has(file: TrackedFile, change: FileChange, versions: Versions) -> bool:
    version = versions.get(file.path)
    if version is None:
        return change.kind == "delete" and not file.exists
    match change.kind:
        case "add":
            return not file.content or version.digest == file.content
        case "delete":
            return False
        case "rename":
            return change.before not in versions
        case "mode":
            before, after = int(change.before, 8), int(change.after, 8)
            return before & _EXECUTABLE != after & _EXECUTABLE == version.mode & _EXECUTABLE
        case "line_ends":
            return version.data == "".join(file.text.current).encode()
        case "content":
            return version.digest == change.after


def _ended(lines: Lines, like: Lines) -> Lines:
    """Git may have other line ends than the disk: those are a matter of their own."""
    end, wanted = line_end(lines), line_end(like)
    return with_end(lines, wanted) if wanted is not None and end is not None and end != wanted else lines


def hunks_in(text: ReviewedText, version: Lines) -> Iterator[PlacedHunk]:
    """The pending hunks that `version`, of the same file, has at their place."""
    hunks = text.hunks
    if hunks:
        edits = edits_between(text.current, version)
        yield from (each for each in hunks if _is_in(each, edits, hunks))


def _is_in(placed: PlacedHunk, edits: Sequence[LineEdit], hunks: Sequence[PlacedHunk]) -> bool:
    """No difference between the two texts lies in the hunk, or puts lines of base beside it."""
    touching = [edit for edit in edits if edit.start <= placed.stop and placed.start <= edit.stop]
    if any(edit.start < placed.stop and placed.start < edit.stop for edit in touching):
        return False
    replaced = (edit for edit in touching if edit.start < edit.stop and not _is_of_another(edit, hunks))
    around = not placed.hunk.lines and any(replaced)
    base = set(without_ends(placed.hunk.base))  # the last line of base has an end where something else stands below it
    return not around and all(base.isdisjoint(without_ends(edit.lines)) for edit in touching)


def _is_of_another(edit: LineEdit, hunks: Sequence[PlacedHunk]) -> bool:
    """The difference is that the version has not a hunk which has current lines."""
    wanted = (edit.start, edit.stop, without_ends(edit.lines))
    return any((each.start, each.stop, without_ends(each.hunk.base)) == wanted for each in hunks)
