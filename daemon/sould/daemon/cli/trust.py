"""`sould trust`: let a project's own configuration take part, or stop that."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path

import click

from sould.agents.base.projectowners import Owners
from sould.agents.base.regularfile import without_waiting
from sould.agents.files.projects.authors import BY_AGENT, OF_OTHERS
from sould.agents.permissions.projectfiles import digest
from sould.agents.permissions.trust import TrustStore
from sould.agents.sessions.settings.trusting import TrustStatus, standing
from sould.daemon.cli.caller_check import refuse_agent
from sould.daemon.cli.output import Command, CommandError, plural, visible
from sould.daemon.paths import Paths, quote

MOST_FILES, MOST_LINES, MOST_BYTES = 20, 60, 64 * 1024
"""How much of what would be trusted is shown: files, and of each lines."""

_DOUBTS = (
    (BY_AGENT, "the agent wrote some of these files itself"),
    (OF_OTHERS, "others than you can write some of these files"),
)


@click.command(cls=Command)
@click.argument("directory", required=False, type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--show", "action", flag_value="show", help="Only show the current state.")
@click.option("--forget", "action", flag_value="unknown", help="Forget the decision.")
@click.option("--restrict", "action", flag_value="restricted", help="Never trust it, and do not mention it again.")
@click.option("--yes", "-y", is_flag=True, help="Do not ask, also about what the agent, or others, wrote.")
def trust(directory: Path | None, action: str | None, yes: bool) -> None:
    """Trust the project in DIRECTORY, else in the current one: its own configuration may take part.

    A project can bring MCP servers, hooks, agent specs and skills with programs, all of which run as you. None
    of that takes part before you trust the project, and what has changed since waits until you do so again. What
    it brings, or what changed, is shown with its contents, and a terminal is asked; what the agent wrote itself is
    marked, and so is what others than you can write, and you are asked about it. Trust holds for this very
    directory, not for those above or below it.

    Examples:
      sould trust
      sould trust --show
      sould trust --forget ~/src/other
    """
    project = (directory or Path.cwd()).resolve()
    paths = Paths(os.environ)
    store = trust_store(paths)
    if action != "show":
        refuse_agent(
            "the agent cannot decide for you what is trusted",
            "Run this in a terminal of your own, or use /trust in the editor.",
        )
    match action:
        case None:
            _trust(store, project, Path(paths.state) / "sessions", yes=yes)
        case "unknown":
            store.set(project, "unknown")
        case "restricted":
            store.set(project, "restricted")
        case _:
            _show(standing(store, project, Path(paths.state) / "sessions"))
    click.echo(f"{project} is {store.state(project).replace('unknown', 'not trusted')}.")


def _trust(store: TrustStore, project: Path, sessions: Path, *, yes: bool) -> None:
    now = standing(store, project, sessions)
    _show(now)
    doubts = [said for mark, said in _DOUBTS if any(mark in line for line in now.lines)]
    if doubts and not yes:
        why = " and ".join(doubts)
        if not sys.stdin.isatty():
            raise CommandError(
                f"Nothing was trusted: {why}. Look at them; if they are what you want, run: sould trust --yes"
            )
        click.confirm(f"{why[0].upper()}{why[1:]}. Trust them?", abort=True)
    elif now.lines and not yes and sys.stdin.isatty():
        click.confirm("Trust this?", abort=True)
    store.set(project, "trusted", now.seen)


def _show(now: TrustStatus) -> None:
    if now.lines:
        title = "Changed since you trusted this project:" if now.state == "trusted" else "This project brings:"
        click.echo(f"{title}\n{visible(now.text())}")
    for path in now.files[:MOST_FILES]:
        click.echo(click.style(f"\n{visible(str(path))}", bold=True))
        for line in _content(path, now.seen.get(os.path.realpath(path), "")):
            click.echo(f"  {visible(line)}")
    if len(now.files) > MOST_FILES:
        click.echo(f"\n{plural(len(now.files) - MOST_FILES, 'more file')} of these are not shown. Look at them first.")


def _content(path: Path, seen: str) -> Sequence[str]:
    """What a file holds, if it still holds what would be trusted."""
    if digest(path) != seen:
        return ["(changed at this moment: look again)"]
    try:
        with open(path, "rb", opener=without_waiting) as file:
            lines = file.read(MOST_BYTES).decode().splitlines()
    except (OSError, UnicodeDecodeError):
        return ["(no text)"]
    rest = [f"… the rest is not shown: less {quote(str(path))}"] if len(lines) > MOST_LINES else []
    return [*lines[:MOST_LINES], *rest]


def trust_store(paths: Paths) -> TrustStore:
    """The decisions of this user, where the daemon reads them."""
    return TrustStore(Path(paths.state) / "trust.json", Owners(os.environ))
