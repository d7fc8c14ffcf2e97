"""What git had of files under review when they were looked at last, and what it has now. Runs git, so it blocks."""

import os
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from sould.agents.files.edits.editlog import GitStood
from sould.agents.files.review.file import TrackedFile
from sould.agents.files.review.staging import HunkPart, parts_in
from sould.agents.files.reviewing.gitmoments import Entries, GitEntry, GitMoment, GitMoments
from sould.agents.files.reviewing.gitversions import GitVersion, Versions, ids_in, lines_in

WHOLE_SECONDS: Final = 2.0
"""Within which git cannot tell what was checked out at a time."""


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
