"""`sould loop list|resume|stop`: the loops of this user's sessions."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path

import click

from sould.agents.sessions.loops.state import LoopState, LoopStore
from sould.daemon.cli.output import CommandError, CommandGroup, one_line
from sould.daemon.cli.run.headless import Headless
from sould.daemon.cli.run.render import renderer
from sould.daemon.cli.run.request import RunRequest
from sould.daemon.cli.running import NotRunningError, RunningDaemon
from sould.daemon.methods import CancelSession, GetStatus
from sould.daemon.paths import Paths

_ID = click.argument("session", required=False, default="")


@click.group(cls=CommandGroup)
def loop() -> None:
    """List, resume and stop loops: tasks repeated until they are complete, begun with /loop in a session.

    Examples:
      sould loop list
      sould loop resume 01M7YJ
      sould loop stop
    """


@loop.command("list")
def list_loops() -> None:
    """Show every loop: its session, how it stands, what it has done and spent.

    Example:
      sould loop list
    """
    found = _store().list()
    if not found:
        click.echo("There are no loops.")
    _show(found)


def _show(loops: Sequence[LoopState]) -> None:
    running = _running() if loops else frozenset[str]()
    for each in loops:
        runs = f"{each.completed}/{each.runs if each.runs is not None else '∞'}"
        money = f", {each.spent.cost:.2f}" if each.spent.cost is not None else ""
        click.echo(
            f"{each.session_id}  {_status(each, running)}  {runs}  {each.spent.tokens} tokens{money}  "
            f"{each.cwd}  {one_line(each.prompt, 60)}"
        )


@loop.command()
@_ID
@click.option(
    "--new-session", is_flag=True, help="Continue in a new session, with the plan and the progress of the old one."
)
@click.option("--tokens", default="", metavar="N", help="Allow this many more tokens, such as 200k.")
@click.option("--cost", default="", metavar="N", help="Allow this much more money.")
@click.option("--time", "seconds", default="", metavar="T", help="Allow this much more time, such as 30m.")
def resume(session: str, *, new_session: bool, tokens: str, cost: str, seconds: str) -> None:
    """Go on with the loop of SESSION, of any project (the beginning of its id will do), else with the latest of this one.

    The loop runs with this terminal's environment, and is shown here. It goes on when this command is ended by closing
    the terminal; Ctrl-C stops it. One that has used up its budget asks for more, unless you grant it here.

    Examples:
      sould loop resume
      sould loop resume --tokens 500k --time 1h
      sould loop resume --new-session 01M7YJ
    """
    store = _store()
    found = _find(store, session)
    if found.session_id in _running():
        raise CommandError(f"The loop of {found.session_id} is running already; `sould loop stop` ends it.")
    if found.status == "finished":
        raise CommandError(f"The loop of {found.session_id} is finished: {found.reason}.")
    found.settle("paused", found.reason or "the daemon stopped")
    store.save(found)
    words = ["/loop resume", *([found.session_id] if new_session else [])]
    for option, amount in (("--tokens", tokens), ("--cost", cost), ("--time", seconds)):
        words += [option, amount] if amount else []
    request = RunRequest(
        text=" ".join(words),
        cwd=str(found.cwd),
        session_id="" if new_session else found.session_id,
        can_ask=sys.stdin.isatty() and sys.stderr.isatty(),
    )
    sys.exit(Headless(request, renderer("text")).run())


@loop.command()
@_ID
def stop(session: str) -> None:
    """Stop the loop of SESSION, of any project, else the latest of this directory, at once; its progress is kept.

    Examples:
      sould loop stop
      sould loop stop 01M7YJ
    """
    store = _store()
    found = _find(store, session)
    if found.status == "finished":
        raise CommandError(f"The loop of {found.session_id} is finished: {found.reason}.")
    if found.session_id in _running():
        with RunningDaemon.connect() as daemon:
            daemon.ask(CancelSession(found.session_id))
    else:
        found.settle("stopped", "cancelled")
        store.save(found)
    click.echo(f"Stopped. Resume with: sould loop resume {found.session_id}")


def _store() -> LoopStore:
    return LoopStore(Path(Paths(os.environ).state, "loops"))


def _running() -> frozenset[str]:
    """The sessions in which a loop runs."""
    try:
        with RunningDaemon.connect() as daemon:
            return frozenset(session.id for session in daemon.ask(GetStatus()).sessions if session.looping)
    except NotRunningError:
        return frozenset()


def _status(found: LoopState, running: frozenset[str]) -> str:
    return found.standing(running) + (f" ({one_line(found.reason, 60)})" if found.reason else "")


def _find(store: LoopStore, beginning: str) -> LoopState:
    """The loop of the session whose id begins so; without one the latest unfinished of this directory.

    Raises:
        CommandError: there is none, or there are several; those that could be meant are shown.
    """
    loops = store.list()
    unfinished = [each for each in loops if each.status != "finished"]
    if not beginning:
        here = [each for each in unfinished if each.cwd.resolve() == Path.cwd()]
        if here:
            return here[0]
        _show(unfinished)
        elsewhere = "; name one of these" if unfinished else " or elsewhere"
        raise CommandError(f"There is no unfinished loop in this directory{elsewhere}.")
    matches = [each for each in loops if each.session_id.startswith(beginning)]
    if len(matches) > 1:
        _show(matches)
        raise CommandError(
            f"{len(matches)} loops belong to sessions whose ids begin with {beginning!r}; give more of the id."
        )
    if not matches:
        _show(unfinished)
        raise CommandError(
            f"No loop belongs to a session whose id begins with {beginning!r}; `sould loop list` shows all."
        )
    return matches[0]
