"""`sould inbox`: what waits for you in all projects, live at a terminal, else as a list.

A client of the daemon like any other (D41). The screen is in `pages`, its words in `screen`. The daemon answers
nothing of it to what an agent runs.
"""

import json
import os
import sys

import click
from msgspec import to_builtins

from sould.daemon.cli.inbox.client import InboxClient, looking
from sould.daemon.cli.output import Command
from sould.daemon.cli.terminal import pager


@click.command(cls=Command)
@click.option("--json", "as_json", is_flag=True, help="Print what waits as JSON, and exit.")
def inbox(as_json: bool) -> None:
    """Show what waits for you, in all projects: approvals and questions of agents.

    At a terminal the list is live: choose with j and k, then allow, reject with words, answer, or open the file. The
    first answer wins, wherever it is given; open dialogs in editors close. Else it is printed.

    Examples:
      sould inbox
      sould inbox | less
      sould inbox --json | jq '.items[].title'
    """
    with looking() as client:
        if as_json:
            click.echo(json.dumps({"items": to_builtins(client.items)}, indent=2, ensure_ascii=False))
        elif sys.stdin.isatty() and pager.is_screen():
            from sould.daemon.cli.inbox.pages import InboxPages  # noqa: PLC0415 -- brings what only a terminal needs

            with InboxPages(client, colour=not os.environ.get("NO_COLOR")) as pages:
                pages.run()
        else:
            _print(client)


def _print(client: InboxClient) -> None:
    from sould.daemon.cli.inbox.screen import home  # noqa: PLC0415 -- JSON needs no words
    from sould.daemon.cli.output import one_line, visible  # noqa: PLC0415 -- as above
    from sould.daemon.cli.waiting import show_waiting  # noqa: PLC0415 -- as above

    for item in client.items:
        click.echo(f"{visible(home(item.session.cwd))}  “{one_line(item.session.title, 80)}”")
        show_waiting(item)
        click.echo()
    if not client.items:
        click.echo("Nothing waits for you.")
