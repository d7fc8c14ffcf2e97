"""`sould sessions search`: sessions by their titles and by what was said in them."""

import time
from pathlib import Path

import click

from sould.daemon.cli.output import USAGE, Command, CommandError, one_line, span, table
from sould.daemon.cli.running import running
from sould.daemon.methods import FoundRow, SearchSessions


@click.command(cls=Command)
@click.argument("words", nargs=-1, required=True, metavar="WORD...")
@click.option("--all", "-a", "everywhere", is_flag=True, help="Include all projects, not only this directory.")
@click.option("--cwd", type=click.Path(file_okay=False, path_type=Path), help="Only this directory.")
@click.option(
    "--limit",
    "-n",
    default=20,
    show_default=True,
    type=click.IntRange(1, 500),
    help="Show at most this many, newest first.",
)
@click.option("--archived", is_flag=True, help="Include archived sessions.")
@click.option("--json", "json_lines", is_flag=True, help="Print one JSON object per line.")
def search(
    words: tuple[str, ...], everywhere: bool, cwd: Path | None, limit: int, archived: bool, json_lines: bool
) -> None:
    """Search sessions of this directory by title and by what you and the agent said, newest first.

    A session is found when it has every word, or one that begins so. What tools answered is not searched.

    Examples:
      sould sessions search parser error
      sould sessions search --all --json timeout | jq -r .session.id
    """
    query = " ".join(words)
    if not query.strip():
        raise CommandError("There is nothing to search for: give a word.", USAGE)
    directory = None if everywhere else str((cwd or Path.cwd()).resolve())
    with running(patient=True) as daemon:  # the first search reads all journals
        found = daemon.ask(SearchSessions(query, directory, limit, archived=archived))
    if json_lines:
        for each in found:
            click.echo(each.to_text())
        return
    if not found:
        hint = "" if everywhere else "; `--all` searches other projects"
        click.echo(f"No session{'' if everywhere else f' in {directory}'} matches{hint}.", err=True)
        return
    click.echo(table(_line(each, everywhere=everywhere) for each in found))


def _line(found: FoundRow, *, everywhere: bool) -> tuple[str, ...]:
    row = found.session
    place = (one_line(row.cwd, 40),) if everywhere else ()
    age = f"{span(max(0.0, time.time() - row.updated))} ago"
    title = one_line(row.title or "(no title)", 40) + ("  (archived)" if row.archived else "")
    return (row.id, age, *place, title, one_line(found.snippet, 120))
