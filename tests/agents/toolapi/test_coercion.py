"""Arguments that models write in another way than their schema says."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sould.agents.toolapi.coercion import coerced

STRINGS = {"type": "array", "items": {"type": "string"}}
ENTRY = {"type": "object", "properties": {"n": {"type": "integer"}, "name": {"type": "string"}}, "required": ["n"]}


def one(schema: dict[str, Any], value: Any, *, required: bool = True) -> Any:
    """What becomes of one parameter; "absent" where it is not given any more."""
    made = coerced({"it": value}, {"properties": {"it": schema}, "required": ["it"] if required else []})
    return made.get("it", "absent")


@pytest.mark.parametrize(
    ("schema", "given_", "read"),
    [
        (STRINGS, '["a", "b"]', ["a", "b"]),
        (ENTRY, '{"n": "5", "name": "007"}', {"n": 5, "name": "007"}),
        ({"type": "array", "items": ENTRY}, '[{"n": "1"}]', [{"n": 1}]),
        ({"anyOf": [ENTRY, {"type": "null"}]}, '{"n": 1}', {"n": 1}),
        ({"anyOf": [ENTRY, {"type": "array", "items": ENTRY}]}, '[{"n": "1"}]', [{"n": 1}]),
        ({"type": ["object", "null"], **{key: ENTRY[key] for key in ("properties",)}}, '{"n": "2"}', {"n": 2}),
        ({"type": "integer"}, "120000", 120000),
        ({"type": "integer"}, " -7 ", -7),
        ({"type": "integer"}, "5.0", 5),
        ({"type": "integer"}, 5.0, 5),
        ({"type": "number"}, "1e3", 1000.0),
        ({"type": "number"}, "5", 5),
        ({"type": "boolean"}, "False", False),
        ({"type": "boolean"}, "true", True),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, "null", None),
        ({"enum": [1, 2]}, "2", 2),
    ],
)
def test_what_models_write_as_text_is_read_as_the_schema_says(schema: dict[str, Any], given_: Any, read: Any) -> None:
    found = one(schema, given_)
    assert (found, type(found)) == (read, type(read))


@pytest.mark.parametrize(
    ("schema", "kept"),
    [
        ({"type": "string"}, "00713"),
        ({"type": "string"}, '{"n": 1}'),
        ({"anyOf": [{"type": "string"}, ENTRY]}, '{"n": 1}'),
        ({"type": ["string", "integer"]}, "5"),
        ({}, "5"),
        ({"type": "integer"}, "five"),
        ({"type": "integer"}, "5.5"),
        ({"type": "boolean"}, "yes"),
        (STRINGS, "a, b"),
        (STRINGS, '{"a": 1}'),
        (ENTRY, '{"n": '),
    ],
)
def test_what_is_text_or_cannot_be_read_stays_as_it_is(schema: dict[str, Any], kept: str) -> None:
    assert one(schema, kept) == kept


def test_null_for_what_need_not_be_given_is_not_given() -> None:
    assert one({"type": "integer"}, None, required=False) == "absent"
    assert one({"type": ["integer", "null"]}, None, required=False) is None
    assert one({"type": "integer"}, None) is None


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**12), 10**12) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(JSON)
def test_nothing_is_lost_on_the_way_through_text(value: Any) -> None:
    """Whatever a list or an object holds: as text and as itself it is the same."""
    for schema, whole in (({"type": "array"}, [value]), ({"type": "object"}, {"it": value})):
        assert one(schema, json.dumps(whole)) == one(schema, whole) == whole


@given(st.dictionaries(st.text(), JSON))
def test_arguments_without_a_schema_stay_as_they_are(arguments: dict[str, Any]) -> None:
    assert coerced(arguments, {}) == arguments


def test_an_argument_gets_its_own_name_back() -> None:
    schema = {
        "properties": {"$filter": {"type": "object", "properties": {"@id": {"type": "integer"}}}},
        "required": ["$filter"],
    }
    assert coerced({"_filter": {"_id": "7"}}, schema) == {"$filter": {"@id": 7}}
    assert coerced({"$filter": {}}, schema) == {"$filter": {}}


def test_null_stays_where_a_server_takes_it() -> None:
    schema = {"properties": {"assignee": {"type": ["string", "null"]}, "note": {"type": "string"}}}
    assert coerced({"assignee": None, "note": None}, schema) == {"assignee": None}
