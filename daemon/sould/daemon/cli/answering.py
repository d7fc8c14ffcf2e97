"""`sould approve|reject|answer`: what a session waits for, answered from a terminal.

A request is named by the beginning of its id, as `sould status` shows it, so that nothing is approved but what was seen.
"""

import sys

import click

from sould.daemon.cli.control import running
from sould.daemon.cli.helptext import Command
from sould.daemon.cli.output import FAILED, USAGE, CommandError, one_line, visible
from sould.daemon.control import AnswerParams, Waiting

ID = 8
"""Characters of a request's id that are shown; the beginning of it is enough for an answer."""


@click.command(cls=Command)
@click.argument("request")
@click.option("--for-session", is_flag=True, help="Do not ask about the same again in this session.")
@click.option("--show", is_flag=True, help="Show all of what is asked, and answer nothing.")
def approve(request: str, for_session: bool, show: bool) -> None:
    """Allow what a session asks. REQUEST is the id that `sould status` shows.

    The first answer wins, wherever it is given; open dialogs in editors close. Exits 1 when somebody was faster.

    Examples:
      sould status
      sould approve 3fa9c2d1 --show
      sould approve 3fa9c2d1
      sould approve 3fa9c2d1 --for-session
    """
    if show:
        with running() as daemon:
            show_waiting(daemon.requests_show(request))
        return
    _give(AnswerParams(id=request, decision="approve_for_session" if for_session else "approve"), "Allowed")


@click.command(cls=Command)
@click.argument("request")
@click.option("--because", default="", metavar="TEXT", help="Tell the agent why; it then goes on in another way.")
def reject(request: str, because: str) -> None:
    """Refuse what a session asks, or dismiss its question. REQUEST is the id that `sould status` shows.

    Without --because the turn ends, as it does in an editor.

    Examples:
      sould reject 3fa9c2d1
      sould reject 3fa9c2d1 --because "use the staging database"
    """
    _give(AnswerParams(id=request, decision="reject", feedback=because), "Refused")


@click.command(cls=Command)
@click.argument("request")
@click.argument("answers", nargs=-1, required=True, metavar="ANSWER...")
def answer(request: str, answers: tuple[str, ...]) -> None:
    """Answer a question of a session, with one ANSWER for each question: an option's number, its label, or your words.

    Where several options may be chosen, separate them with commas.

    Examples:
      sould answer 91b07e52 2
      sould answer 91b07e52 "PostgreSQL" "no, keep the old name"
    """
    if not all(each.strip() for each in answers):
        raise CommandError("An answer is empty; `sould reject` dismisses the question.", USAGE)
    _give(AnswerParams(id=request, decision="answer", answers=answers), "Answered")


def show_waiting(request: Waiting) -> None:
    """What is asked, and how to answer it."""
    who = f"{request.who} asks: " if request.who else ""
    click.echo(f"  {request.session}  {click.style('?', fg='yellow')} {visible(who)}{one_line(request.title, 160)}")
    for line in request.lines:
        click.echo(f"      {visible(line)}")
    name = request.id[:ID]
    if request.more:
        click.echo(f"      … {request.more} more lines: sould approve {name} --show")
    for question in request.questions:
        if len(request.questions) > 1:
            click.echo(f"      {visible(question.question)}")
        for number, option in enumerate(question.options, 1):
            click.echo(f"      {number}. {one_line(option, 120)}")
    if request.kind == "approval":
        scope = f"   or, for the session ({one_line(request.scope, 80)}): add --for-session" if request.scope else ""
        click.echo(f"    → sould approve {name}   sould reject {name}{scope}")
    elif request.kind == "question":
        click.echo(
            f"    → sould answer {name} {' '.join(['ANSWER'] * max(1, len(request.questions)))}   sould reject {name}"
        )


def _give(params: AnswerParams, done: str) -> None:
    with running() as daemon:
        answered = daemon.requests_answer(params)
    if answered.outcome == "already":
        click.echo(f"{visible(answered.by) or 'Somebody'} answered first: {one_line(answered.title, 120)}", err=True)
        sys.exit(FAILED)
    given = f" → {one_line(', '.join(answered.answers), 120)}" if answered.answers else ""
    click.echo(f"{done}: {one_line(answered.title, 120)}{given} (session {answered.session})", err=True)
