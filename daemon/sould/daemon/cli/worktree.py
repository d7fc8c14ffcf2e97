"""`sould worktree list|merge|restore|remove|prune`: git worktrees that sessions have of their own."""

import os
import sys
import time
from collections.abc import Sequence

import click

from sould.daemon.cli.output import FAILED, USAGE, CommandError, CommandGroup, complain, one_line, plural, span, table
from sould.daemon.cli.running import running
from sould.daemon.methods import ListWorktrees, MergeWorktree, RemoveWorktree, RestoreWorktree, WorktreeRow

NAMED = 10
"""Files that are named in one line; the rest is counted."""


@click.group(cls=CommandGroup)
def worktree() -> None:
    """Show and end git worktrees that sessions have of their own: directories on branches sould/NAME.

    A session gets one when you ask for it: `sould run --worktree`, or /worktree in a session. A name counts in the
    repository of this directory.

    Examples:
      sould run --worktree "try it with asyncio"
      sould worktree list
      sould worktree merge work-1
      sould worktree remove work-1
    """


@worktree.command("list")
@click.option(
    "--all", "-a", "everywhere", is_flag=True, help="Include those of all repositories, not only of this one."
)
@click.option("--json", "json_lines", is_flag=True, help="Print one JSON object per line.")
def list_worktrees(everywhere: bool, json_lines: bool) -> None:
    """List worktrees of this repository, oldest first, with what would be lost without them.

    Examples:
      sould worktree list
      cd "$(sould worktree list --json | jq -r 'select(.name == "work-1").path')"
    """
    with running(patient=True) as daemon:
        rows = daemon.ask(ListWorktrees(None if everywhere else os.getcwd()))
    if json_lines:
        for row in rows:
            click.echo(row.to_text())
        return
    if not rows:
        hint = "" if everywhere else "; `sould worktree list --all` shows those of other repositories"
        click.echo(f"No worktrees{hint}.", err=True)
        return
    click.echo(table(_line(row, everywhere=everywhere) for row in rows))


@worktree.command()
@click.argument("name")
@click.option("--all", "-a", "undecided", is_flag=True, help="Also changes that are still to be reviewed there.")
def merge(name: str, undecided: bool) -> None:
    """Bring the changes of a worktree to the directory it was made in, to be reviewed there. Nothing is committed.

    What is committed there and what is not comes alike. Of a file with changes that are still to be reviewed there, what
    you kept comes. A file that was changed here in the same place stays as it is. Or leave the branch as it is, and merge
    it with git.

    Examples:
      sould worktree merge work-1 && sould review
      sould worktree merge --all work-1
      git merge sould/work-1
    """
    with running(patient=True) as daemon:
        done = daemon.ask(MergeWorktree(name=name, cwd=os.getcwd(), undecided=undecided))
    if done.files:
        names = _named(done.files)
        click.echo(f"Brought {plural(len(done.files), 'file')} to {done.repository}, to be reviewed: {names}")
    for left in done.left:
        complain(f"{one_line(left.name, 100)} was left as it is: {left.reason}.")
    if done.pending:
        complain(f"{plural(done.pending, 'file')} there had changes to be reviewed; --all brings those, too.")
    if done.left:
        raise CommandError(f"What is committed there is on the branch {done.branch}.", FAILED)
    if not done.files and not done.pending:
        click.echo("There is nothing to bring: it is all here.", err=True)


@worktree.command()
@click.argument("name")
def restore(name: str) -> None:
    """Make a worktree again that was removed, from its branch: its sessions can go on.

    Example:
      sould worktree restore work-1 && sould run --session 01JD "go on"
    """
    with running(patient=True) as daemon:
        row = daemon.ask(RestoreWorktree(name, os.getcwd()))
    click.echo(f"{row.path} is there again, on the branch {row.branch}.")


@worktree.command()
@click.argument("names", nargs=-1, required=True, metavar="NAME...")
@click.option("--force", "-f", is_flag=True, help="Also what in it is neither committed nor reviewed.")
def remove(names: tuple[str, ...], force: bool) -> None:
    """Remove worktrees. A branch with commits of its own stays, and so do the sessions; `restore` makes it again.

    It is refused while a session that is open works there, and, without --force, while something in it is neither
    committed, reviewed nor merged. Nothing is stopped.

    Examples:
      sould worktree remove work-1
      sould worktree remove --force work-2
    """
    with running(patient=True) as daemon:
        for name in names:
            done = daemon.ask(RemoveWorktree(name, os.getcwd(), force=force))
            click.echo(f"Removed {done.path}{f'; its branch {done.branch} stays' if done.branch else ''}.", err=True)


@worktree.command()
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
@click.option("--dry-run", is_flag=True, help="Only show what would be removed.")
def prune(yes: bool, dry_run: bool) -> None:
    """Remove worktrees that nobody needs: all their sessions archived or deleted, everything committed and reviewed.

    Those of all repositories, after showing which. Nothing else ever removes one.

    Examples:
      sould worktree prune --dry-run
    """
    with running(patient=True) as daemon:
        rows = [row for row in daemon.ask(ListWorktrees(None)) if _unneeded(row)]
        if not rows:
            click.echo("There is none to remove.", err=True)
            return
        click.echo(table(_line(row, everywhere=True) for row in rows), err=True)
        if dry_run:
            return
        if not yes:
            if not sys.stdin.isatty():
                raise CommandError("Removing asks first, and nobody can answer here; add --yes.", USAGE)
            click.confirm(f"Remove {plural(len(rows), 'worktree')}?", abort=True, err=True)
        for row in rows:
            daemon.ask(RemoveWorktree(row.name, row.repository, force=False))
    click.echo(f"Removed {plural(len(rows), 'worktree')}.", err=True)


def _unneeded(row: WorktreeRow) -> bool:
    return not row.removed and row.uncommitted == 0 and not row.hunks and all(each.archived for each in row.sessions)


def _line(row: WorktreeRow, *, everywhere: bool) -> tuple[str, ...]:
    place = (one_line(row.repository, 40),) if everywhere else ()
    title = next((each.title for each in row.sessions if each.title), "") if row.sessions else "no session"
    age = f"{span(max(0.0, time.time() - row.made))} ago"
    return (row.name, _standing(row), age, *place, row.path, one_line(title or "(no title)", 50))


def _standing(row: WorktreeRow) -> str:
    if row.removed:
        return "removed"
    uncommitted = (
        "unreadable" if row.uncommitted is None else f"{row.uncommitted} uncommitted" if row.uncommitted else ""
    )
    hunks = f"{row.hunks} to review" if row.hunks else ""
    return ", ".join(filter(None, (uncommitted, hunks))) or "clean"


def _named(names: Sequence[str]) -> str:
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return ", ".join(one_line(name, 80) for name in names[:NAMED]) + more
