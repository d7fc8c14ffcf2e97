"""Texts that editors report piece by piece are what the editors hold, whatever is replaced in them."""

import re

from hypothesis import given
from hypothesis import strategies as st

from sould.agents.base.lsp import Position
from sould.agents.clients.review.reported import TextBuffer

TEXTS = st.text(alphabet="ab\n\r é𝒳\u2028", max_size=30)


def offset(text: str, at: Position) -> int:
    """Where a position is in a text: the naive way."""
    ends = [0, *(found.end() for found in re.finditer(r"\r\n|\r|\n", text))]
    if at.line >= len(ends):
        return len(text)
    start = ends[at.line]
    found = re.compile(r"[\r\n]").search(text, start)
    units, place = 0, start
    for character in text[start : found.start() if found else len(text)]:
        units += len(character.encode("utf-16-le")) // 2
        if units > at.character:
            break
        place += 1
    return place


@given(TEXTS, st.lists(st.tuples(*[st.integers(0, 8)] * 4, TEXTS), max_size=6))
def test_replacing_ranges_gives_the_text_that_an_editor_has(
    text: str, changes: list[tuple[int, int, int, int, str]]
) -> None:
    buffer = TextBuffer(text)
    for one, two, three, four, new in changes:
        start, stop = sorted((Position(one, two), Position(three, four)))
        text = text[: offset(text, start)] + new + text[offset(text, stop) :]
        buffer.replace(start, stop, new)
        assert buffer.text == text
        assert buffer.size == len(text)
