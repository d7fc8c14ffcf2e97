"""Whatever happens to a text under review: nothing typed is lost, and what was rejected is gone."""

import itertools

from hypothesis import settings
from tests.agents.review.machine import Reviewing

from sould.agents.review.difference import LineEdit, applied, edits_between

TestReviewing = Reviewing.TestCase
TestReviewing.settings = settings(
    max_examples=300, stateful_step_count=15, derandomize=True
)  # `make faults` looks further


def test_edits_between_two_texts_turn_one_into_the_other() -> None:
    old = tuple(f"{n % 7}\n" for n in range(60))
    new = tuple(f"{n % 5}\n" for n in range(50))
    edits = edits_between(old, new)
    assert applied(old, edits) == new
    assert all(one.stop < other.start for one, other in itertools.pairwise(edits))
    assert edits_between(old, old) == ()
    assert edits_between((), new) == (LineEdit(0, 0, new),)
