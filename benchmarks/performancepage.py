"""What `docs/performance.md` says of the latest runs: where other agents are ahead, and which budgets are not met.

Written from the JSON alone, between marks; the page's own words never hold a figure of a run.
"""

from collections.abc import Iterable, Iterator

from reasons import reason
from report import PAGE, Found, Record, Run, names_of, shown
from row import OURS, RAW

AHEAD = ("<!-- ahead: written by make bench-peers -->", "<!-- end of ahead -->")
MISSED = ("<!-- missed: written by make bench -->", "<!-- end of missed -->")
MORE_IS_BETTER = {"chunks/s"}
"""Units; of all others less is better."""
NOT_YET = "`make bench-peers` has not been run for this version."


def keep(record: Record) -> None:
    """Write the page's two lists anew."""
    PAGE.write_text(with_lists(PAGE.read_text(), record))


def with_lists(text: str, record: Record) -> str:
    """The page with the lists of the latest runs between their marks."""
    beside, alone = record.get("peers"), record.get("bench")
    text = between(text, AHEAD, [NOT_YET] if beside is None else ahead(beside))
    return text if alone is None else between(text, MISSED, missed(alone))


def between(text: str, marks: tuple[str, str], lines: Iterable[str]) -> str:
    """The text with these lines between its marks."""
    before, rest = text.split(marks[0])
    _, after = rest.split(marks[1])
    body = "\n".join(lines)
    return f"{before}{marks[0]}\n{body}\n{marks[1]}{after}"


def ahead(run: Run) -> Iterator[str]:
    """Every row in which another agent is better by more than the spread of the rounds."""
    yield f"{run['date']}, {run['machine']}:\n"
    better = [line for row in run["rows"] for line in ahead_in(row, names_of(run))]
    yield from better or ["None is ahead in any row of this run."]


def ahead_in(row: Found, names: Iterable[str]) -> Iterator[str]:
    """The same of one row; floors are no agents."""
    ours = row["sides"].get(OURS)
    more = row["unit"] in MORE_IS_BETTER
    for name in names:
        theirs = row["sides"].get(name)
        if ours is None or theirs is None or name in (OURS, RAW):
            continue
        if theirs["low"] > ours["high"] if more else theirs["high"] < ours["low"]:
            figures = f"{shown(theirs['median'])} {row['unit']}, sould {shown(ours['median'])}"
            yield f"- {row['what']} (`{row['name']}`): {name} {figures}."


def missed(run: Run) -> Iterator[str]:
    """The budgets that are not met, and why."""
    late = [row for row in run["rows"] if row["met"] is False]
    judged = sum(row["met"] is not None for row in run["rows"])
    yield f"{run['date']}, {run['machine']}; {len(late)} of {judged}:\n"
    for row in late:
        ours, floor = row["sides"].get(OURS), row["sides"].get(row["floor"])
        found = f"{shown(ours['median'])} {row['unit']}" if ours else "no figure"
        beside = f", {row['floor']} {shown(floor['median'])}" if floor else ""
        yield f"- {row['what']} (`{row['name']}`): {found} (budget {row['budget']}{beside}). {reason(row['name'])}"
