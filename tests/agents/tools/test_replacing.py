"""Exact replacement: one place or none, bytes outside it untouched, and help for the model when it fails."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sould.agents.base.lookalikes import differences
from sould.agents.tools.lineends import LfText
from sould.agents.tools.replacing import EditError, replace_exactly

text = st.text(alphabet="ab \n\r\té", max_size=60)
mixed = st.lists(st.sampled_from(["a", "b", "\n", "\r\n", "\r", " ", "é"]), max_size=40).map("".join)


def plain(value: str) -> str:
    return value.replace("\r\n", "\n")


@given(mixed)
def test_every_position_of_the_plain_text_maps_back(original: str) -> None:
    view = LfText.of(original)
    for index in range(len(view.text) + 1):
        assert plain(original[: view.original(index)]) == view.text[:index]


@given(mixed, st.data(), st.text(alphabet="xy\n", max_size=8))
def test_a_replacement_is_that_of_the_plain_text_and_touches_nothing_else(
    original: str, data: st.DataObject, new: str
) -> None:
    view = LfText.of(original)
    if not view.text:
        return
    start = data.draw(st.integers(0, len(view.text) - 1))
    old = view.text[start : data.draw(st.integers(start + 1, len(view.text)))]
    if "\r" in old:  # what looks like CRLF in the plain text was CR CRLF
        return
    if view.text.find(old) != view.text.rfind(old):
        with pytest.raises(EditError, match="times"):
            replace_exactly(original, old, new, replace_all=False)
        return
    replaced, count = replace_exactly(original, old, new, replace_all=False)
    at = view.text.index(old)
    assert count == 1
    assert replaced.startswith(original[: view.original(at)])
    assert replaced.endswith(original[view.original(at + len(old)) :])
    middle = replaced[view.original(at) : len(replaced) - len(original) + view.original(at + len(old))]
    assert plain(middle) == new


@given(mixed, st.sampled_from(["a", "ab", "\n", "b\n", "aa"]), st.sampled_from(["", "x", "a\nb", "\r\n"]))
def test_replacing_all_is_what_python_does_to_the_plain_text(original: str, old: str, new: str) -> None:
    try:
        replaced, count = replace_exactly(original, old, new, replace_all=True)
    except EditError:
        assert old not in plain(original)
        return
    assert count == plain(original).count(old)
    # A lone CR beside an inserted LF reads as CRLF afterwards; everything else must agree.
    if "\r" not in plain(original):
        assert plain(replaced) == plain(original).replace(old, plain(new))


@given(text, st.text(min_size=1, max_size=12), st.text(max_size=12))
def test_what_is_not_there_changes_nothing_and_is_explained(original: str, old: str, new: str) -> None:
    if plain(old) in plain(original):
        return
    with pytest.raises(EditError, match=r"nothing was changed|Nothing was changed"):
        replace_exactly(original, old, new, replace_all=False)


def test_inserted_lines_have_the_line_ends_of_their_place() -> None:
    replaced, _ = replace_exactly("a\r\nb\r\nc\nd\n", "b\nc", "x\ny", replace_all=False)
    assert replaced == "a\r\nx\r\ny\nd\n"
    replaced, _ = replace_exactly("a\r\nb\r\nc\nd", "d", "x\ny", replace_all=False)
    assert replaced == "a\r\nb\r\nc\nx\r\ny"


def message(original: str, old: str) -> str:
    with pytest.raises(EditError) as raised:
        replace_exactly(original, old, "new", replace_all=False)
    return str(raised.value)


def test_an_ambiguous_edit_shows_every_candidate_with_its_line() -> None:
    said = message("def a():\n    return 1\n\ndef b():\n    return 1\n", "    return 1")
    assert "2 times" in said
    assert "     2\t    return 1\n     5\t    return 1" in said


def test_overlapping_matches_are_ambiguous() -> None:
    assert "2 times" in message("aaa", "aa")


def test_many_candidates_are_counted_and_five_are_shown() -> None:
    said = message("same\n" * 40, "same")
    assert "40 times" in said
    assert said.count("\tsame") == 5
    assert "and 35 more" in said


def test_a_difference_in_white_space_is_named_with_the_real_lines() -> None:
    said = message("class A:\n\tdef f(self):\n\t\treturn  1\n", "    def f(self):\n        return 1")
    assert "differ from it only in spaces" in said
    assert "     2\t\tdef f(self):\n     3\t\t\treturn  1" in said


@pytest.mark.parametrize(
    ("there", "given", "named"),
    [
        ("don\u2019t say it", "don't say it", "U+2019 (right single quotation mark) in place of `'`"),
        ("say \u201cone\u201d", 'say "one"', 'U+201C (left double quotation mark) in place of `"`'),
        ("10\u00a0km", "10 km", "U+00A0 (no-break space) in place of a space"),
        ("pages 1\u20139", "pages 1-9", "U+2013 (en dash) in place of `-`"),
        ("a\u200bb = 1", "ab = 1", "U+200B (zero width space) in place of nothing"),
        ("h\u0435llo = 1", "hello = 1", "U+0435 (cyrillic small letter ie) in place of `e`"),
        ("hello = 1", "h\u0435llo = 1", "`e` in place of U+0435 (cyrillic small letter ie)"),
        (
            "cafe\u0301",
            "caf\u00e9",
            "(combining acute accent) in place of U+00E9 (latin small letter e with acute), NFD",
        ),
    ],
)
def test_characters_that_only_look_the_same_are_named(there: str, given: str, named: str) -> None:
    with pytest.raises(EditError) as caught:
        replace_exactly(f"first\n{there}\nlast\n", given, "x", replace_all=False)
    assert named in str(caught.value)
    assert f"     2\t{there}\n" in str(caught.value)


PARAGRAPH = "Ein Café, ein Résumé und ein Déjà-vu: " * 8


@pytest.mark.parametrize(
    ("there", "given", "named"),
    [
        (unicodedata.normalize("NFD", PARAGRAPH), PARAGRAPH, "`e` + U+0301"),
        ("    f(a\u00a0b,  c)", "  f(a b, c)", "U+00A0 (no-break space) in place of a space"),
        (
            "don\u2019t say it to her at once",
            "don't say that to her",
            "U+2019 (right single quotation mark) in place of `'`",
        ),
        (
            "".join(f"a{chr(0x4E00 + at)}" for at in range(999)),
            "".join(f"a{chr(0x5E00 + at)}" for at in range(999)),
            "",
        ),
    ],
)
def test_characters_are_named_in_long_lines_and_in_ones_that_differ_otherwise_too(
    there: str, given: str, named: str
) -> None:
    """The last one took minutes."""
    assert bool(named) == bool(differences(there, given))
    assert named in "".join(differences(there, given))


@pytest.mark.parametrize(("there", "given"), [("foo_bar", "foo-bar"), ("f(a)", "f(b)"), ("na\u00efve", "naive")])
def test_other_characters_are_not_taken_for_ones_that_look_the_same(there: str, given: str) -> None:
    with pytest.raises(EditError, match="The nearest lines are") as caught:
        replace_exactly(f"x = {there} + 1\n", f"x = {given} + 1", "y", replace_all=False)
    assert "in place of" not in str(caught.value)


def test_the_nearest_lines_are_shown_when_a_word_is_wrong() -> None:
    said = message("import os\n\ndef calculate_total(items):\n    return sum(items)\n", "def calculate_totals(items):")
    assert "     3\tdef calculate_total(items):" in said


def test_copied_line_numbers_are_recognised() -> None:
    assert "line numbers" in message("one\ntwo\n", "     1\tone\n     2\ttwo")
