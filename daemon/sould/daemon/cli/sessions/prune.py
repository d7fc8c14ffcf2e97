"""`sould sessions prune`: remove old and large sessions, after showing which."""

import re
import sys
import time
from collections.abc import Sequence
from typing import Any

import click

from sould.daemon.cli.output import USAGE, Command, CommandError, complain, one_line, plural, size, span, table
from sould.daemon.cli.running import running
from sould.daemon.methods import PrunedRow, PruneReport, PruneSessions

_NUMBER = re.compile(r"(\d+(?:\.\d+)?)\s*([a-zA-Z]*)")


class Measure(click.ParamType[float]):
    """A number with a unit."""

    def __init__(self, name: str, units: dict[str, float], example: str) -> None:
        self.name = name
        self._units = units
        self._example = example

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """The number in the smallest unit."""
        found = _NUMBER.fullmatch(str(value).strip())
        factor = self._units.get(found[2].upper()) if found else None
        if found is None or factor is None:
            self.fail(f"{str(value)!r} is not like {self._example}.", param, ctx)
        return float(found[1]) * factor


AGE = Measure("age", {"H": 3600.0, "D": 86_400.0, "W": 7 * 86_400.0}, "12h, 30d or 8w")
SIZE = Measure("size", {"": 1.0, "K": 1e3, "KB": 1e3, "M": 1e6, "MB": 1e6, "G": 1e9, "GB": 1e9}, "500K, 50M or 1G")


@click.command(cls=Command)
@click.option("--older-than", type=AGE, help="Last used longer ago than this: 12h, 30d, 8w.")
@click.option("--larger-than", type=SIZE, help="Taking more of the disk than this: 500K, 50M, 1G.")
@click.option("--dry-run", is_flag=True, help="Only show what would be deleted.")
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
@click.option(
    "--json", "json_object", is_flag=True, help="Print what was deleted and what was kept as one JSON object."
)
def prune(older_than: float | None, larger_than: float | None, dry_run: bool, yes: bool, json_object: bool) -> None:
    """Delete sessions of all projects by age and size for good, archived ones too. Your files stay as they are.

    With both options a session must be old and large. One that is open, here or in another process, stays.

    Examples:
      sould sessions prune --older-than 30d --dry-run
      sould sessions prune --older-than 30d --larger-than 50M
      sould sessions prune --older-than 26w --yes
    """
    if older_than is None and larger_than is None:
        raise CommandError("Choose sessions: --older-than, --larger-than or both.", USAGE)
    over = None if larger_than is None else int(larger_than)
    with running(patient=True) as daemon:
        report = daemon.ask(PruneSessions(older_than=older_than, larger_than=over, dry_run=True))
        _show(report, aside=json_object)
        if dry_run or not report.removed:
            click.echo(
                f"{_sum(report.removed)} would be deleted." if report.removed else "There is nothing to delete.",
                err=True,
            )
        else:
            _confirm(report, yes=yes)
            shown = tuple(each.session.id for each in report.removed)
            report = daemon.ask(PruneSessions(older_than=older_than, larger_than=over, only=shown))
            click.echo(f"Deleted {_sum(report.removed)}.", err=True)
            for each in report.left:
                complain(f"{each.session.id} is kept: {each.reason}")
    if json_object:
        click.echo(report.to_text(indent=2))


def _confirm(report: PruneReport, *, yes: bool) -> None:
    if yes:
        return
    if not sys.stdin.isatty():
        raise CommandError("Deleting asks first, and nobody can answer here; add --yes, or --dry-run.", USAGE)
    click.confirm(f"Delete {_sum(report.removed)}?", abort=True, err=True)


def _show(report: PruneReport, *, aside: bool) -> None:
    rows = (*report.removed, *report.left)
    if rows:
        click.echo(table(map(_line, rows)), err=aside)


def _line(row: PrunedRow) -> tuple[str, ...]:
    session = row.session
    age = f"{span(max(0.0, time.time() - session.updated))} ago"
    kept = f"  kept: {one_line(row.reason, 80)}" if row.reason else ""
    title = one_line(session.title or "(no title)", 50)
    return (session.id, size(row.size), age, one_line(session.cwd, 40), title + kept)


def _sum(rows: Sequence[PrunedRow]) -> str:
    return f"{plural(len(rows), 'session')}, {size(sum(row.size for row in rows))}"
