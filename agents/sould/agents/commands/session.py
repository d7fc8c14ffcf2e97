"""The slash commands that every session has: a table from name to handler.

A command's prompt and reply are shown and journaled, but are no part of the model's context.
"""

from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TypeAlias

from sould.agents.commands import showing
from sould.agents.commands.replies import say
from sould.agents.commands.rewinding import redo, rewind, undo
from sould.agents.commands.sharing import bring, export
from sould.agents.errors import OptionError
from sould.agents.sessions.operations.context import NotCondensed
from sould.agents.sessions.operations.wording import CLEARED, CONDENSED
from sould.agents.sessions.session import Session
from sould.agents.sessions.slash import Entry, SlashCommand
from sould.agents.settings.awaymode import GONE
from sould.agents.settings.modeswitch import AFK, YOLO
from sould.agents.soul.loop import Ending

SessionHandler: TypeAlias = Callable[[Session, str], Awaitable[Ending]]

_INIT_PROMPT = Path(__file__).with_name("init.md")


async def _compact(session: Session, guidance: str) -> Ending:
    """`preview` as the first word shows the summary before it is used."""
    first, _, rest = guidance.partition(" ")
    preview = first == "preview"
    done = await session.context.compact(rest.strip() if preview else guidance, preview=preview)
    if isinstance(done, NotCondensed):
        return say(session, f"The context is as it was. {done.reason}")
    return say(session, CONDENSED)


async def _clear(session: Session, _: str) -> Ending:
    session.context.clear()
    return say(session, f"{CLEARED} The history stays readable.")


async def _init(session: Session, wishes: str) -> Ending:
    instruction = _INIT_PROMPT.read_text(encoding="utf-8").strip()
    session.context.tell(f"{instruction}\n\n{wishes}".strip())
    return await session.soul.turn(session.current_turn)


async def _plan(session: Session, argument: str) -> Ending:
    """`on` (or nothing), `off`, `view`, `clear`; anything else begins planning and is what to plan."""
    plan_mode = session.plan_mode
    match argument:
        case "off":
            await plan_mode.leave()
            return say(session, f"Plan mode is off; the mode is {session.modes.mode}.")
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
            session.context.tell(f"The user asks for a plan: {argument}")
            return await session.soul.turn(session.current_turn)


async def _btw(session: Session, _: str) -> Ending:
    return say(session, "Ask something on the side: `/btw why is this test slow?`. It works while a turn runs.")


async def _yolo(session: Session, argument: str) -> Ending:
    if argument == "off":
        return await _full_access_ends(session)
    await session.options.choose("mode", YOLO, "")
    return say(
        session,
        "Full access for this session: nothing is asked any more, except for secrets and changes to protected files.",
    )


async def _afk(session: Session, argument: str) -> Ending:
    if argument == "off":
        return await _full_access_ends(session)
    await session.options.choose("mode", AFK, "")
    return say(session, GONE)


async def _full_access_ends(session: Session) -> Ending:
    await session.mode_switch.end_full_access()
    return say(session, f"The mode is {session.modes.mode}.")


async def _add_dir(session: Session, argument: str) -> Ending:
    """Without a path, where the session works."""
    if not argument:
        return say(session, "\n".join(f"- `{path}`" for path in (session.info.cwd, *session.directories)))
    try:
        path = session.add_directory(argument)
    except OptionError as error:
        return say(session, error.message)
    return say(session, f"The session now also works in `{path}`.")


async def _queue(session: Session, _: str) -> Ending:
    """Never reached while prompts wait: `/queue` is answered before it could wait itself."""
    return say(session, "No prompt waits.")


async def _help(session: Session, _: str) -> Ending:
    lines = [
        f"- `/{command.name}{' ' + command.hint if command.hint else ''}` {command.description}"
        + "".join(f" (also `/{alias}`)" for alias in command.aliases)
        for command in session.commands()
    ]
    return say(session, "\n".join(lines))


COMMANDS: tuple[tuple[SlashCommand, SessionHandler], ...] = (
    (SlashCommand("init", "Study the project and write its AGENTS.md", "what to stress (optional)"), _init),
    (SlashCommand("compact", "Compact the conversation", "[preview] [what to keep]"), _compact),
    (SlashCommand("clear", "Start over with an empty context", aliases=("reset",)), _clear),
    (
        SlashCommand("plan", "Plan first: change nothing until a plan is approved", "[on|off|view|clear|what to plan]"),
        _plan,
    ),
    (SlashCommand("rewind", "Go back to an earlier point, files included", "[checkpoint]"), rewind),
    (SlashCommand("undo", "Undo the last turn, files included, or a /clear since which there was none"), undo),
    (SlashCommand("redo", "Take back the last undo or rewind"), redo),
    (SlashCommand("btw", "Ask on the side, also while a turn runs; the agent forgets it", "question"), _btw),
    (SlashCommand("queue", "Show or change the prompts that wait", "[remove|edit|move NUMBER …]"), _queue),
    (SlashCommand("add-dir", "Work in one more directory", "path"), _add_dir),
    (SlashCommand("export", "Write the conversation to a file", "[path ending in .md, .json or .jsonl]"), export),
    (SlashCommand("import", "Bring in a conversation from a file or another session", "path or session id"), bring),
    (SlashCommand("yolo", "Stop asking in this session", "[off]"), _yolo),
    (SlashCommand("afk", "Stop asking, and dismiss questions while you are away", "[off]"), _afk),
    (SlashCommand("mode", "Show or choose what happens without asking", "[mode]"), showing.mode),
    (SlashCommand("model", "Show or choose the model", "[model]"), showing.model),
    (SlashCommand("agent", "Show or choose the agent", "[name or path]"), showing.agent),
    (SlashCommand("trust", "Trust this project's own configuration, as it is now"), showing.trust),
    (SlashCommand("tasks", "List, look at or stop background tasks", "[output ID|stop ID]"), showing.tasks),
    (SlashCommand("status", "Show how this session stands"), showing.status),
    (SlashCommand("help", "List these commands"), _help),
)


def session_commands(session: Session) -> Iterator[Entry]:
    """The table, for one session."""
    for command, handler in COMMANDS:
        yield command, partial(handler, session)
