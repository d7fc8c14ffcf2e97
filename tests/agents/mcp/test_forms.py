"""Whether an answer fits the form of an MCP server, and what is said when it does not."""

from typing import Any

import pytest

from sould.agents.mcp.asking import items
from sould.agents.mcp.forms import problem, read_form, typed
from soultest.mcpserver import FORM

Json = dict[str, Any]
READ = read_form("box", "Tell us.", "", FORM, "")


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"mail": "nobody"}, "E-mail: this is not an e-mail address."),
        ({"mail": None}, "E-mail is required."),
        ({"count": 10}, "How many: it is at most 9."),
        ({"count": "many"}, "How many: this is not a whole number."),
        ({"count": True}, "How many: this is not a whole number."),
        ({"gift": "perhaps"}, "Wrap it: this is not yes or no."),
        ({"day": "2026-02-30"}, "Day: this is not a date such as 2026-11-22."),
        ({"size": "xl"}, "Size: this is not one of Small, Large."),
        ({"extras": ["card", "bow"]}, "Extras: choose at most 1."),
        ({"extras": ["crown"]}, "Extras: this is not one of card, bow."),
        ({"code": "x"}, "Discount code: this does not match ^[A-Z]+$."),
        ({"count": 0, "day": "soon"}, "How many: it is at least 1. Day: this is not a date such as 2026-11-22."),
    ],
)
def test_what_does_not_fit_a_field_is_said_by_its_title(given: Json, why: str) -> None:
    assert READ is not None
    content = typed(READ, {"mail": "ada@example.org", "count": 1} | given)
    assert sorted(problem(READ, content)) == sorted(why)


def test_words_of_clients_that_know_no_types_become_the_types_of_the_fields() -> None:
    assert READ is not None
    said = {"mail": "a@b.example", "count": "4", "gift": "yes", "size": "Small", "extras": "bow", "other": "x"}
    assert typed(READ, said) == {"mail": "a@b.example", "count": 4, "gift": True, "size": "s", "extras": ["bow"]}
    assert typed(READ, {"count": 4.0}) == {"count": 4}
    assert problem(READ, typed(READ, {"mail": "a@b.example", "count": "9" * 400}))


@pytest.mark.parametrize(
    "field",
    [
        {"type": "object"},
        {"type": "array"},
        {"type": "string", "pattern": "("},
        {"type": "string", "pattern": "(?=a)"},
        {"type": "string", "pattern": "((a{1000}){1000}){1000}"},
        {"type": "string", "pattern": "\\p{L}{1000}"},
        5,
    ],
)
def test_a_form_that_cannot_be_shown_or_checked_is_none(field: Any) -> None:
    assert read_form("box", "", "", {"properties": {"a": field}}, "") is None


@pytest.mark.parametrize("pattern", ["(a+)+$", "^(a|a)*$", "^(a|aa)+$", "^([a-z]+)*$", "(.*)*b$", "^(a?){500}a{500}$"])
def test_a_pattern_that_is_made_to_be_slow_is_answered(pattern: str) -> None:
    read = read_form("box", "", "", {"properties": {"a": {"type": "string", "title": "A", "pattern": pattern}}}, "")
    assert read is not None
    assert problem(read, {"a": "a" * 100_000 + "!"}) == f"A: this does not match {pattern}."


@pytest.mark.parametrize(
    ("pattern", "fits", "unfit"),
    [
        ("^[a-z\\u00e0-\\u00ff]+$", "caf\u00e9", "\u0153uf"),
        ("^\\\\u00e9$", "\\u00e9", "\u00e9"),
        ("^\\d\\w$", "1a", "\u0661a"),
        ("^a$", "a", "a\n"),
        ("^.$", "\U0001f600", "ab"),
        ("b", "abc", "ac"),
    ],
)
def test_a_pattern_is_read_as_javascript_reads_it(pattern: str, fits: str, unfit: str) -> None:
    read = read_form("box", "", "", {"properties": {"a": {"type": "string", "pattern": pattern}}}, "")
    assert read is not None
    assert not problem(read, {"a": fits})
    assert problem(read, {"a": unfit})


def test_a_pattern_of_what_is_no_text_is_left_out() -> None:
    read = read_form("box", "", "", {"properties": {"a": {"type": "integer", "pattern": "("}}}, "")
    assert read is not None
    assert not problem(read, {"a": 1})


def test_a_default_that_does_not_fit_is_none() -> None:
    read = read_form(
        "box", "", "", {"properties": {"a": {"type": "integer", "default": "x"}, "b": {"default": "x"}}}, ""
    )
    assert read is not None
    assert ["default" in field for field in read.properties.values()] == [False, True]


def test_two_fields_and_two_choices_of_one_name_stay_two() -> None:
    choices = [{"const": "a", "title": "Same"}, {"const": "b", "title": "Same"}]
    fields = {name: {"type": "string", "title": "Name", "oneOf": choices} for name in ("one", "two")}
    read = read_form("box", "", "", {"properties": fields}, "")
    assert read is not None
    assert [item.question for item in items(read).values()] == ["Name", "Name (two)"]
    assert [option.label for option in items(read)["one"].options] == ["Same", "Same (b)"]


def test_what_is_said_of_a_form_stands_once() -> None:
    read = read_form("box", "Tell us.", "Careful.", FORM, "")
    assert read is not None
    assert [("Careful." in item.body) for item in items(read).values()] == [True] + [False] * 7
