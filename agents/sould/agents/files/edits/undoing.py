"""What a file under review is without some of the writes to it: what was kept or typed since stays. Pure.

The lines are `review.undo`'s. Here is what concerns the whole file: that it was made, deleted, moved, given another mode, other
line ends or other bytes; and that writes which took edits back are taken back themselves.
"""

from collections.abc import Iterator, Sequence
from typing import Final, Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from sould.agents.files.edits.past import PastWrite
from sould.agents.files.review.difference import edits_between
from sould.agents.files.review.file import FileChange, Kind, TrackedFile, ended
from sould.agents.files.review.lines import line_end
from sould.agents.files.review.places import bounded, moved
from sould.agents.files.review.text import ReviewedText
from sould.agents.files.review.undo import without_calls
from sould.agents.files.review.weave import WeaveStep

Why: TypeAlias = Literal["changed", "deleted"]
"""Why something could not go back: somebody else changed it since, or the file is gone."""
WHOLE: Final = 0
"""The line of what was kept of a file as a whole."""


class WithoutWrites(Struct, frozen=True):
    """The file without them, which changes it at so many places.

    `kept`: the first lines, from 1, of what stays because it was kept, `WHOLE` for what happened to the file as a whole.
    `conflicts`: why each of the other changes stays. `mode_decided`: the user said what becomes of its mode.
    """

    file: TrackedFile
    changes: int
    kept: tuple[int, ...]
    conflicts: tuple[Why, ...]
    mode_decided: bool = False


def without_writes(file: TrackedFile, writes: Sequence[PastWrite], *, kept: bool = False) -> WithoutWrites:
    """The file without some writes, given from the first to the last. `kept`: what was kept of them goes back, too."""
    taking = _TakingBack(file, kept=kept)
    for write in reversed(list(_effective(writes))):
        taking.take(write)
    return taking.done()


def alike(one: TrackedFile, other: TrackedFile) -> bool:
    """The same file with the same to be reviewed, wherever it is and whatever was decided before."""
    return _state(one) == _state(other)


def _state(file: TrackedFile) -> object:
    if not file.exists:
        return False, file.changes
    return file.content, file.in_base, sorted((each.kind, each.digest) for each in file.changes), file.text.parts


def _effective(writes: Sequence[PastWrite]) -> Iterator[PastWrite]:
    """Without those that were taken back, with what took them back, when the file was then as it was before them."""
    n = 0
    while n < len(writes):
        later = (m for m in reversed(range(n + 1, len(writes))) if writes[m].takes_back)
        back = next((m for m in later if alike(writes[n].before, writes[m].after)), None)
        if back is None:
            yield writes[n]
        n = n + 1 if back is None else back + 1


class _TakingBack:
    """The file as it is with one write less after the other, the last one first."""

    def __init__(self, file: TrackedFile, *, kept: bool) -> None:
        self._first = self._file = file
        self._with_kept = kept
        self._kept: set[int] = set()
        self._kept_whole = False
        self._conflicts: list[Why] = []
        self._mode_decided = False

    def done(self) -> WithoutWrites:
        """What it came to."""
        now, first = self._file, self._first
        lines = sorted({each.start + 1 for each in now.text.away if self._kept.intersection(each.hunk.ids)})
        changes = len(edits_between(first.text.current, now.text.current)) + (first.path != now.path)
        kept = (*([WHOLE] if self._kept_whole else []), *lines)
        changes = changes or int(not alike(first, now))
        return WithoutWrites(now, changes, kept, tuple(self._conflicts), self._mode_decided)

    def take(self, write: PastWrite) -> None:
        """Take a write back, as far as that can be."""
        now, after = self._file, write.after
        if alike(now, write.before) and now.path == write.before.path:
            return
        is_whole = not after.exists or bool(after.content or write.before.content) or write.changed is None
        if alike(now, after) and (write.takes_back or is_whole):
            self._become(write.before)
        elif not after.exists:
            self._bring_back(write)
        elif is_whole:
            self._take_content(write)
        else:
            self._take_text(write)

    # --- the file as a whole ------------------------------------------------------------------------------------------

    def _become(self, before: TrackedFile) -> None:
        """All of it is as it was before."""
        text = _with_away(before.text, self._file.text)
        self._file = replace(before, text=text)

    def _bring_back(self, write: PastWrite) -> None:
        """Of a deletion."""
        if self._file.exists:
            if self._file.pending_change("delete") == write.after.pending_change("delete"):
                self._conflicts.append("changed")  # else it was decided that it stays
        elif self._was_deleted_since(write):
            self._conflicts.append("changed")  # somebody had made the file again: that text is to be had back, too
        elif not self._stays(write, "delete"):
            self._become(write.before)

    def _was_deleted_since(self, write: PastWrite) -> bool:
        """Whether a deletion that stays took something else away than this one."""
        known = {each.id for each in write.after.changes}
        return any(each.kind == "delete" and each.id not in known for each in self._file.changes)

    def _take_content(self, write: PastWrite) -> None:
        """Of bytes that are no text, or were none."""
        now, after = self._file, write.after
        if not now.exists:
            if write.before.exists:
                self._conflicts.append("deleted")
        elif now.content and now.content == write.before.content:
            pass
        elif now.content != after.content or (not after.content and now.text.current != after.text.current):
            self._conflicts.append("changed")
        elif not self._stays(write, "content"):
            self._become(write.before)

    def _stays(self, write: PastWrite, kind: Kind) -> bool:
        """Whether a change of the file was kept, and is to stay."""
        kept = write.after.pending_change(kind) is not None and self._file.pending_change(kind) is None
        self._kept_whole = self._kept_whole or (kept and not self._with_kept)
        return kept and not self._with_kept

    # --- text --------------------------------------------------------------------------------------------------------

    def _take_text(self, write: PastWrite) -> None:
        now, before = self._file, write.before
        if not now.exists or now.content:
            if before.exists or now.content:
                self._conflicts.append("deleted" if not now.exists else "changed")
            return
        told = len(self._conflicts), len(self._kept)
        self._take_lines(write)
        for kind in ("rename", "mode", "line_ends"):
            self._take_change(write, kind)
        is_as_it_was = self._file.text.current == now.text.current
        if before.exists:
            return
        others = tuple(each for each in self._file.changes if each.kind != "add")
        changes = (*others, *self._deleted_again(now, write))
        now = self._file
        if not now.text.current:
            self._file = replace(now, exists=False, in_base=before.in_base, changes=changes)
        elif not now.text.hunks:
            self._file = replace(now, in_base=True, changes=changes)
            if is_as_it_was and told == (len(self._conflicts), len(self._kept)):
                self._conflicts.append("changed")  # nothing in it is the write's any more, but it made the file
        else:
            self._file = replace(now, changes=changes if len(changes) > len(others) else now.changes)

    def _deleted_again(self, earlier: TrackedFile, write: PastWrite) -> list[FileChange]:
        """The deletions that were to be reviewed before a write that made the file again: the text is in it no more."""
        known = {each.id for each in self._file.changes} | {each.change.id for each in self._file.decided}
        deletions = (each for each in write.before.changes if each.kind == "delete" and each.id not in known)
        left = {*earlier.text.base}.difference(self._file.text.base)
        return [each for each in deletions if each.text is not None and not left.isdisjoint(each.text.base)]

    def _take_lines(self, write: PastWrite) -> None:
        text, before, after = self._file.text, write.before.text, write.after.text
        written = line_end(after.current)
        if written is not None and line_end(before.current) is not None:
            end = line_end(text.current) or written
            before, after = ended(before, end), ended(after, end)
        step = WeaveStep(after.parts, write.call_id, undone=True)
        undone = without_calls(text, before.parts, [step], with_kept=self._with_kept)
        result = undone.text
        if alike(self._file, write.after) and result.current == before.current:
            result = replace(result, parts=before.parts)
        self._kept.update(undone.kept)
        self._conflicts.extend("changed" for _ in range(undone.conflicts))
        self._file = replace(self._file, text=_with_away(result, text))

    def _take_change(self, write: PastWrite, kind: Kind) -> None:
        """Of a file that is text before and after it: its path, mode, or line ends."""
        now, before, after = self._file, write.before, write.after
        was, became, is_now = (file.pending_change(kind) for file in (before, after, now))
        moved_it = kind == "rename" and before.path != after.path
        if was == became and not moved_it:
            return
        if kind == "rename" and now.path != after.path:
            return
        if is_now != became and not (is_now is None and self._with_kept):
            self._note_decided(write, kind)
            return
        others = tuple(each for each in now.changes if each.kind != kind)
        now = replace(now, changes=(*others, *([was] if was is not None else [])))
        if kind == "rename":
            now = replace(now, path=before.path)
        end = line_end(before.text.current)
        if kind == "line_ends" and end is not None:
            now = replace(now, text=ended(now.text, end))
        self._file = now

    def _note_decided(self, write: PastWrite, kind: Kind) -> None:
        """Somebody decided about a change that is not as the write left it."""
        if kind == "mode":
            self._mode_decided = True
        elif kind == "rename" or line_end(self._file.text.current) == line_end(write.after.text.current):
            self._stays(write, kind)


def _with_away(text: ReviewedText, earlier: ReviewedText) -> ReviewedText:
    """The text, also with what is known of hunks that were not pending in it earlier."""
    pending = {number for each in text.hunks for number in each.hunk.ids}
    known = {each.hunk.id for each in text.away}
    places = moved(earlier.away, edits_between(earlier.current, text.current))
    more = [each for each in places if each.hunk.id not in known and pending.isdisjoint(each.hunk.ids)]
    away = [each for each in text.away if pending.isdisjoint(each.hunk.ids)]
    return replace(text, away=bounded([*more, *away]), next_id=max(text.next_id, earlier.next_id))
