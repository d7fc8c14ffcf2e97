"""What somebody types in answer to a question."""

import pytest

from sould.agents.clients.choice_input import Choices, Chosen

ONE = Choices(("Yes, all", "No"), words="Other")
SEVERAL = Choices(("red", "green", "blue"), several=True)


@pytest.mark.parametrize(
    ("choices", "typed", "meant"),
    [
        (ONE, " 2\n", Chosen(("No",))),
        (ONE, "no", Chosen(("No",))),
        (ONE, "yes, ALL", Chosen(("Yes, all",))),
        (ONE, "3", Chosen()),
        (ONE, "3. only some", Chosen(words="only some")),
        (ONE, "only some", Chosen(words="only some")),
        (ONE, "2 of them", Chosen(words="2 of them")),
        (ONE, "4", None),
        (ONE, "y", None),
        (ONE, "", None),
        (SEVERAL, "3,1, 3", Chosen(("blue", "red"))),
        (SEVERAL, "Green, 1", Chosen(("green", "red"))),
        (SEVERAL, "1,4", None),
        (SEVERAL, "purple", None),
        (Choices(()), "7", Chosen(words="7")),
    ],
)
def test_a_slip_is_no_answer_and_words_are_no_slip(choices: Choices, typed: str, meant: Chosen | None) -> None:
    assert choices.read(typed) == meant
