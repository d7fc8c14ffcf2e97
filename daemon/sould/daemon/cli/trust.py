"""`sould trust`: let a project's own configuration take part, or stop that."""

import os
from pathlib import Path

import click

from sould.agents.permissions.trust import TrustStore
from sould.daemon.cli.helptext import Command
from sould.daemon.paths import Paths


@click.command(cls=Command)
@click.argument("directory", required=False, type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--show", "action", flag_value="show", help="Only say what holds now.")
@click.option("--forget", "action", flag_value="unknown", help="Forget the decision.")
@click.option("--restrict", "action", flag_value="restricted", help="Never trust it, and do not mention it again.")
def trust(directory: Path | None, action: str | None) -> None:
    """Trust the project in DIRECTORY, else in the current one: its own configuration may take part.

    A project can bring MCP servers, hooks, agent specs and skills with programs, all of which run as you. None
    of that takes part before you trust the project, and what has changed since waits until you do so again. Trust
    holds for this very directory, not for those above or below it.

    Examples:
      sould trust
      sould trust --show
      sould trust --forget ~/src/other
    """
    project = (directory or Path.cwd()).resolve()
    store = trust_store(Paths(os.environ))
    match action:
        case None:
            store.set(project, "trusted")
        case "unknown":
            store.set(project, "unknown")
        case "restricted":
            store.set(project, "restricted")
        case _:
            pass
    click.echo(f"{project} is {store.state(project).replace('unknown', 'not trusted')}.")


def trust_store(paths: Paths) -> TrustStore:
    """The decisions of this user, where the daemon reads them."""
    return TrustStore(Path(paths.state) / "trust.json")
