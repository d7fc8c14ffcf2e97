"""Slash commands: prompts that begin with `/name`. A table from name to handler; what is not in it goes to the model.

A command's prompt and reply are shown and journaled, but are no part of the model's context.
"""

from collections.abc import Awaitable, Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from sould.agents.sessions import showing
from sould.agents.sessions.replies import say as say
from sould.agents.sessions.rewinding import redo, rewind, undo
from sould.agents.soul.loop import Ending
from sould.agents.wire.content import UserInput, input_text
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
Entry: TypeAlias = tuple[SlashCommand, Handler]
CommandSource: TypeAlias = Callable[[], Iterable[Entry]]
"""Commands that come and go with what a session has: skills, flows, prompts of servers. Asked anew each time."""


def find_command(user_input: UserInput, sources: Iterable[CommandSource] = ()) -> tuple[Handler, str] | None:
    """The handler and argument text of a prompt that is a known command; the table wins over the sources."""
    text = input_text(user_input).strip()
    if not text.startswith("/"):
        return None
    name, *argument = text[1:].split(None, 1) or [""]
    entry = COMMANDS.get(name)
    handler = entry[1] if entry else next((run for command, run in _dynamic(sources) if command.name == name), None)
    return (handler, argument[0].strip() if argument else "") if handler else None


def list_commands(sources: Iterable[CommandSource]) -> tuple[SlashCommand, ...]:
    """Every command on offer, each name once."""
    known = {command.name: command for command, _ in COMMANDS.values()}
    for command, _ in _dynamic(sources):
        known.setdefault(command.name, command)
    return tuple(known.values())


def _dynamic(sources: Iterable[CommandSource]) -> Iterator[Entry]:
    for source in sources:
        yield from source()


async def _compact(session: "Session", guidance: str) -> Ending:
    """`preview` as the first word shows the summary before it is used."""
    first, _, rest = guidance.partition(" ")
    preview = first == "preview"
    done = await session.soul.compactor.compact(rest.strip() if preview else guidance, preview=preview)
    return say(session, "The context has been compacted." if done else "The context is as it was.")


async def _clear(session: "Session", _: str) -> Ending:
    session.log.publish(ContextCleared())
    return say(session, "The context has been cleared. The history stays readable.")


async def _init(session: "Session", wishes: str) -> Ending:
    instruction = _INIT_PROMPT.read_text(encoding="utf-8").strip()
    session.log.publish(ContextNote(text=f"{instruction}\n\n{wishes}".strip()))
    return await session.soul.turn(session.current_turn)


async def _plan(session: "Session", argument: str) -> Ending:
    """`on` (or nothing), `off`, `view`, `clear`; anything else begins planning and is what to plan."""
    plan_mode = session.plan_mode
    match argument:
        case "off":
            await plan_mode.leave()
            return say(session, f"Plan mode is off; the mode is {session.mode}.")
        case "view":
            return say(session, plan_mode.plan or "There is no plan yet.")
        case "clear":
            plan_mode.forget()
            return say(session, "The plan is gone.")
        case "" | "on":
            await plan_mode.enter()
            return say(session, "Plan mode is on: nothing is changed until you approve a plan or turn it off.")
        case _:
            await plan_mode.enter()
            session.log.publish(ContextNote(text=f"The user asks for a plan: {argument}"))
            return await session.soul.turn(session.current_turn)


async def _btw(session: "Session", _: str) -> Ending:
    return say(session, "Ask something on the side: `/btw why is this test slow?`. It works while a turn runs.")


async def _yolo(session: "Session", _: str) -> Ending:
    await session.set_option("mode", "full", "")
    return say(session, "Full access for this session: nothing asks any more, except changes to protected files.")


async def _help(session: "Session", _: str) -> Ending:
    lines = [
        f"- `/{command.name}{' ' + command.hint if command.hint else ''}` {command.description}"
        for command in session.commands()
    ]
    return say(session, "\n".join(lines))


COMMANDS: dict[str, tuple[SlashCommand, Handler]] = {
    command.name: (command, handler)
    for command, handler in (
        (SlashCommand("init", "Study the project and write its AGENTS.md", "what to stress (optional)"), _init),
        (SlashCommand("compact", "Condense the conversation", "[preview] [what to keep]"), _compact),
        (SlashCommand("clear", "Start over with an empty context"), _clear),
        (
            SlashCommand(
                "plan", "Plan first: change nothing until a plan is approved", "[on|off|view|clear|what to plan]"
            ),
            _plan,
        ),
        (SlashCommand("rewind", "Go back to an earlier point, files included", "[checkpoint]"), rewind),
        (SlashCommand("undo", "Undo the last turn, files included"), undo),
        (SlashCommand("redo", "Take back the last undo or rewind"), redo),
        (SlashCommand("btw", "Ask on the side, also while a turn runs; the agent forgets it", "question"), _btw),
        (SlashCommand("yolo", "Stop asking in this session"), _yolo),
        (SlashCommand("mode", "Show or choose what happens without asking", "[mode]"), showing.mode),
        (SlashCommand("model", "Show or choose the model", "[model]"), showing.model),
        (SlashCommand("agent", "Show or choose the agent", "[name or path]"), showing.agent),
        (SlashCommand("skills", "List the skills"), showing.skills),
        (SlashCommand("tasks", "List the background tasks"), showing.tasks),
        (SlashCommand("status", "Show how this session stands"), showing.status),
        (SlashCommand("help", "List these commands"), _help),
    )
}
