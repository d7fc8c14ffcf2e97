"""`sould rules`: what may be done unasked, is asked about and is forbidden here, and why; and an end to what was once allowed."""

import json
import os
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import click

from sould.agents.base.text import plural
from sould.agents.permissions.remembered import FILE, Remembered
from sould.agents.permissions.scopes import about, stated
from sould.agents.sessions.settings.standingrules import Reach, StandingRule, StandingRules, standing_rules
from sould.daemon.cli.caller_check import refuse_agent
from sould.daemon.cli.output import FAILED, CommandError, CommandGroup, complain, one_line, visible
from sould.daemon.paths import Paths


@click.group(cls=CommandGroup, invoke_without_command=True)
@click.option("--all", "everything", is_flag=True, help="Also what was allowed in other projects.")
@click.option("--json", "as_json", is_flag=True, help="Print them as JSON.")
@click.pass_context
def rules(context: click.Context, everything: bool, as_json: bool) -> None:
    """List the rules that hold in this directory: what you allowed in its project or always, and what you wrote yourself.

    Each is shown with the file that it stands in. What was allowed for a session only is not kept, and not listed.

    Examples:
      sould rules
      sould rules --all --json
      sould rules forget 3fa9c2d1
    """
    if context.invoked_subcommand is None:
        _list(context, everything=everything, as_json=as_json)


@rules.command(name="list")
@click.option("--all", "everything", is_flag=True, help="Also what was allowed in other projects.")
@click.option("--json", "as_json", is_flag=True, help="Print them as JSON.")
@click.pass_context
def list_rules(context: click.Context, everything: bool, as_json: bool) -> None:
    """List the rules that hold in this directory, as `sould rules` alone does.

    Example:
      sould rules list --all
    """
    _list(context, everything=everything, as_json=as_json)


def _list(context: click.Context, *, everything: bool, as_json: bool) -> None:
    found = _standing()
    shown = [each for each in found.rules if each.holds or everything]
    if as_json:
        document = {
            "project": str(found.project or ""),
            "rules": [_row(each) for each in shown],
            "problems": found.problems,
        }
        click.echo(json.dumps(document, indent=2, ensure_ascii=False))
    else:
        _print(shown, found.project)
    for problem in found.problems:
        complain(problem)
    if found.problems:
        context.exit(FAILED)


@rules.command()
@click.argument("ids", nargs=-1, required=True, metavar="ID... | all")
def forget(ids: tuple[str, ...]) -> None:
    """Ask again about what was allowed in this project or always; ID is what `sould rules` shows. Running sessions do so at once.

    `all` is everything that `sould rules` lists here but for the rules that you wrote yourself: edit their file.

    Examples:
      sould rules forget 3fa9c2d1
      sould rules forget all
    """
    refuse_agent("the agent cannot decide for you what is allowed")
    entries = {each.entry.id: each for each in _standing().rules if each.entry is not None}
    wanted = [key for key, each in entries.items() if each.holds] if ids == ("all",) else ids
    unknown = [each for each in wanted if each not in entries]
    if unknown:
        raise CommandError(
            f"Nothing was forgotten: there is no {unknown[0]!r}; `sould rules --all` shows what there is."
        )
    click.echo(f"{plural(_kept().forget(wanted), 'answer')} forgotten.")


def _standing() -> StandingRules:
    paths = Paths(os.environ)
    here, home = Path(os.path.realpath(".")), Path(os.path.expanduser("~"))
    return standing_rules(Path(paths.config), _kept(), Path(paths.state), here, home)


def _kept() -> Remembered:
    return Remembered(Path(Paths(os.environ).config, FILE))


def _print(shown: Sequence[StandingRule], project: Path | None) -> None:
    for (holds, reach, file), group in groupby(shown, lambda each: (each.holds, each.reach, each.file)):
        click.echo(f"{_heading(reach, project) if holds else 'In other projects'} ({visible(_from_home(file))}):")
        for each in group:
            click.echo(f"  {_line(each)}")
    if not shown:
        click.echo("Nothing is kept here, and you wrote no rules: what is asked about is the mode's to say.")


def _heading(reach: Reach, project: Path | None) -> str:
    if reach == "project":
        return f"In this project, {visible(_from_home(project or Path('/')))}"
    return "In all projects" if reach == "always" else "Your own rules"


def _line(each: StandingRule) -> str:
    what = stated(each.rule)
    if each.entry is None:
        return f"line {each.line}  {what}" if each.line else what
    by = f", from {one_line(each.entry.by, 40)}" if each.entry.by else ""
    when = f"  ({each.entry.given.astimezone():%Y-%m-%d %H:%M}{by})" if each.entry.given else ""
    return f"{each.entry.id}  {what}{when}"


def _row(each: StandingRule) -> dict[str, Any]:
    entry = each.entry
    kept: dict[str, Any] = {}
    if entry is not None:
        given = entry.given.isoformat() if entry.given else ""
        kept = {"id": entry.id, "project": entry.project, "given": given, "by": entry.by}
    return {
        "scope": each.reach,
        "decision": each.rule.decision,
        "output": each.rule.output,
        "tool": each.rule.tool,
        "about": about(each.rule),
        "file": str(each.file),
        "line": each.line,
        "holds": each.holds,
        **kept,
    }


def _from_home(path: Path) -> str:
    home = os.path.expanduser("~")
    return f"~{str(path)[len(home) :]}" if path.is_relative_to(home) else str(path)
