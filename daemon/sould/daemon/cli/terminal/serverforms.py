"""The form of an MCP server at the terminal: a line for each field, read as the field's type.

Nothing is answered that was not typed, but a default, which Enter takes where it is shown.
"""

import click
from pydantic import BaseModel, Field, JsonValue

from sould.agents.clients.choice_input import Choices
from sould.agents.mcp.forms import choices, problem, text_of, value_of
from sould.agents.wire.requests import ServerForm
from sould.daemon.cli.output import one_line, visible
from sould.daemon.cli.terminal.forms import UserPrompter, typed_line

DECLINE = "/decline"
HINT = f"Enter alone takes the value in brackets, or skips the answer. {DECLINE} declines the request."


class DeclinedError(Exception):
    """The user said no to the form."""


class _Schema(BaseModel):
    properties: dict[str, dict[str, JsonValue]]
    required: tuple[str, ...] = ()


class TypedForm(UserPrompter):
    """The parameters of an `elicitation/create` whose fields have types."""

    message: str
    requested: _Schema = Field(alias="requestedSchema")

    @property
    def form(self) -> ServerForm:
        """As the daemon has it."""
        asked = self.requested
        return ServerForm(
            server=self.server,
            message=self.message,
            properties=asked.properties,
            required=asked.required,
        )


async def fill_typed(form: ServerForm) -> dict[str, JsonValue]:
    """What the user entered, by field, each value fitting its field.

    Raises:
        DeclinedError: they said no.
        ClosedInputError: the end of input.
    """
    first, *more = form.message.rstrip().split("\n")
    lines = [f"{click.style('?', fg='yellow')} {visible(first)}", *(f"  {visible(line)}".rstrip() for line in more)]
    click.echo("\n".join([*lines, f"  {HINT}"]), err=True)
    content: dict[str, JsonValue] = {}
    for name in form.properties:
        value = await _asked(form, name)
        if value is not None:
            content[name] = value
    return content


async def _asked(form: ServerForm, name: str) -> JsonValue:
    """The value of one field, asked for until it fits; None: it was left out."""
    field = form.properties[name]
    alone = form.model_copy(update={"properties": {name: field}, "required": ()})
    offered = Choices(tuple(choices(field)), several=field["type"] == "array")
    _show(field, offered, required=name in form.required)
    while True:
        typed = (await typed_line("  > ")).strip()
        if typed == DECLINE:
            raise DeclinedError
        value = _read(field, offered, typed) if typed else field.get("default")
        if value is None and not typed and name not in form.required:
            return None
        why = f"{field['title']} is required." if value is None else problem(alone, {name: value})
        if not why:
            return value
        click.echo(f"  {visible(why)}", err=True)


async def fill_in_words(form: ServerForm) -> tuple[str, ...] | None:
    """The same as words for each field, options by their numbers, "" for what was left out; None: they said no.

    Raises:
        ClosedInputError: the end of input.
    """
    try:
        content = await fill_typed(form.model_copy(update={"message": form.text}))
    except DeclinedError:
        return None
    return tuple(_words(field, content[name]) if name in content else "" for name, field in form.properties.items())


def _words(field: dict[str, JsonValue], value: JsonValue) -> str:
    values = list(choices(field).values())
    if not values:
        return text_of(field, value)
    return ",".join(str(values.index(each) + 1) for each in (value if isinstance(value, list) else [value]))


def _read(field: dict[str, JsonValue], offered: Choices, typed: str) -> JsonValue:
    chosen = offered.read(typed) if offered.labels else None
    if chosen is None:
        return value_of(field, typed)
    values = [choices(field)[label] for label in chosen.labels]
    return list(values) if offered.several else values[0]


def _show(field: dict[str, JsonValue], offered: Choices, *, required: bool) -> None:
    about = f": {field['description']}" if field.get("description") else ""
    default = f" [{one_line(text_of(field, field['default']), 200)}]" if "default" in field else ""
    lines = [f"  {visible(str(field['title']) + about)}{default}{'' if required else ' (optional)'}"]
    if offered.labels:
        lines.append("  " + "  ".join(f"[{key}] {one_line(label, 80)}" for key, label in offered.numbered.items()))
        if offered.several:
            lines.append("  Several may be chosen: 1,2")
    click.echo("\n".join(lines), err=True)
