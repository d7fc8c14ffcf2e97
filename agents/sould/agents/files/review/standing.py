"""Where lines of the user stand among the lines of base that a reject puts back around them. Pure.

What this finds is folded anew from old logs, so it stands on nothing that may change: shared words, else the place.
"""

import re
from collections import Counter
from collections.abc import Sequence

from sould.agents.files.review.hunk import Line
from sould.agents.files.review.lines import Lines, stacked

_WORD = re.compile(r"\w+")


def standing(base: Lines, lines: Sequence[Line]) -> Lines:
    """Base with the user's lines: one with the user's words below the line of base it was made of, the user's own beside these.

    Where no line has words of both, the user's own lines stand below base.
    """
    if not base or not any(line.mixed for line in lines):
        return stacked(base, tuple(line.text for line in lines if line.own or line.mixed))
    whole: Lines = ()
    done = 0
    yours: Lines = ()
    for n, line in enumerate(lines):
        if line.own or line.mixed:
            yours = (*yours, line.text)
        if line.mixed:
            below = 1 + _made_of(base, line.text, done, n)
            whole, done, yours = stacked(stacked(whole, base[done:below]), yours), below, ()
    return stacked(stacked(whole, yours), base[done:])


def _made_of(base: Lines, text: str, done: int, place: int) -> int:
    """The line of base, none above `done`, that has most words in common with a text; else the one at its place."""
    first, last = min(done, len(base) - 1), len(base) - 1
    words = Counter(_WORD.findall(text))
    alike = [((words & Counter(_WORD.findall(base[n]))).total(), n) for n in range(first, len(base))]
    most = max(count for count, _ in alike)
    near = [n for count, n in alike if count == most] if most else [max(first, min(place, last))]
    return min(near, key=lambda n: abs(n - place))
