"""Commands that show how the session stands, or choose one of its options: for clients without menus of their own."""

import asyncio
import re
import secrets
from collections.abc import Iterator

from sould.agents.commands.replies import say
from sould.agents.errors import OptionError
from sould.agents.sessions.session import Session
from sould.agents.soul.loop import Ending
from sould.agents.toolapi.background import TaskError
from sould.agents.wording import plural


async def status(session: Session, _: str) -> Ending:
    """Everything at a glance."""
    context, window = session.log.context, session.models.info.max_context_size
    lines = [
        f"- session: `{session.id}` in `{session.info.cwd}`, {plural(session.info.turns, 'turn')}",
        *(f"- {option.name.lower()}: {option.value or 'none'}" for option in session.options.all()),
        f"- context: about {context.token_count + context.pending_estimate} of {window} tokens",
        *(f"- also works in: `{path}`" for path in session.directories),
        *(["- away: questions are dismissed; `/afk off` ends that"] if session.modes.away else []),
        f"- waiting prompts: {len(session.queue)}",
        *(f"  {line}" for line in session.waiting.text().splitlines()),
        f"- background tasks running: {session.tasks.running}",
        f"- MCP servers: {len(session.mcp.servers)}",
        *([f"- subagent types made here: {', '.join(context.subagents)}"] if context.subagents else []),
    ]
    hooks = session.hooks.hooks.counts()
    if hooks:
        lines.append(f"- hooks: {', '.join(f'{event} ({count})' for event, count in hooks.items())}")
    return say(session, "\n".join(lines))


async def mode(session: Session, value: str) -> Ending:
    """Show or choose what happens without asking."""
    return await _option(session, "mode", value)


async def model(session: Session, value: str) -> Ending:
    """Show or choose the model."""
    return await _option(session, "model", value)


async def agent(session: Session, value: str) -> Ending:
    """Show or choose the agent."""
    return await _option(session, "agent", value)


async def tasks(session: Session, argument: str) -> Ending:
    """The background tasks, newest first; `output ID` shows what one printed, `stop ID` ends it."""
    action, _, task_id = argument.partition(" ")
    if action in ("output", "stop"):
        try:
            return say(session, await _task(session, action, task_id.strip()))
        except TaskError as error:
            return say(session, error.message)
    records = list(session.tasks.records.values())[::-1]
    lines = [f"- `{record.id}` {record.status}: {record.description}" for record in records]
    return say(session, "\n".join(lines) or "There are no background tasks.")


async def _task(session: Session, action: str, task_id: str) -> str:
    if action == "stop":
        record = await session.tasks.stop(task_id, "The user stopped it.")
        return f"`{record.id}` {record.status}: {record.description}"
    text, path = await asyncio.to_thread(session.tasks.output, task_id)
    fence = "`" * max([3, *(1 + len(run) for run in re.findall("`+", text))])
    return f"{fence}\n{text.rstrip()}\n{fence}\nAll of it is in `{path}`."


async def trust(session: Session, _: str) -> Ending:
    """Ask whether the project's own configuration may take part, as it is now."""
    can_ask = "questions" in session.opening.capabilities
    return say(session, await session.trusting.ask(secrets.token_hex(8), can_ask=can_ask))


async def _option(session: Session, option_id: str, value: str) -> Ending:
    if value:
        try:
            await session.options.choose(option_id, value, "")
        except OptionError as error:
            return say(session, error.message)
    lines = list(_described(session, option_id))
    return say(session, "\n".join(lines[:1] if value else lines))


def _described(session: Session, option_id: str) -> Iterator[str]:
    option = next(option for option in session.options.all() if option.id == option_id)
    yield f"{option.name}: **{option.value}**"
    for choice in option.choices:
        yield f"- `{choice.value}` {choice.description or (choice.name if choice.name != choice.value else '')}".rstrip()
