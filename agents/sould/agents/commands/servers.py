"""Prompts of a session's MCP servers as slash commands, and `/mcp`, which says how the servers are.

A prompt's text is given to the model as the server wrote it; the user sees which command asked for it.
"""

import shlex
from collections.abc import Iterator
from functools import partial

from sould.agents.commands.replies import say
from sould.agents.mcp.naming import cleaned, tool_name
from sould.agents.mcp.resources import listing
from sould.agents.mcp.results import PromptDefinition
from sould.agents.mcp.server import Server, UnavailableError
from sould.agents.sessions.session import Session
from sould.agents.sessions.slash import Entry, SlashCommand, for_people
from sould.agents.soul.loop import Ending
from sould.agents.wire.messages import ContextNote
from sould.agents.wording import plural


def mcp_commands(session: Session) -> Iterator[Entry]:
    """`/mcp [server]`, and `/mcp:SERVER:PROMPT` for every prompt of a server that is connected."""
    yield SlashCommand("mcp", "Show the MCP servers of this session", "[server]"), partial(_show, session)
    for server in session.mcp.servers.values():
        for prompt in server.prompts:
            name = "".join(cleaned(f"mcp:{server.spec.name}:{prompt.name}").split())
            hint = " ".join(argument if required else f"[{argument}]" for argument, required in prompt.arguments)
            about = for_people(cleaned(prompt.description)) or f"A prompt of {server.spec.name}"
            yield SlashCommand(name, about, cleaned(hint)), partial(_use, server, prompt, session)


async def _use(server: Server, prompt: PromptDefinition, session: Session, text: str) -> Ending:
    try:
        given = prompt_arguments(prompt, text)
        said = await server.prompt(prompt.name, given)
    except UnavailableError as error:
        return say(session, str(error))
    session.log.publish(
        ContextNote(
            text=f"The user asks for the prompt `{prompt.name}` of the MCP server {server.spec.name}:\n\n{said}"
        )
    )
    return await session.soul.turn(session.current_turn)


def prompt_arguments(prompt: PromptDefinition, text: str) -> dict[str, str]:
    """The words of a command as the prompt's arguments, in order; the last one takes all that is left.

    Raises:
        UnavailableError: a required one is missing, or a quote is not closed.
    """
    names = [name for name, _ in prompt.arguments]
    try:
        words = [text] if len(names) == 1 and text else shlex.split(text)
    except ValueError as error:
        raise UnavailableError("A quotation mark is not closed.") from error
    if len(words) > len(names) > 0:
        words = [*words[: len(names) - 1], " ".join(words[len(names) - 1 :])]
    given = dict(zip(names, words, strict=False))
    missing = [name for name, required in prompt.arguments if required and name not in given]
    if missing:
        raise UnavailableError(f"The prompt {prompt.name} needs {', '.join(missing)}.")
    return given


async def _show(session: Session, name: str) -> Ending:
    if name:
        return say(session, _details(session.mcp.servers.get(name), name))
    lines = [
        f"- **{name}** ({server.spec.source}, {server.spec.transport}): {server.state}, "
        f"{plural(len(server.definitions), 'tool')}, {plural(len(server.prompts), 'prompt')}, "
        f"{plural(len(server.resources), 'resource')}. "
        f"{server.trouble}".rstrip()
        for name, server in session.mcp.servers.items()
    ]
    return say(session, "\n".join(lines) or "There are no MCP servers. Add one with `sould mcp add`.")


def _details(server: Server | None, name: str) -> str:
    """What one server offers; its resources as they are mentioned in a prompt."""
    if server is None:
        return f"There is no MCP server {name!r} in this session."
    tools = [f"- {tool_name(name, each.name)}" for each in server.definitions]
    prompts = [f"- /mcp:{cleaned(name)}:{cleaned(each.name)}" for each in server.prompts]
    parts = (("Tools", tools), ("Prompts", prompts), ("Resources", listing(server)))
    shown = ["\n".join((f"{title}:", *lines)) for title, lines in parts if lines]
    return "\n\n".join((f"**{cleaned(name)}** is {server.state}. {server.trouble}".rstrip(), *shown))
