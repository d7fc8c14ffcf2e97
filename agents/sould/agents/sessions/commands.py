"""Slash commands: prompts that begin with `/name`. A table from name to handler; what is not in it goes to the model.

A command's prompt and reply are shown and journaled, but are no part of the model's context.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from sould.agents.soul.loop import Ending
from sould.agents.wire.content import TextPart, UserInput, input_text
from sould.agents.wire.messages import ContextCleared, ContextNote

if TYPE_CHECKING:
    from sould.agents.sessions.session import Session

_INIT_PROMPT = Path(__file__).with_name("init.md")


@dataclass(frozen=True, slots=True)
class SlashCommand:
    """A command as clients list it; `hint` is empty when it takes no argument."""

    name: str
    description: str
    hint: str = ""


Handler = Callable[["Session", str], Awaitable[Ending]]


def find_command(user_input: UserInput) -> tuple[Handler, str] | None:
    """The handler and argument text of a prompt that is a known command."""
    text = input_text(user_input).strip()
    if not text.startswith("/"):
        return None
    name, _, argument = text[1:].partition(" ")
    entry = COMMANDS.get(name)
    return (entry[1], argument.strip()) if entry else None


async def _compact(session: "Session", guidance: str) -> Ending:
    """`preview` as the first word shows the summary before it is used."""
    first, _, rest = guidance.partition(" ")
    preview = first == "preview"
    done = await session.soul.compactor.compact(rest.strip() if preview else guidance, preview=preview)
    return _say(session, "The context has been compacted." if done else "The context is as it was.")


async def _clear(session: "Session", _: str) -> Ending:
    session.log.publish(ContextCleared())
    return _say(session, "The context has been cleared. The history stays readable.")


async def _init(session: "Session", wishes: str) -> Ending:
    instruction = _INIT_PROMPT.read_text(encoding="utf-8").strip()
    session.log.publish(ContextNote(text=f"{instruction}\n\n{wishes}".strip()))
    return await session.soul.turn(session.current_turn)


async def _yolo(session: "Session", _: str) -> Ending:
    await session.set_option("mode", "full", "")
    return _say(session, "Full access for this session: nothing asks any more, except changes to protected files.")


async def _help(session: "Session", _: str) -> Ending:
    lines = [
        f"- `/{command.name}{' ' + command.hint if command.hint else ''}` {command.description}"
        for command in session.commands()
    ]
    return _say(session, "\n".join(lines))


def _say(session: "Session", text: str) -> Ending:
    session.log.publish(TextPart(text=text))
    return Ending("finished")


COMMANDS: dict[str, tuple[SlashCommand, Handler]] = {
    command.name: (command, handler)
    for command, handler in (
        (SlashCommand("init", "Study the project and write its AGENTS.md", "what to stress (optional)"), _init),
        (SlashCommand("compact", "Condense the conversation", "[preview] [what to keep]"), _compact),
        (SlashCommand("clear", "Start over with an empty context"), _clear),
        (SlashCommand("yolo", "Stop asking in this session"), _yolo),
        (SlashCommand("help", "List these commands"), _help),
    )
}
