"""`sould sessions import`: conversations that other agents keep, listed and made sessions of ours. Their files stay as they are."""

import json
import os
from collections.abc import Generator
from contextlib import contextmanager

import click

from sould.agents.base.text import plural
from sould.daemon.cli.caller_check import refuse_agent
from sould.daemon.cli.conversation import DaemonConversation
from sould.daemon.cli.output import Command, one_line, table

AGENTS = ("claude", "codex", "kimi")


@click.command("import", cls=Command)
@click.argument("file", default="", type=click.Path(resolve_path=False))
@click.option("--from", "agent", type=click.Choice(AGENTS), help="Only what this agent keeps; whose FILE is.")
@click.option("--json", "as_json", is_flag=True, help="Print it as JSON.")
def import_session(file: str, agent: str | None, as_json: bool) -> None:
    """List what Claude Code, Codex and kimi-cli keep of conversations about this directory; with FILE, import one.

    The new session has what was said, and calls of tools as records; the next prompt goes on from there. Its id is printed.

    Examples:
      sould sessions import
      sould sessions import --from claude
      sould sessions import ~/.codex/sessions/2025/12/08/rollout-2025-12-08T00-37-46-abc.jsonl
    """
    refuse_agent("what other agents keep is for you to import")
    cwd = os.path.realpath(".")
    with _conversation() as daemon:
        if not file:
            found = daemon.look_up("_sould/session/imports", {"cwd": cwd})["found"]
            _list([each for each in found if agent in (None, each["agent"])], as_json=as_json)
            return
        path = os.path.abspath(os.path.expanduser(file))
        made = daemon.ask(
            "_sould/session/import", {"cwd": cwd, "path": path, **({"agent": agent} if agent is not None else {})}
        )
    click.echo(json.dumps(made, ensure_ascii=False) if as_json else made["sessionId"])
    if not as_json:
        passed = ", ".join(f"{why} ({count})" for why, count in sorted(made["skipped"].items()))
        what = f"{plural(made['messages'], 'message')} of {made['source']}"
        click.echo(f"Imported {what}.{f' Passed over: {passed}.' if passed else ''}", err=True)


def _list(found: list[dict[str, str]], *, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps(found, ensure_ascii=False))
    elif not found:
        click.echo("No other agent keeps a conversation about this directory; name a FILE.", err=True)
    else:
        rows = ((each["agent"], each["updatedAt"][:16], one_line(each["title"], 50), each["path"]) for each in found)
        click.echo(table(rows))


@contextmanager
def _conversation() -> Generator[DaemonConversation]:
    daemon = DaemonConversation("sould sessions import")
    daemon.open()
    try:
        yield daemon
    finally:
        daemon.close()
