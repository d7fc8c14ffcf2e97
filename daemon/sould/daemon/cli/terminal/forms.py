"""Questions at the terminal: options by their numbers, words of the user's own, longer texts in their editor.

The form is the schema of an `elicitation/create`. Nothing is answered that was not typed.
"""

from typing import Any

import click
from pydantic import AliasPath, BaseModel, Field

from sould.agents.clients.choice_input import Choices
from sould.agents.clients.inbox.shapes import AskedOption, AskedQuestion
from sould.daemon.cli.output import CommandError, one_line, visible
from sould.daemon.cli.terminal.keyboard import edited, read_line
from sould.daemon.cli.waiting import choices

DISMISS = "n"
OTHER = "_other"
"""What the name of a question's field gets for words of the user's own."""


class ClosedInputError(Exception):
    """The terminal's input has ended: nobody answers here any more."""


async def ask_question(question: AskedQuestion) -> tuple[str, ...] | str | None:
    """Labels that were chosen, or words; None when the question was dismissed.

    Raises:
        ClosedInputError: the end of input.
    """
    _show(question)
    if not question.options:
        return await _text(question.default)
    return await _choice(choices(question))


def _show(question: AskedQuestion) -> None:
    first, *more = question.question.rstrip().split("\n")
    lines = [f"{click.style('?', fg='yellow')} {visible(first)}", *(f"  {visible(line)}".rstrip() for line in more)]
    lines += [f"  {visible(f'{each.label}: {each.description}')}" for each in question.options if each.description]
    if question.options:
        offered = choices(question).numbered | {DISMISS: "Dismiss"}
        lines.append("  " + "  ".join(f"[{key}] {one_line(label, 80)}" for key, label in offered.items()))
        if question.several:
            lines.append("  Several may be chosen: 1,2")
    click.echo("\n".join(lines), err=True)


async def _choice(offered: Choices) -> tuple[str, ...] | str | None:
    while True:
        typed = (await typed_line()).strip()
        if typed.lower() == DISMISS:
            return None
        chosen = offered.read(typed)
        if chosen is not None and not chosen.wants_words:
            return chosen.words or chosen.labels
        if chosen is not None and (words := await ask_words(offered.words)):
            return words
        click.echo(f"  Type one of: {', '.join((*offered.numbered, DISMISS))}{_hint(offered)}", err=True)


async def ask_words(label: str) -> str:
    """Words of the user's own, which are offered as `label`; "" for none.

    Raises:
        ClosedInputError: the end of input.
    """
    return (await typed_line(f"  {one_line(label, 80)}: ")).strip()


def _hint(offered: Choices) -> str:
    return f"; {len(offered.numbered)} takes your words, also in the same line" if offered.words else ""


async def _text(default: str) -> str | None:
    """A line; a text that is there already is changed in the editor."""
    if default:
        try:
            return (await edited(default)).strip() or None
        except CommandError as error:
            click.echo(f"  {visible(str(error))}", err=True)
            return None
    return (await typed_line("  (Enter alone: no answer) > ")).strip() or None


async def typed_line(prompt: str = "") -> str:
    """A line as it was typed.

    Raises:
        ClosedInputError: the end of input.
    """
    line = await read_line(prompt)
    if not line:
        raise ClosedInputError
    return line


# --- the form of an elicitation --------------------------------------------------------------------------------------


class FormOption(BaseModel):
    """One choice of a field."""

    const: str
    description: str = ""


class Items(BaseModel):
    """What may be chosen several times."""

    choices: list[FormOption] = Field(default_factory=list[FormOption], alias="anyOf")


class Property(BaseModel):
    """One field, as the daemon writes it."""

    title: str = ""
    description: str = ""
    default: str = ""
    choices: list[FormOption] = Field(default_factory=list[FormOption], alias="oneOf")
    items: Items = Field(default_factory=Items)


class Schema(BaseModel):
    """The fields by their names, in order."""

    properties: dict[str, Property] = Field(default_factory=dict[str, Property])


class UserPrompter(BaseModel):
    """Who asks by `elicitation/create`, where it is an MCP server."""

    server: str = Field(default="", validation_alias=AliasPath("_meta", "sould", "server"))


class Form(BaseModel):
    """The parameters of `elicitation/create` that are used here."""

    message: str = ""
    call_id: str = Field(default="", alias="toolCallId")
    requested: Schema = Field(default_factory=Schema, alias="requestedSchema")

    @property
    def title(self) -> str:
        """What it is about, in a line."""
        return self.message.split("\n", 1)[0]

    @property
    def questions(self) -> dict[str, AskedQuestion]:
        """The questions by the names of their fields."""
        fields = self.requested.properties
        names = [name for name in fields if not name.endswith(OTHER)]
        return {name: self._question(name, alone=len(names) == 1) for name in names}

    def _question(self, name: str, *, alone: bool) -> AskedQuestion:
        fields = self.requested.properties
        field, other = fields[name], fields.get(name + OTHER)
        return AskedQuestion(
            self.message if alone else field.description or field.title,
            options=tuple(AskedOption(each.const, each.description) for each in field.choices or field.items.choices),
            several=bool(field.items.choices),
            words=other.title if other else "",
            default=field.default,
        )


def from_server(params: dict[str, Any]) -> bool:
    """Whether it is an MCP server that asks, whose fields have types, and not the agent."""
    return bool(UserPrompter.model_validate(params).server)


async def fill(form: Form) -> dict[str, Any]:
    """What the user entered, by field; a question that was dismissed is left out.

    Raises:
        ClosedInputError: the end of input.
    """
    content: dict[str, Any] = {}
    for name, question in form.questions.items():
        answer = await ask_question(question)
        if isinstance(answer, str):
            content[name + OTHER if question.options else name] = answer
        elif answer is not None:
            content[name] = list(answer) if question.several else answer[0]
    return content
