"""What sessions wait for, as the command line shows it: what is asked, and which command answers it."""

from collections.abc import Mapping, Sequence
from typing import Any

import click

from sould.agents.clients.choice_input import Choices
from sould.agents.clients.inbox.shapes import AskedQuestion, InboxItem
from sould.agents.permissions.actions import Scope
from sould.agents.permissions.visible import both_ends
from sould.daemon.cli.output import CommandError, echo_rows, one_line, plural, visible
from sould.daemon.methods import SessionState

ID = 8
"""Characters of a request's id that are shown; the beginning of it is enough for an answer."""

LASTING: Mapping[Scope, str] = {"project": "--for-project", "always": "--always"}
"""What `sould approve` calls each, and what it means."""


def standing(session: SessionState) -> str:
    """What a session in memory is doing, in a word or three."""
    return "waits for you" if session.pending else "running" if session.running else "idle"


def show_waiting(request: InboxItem, most: int | None = None) -> None:
    """What is asked, and how to answer it. `most`: lines of it."""
    who = f"{request.asker} asks: " if request.asker else ""
    lines = both_ends(request.lines, most)
    more = request.more + (max(0, len(request.lines) - most) if most is not None else 0)
    scopes = {each.scope: each.remembers for each in request.scopes}
    echo_rows(f"  {request.session.id}  {click.style('?', fg='yellow')} {visible(who)}{visible(request.title)}")
    for line in lines:
        click.echo(f"      {visible(line)}")
    name = request.id[:ID]
    if more:
        echo_rows(f"      … {plural(more, 'more line')}: sould approve {name} --show")
    for question in request.questions:
        if len(request.questions) > 1:
            echo_rows(f"      {visible(question.question)}")
        for number, option in choices(question).numbered.items():
            echo_rows(f"      {number}. {one_line(option, 120)}")
    if request.kind == "approval":
        echo_rows(f"    → sould approve {name}   sould reject {name}")
        if scopes.get("session"):
            echo_rows(f"      add --for-session: {visible(scopes['session'])}")
        if "session_also_changed" in scopes:
            echo_rows("      add --also-changed as well: Also when what it runs changes again.")
        for scope, flag in LASTING.items():
            if scope in scopes:
                echo_rows(f"      add {flag}: {visible(scopes[scope])}")
    else:
        echo_rows(f"    → sould answer {name} {places(request)}   sould reject {name}")


def places(request: InboxItem) -> str:
    """One word for each answer that is wanted."""
    return " ".join(["ANSWER"] * max(1, len(request.questions)))


def choices(question: AskedQuestion) -> Choices:
    """What can be chosen."""
    return Choices(tuple(each.label for each in question.options), question.several, question.words)


def read_answers(request: InboxItem, typed: Sequence[str]) -> list[dict[str, Any]]:
    """What was typed, one for each question, as the daemon takes it; in a form "" leaves an answer out. Raises CommandError."""
    if len(typed) != len(request.questions):
        raise CommandError(
            f"{plural(len(request.questions), 'question')}, {plural(len(typed), 'answer')}: give one for each."
        )
    pairs = zip(request.questions, typed, strict=True)
    return [_read(question, words) if words or request.kind != "form" else {} for question, words in pairs]


def _read(question: AskedQuestion, typed: str) -> dict[str, Any]:
    """An option by its number or its label, several separated by commas where that is allowed; or the user's own words."""
    offered = choices(question)
    chosen = offered.read(typed)
    if chosen is None:
        there_are = ", ".join(f"{number}. {label}" for number, label in offered.numbered.items())
        raise CommandError(f"{typed!r} is not an answer to {question.question!r}; the options are: {there_are}.")
    if chosen.wants_words:
        number = len(offered.numbered)
        raise CommandError(f"{number}. {question.words}: add your words, as in '{number} your words'.")
    return {"chosen": chosen.labels, "words": chosen.words}
