"""Asking at the terminal whether a tool call may run."""

import re

import click
from msgspec import Struct
from pydantic import BaseModel, Field, JsonValue

from sould.agents.permissions.visible import both_ends
from sould.daemon.cli.output import one_line, visible
from sould.daemon.cli.run.render import DIFF_LINES, content_text, diffs
from sould.daemon.cli.terminal.keyboard import read_line

DETAILS = 30
"""Lines shown of what a call would do, each of them whole: the end of a line decides as much as its beginning.

A command is shown whole."""
KEYS = {"allow_once": "y", "allow_always": "a", "reject_once": "n", "reject_always": "never"}
WORDS = {"yes": "y", "always": "a", "no": "n"}
"""What people type in place of a key."""
OWN_KEYS = {"allow_always_also_changed": "c", "allow_always_project": "w", "allow_always_everywhere": "e"}
"""By the id, where two options are of a kind."""
ALL = "v"
_CODE = re.compile(r"(`+)\n(.*)\n\1", re.DOTALL)
_WORDS = re.compile(r"(`+) (.*) \1")


class Option(BaseModel):
    """One answer on offer, in ACP's words."""

    option_id: str = Field(alias="optionId")
    name: str = ""
    kind: str = ""


class Permission(BaseModel):
    """The parameters of `session/request_permission` that are used here."""

    tool_call: dict[str, JsonValue] = Field(default_factory=dict[str, JsonValue], alias="toolCall")
    options: list[Option] = Field(default_factory=list[Option])
    meta: dict[str, JsonValue] = Field(default_factory=dict[str, JsonValue], alias="_meta")

    @property
    def is_output(self) -> bool:
        """The call has run, and what it brought waits to be passed on."""
        return self._own.get("output") is True

    @property
    def in_every_mode(self) -> bool:
        """No mode lets it go ahead unasked."""
        return self._own.get("inEveryMode") is True

    @property
    def reason(self) -> str:
        """Why it is asked, on one line; "" where the mode is the reason."""
        return ", ".join(str(self._own.get("reason") or "").splitlines())

    @property
    def _own(self) -> dict[str, JsonValue]:
        """What sould says in it beyond the protocol."""
        own = self.meta.get("sould")
        return own if isinstance(own, dict) else {}

    @property
    def title(self) -> str:
        """What it is about."""
        return str(self.tool_call.get("title") or "a tool call")

    @property
    def command(self) -> list[str]:
        """The lines that would be run; none where it is no command, or the title says all of it."""
        first = next(iter(self._texts), "")
        is_command = self.tool_call.get("kind") == "execute" and not self.is_output and _CODE.fullmatch(first)
        lines = _shown(first) if is_command else []
        return lines if lines != [self.title] else []

    @property
    def words(self) -> list[str]:
        """What is said beside the title, which is shown with every call, and beside the command."""
        others = self._texts[1:] if self.command else self._texts
        return [line for lines in map(_shown, others) if lines != [self.title] for line in lines]

    @property
    def _texts(self) -> list[str]:
        blocks = self.tool_call.get("content")
        known = blocks if isinstance(blocks, list) else []
        return [content_text(block.get("content")) for block in known if isinstance(block, dict)]

    @property
    def is_cut(self) -> bool:
        """Not everything is shown at first."""
        return len(self.words) > DETAILS or len(diffs(self.tool_call)) > DIFF_LINES

    @property
    def choices(self) -> dict[str, Option]:
        """The options by the key that chooses them."""
        return {
            OWN_KEYS.get(option.option_id) or KEYS.get(option.kind, option.option_id): option for option in self.options
        }

    def question(self, *, whole: bool = False) -> str:
        """What is asked, and what can be answered."""
        words = both_ends(self.words, None if whole else DETAILS)
        options = {key: option.name for key, option in self.choices.items()}
        if self.is_cut and not whole:
            options[ALL] = "View all"
        offered = "  ".join(f"[{key}] {one_line(name, 80)}" for key, name in options.items())
        asks = "Pass on to the model?" if self.is_output else "May I run this?" if self.command else "May I?"
        about = () if self.command else (visible(self.title),)
        title = " ".join((click.style("?", fg="yellow"), asks, *about))
        command = _with_end(self.command)
        return "\n  ".join([*(diffs(self.tool_call) if whole else ()), title, *command, *words, offered])


class Choice(Struct, frozen=True):
    """The id of the chosen option, and what the agent is told with a rejection."""

    option_id: str
    why: str = ""


async def ask(asked: Permission) -> Choice | None:
    """What was chosen; None at the end of input. Words behind the key of a rejection are the reason."""
    choices = asked.choices
    click.echo(asked.question(), err=True)
    while line := await read_line():
        key, _, why = line.strip().partition(" ")
        key = key.lower().rstrip(",:")
        option = choices.get(WORDS.get(key, key))
        if option is not None and (not why or option.kind == "reject_once"):
            return Choice(option.option_id, why.strip())
        if key == ALL and not why:
            click.echo(asked.question(whole=True), err=True)
            continue
        click.echo(f"  Type one of: {', '.join(choices)}; text after n tells the agent why not", err=True)
    return None


def _with_end(command: list[str]) -> list[str]:
    """All of it, however long: of one whose beginning may have left the screen its end is said to be that."""
    return [*command, f"(end of the command, {len(command)} lines)"] if len(command) > DETAILS else command


def _shown(text: str) -> list[str]:
    return [visible(line) for line in _plain(text)]


def _plain(text: str) -> list[str]:
    """The lines of a text of the daemon's, without the marks that keep editors from taking it for Markdown."""
    code = _CODE.fullmatch(text)
    if code is not None:
        return code[2].split("\n")
    paragraphs = [line for line in text.split("\n") if line.strip()]
    return [words[2] if (words := _WORDS.fullmatch(line)) else line for line in paragraphs]
