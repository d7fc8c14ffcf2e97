"""Which pending hunks are in another version of the text: what the user staged or committed needs no review. Pure."""

from collections.abc import Iterator, Sequence

from sould.agents.review.difference import LineEdit, edits_between
from sould.agents.review.hunk import PlacedHunk
from sould.agents.review.lines import Lines, without_ends
from sould.agents.review.text import ReviewedText


def hunks_in(text: ReviewedText, version: Lines) -> Iterator[PlacedHunk]:
    """The pending hunks that `version`, of the same file, has at their place."""
    if text.hunks:
        edits = edits_between(text.current, version)
        yield from (each for each in text.hunks if _is_in(each, edits))


def _is_in(placed: PlacedHunk, edits: Sequence[LineEdit]) -> bool:
    """No difference between the two texts lies in the hunk, or puts lines of base beside it."""
    touching = [edit for edit in edits if edit.start <= placed.stop and placed.start <= edit.stop]
    if any(edit.start < placed.stop and placed.start < edit.stop for edit in touching):
        return False
    around = not placed.hunk.lines and any(edit.start < edit.stop for edit in touching)
    base = set(without_ends(placed.hunk.base))  # the last line of base has an end where something else stands below it
    return not around and all(base.isdisjoint(without_ends(edit.lines)) for edit in touching)
