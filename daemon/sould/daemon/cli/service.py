"""`sould status|stop|restart|fsck`: the daemon as a service."""

import os
import signal
import sys
import time
from collections.abc import Callable, Sequence

import click

from sould.daemon.cli.output import (
    FAILED,
    Command,
    CommandError,
    echo_rows,
    one_line,
    plural,
    size,
    span,
    table,
    visible,
)
from sould.daemon.cli.review.client import NO_PROJECT, reviewing
from sould.daemon.cli.running import DaemonError, NotRunningError, RunningDaemon, running
from sould.daemon.cli.waiting import show_waiting, standing
from sould.daemon.configuration.configfile import other_configuration
from sould.daemon.identity import read_owner, send_signal
from sould.daemon.methods import CheckJournals, GetStatus, Leaving, McpState, Ping, Restart, SessionState, Status, Stop
from sould.daemon.paths import Paths
from sould.daemon.statusline import print_line

POLL_S = 0.02
SHOWN = 20
"""Lines of a request that waits."""
TIMES = "×"  # noqa: RUF001 -- the sign is meant


@click.command(cls=Command)
@click.option("--json", "as_json", is_flag=True, help="Print everything as one JSON object.")
@click.option("--line", "as_line", is_flag=True, help="Print one line for a status bar, or nothing.")
def status(as_json: bool, as_line: bool) -> None:
    """Show the daemon, who is connected, and what is running.

    Exits 0 when the daemon is running, 1 when it is not (which is no fault: it starts when it is needed).

    Examples:
      sould status
      sould status --json | jq .memory.pss_bytes
      sould status --line
    """
    if as_line:
        sys.exit(print_line())
    try:
        with RunningDaemon.connect() as daemon:
            found = daemon.ask(GetStatus())
    except NotRunningError:
        click.echo('{"running": false}' if as_json else "The daemon is not running; it starts when it is needed.")
        sys.exit(FAILED)
    if as_json:
        click.echo(found.to_text(indent=2))
        return
    _overview(found)
    _connections(found)
    if found.sessions:
        click.echo("\nSessions in memory")
        _sessions(found.sessions)
    _loops(found)
    _servers(found)
    _language_servers(found)


def show_now() -> None:
    """Show what runs and what waits, in all projects, and how to go on: `sould` alone."""
    hunks = _to_review()
    try:
        with RunningDaemon.connect() as daemon:
            found = daemon.ask(GetStatus())
        busy, waiting = [each for each in found.sessions if each.running or each.pending], found.counts.waiting
    except NotRunningError:
        busy, waiting = [], 0
    _sessions(busy)
    if closed := waiting - sum(each.pending for each in busy):
        click.echo(
            f"{plural(closed, 'question')} of {'a closed session' if closed == 1 else 'closed sessions'}: sould inbox"
        )
    if hunks:
        click.echo(f"{plural(hunks, 'hunk')} to review in this project: sould review")
    if not busy and not waiting and not hunks:
        click.echo("No agent is at work, and nothing waits for you.")
    click.echo()
    echo_rows(
        table(
            (
                ('  sould run "…"', "give the agent a task in this directory; -c goes on with the last session"),
                ("  sould inbox", "answer what waits for you, in all projects"),
                ("  sould setup", "connect your editor"),
            )
        )
    )
    click.echo("\n`sould --help` lists all commands.")


def _to_review() -> int:
    """Hunks in the project of this directory; none where the daemon says nothing of them, as to agents. Starts the daemon."""
    try:
        with reviewing(os.path.realpath(".")) as client:
            answer = client.pending()
    except CommandError:
        return 0
    return 0 if answer["root"] == NO_PROJECT else sum(len(file["hunks"]) for file in answer["files"])


@click.command(cls=Command)
@click.option("--force", is_flag=True, help="End running turns instead of waiting for them.")
def stop(force: bool) -> None:
    """Stop the daemon when its running turns have finished.

    A turn that only waits for an approval is kept as it is: the next daemon asks again.
    Sessions stay on disk. The agents of connected editors end; an editor starts the daemon again with its next agent.

    Examples:
      sould stop
      sould stop --force
    """
    left = _end(lambda daemon: daemon.ask(Stop(force=force)), force=force)
    click.echo(f"Stopped (pid {left})." if left else "The daemon is not running.")


@click.command(cls=Command)
@click.option("--force", is_flag=True, help="Do not wait: turns that only wait for an answer go on, others end.")
def restart(force: bool) -> None:
    """Replace the daemon by a fresh one; connected editors notice nothing.

    Needed after an upgrade or a change of the daemon's own settings.

    Examples:
      sould restart
      sould restart --force
    """
    if not _end(lambda daemon: daemon.ask(Restart(force=force)), force=force):
        click.echo("The daemon was not running.")
    with running() as daemon:
        pong = daemon.ask(Ping())
    click.echo(f"sould {pong.version} is running (pid {pong.pid}).")


@click.command(cls=Command)
@click.argument("session", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print the report as one JSON object.")
def fsck(session: str | None, as_json: bool) -> None:
    """Check the journals of one session, or of all, for damage.

    Nothing is changed. Exits 1 when a journal is missing, incomplete or unreadable.
    What was set aside or is passed over when a session is opened is named, and no failure.

    Examples:
      sould fsck
      sould fsck 01JD
    """
    with running() as daemon:
        report = daemon.ask(CheckJournals(session))
    bad = [problem for problem in report.problems if problem.severity == "error"]
    if as_json:
        click.echo(report.to_text(indent=2))
    else:
        for problem in report.problems:
            click.echo(f"{problem.severity}: {problem.session}: {problem.file}: {visible(problem.problem)}")
        state = f"{plural(len(bad), 'error')}" if bad else "clean"
        click.echo(f"{plural(report.sessions, 'session')}, {plural(report.records, 'record')}: {state}.")
    if bad:
        if not as_json:
            click.echo(
                "Next: `sould sessions export ID` saves what can be read, `sould sessions delete ID` removes the rest.",
                err=True,
            )
        sys.exit(FAILED)


def _end(order: Callable[[RunningDaemon], Leaving], *, force: bool) -> int:
    """Give the order and wait until that process is gone; its pid, 0 when there was none.

    With `force`, a daemon that does not even answer is killed: what it had acknowledged is on disk.
    """
    owner = read_owner(Paths(os.environ).lock)
    try:
        with RunningDaemon.connect(timeout=float(os.environ.get("SOULD_ANSWER_S", "10"))) as daemon:
            leaving = order(daemon)
    except NotRunningError:
        return 0
    except DaemonError as error:
        if error.kind != "timeout" or not force or owner is None:
            raise CommandError(f"{error.message} `--force` ends a daemon that does not answer.") from None
        send_signal(owner[0], signal.SIGKILL)
        leaving = Leaving(pid=owner[0].pid, running_turns=0)
    if leaving.running_turns and not force:
        turns = plural(leaving.running_turns, "running turn")
        click.echo(f"Waiting for {turns}; `--force` ends them. What only waits for an approval is kept.", err=True)
        for turn in leaving.turns:
            click.echo(f"  {one_line(turn, 200)}", err=True)
    while owner is not None and owner[0].alive():
        time.sleep(POLL_S)
    return leaving.pid


def _overview(found: Status) -> None:
    memory = found.memory.pss_bytes or found.memory.rss_bytes
    echo_rows(
        f"sould {found.version}, pid {found.pid}, up {span(found.uptime_s)}, {size(memory)}, "
        f"{plural(found.running_turns, 'running turn')}"
    )
    if found.draining:
        click.echo(f"Stopping: {visible(found.draining)}")
    if found.package_changed:
        echo_rows("sould was reinstalled since this daemon started; run: sould restart")
    click.echo(f"log {found.log_file}")
    click.echo(f"configuration {found.config_file}")
    if found.repairs:
        made = ", ".join(f"{what} {count}" for what, count in sorted(found.repairs.items()))
        echo_rows(f"repairs of conversations: {made}")
    differing = other_configuration(os.environ, found.config_file) if found.config_file else ""
    if differing:
        echo_rows(click.style("! ", fg="yellow") + visible(differing))


def _connections(found: Status) -> None:
    others = [c for c in found.connections if c.frontend != "control"]
    if others:
        click.echo("\nConnections")
        echo_rows(
            table(
                (f"  {c.frontend}", one_line(c.client or "-", 24), f"pid {c.pid}", span(c.age_s), _short(c.cwd))
                for c in others
            )
        )


def _sessions(sessions: Sequence[SessionState]) -> None:
    rows = [
        (
            f"  {s.id}",
            standing(s),
            f"{s.queued} queued" if s.queued else "",
            s.mode,
            one_line(s.model, 24),
            f"{one_line(s.title or '(no title)', 40)}  {_short(s.cwd)}",
        )
        for s in sessions
    ]
    echo_rows(table(rows))
    for session in sessions:
        for number, prompt in enumerate(session.prompts, 1):
            echo_rows(f"  {session.id}  queued {number}: {one_line(prompt, 100)}")
        if session.prompts:
            echo_rows(f'    → sould run --session {session.id} "/queue remove 1"   also: edit, move')
        for each in session.waiting:
            show_waiting(each, SHOWN)


def _loops(found: Status) -> None:
    if found.loops:
        click.echo("\nLoops")
        rows = (
            (
                f"  {each.session}",
                one_line(each.standing, 60),
                f"{each.completed}/{each.runs if each.runs is not None else '∞'}",
                f"{one_line(each.prompt, 40)}  {_short(each.cwd)}",
            )
            for each in found.loops
        )
        echo_rows(table(rows))


def _servers(found: Status) -> None:
    """Like ones, each of another session or environment, in one line."""
    if not found.mcp:
        return
    click.echo("\nMCP servers")
    like: dict[tuple[str, ...], list[McpState]] = {}
    for server in found.mcp:
        looks = (visible(server.name), server.state, plural(server.tools, "tool"), one_line(server.trouble, 100))
        like.setdefault(looks, []).append(server)
    rows = (
        (
            f"  {name}{f' {TIMES}{len(servers)}' if len(servers) > 1 else ''}",
            state,
            tools,
            plural(sum(server.sessions for server in servers), "session"),
            trouble,
        )
        for (name, state, tools, trouble), servers in like.items()
    )
    echo_rows(table(rows))


def _language_servers(found: Status) -> None:
    if found.language_servers:
        click.echo("\nLanguage servers")
        rows = (
            (
                f"  {visible(each.name)}",
                size(each.memory_bytes),
                f"asked {span(each.unused_s)} ago",
                _short(each.root),
            )
            for each in found.language_servers
        )
        echo_rows(table(rows))


def _short(path: str) -> str:
    home = os.environ.get("HOME", "")
    tilde = f"~{path.removeprefix(home)}" if home and (path == home or path.startswith(home + "/")) else path
    return one_line(tilde, 60)
