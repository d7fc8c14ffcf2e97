"""What is known of the review of a project, for whoever shows it. Nothing here looks at a file, or decides anything.

Beside what is pending that is what calls are about to write: hunks that are in no file yet, and that nobody can decide about. In
memory only.
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

from msgspec import Struct, field
from msgspec.structs import replace

from sould.agents.files.edits.past import DroppedText
from sould.agents.files.edits.project import Project
from sould.agents.files.edits.reviewed import Followers
from sould.agents.files.edits.reviewstate import LeftText
from sould.agents.files.review.difference import edits_between
from sould.agents.files.review.file import TrackedFile
from sould.agents.files.review.hunk import AgentCall, Line
from sould.agents.files.review.lines import Lines
from sould.agents.files.review.text import ReviewedText
from sould.agents.files.reviewing.files import ReviewFiles
from sould.agents.files.reviewing.listing import (
    EVERYTHING,
    FileReview,
    KnownDecision,
    PutAside,
    ReviewedHunk,
    Selection,
    known_decisions,
    listed,
    put_aside,
)

MOST_WITH_PROBLEMS = 1_000
"""Hunks."""
Key: TypeAlias = tuple[str, str]
"""A call: its session and its id."""


class ReviewView:
    """Of one project. `files` are the user's."""

    def __init__(self, project: Project, files: ReviewFiles) -> None:
        self.files = files
        self.root = project.root
        self.upcoming = UpcomingWrites(project.review.followers)
        self._project = project
        self._counted = (-1, 0)
        self._problems: dict[tuple[int, str], tuple[str, ...]] = {}
        """By hunk and its digest: a hunk that was changed since has none."""

    @property
    def _files(self) -> Mapping[str, TrackedFile]:
        return self._project.review.state.files

    def pending(self, selection: Selection = EVERYTHING, *, absent: bool = False) -> list[FileReview]:
        """What is pending, by path; see `listed`."""
        found = listed(self._project.review.state, self._unsaved(), selection.among(self._files), absent=absent)
        chosen = (replace(each, hunks=tuple(map(self._sized, filter(selection.has, each.hunks)))) for each in found)
        return [each for each in chosen if each.hunks]

    def pending_in(self, path: str) -> Mapping[int, ReviewedHunk]:
        """What is pending in one file, by id."""
        found = (
            file for file in self.pending(Selection(paths=(path,))) if file.path == path
        )  # it may be a directory by now
        return {each.id: each for file in found for each in file.hunks}

    def now(self, paths: Iterable[str]) -> list[FileReview]:
        """These files, by path; also those of which nothing is pending."""
        state, unsaved, wanted = self._project.review.state, self._unsaved(), tuple(paths)
        known = listed(state, unsaved, filter(state.files.__contains__, wanted))
        found = {each.path: replace(each, hunks=tuple(map(self._sized, each.hunks))) for each in known}
        return [
            found.get(path)
            or FileReview(path, self._exists(path), (), path in unsaved, unsaved_in=unsaved.get(path, ()))
            for path in sorted(wanted)
        ]

    def _sized(self, hunk: ReviewedHunk) -> ReviewedHunk:
        """With how large contents are that nobody is shown, and what it broke."""
        if known := self._problems.get((hunk.id, hunk.digest)):
            hunk = replace(hunk, problems=known)
        if hunk.kind not in ("add", "delete", "content") or not (hunk.before or hunk.after) or hunk.is_link:
            return hunk
        before, after = (self.files.store.size(each) if each else None for each in (hunk.before, hunk.after))
        return replace(hunk, before_size=before, after_size=after)

    def note_problems(self, path: str, problems: Sequence[tuple[int, str]]) -> None:
        """Errors that were just brought into a file, each with its line from 0: they stand at the hunk there, or the nearest one."""
        hunks = [each for each in self.pending_in(path).values() if each.kind == "text"]
        for line, text in problems if hunks else ():
            near = min(hunks, key=lambda each: max(each.start - line, line - each.start - len(each.lines) + 1, 0))
            key = (near.id, near.digest)
            self._problems[key] = (*self._problems.get(key, ()), text)
        while len(self._problems) > MOST_WITH_PROBLEMS:
            del self._problems[next(iter(self._problems))]
        if hunks and problems:
            self._project.review.followers.tell(path)

    def _exists(self, path: str) -> bool:
        file = self._files.get(path)
        return file.exists if file is not None else os.path.exists(path)

    def pending_files(self) -> set[str]:
        """The paths of the files of which something is pending."""
        return {file.path for file in self._project.review.state.pending()}

    @property
    def count(self) -> int:
        """How many hunks are pending; counted anew when something happened."""
        if self._counted[0] != self.revision:
            self._counted = self.revision, sum(len(each.hunks) for each in self.pending())
        return self._counted[1]

    def _unsaved(self) -> Mapping[str, tuple[str, ...]]:
        return {str(path): self.files.buffers.unsaved_in(path) for path in self.files.buffers.unsaved()}

    async def base(self, path: str) -> str | None:
        """The text of a file under review as the user accepted it; None: it is not under review, or no text."""
        file = self._files.get(path)
        if file is None:
            return None
        deleted = self.deleted(path)
        if deleted:
            return "".join(deleted[-1].base)
        return "".join(file.text.base) if not file.content else None

    def text(self, path: str) -> str | None:
        """What a file under review holds, as far as it is known; None: nothing, or no text."""
        file = self._files.get(path)
        return "".join(file.text.current) if file is not None and file.exists and not file.content else None

    def deleted(self, path: str) -> Sequence[ReviewedText]:
        """What agents deleted at a path and a reject brings back, the latest last; several where users made the file again."""
        changes = self._files[path].changes if path in self._files else ()
        return [change.text for change in changes if change.kind == "delete" and change.text is not None]

    @property
    def revision(self) -> int:
        """The number of the last event of the project."""
        return self._project.next_n - 1

    def decisions(self, after: int) -> Sequence[KnownDecision]:
        """See `known_decisions`."""
        return known_decisions(self._project.review.state, after)

    def put_aside(self, selection: Selection) -> Sequence[PutAside]:
        """See `put_aside`."""
        return put_aside(self._project.review.state, selection.among(self._files))

    def left(self, selection: Selection) -> Mapping[str, LeftText]:
        """What editors held unsaved when they ended, by path, where the file does not hold it now."""
        left = self._project.review.state.left
        return {path: left[path] for path in sorted(selection.among(left))}

    async def dropped(self, selection: Selection) -> Sequence[tuple[DroppedText, KnownDecision | None]]:
        """Texts of the user that rejects dropped, by path, and by whom it was decided as far as that is known."""
        state = self._project.review.state
        chosen = {each.path for each in state.verdicts.values() if each.choice == "replace"}
        found = [each for path in sorted(selection.among(chosen)) for each in await self._project.dropped(path)]
        decisions = {each.n: each for each in self.decisions(0)}
        return [(each, decisions.get(each.n)) for each in found]


class _Write(Struct, frozen=True):
    exists: bool
    """There is a file already."""
    hunks: tuple[ReviewedHunk, ...]


class UpcomingWrites(Struct):
    """Of one project, whose `followers` are told of each file.

    A call is about to write from the time when its arguments are whole: while the model writes on, while the call waits for its
    turn or for an answer. When it has written they are hunks like any other; when it does not, nothing is left of them. They
    have ids below 0, each its own, so that no id of a hunk is taken for something that may never come.
    """

    followers: Followers
    _writes: dict[Key, _Write] = field(default_factory=dict[Key, _Write])
    _last: int = 0
    """The id that was given last."""

    def show(self, call: AgentCall, path: str, old: Lines | None, new: Lines) -> None:
        """The call is about to make the new text of the old one, which the file holds; None: there is no file."""
        hunks = tuple(
            ReviewedHunk(
                self._new_id(),
                "",
                path,
                "text",
                "streaming",
                (call,),
                start=edit.start,
                base_start=edit.start,
                base=(old or ())[edit.start : edit.stop],
                lines=tuple(Line(text, call) for text in edit.lines),
            )
            for edit in edits_between(old or (), new)
        )
        self._writes[_key(call)] = _Write(old is not None, hunks)
        self.followers.tell(path)

    def over(self, call: AgentCall) -> None:
        """The call writes now, or does not write at all."""
        write = self._writes.pop(_key(call), None)
        for path in {hunk.path for hunk in write.hunks} if write is not None else ():
            self.followers.tell(path)

    def find(self, selection: Selection) -> Sequence[ReviewedHunk]:
        """Those that are meant, by path and place."""
        return [hunk for _, hunk in self._found(selection)]

    def _found(self, selection: Selection) -> Sequence[tuple[bool, ReviewedHunk]]:
        found = [(write.exists, hunk) for write in self._writes.values() for hunk in write.hunks if selection.has(hunk)]
        return sorted(found, key=lambda each: (each[1].path, each[1].start))

    def beside(self, files: Sequence[FileReview], selection: Selection) -> list[FileReview]:
        """The files with what is about to be written, also to others; by path."""
        known = {file.path: file for file in files}
        for exists, hunk in self._found(selection):
            file = known.get(hunk.path) or FileReview(hunk.path, exists, ())
            known[hunk.path] = replace(file, streaming=(*file.streaming, hunk))
        return [known[path] for path in sorted(known)]

    def _new_id(self) -> int:
        self._last -= 1
        return self._last


def _key(call: AgentCall) -> Key:
    return call.session_id, call.call_id
