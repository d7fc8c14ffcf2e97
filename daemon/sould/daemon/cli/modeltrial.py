"""A trial of a model: it is shown a red picture, may think, and reports the colour by a tool. What works is said in words."""

import json
import time
from collections.abc import Sequence
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from sould.agents.base.config import Capability
from sould.agents.llm.provider import ChatMessage, ChatProvider, ChatRequest, Delta, Finish, ProviderError, ToolSpec
from sould.agents.wire.content import ContentPart, FunctionCall, ImagePart, MediaUrl, TextPart, ThinkPart
from sould.agents.wire.messages import ToolCall, ToolCallPart
from sould.daemon.cli.output import one_line

PARTS = ("tool", "thinking", "picture")
_WANTED: frozenset[Capability] = frozenset({"thinking", "image_in"})
_TOOL = ToolSpec(
    "report_colour",
    "Report the colour that you see, or `none`.",
    {
        "type": "object",
        "properties": {"colour": {"type": "string", "description": "The colour in one English word."}},
        "required": ["colour"],
    },
)
_RED = (
    "iVBORw0KGgoAAAANSUhEUgAAAEAAAABACAIAAAAlC+aJAAAAS0lEQVR42u3PQQkAAAgAsetfWiP4FgYrsKZeS0BA"
    "QEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEDgsqnc8OJg6Ln3AAAAAElFTkSuQmCC"
)
"""A PNG of 64 by 64 red pixels."""
MOST_PIECES = 50_000
"""Of an answer; no more of it is read."""
_SYSTEM = "You are being tried out. Follow the instruction, and be brief."


class Heard(Struct):
    """What an answer came to."""

    began_s: float = 0.0
    """Seconds until its first words."""
    text: str = ""
    thoughts: str = ""
    calls: list[ToolCall] = field(default_factory=list[ToolCall])
    finish: Finish | None = None

    def take(self, delta: Delta, after_s: float) -> None:
        """A piece of it, so many seconds after it was asked for."""
        self.began_s = self.began_s or after_s
        match delta:
            case TextPart():
                self.text += delta.text
            case ThinkPart():
                self.thoughts += delta.think
            case ToolCall():
                self.calls.append(delta)
            case ToolCallPart() if self.calls:
                self._extend(delta)
            case Finish():
                self.finish = delta
            case _:
                pass

    def _extend(self, part: ToolCallPart) -> None:
        at = next((at for at, call in enumerate(self.calls) if call.id == part.tool_call_id), len(self.calls) - 1)
        call = self.calls[at]
        arguments = (call.function.arguments or "") + (part.arguments_part or "")
        self.calls[at] = ToolCall(id=call.id, function=FunctionCall(name=call.function.name, arguments=arguments))

    @property
    def colour(self) -> str:
        """What it reported by the tool; "" where it did not."""
        for call in self.calls:
            try:
                arguments: Any = json.loads(call.function.arguments or "")
            except ValueError:
                continue
            if call.function.name == _TOOL.name and isinstance(arguments, dict) and "colour" in arguments:
                return str(arguments["colour"])  # pyright: ignore[reportUnknownArgumentType] -- JSON
        return ""


class Trial(Struct, frozen=True):
    """What came of it: a few words on each part. It `works` when the model calls tools."""

    model: str
    server: str
    works: bool
    lines: tuple[tuple[str, str], ...]


async def try_model(provider: ChatProvider) -> Trial:
    """Ask once for everything; where that is refused, once for each part. Raises ProviderError: it answers nothing at all."""
    able = provider.info.capabilities
    if isinstance(provider, Struct):  # a script is none, and is asked as it is
        provider = replace(provider, info=replace(provider.info, capabilities=able | _WANTED))
    try:
        first = await _ask(provider, PARTS)
        heard: dict[str, Heard | str] = dict.fromkeys(PARTS, first)
    except ProviderError:
        first = await _ask(provider, ())
        heard = {part: await _heard_or_refused(provider, part) for part in PARTS}
    taken = [part for part in PARTS if isinstance(heard[part], Heard)]
    tool, thinking, picture = (heard[part] for part in PARTS)
    works, about_tool = (False, tool) if isinstance(tool, str) else await _about_tool(provider, tool, taken)
    lines = (
        ("answers", f"yes, {first.began_s:.1f} s until its first words"),
        ("tool", about_tool),
        ("thinking", thinking if isinstance(thinking, str) else _about_thinking(thinking, "thinking" in able)),
        ("picture", picture if isinstance(picture, str) else _about_picture(picture, "image_in" in able)),
    )
    return Trial(provider.info.key, provider.info.server or provider.info.provider, works, lines)


async def ask_plainly(provider: ChatProvider) -> None:
    """Ask for nothing but words. Raises ProviderError: it does not answer."""
    await _ask(provider, ())


async def _heard_or_refused(provider: ChatProvider, part: str) -> Heard | str:
    try:
        return await _ask(provider, (part,))
    except ProviderError as error:
        return f"refused: {error.message}"


async def _ask(provider: ChatProvider, parts: Sequence[str], further: Sequence[ChatMessage] = ()) -> Heard:
    request = ChatRequest(
        _SYSTEM,
        (_question(parts), *further),
        (_TOOL,) if "tool" in parts else (),
        thought_level="low" if "thinking" in parts else None,
    )
    heard, began, left = Heard(), time.monotonic(), MOST_PIECES
    async with provider.stream(request) as stream:
        async for batch in stream:
            for delta in batch:
                heard.take(delta, time.monotonic() - began)
            left -= len(batch)
            if left < 0:
                break
    return heard


def _question(parts: Sequence[str]) -> ChatMessage:
    seen = "What colour is the picture?" if "picture" in parts else "What colour is a ripe tomato?"
    asked = f"{seen} Call {_TOOL.name}." if "tool" in parts else f"{seen} Answer with one word."
    content: list[ContentPart] = [TextPart(text=asked)]
    if "picture" in parts:
        content.append(ImagePart(image_url=MediaUrl(url=f"data:image/png;base64,{_RED}")))
    return ChatMessage("user", tuple(content))


async def _about_tool(provider: ChatProvider, heard: Heard, taken: Sequence[str]) -> tuple[bool, str]:
    if not heard.calls:
        return False, "not called; it answered with text, so an agent cannot work with it"
    if not heard.colour:
        return False, f"called in a way that cannot be read: {one_line(heard.calls[0].function.arguments or '', 60)}"
    handed_out = heard.finish.handed_out if heard.finish is not None else None
    state = handed_out.state(provider.info.origin, {call.id: call.id for call in heard.calls}) if handed_out else None
    content = (ThinkPart(think=heard.thoughts),) if heard.thoughts else ()
    answer = ChatMessage("assistant", content, tuple(heard.calls), state=state)
    results = [ChatMessage("tool", (TextPart(text="Noted."),), tool_call_id=call.id) for call in heard.calls]
    try:
        await _ask(provider, taken, (answer, *results))
    except ProviderError as error:
        return False, f"called, but its result was refused: {error.message}"
    return True, "called, and its result was taken"


def _about_thinking(heard: Heard, able: bool) -> str:
    if not heard.thoughts:
        return "no thoughts came; the model has none, or its server keeps them"
    return "thoughts came" if able else 'thoughts came; add "thinking" to the capabilities of the model'


def _about_picture(heard: Heard, able: bool) -> str:
    said = heard.colour or heard.text
    if "red" not in said.lower():
        return f"taken, but a red one was called {one_line(said, 60)!r}"
    return "seen" if able else 'seen; add "image_in" to the capabilities of the model'
