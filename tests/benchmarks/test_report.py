"""The report says what was measured, and README nothing else."""

import re
from pathlib import Path

from report import BEGIN, END, README, Record, kept, report, run_of, with_figures
from row import OURS, AtMost, Row
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
    assert "| spawn -> session | ms | 1,234 [1,234-1,234] | failed |" in beside
    assert "it closed its end" in beside
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
    text = README.read_text()
    assert with_figures(text, latest) == text
    written = Path(README.parent / "benchmarks" / "REPORT.md")
    assert not latest or written.read_text() == "\n".join(report(latest)) + "\n"
