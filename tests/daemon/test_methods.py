"""What the command line and the daemon say to each other, read as it was declared."""

import json

import pytest
from msgspec import ValidationError, convert, to_builtins

from sould.agents.clients.inbox.shapes import AskedOption, AskedQuestion, InboxItem, InboxSession
from sould.daemon.methods import ListSessions, MergeWorktree, PrunedRow, PruneSessions, SessionRow, SessionState, Value

ROW = SessionRow(id="a", cwd="/", title="é", created=1.5, updated=2, turns=3, live=True)


def test_what_was_said_is_what_is_read() -> None:
    item = InboxItem(
        id="1",
        kind="form",
        session=InboxSession("s", "t", "/", "/"),
        since="2026-01-01T00:00:00Z",
        title="?",
        questions=(AskedQuestion("Which?", options=(AskedOption("a"), AskedOption("b")), several=True),),
        form={"properties": {"x": [1, None]}},
    )
    state = SessionState("s", "t", "/", running=True, queued=0, pending=1, mode="ask", model="m", waiting=(item,))
    said: tuple[Value, ...] = (state, ROW, PrunedRow(ROW, 5), ListSessions(cwd=None, cursor="c"))
    for each in said:
        assert convert(json.loads(each.to_text()), type(each)) == each
        assert json.loads(each.to_text(indent=2)) == json.loads(each.to_text())


def test_what_another_version_adds_is_left_out_and_what_it_lacks_has_its_default() -> None:
    assert convert({"limit": 7, "colour": "red"}, ListSessions) == ListSessions(limit=7)


@pytest.mark.parametrize(
    ("kind", "given", "sentence"),
    [
        (MergeWorktree, {"cwd": "/"}, "missing required field `name`"),
        (MergeWorktree, {"name": 5, "cwd": "/"}, "Expected `str`, got `int` - at `$.name`"),
        (MergeWorktree, {"name": "a", "cwd": "/", "undecided": 1}, "Expected `bool`, got `int` - at `$.undecided`"),
        (PruneSessions, {"only": "yes"}, "Expected `array | null`, got `str` - at `$.only`"),
        (PruneSessions, {"only": ["yes", 2]}, "Expected `str`, got `int` - at `$.only[1]`"),
        (PruneSessions, [], "Expected `object`, got `array`"),
    ],
)
def test_what_is_not_as_declared_is_named(kind: type[Value], given: object, sentence: str) -> None:
    with pytest.raises(ValidationError) as error:
        convert(given, kind)
    assert sentence in str(error.value)


def test_a_number_may_be_whole_and_nested_fields_are_named_by_their_place() -> None:
    assert convert(to_builtins(ROW), SessionRow).updated == 2.0
    row = to_builtins(ROW) | {"turns": "many"}
    with pytest.raises(ValidationError, match=r"Expected `int`, got `str` - at `\$\.session\.turns`"):
        convert({"session": row, "size": 1}, PrunedRow)
