"""`sould approve|reject|answer`: what a session waits for, answered from a terminal.

A request is named by the beginning of its id, as `sould status` shows it; without one the only request that waits is
meant, and shown. Nothing is answered but what the id names.
"""

import re
import sys
from collections.abc import Callable
from typing import Literal, TypeAlias

import click

from sould.agents.permissions.visible import cut_to
from sould.daemon.cli.client import ControlClient
from sould.daemon.cli.control import running
from sould.daemon.cli.helptext import Command
from sould.daemon.cli.output import FAILED, USAGE, CommandError, one_line, visible
from sould.daemon.cli.waiting import ID, places, show_waiting
from sould.daemon.control import AnswerParams, Waiting

Lasting: TypeAlias = Literal["project", "always"]
_AN_ID = re.compile(rf"[0-9a-f]{{{ID},}}")


@click.command(cls=Command)
@click.argument("request", default="")
@click.option("--for-session", is_flag=True, help="Do not ask about the same again in this session.")
@click.option("--for-project", "lasting", flag_value="project", help="Nor in any session of the project.")
@click.option("--always", "lasting", flag_value="always", help="Nor in any session.")
@click.option("--also-changed", is_flag=True, help="With --for-session: not even when what it runs changes again.")
@click.option("--show", is_flag=True, help="Show the whole request without answering it.")
def approve(request: str, for_session: bool, lasting: Lasting | None, also_changed: bool, show: bool) -> None:
    """Allow what a session asks. REQUEST is the id that `sould status` shows.

    It may be left out at a terminal when one thing waits: that is shown, and you are asked whether you mean it.
    The first answer wins, wherever it is given; open dialogs in editors close. Exits 1 when somebody was faster.
    What --for-project and --always would cover is shown with the request; `sould rules` lists and ends them.

    Examples:
      sould status
      sould approve 3fa9c2d1 --show
      sould approve 3fa9c2d1
      sould approve 3fa9c2d1 --for-session
    """
    if lasting and (for_session or also_changed):
        raise CommandError("--for-project and --always cover the session, too: give one of them alone.", USAGE)
    if also_changed and not for_session:
        raise CommandError("--also-changed goes with --for-session.", USAGE)
    with running(opens=True) as daemon:
        if show:
            show_waiting(daemon.requests_show(request or _only("approve", lambda _: True).id))
            return
        found = request or _meant(daemon, _only("approve", lambda each: each.kind == "approval"))
        decision = "approve_for_session" if for_session or lasting else "approve"
        params = AnswerParams(id=found, decision=decision, also_changed=also_changed, lasting=lasting or "")
        _give(daemon, params, "Allowed")


@click.command(cls=Command)
@click.argument("request", default="")
@click.option("--because", default="", metavar="TEXT", help="Tell the agent why; it then tries another way.")
def reject(request: str, because: str) -> None:
    """Refuse what a session asks, or dismiss its question. REQUEST is the id that `sould status` shows.

    It may be left out when one thing waits. Without --because the turn ends, as it does in an editor.

    Examples:
      sould reject 3fa9c2d1
      sould reject 3fa9c2d1 --because "use the staging database"
    """
    with running(opens=True) as daemon:
        found = request or _named(daemon, _only("reject", lambda _: True))
        _give(daemon, AnswerParams(id=found, decision="reject", feedback=because), "Refused")


@click.command(cls=Command)
@click.argument("words", nargs=-1, metavar="[REQUEST] [ANSWER]...")
def answer(words: tuple[str, ...]) -> None:
    """Answer a question of a session, with one ANSWER for each question: an option's number, its label, or your words.

    REQUEST may be left out when one question waits. Where several options may be chosen, separate them with commas.
    Words may follow the number of the option that asks for them. In a form of an MCP server "" leaves an answer out.
    Without an ANSWER you are asked here.

    Examples:
      sould answer 91b07e52
      sould answer 91b07e52 2
      sould answer 91b07e52 "PostgreSQL" "no, keep the old name"
      sould answer 91b07e52 "5 use tabs"
    """
    with running(opens=True) as daemon:
        found, answers = _question(daemon, words)
        if not found.form and not all(each.strip() for each in answers):
            raise CommandError("An answer is empty; `sould reject` dismisses the question.", USAGE)
        if _at_terminal():
            from sould.daemon.cli.asking import asked_here  # noqa: PLC0415 -- brings asyncio with it

            given = asked_here(found, answers)
        elif answers:
            given = answers
        else:
            raise CommandError(f"Give the answer: sould answer {found.id[:ID]} {places(found)}", USAGE)
        if given is None:
            _give(daemon, AnswerParams(id=found.id, decision="reject"), "Dismissed")
        else:
            _give(daemon, AnswerParams(id=found.id, decision="answer", answers=given), "Answered")


# --- which one --------------------------------------------------------------------------------------------------------


def _waiting() -> list[Waiting]:
    """All that waits, also in sessions that are not in memory."""
    from sould.daemon.cli.inbox.client import looking  # noqa: PLC0415 -- not needed for what is named
    from sould.daemon.cli.inbox.screen import waiting_of  # noqa: PLC0415 -- as above

    with looking() as client:
        return [waiting_of(item) for item in client.items]


def _only(verb: str, fits: Callable[[Waiting], bool]) -> Waiting:
    """The only request that `verb` can answer.

    Raises:
        CommandError: there is none, or there are several, which are shown.
    """
    everything = _waiting()
    found = [each for each in everything if fits(each)]
    if len(found) == 1:
        return found[0]
    for each in everything:
        show_waiting(each)
    if not everything:
        raise CommandError("Nothing waits for an answer.")
    if not found:
        raise CommandError(f"`sould {verb}` cannot answer this request; use a command shown beside it.", USAGE)
    raise CommandError(f"{len(found)} requests wait; say which one: sould {verb} {found[0].id[:ID]}", USAGE)


def _meant(daemon: ControlClient, only: Waiting) -> str:
    """The id of the only one that waits, once the user has seen what it is and said that they mean it.

    Raises:
        CommandError: they do not, or there is nobody to ask.
    """
    found = _named(daemon, only)
    if not _at_terminal():
        raise CommandError(f"Name what you allow: sould approve {found[:ID]}", USAGE)
    if not click.confirm("Allow it?", err=True):
        raise CommandError("Nothing was answered.")
    return found


def _named(daemon: ControlClient, request: Waiting) -> str:
    """Show all of what is about to be answered, since the user did not name it; its id."""
    for line in (request.title, *daemon.requests_show(request.id).lines):
        click.echo(f"  {visible(line)}", err=True)
    return request.id


def _at_terminal() -> bool:
    return sys.stdin.isatty() and sys.stderr.isatty()


def _question(daemon: ControlClient, words: tuple[str, ...]) -> tuple[Waiting, tuple[str, ...]]:
    """The question that is meant, and its answers."""
    first = words[0] if words else ""
    begins = len(first) >= ID // 2 and any(each.id.startswith(first) for each in _waiting())
    if _AN_ID.fullmatch(first) or begins:
        found, answers = daemon.requests_show(first), words[1:]
    else:
        found, answers = daemon.requests_show(_only("answer", lambda each: each.kind == "question").id), words
    if found.kind != "question":
        raise CommandError(
            f"{found.id[:ID]} is not a question: sould approve {found.id[:ID]}, or: sould reject {found.id[:ID]}"
        )
    return found, answers


def _give(daemon: ControlClient, params: AnswerParams, done: str) -> None:
    answered = daemon.requests_answer(params)
    if answered.outcome == "already":
        click.echo(
            f"{visible(answered.by) or 'Somebody'} answered first: {cut_to(visible(answered.title), 120)}", err=True
        )
        sys.exit(FAILED)
    given = f" → {one_line(', '.join(answered.answers), 120)}" if answered.answers else ""
    click.echo(f"{done}: {cut_to(visible(answered.title), 120)}{given} (session {answered.session})", err=True)
