"""`sould approve|reject|answer`: what a session waits for, answered from a terminal as `sould inbox` does it.

A request is named by the beginning of its id, as `sould status` shows it; without one the only request that waits is
meant, and shown. Nothing is answered but what the id names.
"""

import re
import sys
from collections.abc import Callable
from typing import Any, Final, Literal, TypeAlias

import click

from sould.agents.clients.inbox.shapes import InboxItem
from sould.agents.permissions.actions import Scope
from sould.agents.permissions.visible import cut_to
from sould.daemon.cli.inbox.client import InboxClient, looking
from sould.daemon.cli.output import FAILED, USAGE, Command, CommandError, one_line, visible
from sould.daemon.cli.waiting import ID, places, read_answers, show_waiting

Lasting: TypeAlias = Literal["project", "always"]
NAME: Final = "the command line"
LEAST: Final = 4
"""Characters of an id that are enough: a slip of the finger approves nothing."""
_AN_ID = re.compile(rf"[0-9a-f]{{{ID},}}")


@click.command(cls=Command)
@click.argument("request", default="")
@click.option("--for-session", is_flag=True, help="Do not ask about the same again in this session.")
@click.option("--for-project", "lasting", flag_value="project", help="Nor in any session of the project.")
@click.option("--always", "lasting", flag_value="always", help="Nor in any session.")
@click.option("--also-changed", is_flag=True, help="With --for-session: not even when what it runs changes again.")
@click.option("--message", "words", default="", metavar="TEXT", help="Tell the agent this with the call's result.")
@click.option("--show", is_flag=True, help="Show the whole request without answering it.")
def approve(
    request: str, for_session: bool, lasting: Lasting | None, also_changed: bool, words: str, show: bool
) -> None:
    """Allow what a session asks. REQUEST is the id that `sould status` shows.

    It may be left out at a terminal when one thing waits: that is shown, and you are asked whether you mean it.
    The first answer wins, wherever it is given; open dialogs in editors close. Exits 1 when somebody was faster.
    What --for-project and --always would cover is shown with the request; `sould rules` lists and ends them.

    Examples:
      sould status
      sould approve 3fa9c2d1 --show
      sould approve 3fa9c2d1
      sould approve 3fa9c2d1 --for-session
      sould approve 3fa9c2d1 --message "and remove the old one afterwards"
    """
    if lasting and (for_session or also_changed):
        raise CommandError("--for-project and --always cover the session, too: give one of them alone.", USAGE)
    if also_changed and not for_session:
        raise CommandError("--also-changed goes with --for-session.", USAGE)
    with looking(NAME) as inbox:
        if show:
            found = _find(inbox, request) if request else _only(inbox, "approve", lambda _: True)
            show_waiting(inbox.show(found.id))
            return
        found = _find(inbox, request) if request else _meant(inbox)
        if found.kind != "approval":
            raise CommandError(f"Request {found.id} takes another kind of answer: `sould answer`.")
        scope: Scope = lasting or ("session_also_changed" if also_changed else "session" if for_session else "once")
        _require_offered(found, scope)
        _give(inbox, found, {"decision": "approve", "scope": scope, "words": words}, "Allowed")


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
    with looking(NAME) as inbox:
        found = _find(inbox, request) if request else _shown(inbox, _only(inbox, "reject", lambda _: True))
        is_approval = found.kind == "approval"
        _give(inbox, found, {"decision": "reject", "words": because} if is_approval else _DECLINED, "Refused")


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
    with looking(NAME) as inbox:
        found, answers = _question(inbox, words)
        if found.kind != "form" and not all(each.strip() for each in answers):
            raise CommandError("An answer is empty; `sould reject` dismisses the question.", USAGE)
        if _at_terminal():
            from sould.daemon.cli.asking import asked_here  # noqa: PLC0415 -- brings asyncio with it

            given = asked_here(found, answers)
        elif answers:
            given = answers
        else:
            raise CommandError(f"Give the answer: sould answer {found.id[:ID]} {places(found)}", USAGE)
        if given is None:
            _give(inbox, found, _DECLINED, "Dismissed")
        else:
            _give(inbox, found, {"decision": "answer", "answers": read_answers(found, given)}, "Answered")


_DECLINED: Final = {"decision": "decline"}


# --- which one --------------------------------------------------------------------------------------------------------


def _find(inbox: InboxClient, beginning: str) -> InboxItem:
    """The one request whose id begins so, in any session, in memory or not. Raises CommandError."""
    if len(beginning) < LEAST:
        raise CommandError(f"Give at least {LEAST} characters of the request's id, as `sould inbox` shows it.")
    found = [each for each in inbox.items if each.id.startswith(beginning)]
    if len(found) > 1:
        raise CommandError(f"{len(found)} requests begin with {beginning!r}; give more of the id.")
    if not found:
        raise CommandError(
            f"No request {beginning!r} waits: it was answered already, or never was. `sould inbox` shows those that do."
        )
    return found[0]


def _only(inbox: InboxClient, verb: str, fits: Callable[[InboxItem], bool]) -> InboxItem:
    """The only request that `verb` can answer.

    Raises:
        CommandError: there is none, or there are several, which are shown.
    """
    found = [each for each in inbox.items if fits(each)]
    if len(found) == 1:
        return found[0]
    for each in inbox.items:
        show_waiting(each)
    if not inbox.items:
        raise CommandError("Nothing waits for an answer.")
    if not found:
        raise CommandError(f"`sould {verb}` cannot answer this request; use a command shown beside it.", USAGE)
    raise CommandError(f"{len(found)} requests wait; say which one: sould {verb} {found[0].id[:ID]}", USAGE)


def _meant(inbox: InboxClient) -> InboxItem:
    """The only approval that waits, once the user has seen what it is and said that they mean it.

    Raises:
        CommandError: they do not, or there is nobody to ask.
    """
    found = _shown(inbox, _only(inbox, "approve", lambda each: each.kind == "approval"))
    if not _at_terminal():
        raise CommandError(f"Name what you allow: sould approve {found.id[:ID]}", USAGE)
    if not click.confirm("Allow it?", err=True):
        raise CommandError("Nothing was answered.")
    return found


def _shown(inbox: InboxClient, request: InboxItem) -> InboxItem:
    """Show all of what is about to be answered, since the user did not name it."""
    for line in (request.title, *inbox.show(request.id).lines):
        click.echo(f"  {visible(line)}", err=True)
    return request


def _at_terminal() -> bool:
    return sys.stdin.isatty() and sys.stderr.isatty()


def _question(inbox: InboxClient, words: tuple[str, ...]) -> tuple[InboxItem, tuple[str, ...]]:
    """The question that is meant, whole, and its answers."""
    first = words[0] if words else ""
    begins = len(first) >= LEAST and any(each.id.startswith(first) for each in inbox.items)
    if _AN_ID.fullmatch(first) or begins:
        found, answers = _find(inbox, first), words[1:]
    else:
        found, answers = _only(inbox, "answer", lambda each: each.kind != "approval"), words
    if found.kind == "approval":
        raise CommandError(
            f"{found.id[:ID]} is not a question: sould approve {found.id[:ID]}, or: sould reject {found.id[:ID]}"
        )
    return inbox.show(found.id), answers


# --- the answer -------------------------------------------------------------------------------------------------------


def _require_offered(request: InboxItem, scope: Scope) -> None:
    """Say which option is to be left out; what outlives the session the daemon judges."""
    scopes = {each.scope for each in request.scopes}
    if scope in ("session", "session_also_changed") and "session" not in scopes:
        raise CommandError("This can be approved once only; leave --for-session out.")
    if scope == "session_also_changed" and scope not in scopes:
        raise CommandError("Nothing that was allowed for the session has changed; leave --also-changed out.")


def _give(inbox: InboxClient, request: InboxItem, decision: dict[str, Any], done: str) -> None:
    answered, title = inbox.answer(request.id, decision), cut_to(visible(request.title), 120)
    if answered.outcome == "already_answered" and answered.ended is not None:
        click.echo(f"{visible(answered.ended.by) or 'Somebody'} answered first: {title}", err=True)
        sys.exit(FAILED)
    if answered.outcome != "taken":
        raise CommandError(answered.message)
    answers = [
        ", ".join(filter(None, [*each.get("chosen", ()), each.get("words", "")]))
        for each in decision.get("answers", ())
    ]
    given = f" → {one_line(', '.join(filter(None, answers)), 120)}" if any(answers) else ""
    click.echo(f"{done}: {title}{given} (session {request.session.id})", err=True)
