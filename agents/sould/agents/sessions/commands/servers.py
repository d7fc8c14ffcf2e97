"""Prompts of a session's MCP servers as slash commands, and `/mcp`, which says how the servers are.

A prompt's text is given to the model as the server wrote it; the user sees which command asked for it.
"""

import asyncio
import shlex
from collections.abc import Iterator
from functools import partial

from msgspec import Struct

from sould.agents.base.text import plural
from sould.agents.mcp.naming import cleaned, tool_name
from sould.agents.mcp.results import PromptDefinition
from sould.agents.mcp.server import Server, UnavailableError
from sould.agents.mcp.session import SessionServers
from sould.agents.mcp.tools import listing
from sould.agents.sessions.commands.slash import Conversation, Entry, SlashCommand, for_people
from sould.agents.soul.loop import Ending
from sould.agents.soul.turn import Turn


class ServerCommands(Struct, frozen=True):
    """Of one session."""

    conversation: Conversation
    servers: SessionServers

    def __iter__(self) -> Iterator[Entry]:
        """`/mcp:SERVER:PROMPT` for every prompt of a server that is connected."""
        for server in self.servers.servers.values():
            for prompt in server.prompts:
                name = "".join(cleaned(f"mcp:{server.spec.name}:{prompt.name}").split())
                hint = " ".join(argument if required else f"[{argument}]" for argument, required in prompt.arguments)
                about = for_people(cleaned(prompt.description)) or f"A prompt of {server.spec.name}"
                yield SlashCommand(name, about, cleaned(hint)), partial(self._use, server, prompt)

    async def _use(self, server: Server, prompt: PromptDefinition, turn: Turn, argument: str) -> Ending:
        try:
            said = await server.prompt(prompt.name, prompt_arguments(prompt, argument))
        except UnavailableError as error:
            return self.conversation.refuse(str(error))
        asked = f"The user asks for the prompt `{prompt.name}` of the MCP server {server.spec.name}:"
        return await self.conversation.ask(turn, f"{asked}\n\n{said}")

    async def show(self, _: Turn, argument: str) -> Ending:
        """All servers, or what one of them offers."""
        known = self.servers.servers
        shown = (known[argument],) if argument in known else tuple(known.values())
        await asyncio.gather(*(server.listed() for server in shown))
        if argument:
            return self.conversation.say(_details(known.get(argument), argument))
        lines = [_line(name, server) for name, server in known.items()]
        return self.conversation.say("\n".join(lines) or "There are no MCP servers. Add one with `sould mcp add`.")


def prompt_arguments(prompt: PromptDefinition, text: str) -> dict[str, str]:
    """The words of a command as the prompt's arguments, in order; the last one takes all that is left.

    Raises:
        UnavailableError: a required one is missing, or a quote is not closed.
    """
    names = [name for name, _ in prompt.arguments]
    try:
        words = [text] if len(names) == 1 and text else shlex.split(text)
    except ValueError as error:
        raise UnavailableError("A quote is not closed.") from error
    if len(words) > len(names) > 0:
        words = [*words[: len(names) - 1], " ".join(words[len(names) - 1 :])]
    given = dict(zip(names, words, strict=False))
    missing = [name for name, required in prompt.arguments if required and name not in given]
    if missing:
        raise UnavailableError(f"The prompt {prompt.name} needs {', '.join(missing)}.")
    return given


def _line(name: str, server: Server) -> str:
    offers = (
        plural(len(server.definitions), "tool"),
        plural(len(server.prompts), "prompt"),
        plural(len(server.resources), "resource"),
    )
    about = f"({server.spec.source}, {server.spec.transport}): {server.state}, {', '.join(offers)}."
    return f"- **{name}** {about} {server.trouble}".rstrip()


def _details(server: Server | None, name: str) -> str:
    """What one server offers; its resources as they are mentioned in a prompt."""
    if server is None:
        return f"There is no MCP server {name!r} in this session."
    tools = [f"- {tool_name(name, each.name)}" for each in server.definitions]
    prompts = [f"- /mcp:{cleaned(name)}:{cleaned(each.name)}" for each in server.prompts]
    parts = (("Tools", tools), ("Prompts", prompts), ("Resources", listing(server)))
    shown = ["\n".join((f"{title}:", *lines)) for title, lines in parts if lines]
    return "\n\n".join((f"**{cleaned(name)}** is {server.state}. {server.trouble}".rstrip(), *shown))
