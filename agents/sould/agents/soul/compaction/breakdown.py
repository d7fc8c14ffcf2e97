"""What the model's window is filled with: instructions, messages, and what each tool or MCP server has brought.

Nobody counts that but by the whole: how it divides is estimated from the texts, and scaled to what the provider has counted. Pure.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias

import orjson
from msgspec import Struct

from sould.agents.base.text import tokens, weight
from sould.agents.journal.entries import content_weight
from sould.agents.journal.log import SessionLog
from sould.agents.llm.provider import ChatMessage, ToolSpec
from sould.agents.toolapi.toolset import Toolset
from sould.agents.wire.stream import piece

ServerOf: TypeAlias = Callable[[str], str]
"""The MCP server that a tool is of; "" for all others."""


class ToolShare(Struct, frozen=True):
    """What one tool, or all tools of one MCP server, take of the window."""

    name: str
    server: bool
    calls: int
    """Those that the model still remembers."""
    described: int
    """Tokens of what the model is told of them in every call."""
    used: int
    """Tokens of their calls and results."""


class Breakdown(Struct, frozen=True):
    """Of one context, in tokens. What is in no `ToolShare` was said, or is instructions."""

    used: int
    window: int
    counted: bool
    """The provider has counted `used`, but for what was added since."""
    instructions: int
    asked: int
    """What people said, with notes and summaries of what was compacted."""
    answered: int
    """What the agent said and thought."""
    tools: tuple[ToolShare, ...]
    """Those that take most first."""


class Sizes(Struct, frozen=True):
    """How large the whole is, and whether somebody else than we counted it."""

    used: int
    window: int
    counted: bool


def spec_tokens(spec: ToolSpec) -> int:
    """Tokens of what the model is told of a tool, estimated."""
    return tokens(spec.description) + tokens(orjson.dumps(spec.parameters).decode()) + 8


def broken_down(
    prompt: str, messages: Sequence[ChatMessage], specs: Iterable[ToolSpec], server_of: ServerOf, sizes: Sizes
) -> Breakdown:
    """Divide a context by where it comes from."""
    calls, used, said = _weighed(messages)
    described = Counter({spec.name: 4 * spec_tokens(spec) for spec in specs})
    instructions = weight(prompt)
    scale = sizes.used / max(1, instructions + said.total() + used.total() + described.total())

    def share(quarters: int) -> int:
        return round(quarters * scale)

    servers = {tool: server_of(tool) for tool in (*calls, *described)}
    shares = [
        ToolShare(
            name,
            is_server,
            sum(calls[tool] for tool in of),
            share(sum(described[tool] for tool in of)),
            share(sum(used[tool] for tool in of)),
        )
        for (name, is_server), of in _grouped(servers).items()
    ]
    shares.sort(key=lambda each: (-each.described - each.used, each.name))
    parts = share(instructions), share(said["user"]), share(said["assistant"])
    return Breakdown(sizes.used, sizes.window, sizes.counted, *parts, tuple(shares))


def _grouped(servers: dict[str, str]) -> dict[tuple[str, bool], list[str]]:
    """Tools by the server they are of, else by themselves."""
    groups: dict[tuple[str, bool], list[str]] = {}
    for tool, server in servers.items():
        groups.setdefault((server or tool, bool(server)), []).append(tool)
    return groups


def _weighed(messages: Iterable[ChatMessage]) -> tuple[Counter[str], Counter[str], Counter[str]]:
    """How often each tool was called, and in quarter tokens what that takes, and what was said by whom."""
    calls, used, said = Counter[str](), Counter[str](), Counter[str]()
    tools: dict[str, str] = {}
    for message in messages:
        for call in message.tool_calls:
            name = tools[call.id] = call.function.name
            calls[name] += 1
            used[name] += weight(name) + weight(piece(call))
        taken = content_weight(message.content)
        if message.tool_call_id is not None:
            used[tools.get(message.tool_call_id, "")] += taken
        else:
            said[message.role] += taken
    return calls, used, said


class ContextSize(Struct):
    """Of one agent: of its log, with the tools that it has at the moment."""

    log: SessionLog
    toolset: Toolset
    _tool_tokens: tuple[int, int] = (-1, 0)

    @property
    def used(self) -> int:
        """Tokens the next model call will take, as far as is known."""
        context = self.log.context
        # before the first report nothing has counted the tools
        unseen = 0 if context.token_count else self.tools
        return context.token_count + context.pending_estimate + unseen

    @property
    def tools(self) -> int:
        """Tokens of what the model is told of the tools, estimated."""
        specs = self.toolset.specs
        if self._tool_tokens[0] != len(specs):
            self._tool_tokens = (len(specs), sum(map(spec_tokens, specs)))
        return self._tool_tokens[1]

    def breakdown(self, server_of: ServerOf, window: int) -> Breakdown:
        """What it is made of."""
        context = self.log.context
        sizes = Sizes(self.used, window, bool(context.token_count))
        return broken_down(context.system_prompt, context.messages, self.toolset.specs, server_of, sizes)
