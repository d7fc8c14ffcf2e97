"""Whose the lines are that stand where the user replaced some of a hunk. Pure."""

import re
from collections import Counter
from collections.abc import Sequence
from typing import Final

from msgspec.structs import replace

from sould.agents.files.review.difference import LineEdit, edits_between
from sould.agents.files.review.hunk import AgentCall, Line
from sould.agents.files.review.lines import Lines, without_white_space, words_in

ALIKE: Final = 0.5
"""Two lines are versions of one when so much of their words is alike, from 0 to 1."""

MOST_PAIRED: Final = 10_000
"""Old lines times new lines: above it nobody typed them one by one, and only equal ones are paired."""

_WORD = re.compile(r"\w+|[^\w\s]")


def retyped(old: Sequence[Line], new: Lines) -> tuple[Line, ...]:
    """The new lines with their authors.

    A version of an agent's line is mixed unless only its white space changed; so is a new line most of whose words were
    in the agent's lines that went. The others are the user's own.
    """
    agents = [line.agent for line in old if line.agent is not None]
    if old and len(agents) == len(old) and without_white_space(line.text for line in old) == without_white_space(new):
        return tuple(replace(old[min(n, len(old) - 1)], text=text) for n, text in enumerate(new))
    sources = {j: old[i] for i, j in pairs([line.text for line in old], new)}
    gone = [line for line in old if line.agent is not None]
    return tuple(_version(sources[j], text) if j in sources else _new(gone, text) for j, text in enumerate(new))


def _version(line: Line, text: str) -> Line:
    if line.own or text == line.text or words_in(text) == words_in(line.text):
        return replace(line, text=text)
    return replace(line, text=text, retyped=True)


def is_version(old: Sequence[Line], new: Lines) -> bool:
    """Whether some new line is one of the agents' lines with little changed, or nothing but its white space."""
    lines = [line.text for line in old]
    found = ((old[i], lines[i], new[j]) for i, j in pairs(lines, new))
    return any(
        line.agent is not None
        and without_white_space([text]) != ""
        and _likeness(_WORD.findall(text), _WORD.findall(other)) > ALIKE
        for line, text, other in found
    )


def _new(gone: Sequence[Line], text: str) -> Line:
    words = Counter(_WORD.findall(text))
    theirs = Counter(word for line in gone for word in _WORD.findall(line.text))
    agent: AgentCall | None = gone[0].agent if gone else None
    if agent is not None and 2 * (words & theirs).total() >= words.total() > 0:
        return Line(text, agent, retyped=True)
    return Line(text)


def pairs(old: Sequence[str], new: Sequence[str]) -> list[tuple[int, int]]:
    """Which line is a version of which: one beside the other where there are as many, else the most alike in order."""
    if len(old) == len(new):
        return [(n, n) for n in range(len(old))]
    if len(old) * len(new) > MOST_PAIRED:
        return _equal(old, new)
    return _most_alike([_WORD.findall(line) for line in old], [_WORD.findall(line) for line in new])


def _equal(old: Sequence[str], new: Sequence[str]) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    i = j = 0
    for edit in (*edits_between(old, new), LineEdit(len(old), len(old), ())):
        found += [(i + n, j + n) for n in range(edit.start - i)]
        i, j = edit.stop, j + edit.start - i + len(edit.lines)
    return found


def _most_alike(old: Sequence[Sequence[str]], new: Sequence[Sequence[str]]) -> list[tuple[int, int]]:
    """The pairs in order with the greatest sum of likeness (Needleman and Wunsch, no cost for a gap)."""
    likeness = [[_likeness(one, other) for other in new] for one in old]
    best = [[0.0] * (len(new) + 1) for _ in range(len(old) + 1)]
    for i in range(len(old) - 1, -1, -1):
        for j in range(len(new) - 1, -1, -1):
            paired = likeness[i][j] + best[i + 1][j + 1] if likeness[i][j] >= ALIKE else 0.0
            best[i][j] = max(paired, best[i + 1][j], best[i][j + 1])
    found: list[tuple[int, int]] = []
    i = j = 0
    while i < len(old) and j < len(new):
        if likeness[i][j] >= ALIKE and best[i][j] == likeness[i][j] + best[i + 1][j + 1]:
            found.append((i, j))
            i, j = i + 1, j + 1
        elif best[i][j] == best[i + 1][j]:
            i += 1
        else:
            j += 1
    return found


def _likeness(one: Sequence[str], other: Sequence[str]) -> float:
    """From 0, no word alike, to 1; two lines without words are alike."""
    if not one and not other:
        return 1.0
    return 2 * (Counter(one) & Counter(other)).total() / (len(one) + len(other))
