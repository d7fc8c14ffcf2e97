"""The report says what was measured, and the page nothing else."""

import fnmatch
import re

from performancepage import AHEAD, MISSED, with_lists
from reasons import REASONS
from report import BEGIN, END, HERE, PAGE, Record, kept, report, run_of, with_figures
from row import OURS, AtMost, Row
from run import MEASUREMENTS
from runner import Finding

FAST = Row("first-token", "prompt -> first token", "waiting", budget=AtMost(5))
SLOW = Row("cold-session", "spawn -> session", "waiting more", budget=AtMost(5))
FREE = Row("crowd-cpu", "processor", "battery", unit="%")


def record() -> Record:
    """Of two agents, one of which fails once."""
    findings = [
        Finding(FAST, {OURS: [1.0, 2.0, 3.0], "other": [9.0, 9.0, 9.0]}),
        Finding(SLOW, {OURS: [1234.0], "other": [1.0]}, {"other": "it closed its end"}),
        Finding(FREE, {OURS: [10.0], "other": [20.0]}),
    ]
    return {"bench": run_of(findings, 0, {}), "peers": run_of(findings, 0, {"other": "1.2"})}


def test_it_names_what_was_met_and_what_was_missed() -> None:
    text = "\n".join(report(record()))
    assert "1 of 2 budgets met; missed: `cold-session`." in text
    assert re.search(r"\| `first-token` .* 2 \[1-3\] \| <= 5 ms \| met \|", text)
    assert re.search(r"\| `cold-session` .* 1,234 \[1,234-1,234\] \| <= 5 ms \| \*\*missed\*\* \|", text)


def test_an_agent_that_failed_has_no_figure_but_a_reason() -> None:
    beside = "\n".join(report(record())).partition("## Beside other agents")[2]
    assert "| spawn -> session | ms | 1,234 [1,234-1,234] | none |" in beside
    assert "- other has no figure in `cold-session`: it closed its end" in beside
    assert "other 1.2" in beside


def test_the_table_stands_between_its_marks_and_nothing_else_changes() -> None:
    text = f"before\n{BEGIN}\nold\n{END}\nafter\n"
    new = with_figures(text, record())
    assert new.startswith("before\n")
    assert new.endswith("\nafter\n")
    assert "old" not in new
    assert "| prompt -> first token, ms | 2 | 9 |" in new
    assert with_figures(new, record()) == new


def test_what_is_committed_was_written_from_the_record() -> None:
    latest = kept()
    text = PAGE.read_text()
    assert with_figures(text, latest) == text
    written = HERE / "REPORT.md"
    assert not latest or written.read_text() == "\n".join(report(latest)) + "\n"
    assert with_lists(PAGE.read_text(), latest) == PAGE.read_text()


def test_the_page_says_where_others_are_ahead_and_why_budgets_are_missed() -> None:
    marks = "\n".join((*AHEAD, "between", *MISSED))
    page = with_lists(marks, record())
    assert "- spawn -> session (`cold-session`): other 1 ms" not in page, "it failed there"
    assert "- processor (`crowd-cpu`)" not in page
    assert "- spawn -> session (`cold-session`): 1,234 ms (budget <= 5 ms). Not looked into yet." in page
    assert "\nbetween\n" in page
    slow = Finding(FAST, {OURS: [7.0, 8.0, 9.0], "other": [1.0, 2.0, 3.0]})
    page = with_lists(marks, {"peers": run_of([slow], 0, {})})
    assert "- prompt -> first token (`first-token`): other 2 ms, sould 8." in page


def test_reasons_are_about_rows_that_there_are() -> None:
    names = [row.name for measurement in MEASUREMENTS for row in measurement.rows]
    assert [pattern for pattern in REASONS if not fnmatch.filter(names, pattern)] == []
