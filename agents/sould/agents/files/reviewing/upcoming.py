"""What calls are about to write: hunks that are in no file yet, and that nobody can decide about. In memory only.

A call is about to write from the time when its arguments are whole: while the model writes on, while the call waits for its
turn or for an answer. When it has written they are hunks like any other; when it does not, nothing is left of them. They have
ids below 0, each its own, so that no id of a hunk is taken for something that may never come.
"""

from collections.abc import Sequence
from typing import TypeAlias

from msgspec import Struct, field
from msgspec.structs import replace

from sould.agents.files.edits.reviewed import Followers
from sould.agents.files.review.difference import edits_between
from sould.agents.files.review.hunk import AgentCall, Line
from sould.agents.files.review.lines import Lines
from sould.agents.files.reviewing.listing import FileReview, ReviewedHunk, Selection

Key: TypeAlias = tuple[str, str]
"""A call: its session and its id."""


class _Write(Struct, frozen=True):
    exists: bool
    """There is a file already."""
    hunks: tuple[ReviewedHunk, ...]


class UpcomingWrites(Struct):
    """Of one project, whose `followers` are told of each file."""

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
