"""Asking at the terminal whether a tool call may run."""

from dataclasses import dataclass

import click
from pydantic import BaseModel, Field, JsonValue

from sould.agents.permissions.visible import both_ends
from sould.daemon.cli.keyboard import read_line
from sould.daemon.cli.output import one_line, visible
from sould.daemon.cli.render import content_text

DETAILS = 30
"""Lines shown of what a call would do, each of them whole: the end of a line decides as much as its beginning."""
KEYS = {"allow_once": "y", "allow_always": "a", "reject_once": "n", "reject_always": "never"}


class Option(BaseModel):
    """One answer on offer, in ACP's words."""

    option_id: str = Field(alias="optionId")
    name: str = ""
    kind: str = ""


class Permission(BaseModel):
    """The parameters of `session/request_permission` that are used here."""

    tool_call: dict[str, JsonValue] = Field(default_factory=dict[str, JsonValue], alias="toolCall")
    options: list[Option] = Field(default_factory=list[Option])

    @property
    def title(self) -> str:
        """What it is about."""
        return str(self.tool_call.get("title") or "a tool call")

    @property
    def is_question(self) -> bool:
        """It asks what the user wants, as it is put to clients without forms: several answers are equally good."""
        return sum(option.kind == "allow_once" for option in self.options) > 1

    @property
    def explanation(self) -> list[str]:
        """What is said beside the title, which is shown with every call; at least one line."""
        blocks = self.tool_call.get("content")
        known = blocks if isinstance(blocks, list) else []
        texts = [content_text(block.get("content")) for block in known if isinstance(block, dict)]
        lines = [visible(line) for text in texts for line in text.splitlines() if line.strip("` ")]
        told = [line for line in lines if line != self.title]
        return [f"May I? {one_line(self.title, 200)}", *both_ends(told, DETAILS)]

    @property
    def choices(self) -> dict[str, Option]:
        """The options by the key that chooses them."""
        return {KEYS.get(option.kind, option.option_id): option for option in self.options}


@dataclass(frozen=True, slots=True)
class Choice:
    """The id of the chosen option, and what the agent is told with a rejection."""

    option_id: str
    why: str = ""


async def ask(asked: Permission) -> Choice | None:
    """What was chosen; None at the end of input. Words behind the key of a rejection are the reason."""
    choices = asked.choices
    words = "  ".join(f"[{key}] {one_line(option.name, 80)}" for key, option in choices.items())
    lines = asked.explanation
    click.echo("\n  ".join([f"{click.style('?', fg='yellow')} {lines[0]}", *lines[1:], words]), err=True)
    while line := await read_line():
        key, _, why = line.strip().partition(" ")
        option = choices.get(key.lower().rstrip(",:"))
        if option is not None and (not why or option.kind == "reject_once"):
            return Choice(option.option_id, why.strip())
        hint = "" if asked.is_question else "; words behind n tell the agent why not"
        click.echo(f"  Type one of: {', '.join(choices)}{hint}", err=True)
    return None
