"""Thoughts in tags at the beginning of an answer are thoughts, however the text is cut."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sould.agents.llm.chunks import ThoughtTags
from sould.agents.wire.content import TextPart


def read(*pieces: str) -> tuple[str, str]:
    """The thoughts and the answer; what follows the answer's first text is not read any more, as by `AnswerReader`."""
    tags, thoughts, said = ThoughtTags(), "", ""
    for piece in pieces:
        if said.strip():
            said += piece
            continue
        for part in tags.read(piece):
            if isinstance(part, TextPart):
                said += part.text
            else:
                thoughts += part.think
    for part in tags.close():
        if isinstance(part, TextPart):
            said += part.text
        else:
            thoughts += part.think
    return thoughts, said


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("<think>\nThe user wants a word.\n</think>\n\nWord.", ("The user wants a word.", "Word.")),
        ("\n<think>a < b\n\nand so</think>Yes <think> no", ("a < b\n\nand so", "Yes <think> no")),
        ("<think></think>Word.", ("", "Word.")),
        ("<think>cut", ("cut", "")),
        ("<thinking>Word.", ("", "<thinking>Word.")),
        ("A <think>tag</think>.", ("", "A <think>tag</think>.")),
        ("<", ("", "<")),
        ("", ("", "")),
    ],
)
@given(st.data())
def test_thoughts_are_told_from_the_answer(text: str, meant: tuple[str, str], data: st.DataObject) -> None:
    cuts = data.draw(st.lists(st.integers(0, len(text))))
    at = [0, *sorted(cuts), len(text)]
    assert read(*(text[start:stop] for start, stop in pairwise(at))) == meant
