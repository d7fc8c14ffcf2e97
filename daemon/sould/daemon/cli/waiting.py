"""What sessions wait for, as the command line shows it: what is asked, and which command answers it."""

import click

from sould.agents.clients.choice_input import Choices
from sould.daemon.cli.output import echo_rows, one_line, plural, visible
from sould.daemon.control import Asked, Waiting

ID = 8
"""Characters of a request's id that are shown; the beginning of it is enough for an answer."""

LASTING = {"project": "--for-project", "always": "--always"}
"""What `sould approve` calls each, and what it means."""


def show_waiting(request: Waiting) -> None:
    """What is asked, and how to answer it."""
    who = f"{request.who} asks: " if request.who else ""
    echo_rows(f"  {request.session}  {click.style('?', fg='yellow')} {visible(who)}{visible(request.title)}")
    for line in request.lines:
        click.echo(f"      {visible(line)}")
    name = request.id[:ID]
    if request.more:
        echo_rows(f"      … {plural(request.more, 'more line')}: sould approve {name} --show")
    for question in request.questions:
        if len(request.questions) > 1:
            echo_rows(f"      {visible(question.question)}")
        for number, option in choices(question).numbered.items():
            echo_rows(f"      {number}. {one_line(option, 120)}")
    if request.kind == "approval":
        echo_rows(f"    → sould approve {name}   sould reject {name}")
        if request.scope:
            echo_rows(f"      add --for-session: {visible(request.scope)}")
        if request.changed:
            echo_rows("      add --also-changed as well: Also when what it runs changes again.")
        for each in request.lasting:
            echo_rows(f"      add {LASTING[each.scope]}: {visible(each.remembers)}")
    elif request.kind == "question":
        echo_rows(f"    → sould answer {name} {places(request)}   sould reject {name}")


def places(request: Waiting) -> str:
    """One word for each answer that is wanted."""
    return " ".join(["ANSWER"] * max(1, len(request.questions)))


def choices(question: Asked) -> Choices:
    """What can be chosen."""
    return Choices(question.options, question.several, question.words)
