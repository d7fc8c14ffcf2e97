"""Commands that show how the session stands, or choose one of its options: for clients without menus of their own."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from sould.agents.errors import OptionError
from sould.agents.sessions.replies import say
from sould.agents.soul.loop import Ending

if TYPE_CHECKING:
    from sould.agents.sessions.session import Session


async def status(session: "Session", _: str) -> Ending:
    """Everything at a glance."""
    context, window = session.log.context, session.soul.model.model().provider.info.max_context_size
    lines = [
        f"- session: `{session.id}` in `{session.info.cwd}`, {session.info.turns} turns",
        *(f"- {option.name.lower()}: {option.value or 'none'}" for option in session.options()),
        f"- context: about {context.token_count + context.pending_estimate} of {window} tokens",
        f"- waiting prompts: {len(session.queue)}",
        f"- background tasks running: {session.tasks.running}",
        f"- MCP servers: {len(session.mcp.servers)}",
    ]
    hooks = session.hooks.hooks.counts()
    if hooks:
        lines.append(f"- hooks: {', '.join(f'{event} ({count})' for event, count in hooks.items())}")
    return say(session, "\n".join(lines))


async def mode(session: "Session", value: str) -> Ending:
    """Show or choose what happens without asking."""
    return await _option(session, "mode", value)


async def model(session: "Session", value: str) -> Ending:
    """Show or choose the model."""
    return await _option(session, "model", value)


async def agent(session: "Session", value: str) -> Ending:
    """Show or choose the agent."""
    return await _option(session, "agent", value)


async def tasks(session: "Session", _: str) -> Ending:
    """The background tasks, newest first."""
    records = list(session.tasks.records.values())[::-1]
    lines = [f"- `{record.id}` {record.status}: {record.description}" for record in records]
    return say(session, "\n".join(lines) or "There are no background tasks.")


async def skills(session: "Session", _: str) -> Ending:
    """The skills, and what is wrong with others."""
    catalog = session.skills
    lines = [f"- `/skill:{name}` {skill.description}" for name, skill in catalog.skills.items()]
    lines += [f"- not usable: {problem}" for problem in catalog.problems]
    return say(session, "\n".join(lines) or "There are no skills.")


async def _option(session: "Session", option_id: str, value: str) -> Ending:
    if value:
        try:
            await session.set_option(option_id, value, "")
        except OptionError as error:
            return say(session, error.message)
    return say(session, "\n".join(_described(session, option_id)))


def _described(session: "Session", option_id: str) -> Iterator[str]:
    option = next(option for option in session.options() if option.id == option_id)
    yield f"{option.name}: **{option.value}**"
    for choice in option.choices:
        yield f"- `{choice.value}` {choice.description or (choice.name if choice.name != choice.value else '')}".rstrip()
