"""`sould sessions list|show|timeline|export|delete|rename|archive|fork`: what was said, kept and given away."""

import os
import sys
import time
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

import click
from msgspec.json import encode
from msgspec.structs import asdict

from sould.daemon.cli.output import USAGE, CommandError, CommandGroup, one_line, plural, span, table, visible
from sould.daemon.cli.running import RunningDaemon, running
from sould.daemon.cli.sessions.importing import import_session
from sould.daemon.cli.sessions.prune import prune
from sould.daemon.cli.sessions.search import search
from sould.daemon.cli.waiting import standing
from sould.daemon.methods import (
    ArchiveSession,
    DeleteSession,
    ForkSession,
    ListSessions,
    RenameSession,
    SessionDetail,
    SessionRow,
    ShowSession,
)

if TYPE_CHECKING:
    from sould.agents.soul.timetravel.timeline import Moment


Origin: TypeAlias = Literal["editor", "terminal", "run", "wire", "any"]
ORIGINS: Final[tuple[Origin, ...]] = ("editor", "terminal", "run", "wire")


@click.group(cls=CommandGroup)
def sessions() -> None:
    """List, search, read, export, fork, archive and delete sessions of all projects.

    A session may be named by the beginning of its id; `show`, `timeline` and `export` take the latest of this directory
    when none is named.

    Examples:
      sould sessions list
      sould sessions search parser error
      sould sessions show 01JD
      sould sessions export 01JD -o talk.md
    """


sessions.add_command(search)
sessions.add_command(prune)
sessions.add_command(import_session)


@sessions.command("list")
@click.option("--all", "-a", "everywhere", is_flag=True, help="Include all projects, not only this directory.")
@click.option("--cwd", type=click.Path(file_okay=False, path_type=Path), help="Only this directory.")
@click.option(
    "--limit", "-n", default=20, show_default=True, type=click.IntRange(1), help="Show at most this many, newest first."
)
@click.option("--archived", is_flag=True, help="Include archived sessions.")
@click.option("--origin", type=click.Choice(ORIGINS), help="Only sessions begun there, or opened there since.")
@click.option("--json", "json_lines", is_flag=True, help="Print one JSON object per line.")
def list_sessions(
    everywhere: bool, cwd: Path | None, limit: int, archived: bool, origin: Origin | None, json_lines: bool
) -> None:
    """List sessions of this directory, newest first.

    ORIGIN is `run` for `sould run` with nobody at the terminal: editors leave these sessions out until somebody opens them.

    Examples:
      sould sessions list
      sould sessions list --origin run
      sould sessions list --all -n 100
      sould sessions list --all --json | jq -r .id
    """
    directory = None if everywhere else str((cwd or Path.cwd()).resolve())
    with running() as daemon:
        rows, left_out = _pages(daemon, directory, limit, archived=archived, origin=origin or "any")
    if left_out:
        click.echo(f"Left out: {plural(left_out, 'session')} of another origin.", err=True)
    if json_lines:
        for row in rows:
            click.echo(row.to_text())
        return
    if not rows:
        hint = "" if everywhere else "; `sould sessions list --all` shows other projects"
        of_origin = f" of the origin {origin}" if origin else ""
        click.echo(f"No sessions{of_origin}{'' if everywhere else f' in {directory}'}{hint}.", err=True)
        return
    click.echo(table(_line(row, everywhere=everywhere) for row in rows))


@sessions.command()
@click.argument("session", default="")
@click.option("--json", "json_object", is_flag=True, help="Print it as one JSON object.")
def show(session: str, json_object: bool) -> None:
    """Show a session, else the latest of this directory: its data and the whole conversation.

    Examples:
      sould sessions show
      sould sessions show 01JD
      sould sessions show 01JD | less
    """
    with running() as daemon:
        detail = daemon.ask(ShowSession(_named(daemon, session)))
    if json_object:
        click.echo(detail.to_text(indent=2))
        return
    click.echo(_heading(detail))
    from sould.agents.sessions.store.conversation import as_markdown  # noqa: PLC0415 -- a list needs no conversation

    click.echo(visible(as_markdown(_journal(detail), heading=False)))


@sessions.command("timeline")
@click.argument("session", default="")
@click.option("--steps", is_flag=True, help="Include every step, not only turns.")
@click.option("--json", "json_lines", is_flag=True, help="Print one JSON object per line, steps included.")
def show_timeline(session: str, steps: bool, json_lines: bool) -> None:
    """Show the places `/rewind NUMBER` can go back to, and what was done after each.

    Examples:
      sould sessions timeline
      sould sessions timeline 01JD --steps
    """
    with running() as daemon:
        journal = _journal(daemon.ask(ShowSession(_named(daemon, session))))

    from sould.agents.journal.records import read_records  # noqa: PLC0415 -- as above
    from sould.agents.soul.timetravel.timeline import timeline  # noqa: PLC0415 -- as above

    records = ((record.message, record.timestamp) for record in read_records(journal))
    moments = timeline((message, when) for message, when in records if message is not None)
    if json_lines:
        for moment in moments:
            click.echo(encode(moment).decode())
        return
    shown = [moment for moment in moments if steps or moment.kind != "step"]
    if not shown:
        click.echo("Nothing has happened in this session yet.", err=True)
        return
    click.echo(table(map(_moment, shown)))


@sessions.command()
@click.argument("session", default="")
@click.option(
    "--output", "-o", type=click.Path(dir_okay=False, path_type=Path), help="Write to this file, not to the terminal."
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["markdown", "json", "wire"]),
    default="markdown",
    show_default=True,
    help="markdown to read, json for programs, wire for the journal as it is.",
)
def export(session: str, output: Path | None, form: str) -> None:
    """Export a session as Markdown, JSON or its journal.

    Examples:
      sould sessions export 01JD > talk.md
      sould sessions export 01JD --format json -o talk.json
    """
    with running() as daemon:
        journal = _journal(daemon.ask(ShowSession(_named(daemon, session))))
    text = _exported(journal, form)
    if output is None:
        sys.stdout.buffer.write(visible(text.decode()).encode() if sys.stdout.isatty() else text)
        return
    with open(output, "wb", opener=lambda path, flags: os.open(path, flags, 0o600)) as file:
        file.write(text)
    click.echo(f"Written to {output}.", err=True)


@sessions.command()
@click.argument("ids", nargs=-1, required=True, metavar="SESSION...")
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
def delete(ids: tuple[str, ...], yes: bool) -> None:
    """Delete sessions for good, the conversation and its snapshots. Your files stay as they are.

    Examples:
      sould sessions delete 01JD
      sould sessions delete --yes 01JD 01JC
    """
    with running() as daemon:
        found = [daemon.ask(ShowSession(session)).session for session in ids]
        for row in found:
            click.echo(f"{row.id}  {one_line(row.title or '(no title)', 60)}  {plural(row.turns, 'turn')}", err=True)
        if not yes:
            if not sys.stdin.isatty():
                raise CommandError("Deleting asks first, and nobody can answer here; add --yes.", 2)
            click.confirm(f"Delete {plural(len(found), 'session')}?", abort=True, err=True)
        for row in found:
            daemon.ask(DeleteSession(row.id))
    click.echo(f"Deleted {plural(len(found), 'session')}.", err=True)


@sessions.command()
@click.argument("session")
@click.argument("title")
def rename(session: str, title: str) -> None:
    """Give a session another title.

    Example:
      sould sessions rename 01JD "parser rewrite"
    """
    if not title.strip():
        raise CommandError("The title is empty; nothing was changed.", USAGE)
    with running() as daemon:
        row = daemon.ask(RenameSession(session, title))
    click.echo(f"{row.id} is now called {one_line(row.title, 60)}.", err=True)


@sessions.command()
@click.argument("ids", nargs=-1, required=True, metavar="SESSION...")
@click.option("--undo", is_flag=True, help="Bring them back into the lists.")
def archive(ids: tuple[str, ...], undo: bool) -> None:
    """Take sessions out of lists and search. They are kept, and the next prompt in one brings it back.

    Examples:
      sould sessions archive 01JD 01JC
      sould sessions list --archived
      sould sessions archive --undo 01JD
    """
    with running() as daemon:
        found = [daemon.ask(ShowSession(session)).session for session in ids]
        for row in found:
            daemon.ask(ArchiveSession(row.id, archived=not undo))
    click.echo(f"{'Unarchived' if undo else 'Archived'}: {plural(len(found), 'session')}.", err=True)


@sessions.command()
@click.argument("session", default="")
@click.option(
    "--cwd",
    type=click.Path(exists=True, file_okay=False, resolve_path=True),
    default="",
    help="Where the fork works, as after a move; else where the session does.",
)
@click.option("--json", "json_object", is_flag=True, help="Print it as one JSON object.")
def fork(session: str, cwd: str, json_object: bool) -> None:
    """Begin a session with all of another one, else of the latest of this directory, and print its id.

    From then on they are separate, over the same files.

    Examples:
      sould sessions fork 01JD
      sould run --session "$(sould sessions fork)" "Try it the other way"
      sould sessions fork 01JD --cwd ~/moved/project
    """
    with running(opens=True) as daemon:
        row = daemon.ask(ForkSession(_named(daemon, session), cwd))
    click.echo(row.to_text(indent=2) if json_object else row.id)


def _named(daemon: RunningDaemon, session: str) -> str:
    """The session that was named, else the latest of this directory.

    Raises:
        CommandError: there is none here.
    """
    if session:
        return session
    here = os.path.abspath(Path.cwd())
    rows = daemon.ask(ListSessions(cwd=here, limit=1)).sessions
    if not rows:
        raise CommandError(f"There is no session in {here}; name one. See: sould sessions list --all")
    return rows[0].id


def _pages(
    daemon: RunningDaemon, cwd: str | None, limit: int, *, archived: bool, origin: Origin
) -> tuple[list[SessionRow], int]:
    """The rows, and how many there are besides of another origin."""
    rows: list[SessionRow] = []
    left_out, cursor = 0, None
    while len(rows) < limit:
        page = daemon.ask(ListSessions(cwd, cursor, min(limit - len(rows), 500), archived=archived, origin=origin))
        rows.extend(page.sessions)
        left_out, cursor = left_out + page.left_out, page.next_cursor
        if cursor is None:
            break
    return rows, left_out


def _line(row: SessionRow, *, everywhere: bool) -> tuple[str, ...]:
    place = (one_line(row.cwd, 40), one_line(row.branch, 24)) if everywhere else ()
    age = f"{span(max(0.0, time.time() - row.updated))} ago"
    title = one_line(row.title or "(no title)", 70) + ("  (archived)" if row.archived else "")
    return (row.id, "*" if row.live else " ", age, plural(row.turns, "turn"), row.origin or "-", *place, title)


def _moment(moment: "Moment") -> tuple[str, ...]:
    number = "" if moment.kind == "event" else str(moment.checkpoint)
    when = f"{datetime.fromtimestamp(moment.timestamp).astimezone():%Y-%m-%d %H:%M:%S}"
    text = one_line(moment.text if moment.kind == "turn" else moment.text or ", ".join(moment.did) or "answered", 70)
    if moment.kind != "turn":
        text = f"  {text}"
    files = plural(len(moment.files), "file") if moment.files else ""
    return (number, when, text, files)


def _heading(detail: SessionDetail) -> str:
    row = detail.session
    when = datetime.fromtimestamp(row.created).astimezone()
    state = detail.state
    now = f"in memory, {standing(state)}, {state.mode}, {state.model}" if state else "on disk"
    return (
        table(
            [
                ("session", row.id),
                ("title", visible(row.title or "(no title)")),
                ("project", visible(row.cwd)),
                ("begun", f"{when:%Y-%m-%d %H:%M}, {plural(row.turns, 'turn')}"),
                ("state", now),
                ("files", detail.directory),
            ]
        )
        + "\n"
    )


def _exported(journal: Path, form: str) -> bytes:
    import orjson  # noqa: PLC0415 -- a list needs no journal

    from sould.agents.sessions.store.conversation import as_json, as_markdown  # noqa: PLC0415 -- as above

    if form == "wire":
        return journal.read_bytes()
    if form == "json":
        return orjson.dumps(as_json(journal), default=asdict, option=orjson.OPT_INDENT_2) + b"\n"
    return as_markdown(journal, heading=True).encode() + b"\n"


def _journal(detail: SessionDetail) -> Path:
    return Path(detail.directory) / "wire.jsonl"
