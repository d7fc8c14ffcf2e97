"""What the oracle of `machine` keeps of each line, and what it asks of a text. Slow and simple."""

from dataclasses import dataclass

from sould.agents.files.review.decisions import Decided, Decision, decided
from sould.agents.files.review.hunk import Hunk, Part, PlacedHunk, Same
from sould.agents.files.review.lines import Lines
from sould.agents.files.review.text import ReviewedText


@dataclass(eq=False)
class Slot:
    """A line that is in base, in the file, or in both. `own`: the user typed it into a hunk; `mixed`: words of both.

    `by` and `removed_by` are the calls that wrote it and took it away, "" for the user; `kept`: the user decided so.
    """

    text: str
    in_base: bool
    in_file: bool
    own: bool = False
    mixed: bool = False
    by: str = ""
    removed_by: str = ""
    kept: bool = False


def all_lines(part: Part) -> Lines:
    return part.lines if isinstance(part, Same) else (*part.base, *part.texts)


def within(hunk: Hunk, part: tuple[int, int] | None) -> tuple[int, int] | None:
    """A part of the hunk's lines; None: all of it."""
    if part is None or not hunk.lines:
        return None
    start = min(part[0], len(hunk.lines) - 1)
    lines = start, min(start + 1 + part[1], len(hunk.lines))
    return lines if lines != (0, len(hunk.lines)) else None


def touch(one: PlacedHunk, other: PlacedHunk) -> bool:
    return one.start <= other.stop and other.start <= one.stop


def rejected(text: ReviewedText) -> Lines:
    """What is left when everything is rejected."""
    for each in text.hunks:
        found = text.pending(each.hunk.id)
        assert found is not None
        answer = decided(text, Decision("reject", found.hunk.id, found.hunk.digest, choice="drop"))
        assert isinstance(answer, Decided)
        text = answer.text
    assert text.base == text.current
    return text.current
