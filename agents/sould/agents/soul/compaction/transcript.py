"""A conversation as compaction sees it: text without reasoning, groups that are never torn, the language it is held in.

Pure. A group is what must stay together: a user message, or an assistant message with the results of its calls.
"""

import re
from collections.abc import Sequence
from typing import Literal, TypeAlias

from msgspec import Struct

from sould.agents.journal.context import COMPACTED
from sould.agents.journal.entries import message_weight
from sould.agents.llm.provider import ChatMessage
from sould.agents.soul.compaction.summary import Summary, parse, without_thinking
from sould.agents.wire.content import ContentPart, TextPart, ThinkPart

Language: TypeAlias = Literal["en", "zh"]
_HAN = re.compile("[\u4e00-\u9fff]")
_KANA = re.compile("[\u3040-\u30ff]")
_LATIN = re.compile("[A-Za-z]")
_SYSTEM = re.compile(r"<system>.*?</system>", re.DOTALL)


class Group(Struct, frozen=True):
    """Messages `start` to `stop` (exclusive), and what they say."""

    start: int
    stop: int
    role: str
    text: str
    tokens: int


def render(message: ChatMessage) -> str:
    """A message as text for the summariser: reasoning left out, media named."""
    lines = [_render_part(part) for part in message.content if not isinstance(part, ThinkPart)]
    lines += [f"[calls {call.function.name} {call.function.arguments or '{}'}]" for call in message.tool_calls]
    return f"## {message.role}\n" + "\n".join(filter(None, lines))


def message_tokens(messages: Sequence[ChatMessage]) -> int:
    """Tokens of messages, estimated."""
    return sum(map(message_weight, messages)) // 4


def groups(messages: Sequence[ChatMessage], stop: int) -> list[Group]:
    """The groups of the first `stop` messages."""
    found: list[Group] = []
    at = 0
    while at < stop:
        end = at + 1
        while end < stop and messages[end].role == "tool":
            end += 1
        members = messages[at:end]
        said = "\n\n".join(map(render, members))
        found.append(Group(at, end, messages[at].role, said, message_tokens(members)))
        at = end
    return found


def tail(messages: Sequence[ChatMessage], keep: int, budget: int) -> int:
    """Where the kept end begins: the last `keep` user or assistant messages, fewer when they are over `budget` tokens."""
    start = len(messages)
    seen = 0
    for at in range(len(messages) - 1, -1, -1):
        if messages[at].role == "tool":
            continue
        seen += 1
        if seen > keep or message_tokens(messages[at:]) > budget:
            break
        start = at
    return start


def earlier_summary(messages: Sequence[ChatMessage]) -> Summary | None:
    """What the last compaction left at the beginning, if there was one."""
    if not messages or messages[0].role != "user" or len(messages[0].content) < 2:
        return None
    note, said = messages[0].content[:2]
    if isinstance(note, TextPart) and isinstance(said, TextPart) and note.text == f"<system>{COMPACTED}</system>":
        return parse(said.text)
    return None


def last_request(messages: Sequence[ChatMessage]) -> str:
    """What the user asked last, in their own words."""
    for message in reversed(messages):
        if message.role == "user" and (said := _own_words(message)):
            return said
    return ""


def language(messages: Sequence[ChatMessage]) -> Language:
    """Chinese when the people's and the model's words are, else English, whose prompt asks for the conversation's language."""
    said = "\n".join(_own_words(message) for message in messages if message.role == "user")
    han = len(_HAN.findall(said))
    if han == 0 or len(_KANA.findall(said)) * 5 > han:
        return "en"
    return "zh" if han * 4 >= len(_LATIN.findall(said)) else "en"


def _own_words(message: ChatMessage) -> str:
    texts = (part.text for part in message.content if isinstance(part, TextPart))
    return "\n".join(filter(None, (_SYSTEM.sub("", text).strip() for text in texts)))


def _render_part(part: ContentPart) -> str:
    if isinstance(part, TextPart):
        return without_thinking(part.text).strip()
    return f"[{part.type.removesuffix('_url')}]"
