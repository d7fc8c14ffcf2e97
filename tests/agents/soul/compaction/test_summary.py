"""Summaries: what a model wrote is parsed, repaired, merged and cut without losing what matters most."""

from hypothesis import given
from hypothesis import strategies as st

from sould.agents.base.text import tokens
from sould.agents.soul.compaction.summary import (
    SECTIONS,
    FileState,
    Summary,
    fitted,
    merge,
    parse,
    repaired,
    without_thinking,
)

ANSWER = """\
<think>What matters here?</think>
<current_focus>Fix the parser. Next: run the tests.</current_focus>
<environment>Python 3.11; `make test`.</environment>
<completed_tasks>Read parser.py
Wrote the failing test</completed_tasks>
<active_issues>ValueError: unbalanced bracket at 3</active_issues>
<code_state>
<file name="src/parser.py">
<summary>the parser</summary>
<key_elements>parse(), Token</key_elements>
<latest_version>def parse(text): ...</latest_version>
</file>
<file name="tests/test_parser.py">covers brackets</file>
</code_state>
<important_context>No regular expressions: the grammar nests.</important_context>
"""


def test_an_answer_with_all_sections_is_read_whole() -> None:
    summary = parse(ANSWER)
    assert summary.missing == ()
    assert summary.texts["current_focus"] == "Fix the parser. Next: run the tests."
    assert summary.files == (
        FileState("src/parser.py", "the parser", "parse(), Token", "def parse(text): ..."),
        FileState("tests/test_parser.py", "covers brackets"),
    )
    assert "What matters" not in summary.text
    assert parse(summary.text) == summary


def test_missing_sections_are_named_and_repaired() -> None:
    summary = parse("Well. <environment>Linux</environment> <current_focus>go on <active_issues>none yet")
    assert summary.missing == ("completed_tasks", "code_state", "important_context")
    assert summary.texts["current_focus"] == "go on"
    whole = repaired(summary, "unused")
    assert whole.missing == ()
    assert whole.texts["important_context"] == "Well."
    assert repaired(parse("just prose"), "the user's words").texts["current_focus"] == "the user's words"


def test_reasoning_inside_text_is_stripped() -> None:
    assert without_thinking("a<thinking>b</thinking>c<think>never closed") == "ac"


def test_merging_keeps_what_stays_true_and_replaces_what_changed() -> None:
    earlier = parse(ANSWER)
    later = Summary(
        {"current_focus": "Release", "completed_tasks": "Read parser.py\nFixed brackets", "active_issues": "None."},
        (FileState("src/parser.py", "the parser, fixed"),),
    )
    merged = merge(earlier, later)
    assert merged.texts["current_focus"] == "Release"
    assert merged.texts["completed_tasks"].splitlines() == [
        "Read parser.py",
        "Wrote the failing test",
        "Fixed brackets",
    ]
    assert "No regular expressions" in merged.texts["important_context"]
    assert {state.name: state.summary for state in merged.files}["src/parser.py"] == "the parser, fixed"


@given(st.dictionaries(st.sampled_from(SECTIONS), st.text(max_size=4000)), st.integers(300, 2000))
def test_a_summary_is_cut_to_its_room_and_keeps_its_sections(texts: dict[str, str], limit: int) -> None:
    code = texts.pop("code_state", "")
    short = fitted(Summary(texts, (FileState("a", latest_version=code),)), limit)
    assert tokens(short.text) <= limit or max(map(len, short.texts.values()), default=0) <= 160
    assert all(f"<{name}>" in short.text for name in SECTIONS)


def test_old_code_is_cut_before_the_current_focus() -> None:
    summary = Summary({"current_focus": "f" * 400}, (FileState("a", "s", "k", "code " * 1000),))
    short = fitted(summary, 400)
    assert short.texts["current_focus"] == "f" * 400
    assert len(short.files[0].latest_version) < 1000
