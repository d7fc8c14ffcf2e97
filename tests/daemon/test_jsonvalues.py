"""What the command line and the daemon say to each other, read as it was declared."""

import json

import pytest

from sould.daemon.control import AnswerParams, Asked, ListParams, PrunedRow, SessionRow, Waiting
from sould.daemon.jsonvalues import JsonValues, NotAsDeclaredError

ROW = SessionRow(id="a", cwd="/", title="é", created=1.5, updated=2, turns=3, live=True)


def test_what_was_said_is_what_is_read() -> None:
    waiting = Waiting(
        id="1",
        session="s",
        kind="question",
        title="?",
        questions=(Asked("Which?", ("a", "b"), several=True),),
        form={"properties": {"x": [1, None]}},
    )
    said: tuple[JsonValues, ...] = (waiting, ROW, PrunedRow(ROW, 5), ListParams(cwd=None, cursor="c"))
    for each in said:
        assert type(each).read(json.loads(each.to_text())) == each
        assert json.loads(each.to_text(indent=2)) == json.loads(each.to_text())


def test_what_another_version_adds_is_left_out_and_what_it_lacks_has_its_default() -> None:
    assert ListParams.read({"limit": 7, "colour": "red"}) == ListParams(limit=7)


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"decision": "approve"}, "missing required field `id`"),
        ({"id": 5, "decision": "approve"}, "Expected `str`, got `int` - at `$.id`"),
        ({"id": "a", "decision": "maybe"}, "Invalid enum value 'maybe' - at `$.decision`"),
        ({"id": "a", "decision": "answer", "answers": "yes"}, "Expected `array`, got `str` - at `$.answers`"),
        ({"id": "a", "decision": "answer", "answers": ["yes", 2]}, "Expected `str`, got `int` - at `$.answers[1]`"),
        ({"id": "a", "decision": "answer", "also_changed": 1}, "Expected `bool`, got `int` - at `$.also_changed`"),
        ([], "Expected `object`, got `array`"),
    ],
)
def test_what_is_not_as_declared_is_named(given: object, sentence: str) -> None:
    with pytest.raises(NotAsDeclaredError) as error:
        AnswerParams.read(given)
    assert sentence in str(error.value)


def test_a_number_may_be_whole_and_nested_fields_are_named_by_their_place() -> None:
    assert ROW.read(ROW.to_json()).updated == 2.0
    row = ROW.to_json() | {"turns": "many"}
    with pytest.raises(NotAsDeclaredError, match=r"Expected `int`, got `str` - at `\$\.session\.turns`"):
        PrunedRow.read({"session": row, "size": 1})
