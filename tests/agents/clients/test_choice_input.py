"""What somebody types in answer to a question."""

import pytest

from sould.agents.clients.choice_input import Choices, ChosenOptions

ONE = Choices(("Yes, all", "No"), words="Other")
SEVERAL = Choices(("red", "green", "blue"), several=True)


@pytest.mark.parametrize(
    ("choices", "typed", "meant"),
    [
        (ONE, " 2\n", ChosenOptions(("No",))),
        (ONE, "no", ChosenOptions(("No",))),
        (ONE, "yes, ALL", ChosenOptions(("Yes, all",))),
        (ONE, "3", ChosenOptions()),
        (ONE, "3. only some", ChosenOptions(words="only some")),
        (ONE, "only some", ChosenOptions(words="only some")),
        (ONE, "2 of them", ChosenOptions(words="2 of them")),
        (ONE, "4", None),
        (ONE, "y", None),
        (ONE, "", None),
        (SEVERAL, "3,1, 3", ChosenOptions(("blue", "red"))),
        (SEVERAL, "Green, 1", ChosenOptions(("green", "red"))),
        (SEVERAL, "1,4", None),
        (SEVERAL, "purple", None),
        (Choices(()), "7", ChosenOptions(words="7")),
    ],
)
def test_a_slip_is_no_answer_and_words_are_no_slip(choices: Choices, typed: str, meant: ChosenOptions | None) -> None:
    assert choices.read(typed) == meant
