"""Which pending hunks are in another version of the text: what the user staged or committed needs no review. Pure."""

from collections.abc import Iterator, Sequence

from sould.agents.files.review.difference import LineEdit, edits_between
from sould.agents.files.review.hunk import PlacedHunk
from sould.agents.files.review.lines import Lines, without_ends
from sould.agents.files.review.text import ReviewedText


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
