"""The choice in an answer to a decision of a flow, however it is streamed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sould.agents.soul.choices import ChoiceReader, choice_in, without_choice
from sould.agents.wire.content import TextPart
from sould.agents.wire.messages import Choice

PIECES = st.lists(
    st.sampled_from(["<choice>", "</choice>", "<cho", "ice>", "<", " ", "\n", "a", "yes", "x" * 1100])
    | st.text("<>/choice \n", max_size=6),
    max_size=12,
)


def read(pieces: list[str]) -> list[TextPart | Choice]:
    reader = ChoiceReader()
    parts = [part for piece in pieces for part in reader.read(piece)]
    return [*parts, *reader.close()]


@pytest.mark.parametrize(
    ("answer", "choice", "rest"),
    [
        ("<choice>a</choice>", "a", ""),
        ("Good.\n\n<choice>\n a b </choice>\n", "a b", "Good."),
        ("<choice>a</choice><choice>b</choice>", "b", "<choice>a</choice>"),
        ("I end with a `<choice>` tag: <choice>a</choice>", "a", "I end with a `<choice>` tag:"),
        ("a", "", "a"),
    ],
)
def test_the_last_choice_counts_trimmed(answer: str, choice: str, rest: str) -> None:
    assert (choice_in(answer), without_choice(answer)) == (choice, rest)


@given(PIECES)
def test_parts_make_the_answer_and_do_not_depend_on_how_it_came(pieces: list[str]) -> None:
    answer = "".join(pieces)
    parts = read(pieces)
    assert "".join(part.text for part in parts) == answer
    shown = "".join(part.text for part in parts if isinstance(part, TextPart))
    assert choice_in(shown) == "" or len(answer) > 1_000


def test_white_space_without_an_end_is_not_held() -> None:
    reader = ChoiceReader()
    shown = "".join(part.text for _ in range(5_000) for part in reader.read("\n"))
    assert len(shown) > 3_000


@given(st.text("ab <\n", max_size=20), st.text("yesno ", min_size=1, max_size=5), st.integers(1, 5))
def test_people_are_shown_an_answer_without_its_choice(said: str, choice: str, size: int) -> None:
    answer = f"{said}<choice>{choice}</choice>"
    parts = read([answer[at : at + size] for at in range(0, len(answer), size)])
    assert "".join(part.text for part in parts if isinstance(part, TextPart)) == said.rstrip()
