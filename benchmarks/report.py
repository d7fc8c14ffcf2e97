"""What becomes of findings: lines while it runs, JSON, `REPORT.md`, and the table in docs/performance.md.

The report and the table are written from the JSON alone, so that they cannot say what was not measured.
"""

import json
import os
import platform
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NotRequired, TypedDict

from row import OURS
from runner import Finding

HERE = Path(__file__).resolve().parent
PAGE = HERE.parent / "docs" / "performance.md"
RECORD = HERE / "report.json"
REPORT = HERE / "REPORT.md"
BEGIN, END = "<!-- figures: written by make bench -->", "<!-- end of figures -->"
ON_PAGE = (
    "warm-initialize",
    "cold-session",
    "first-token",
    "first-token-paused",
    "chunk-p50",
    "full-speed",
    "editors-8-memory",
    "shell-20000-git-next",
)
"""The rows that the page shows."""


class Side(TypedDict):
    """One side of a row."""

    median: float
    low: float
    high: float
    samples: list[float]


class Found(TypedDict):
    """One row, as it is kept."""

    name: str
    what: str
    means: str
    unit: str
    budget: str
    floor: str
    met: bool | None
    sides: dict[str, Side]
    failed: dict[str, str]


class Run(TypedDict):
    """One run, as it is kept."""

    machine: str
    date: str
    seconds: float
    versions: dict[str, str]
    left_out: NotRequired[dict[str, str]]
    """Agents that could not be measured at all, and why."""
    rows: list[Found]


class Record(TypedDict):
    """The latest run of each kind."""

    bench: NotRequired[Run]
    peers: NotRequired[Run]


def machine() -> str:
    """What it was measured on."""
    cores = os.cpu_count()
    linux = ".".join(platform.release().split(".")[:2])
    return f"{cores} cores, {platform.machine()}, Linux {linux}, Python {platform.python_version()}"


def found(finding: Finding) -> Found:
    """A finding as it is kept."""
    row = finding.row
    sides: dict[str, Side] = {
        name: {"median": each.median, "low": each.low, "high": each.high, "samples": finding.samples[name]}
        for name, each in finding.sides.items()
    }
    return {
        "name": row.name,
        "what": row.what,
        "means": row.means,
        "unit": row.unit,
        "budget": "" if row.budget is None else f"{row.budget} {row.unit}",
        "floor": row.floor,
        "met": finding.met,
        "sides": sides,
        "failed": finding.failed,
    }


def run_of(findings: Iterable[Finding], begun: float, versions: dict[str, str]) -> Run:
    """A finished run."""
    rows = [found(finding) for finding in findings]
    today = time.strftime("%Y-%m-%d")
    return {"machine": machine(), "date": today, "seconds": time.time() - begun, "versions": versions, "rows": rows}


def keep(record: Record) -> None:
    """Write the JSON, the report, and the table in docs/performance.md."""
    RECORD.write_text(json.dumps(record, indent=1) + "\n")
    REPORT.write_text("\n".join(report(record)) + "\n")
    PAGE.write_text(with_figures(PAGE.read_text(), record))


def kept() -> Record:
    """The latest runs; empty before the first."""
    return json.loads(RECORD.read_text()) if RECORD.exists() else {}


def shown(value: float) -> str:
    """A figure with as many digits as it deserves."""
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.3g}"


def ranged(side: Side) -> str:
    """A median and its spread."""
    return f"{shown(side['median'])} [{shown(side['low'])}-{shown(side['high'])}]"


def line(finding: Finding) -> str:
    """One row while it runs."""
    row = found(finding)
    verdict = {True: "met   ", False: "MISSED", None: "      "}[row["met"]]
    sides = "; ".join(f"{name} {ranged(side)}" for name, side in row["sides"].items())
    failed = "".join(f"; {name} failed: {reason}" for name, reason in row["failed"].items())
    budget = f" (budget {row['budget']})" if row["budget"] else ""
    return f"{verdict} {row['name']}, {row['unit']}: {sides}{failed}{budget}"


def report(record: Record) -> Iterator[str]:
    """The report as Markdown."""
    yield "# What sould costs\n"
    yield (
        "Written by `make bench` and `make bench-peers`; benchmarks/README.md says how it is measured. Figures are medians, "
        "in brackets the middle half of the rounds. All sides of a row took turns in one run, with one client and one model "
        "server that sends one event a write. Times move with the machine: compare within a row.\n"
    )
    if "bench" in record:
        yield from against_budgets(record["bench"])
    if "peers" in record:
        yield from beside_peers(record["peers"])


def head(run: Run) -> str:
    """On what and when."""
    versions = ", ".join(f"{name} {version}" for name, version in run["versions"].items())
    return f"{run['date']}, {run['machine']}; {run['seconds'] / 60:.0f} minutes. {versions}\n"


def against_budgets(run: Run) -> Iterator[str]:
    """Ours beside its floors."""
    judged = [row for row in run["rows"] if row["met"] is not None]
    missed = [f"`{row['name']}`" for row in judged if not row["met"]]
    yield "## Against the budgets\n"
    yield head(run)
    yield f"{len(judged) - len(missed)} of {len(judged)} budgets met" + (
        f"; missed: {', '.join(missed)}.\n" if missed else ".\n"
    )
    yield "| row | what | unit | sould | budget | | beside it |\n| --- | --- | --- | --- | --- | --- | --- |"
    for row in run["rows"]:
        verdict = {True: "met", False: "**missed**", None: ""}[row["met"]]
        beside = "; ".join(f"{name} {ranged(side)}" for name, side in row["sides"].items() if name != OURS)
        yield f"| `{row['name']}` | {row['what']} | {row['unit']} | {side_of(row, OURS)} | {row['budget']} | {verdict} | {beside} |"
    yield "\nWhat each means to a user:\n"
    for row in run["rows"]:
        yield f"- `{row['name']}`: {row['means']}"
    yield ""


def beside_peers(run: Run) -> Iterator[str]:
    """Ours beside other agents."""
    names = names_of(run)
    yield "## Beside other agents\n"
    yield head(run)
    yield f"| what | unit | {' | '.join(names)} |\n| --- | --- {'| --- ' * len(names)}|"
    for row in run["rows"]:
        yield f"| {row['what']} | {row['unit']} | {' | '.join(side_of(row, name) for name in names)} |"
    yield ""
    for name, reason in run.get("left_out", {}).items():
        yield f"- {name} is left out: {reason}"
    for (name, reason), rows in without_figure(run).items():
        yield f"- {name} has no figure in {', '.join(f'`{row}`' for row in rows)}: {reason}"
    yield ""


def without_figure(run: Run) -> dict[tuple[str, str], list[str]]:
    """The rows in which a side has none, by the side and the reason."""
    reasons: dict[tuple[str, str], list[str]] = {}
    for row in run["rows"]:
        for name, reason in row["failed"].items():
            reasons.setdefault((name, reason), []).append(row["name"])
    return reasons


def names_of(run: Run) -> list[str]:
    """All sides of a run that stand in most of its rows: agents, not what is beside a single row."""
    counted: dict[str, int] = {}
    for row in run["rows"]:
        for name in (*row["sides"], *row["failed"]):
            counted[name] = counted.get(name, 0) + 1
    return [name for name, count in counted.items() if count * 2 > len(run["rows"])]


def side_of(row: Found, name: str) -> str:
    """One cell."""
    if name in row["failed"]:
        return "none"
    return ranged(row["sides"][name]) if name in row["sides"] else ""


def with_figures(text: str, record: Record) -> str:
    """The page with the table of the latest run beside other agents, or against the budgets, between its marks."""
    run = record.get("peers") or record.get("bench")
    if run is None or BEGIN not in text:
        return text
    before, rest = text.split(BEGIN)
    _, after = rest.split(END)
    return f"{before}{BEGIN}\n" + "\n".join(table(run)) + f"\n{END}{after}"


def table(run: Run) -> Iterator[str]:
    """The rows that the page shows, medians only."""
    names = names_of(run)
    yield "Medians of one run; [the whole report](../benchmarks/REPORT.md) says with which spread and beside which floors.\n"
    yield f"| {run['date']}, {run['machine']} | {' | '.join(names)} |\n| --- {'| --- ' * len(names)}|"
    for row in run["rows"]:
        if row["name"] in ON_PAGE:
            cells = (shown(row["sides"][name]["median"]) if name in row["sides"] else "-" for name in names)
            yield f"| {row['what']}, {row['unit']} | {' | '.join(cells)} |"
