"""A server's wish for an answer of the model: the user is asked, then the session's model answers, outside the conversation.

Nothing of the conversation is given to the server or to the model, and no tool. What the model answers goes to the
server only; its cost is the session's.
"""

import logging
import secrets
from collections.abc import Awaitable, Callable, Iterator
from typing import TypeAlias

from msgspec import Struct, field

from sould.agents.llm.provider import ChatRequest, Finish, ProviderError
from sould.agents.llm.retry import stream_with_retry
from sould.agents.mcp.naming import cleaned
from sould.agents.mcp.results import Sampled, Sampling
from sould.agents.permissions.questions import Questions
from sould.agents.soul.model_call import ModelCaller
from sould.agents.soul.soul import NO_MODEL
from sould.agents.wire.content import TextPart
from sould.agents.wire.messages import QuestionItem, QuestionOption

logger = logging.getLogger(__name__)

ONCE, SESSION, NO = "Allow once", "Allow for this session", "Decline"
SHOWN = 4000
"""Characters of what the server says to the model that the user is shown."""
MOST_CHARS = 400_000
"""Of the answer, however many tokens the server wants."""
LONGEST_TOKEN = 8
"""Characters of one token, at most: where an answer is cut when the server wants only so many tokens."""
_STOPS = {"length": "maxTokens"}


Affordable: TypeAlias = Callable[[], Awaitable[bool]]
"""Whether the session may spend more. It may ask the user."""


async def _always() -> bool:
    return True


class Sampler(Struct):
    """Of one session. What the user allowed for the session is forgotten with it."""

    caller: ModelCaller | None
    affordable: Affordable = _always
    """Asked before every answer: a server that the user allowed for the session could ask for ever."""
    _allowed: set[str] = field(default_factory=set[str])
    """Servers."""

    async def answer(self, server: str, wanted: Sampling) -> Sampled | str:
        """The model's answer, or why there is none: the user declined, or the model could not be had."""
        if self.caller is None:
            return NO_MODEL
        if server not in self._allowed:
            said = await self._ask(self.caller, server, wanted)
            if said not in (ONCE, SESSION):
                return "The user declined."
            if said == SESSION:
                self._allowed.add(server)
        if not await self.affordable():
            return "The user's budget is used up."
        try:
            return await self._answered(self.caller, wanted)
        except ProviderError as error:
            logger.info("the model for %s: %s", server, error.message)
            return f"The model could not answer: {error.message}"

    async def _ask(self, caller: ModelCaller, server: str, wanted: Sampling) -> str:
        question = f"May the MCP server {cleaned(server)} ask the model this?"
        shown = "\n\n".join(_said(wanted))
        more = f"\n[... {len(shown) - SHOWN} more characters ...]" if len(shown) > SHOWN else ""
        about = "It gets the model's answer, which this session pays for. It sees nothing of this conversation."
        options = tuple(QuestionOption(label=label) for label in (ONCE, SESSION, NO))
        item = QuestionItem(question=question, header="MCP", body=f"{about}\n\n{shown[:SHOWN]}{more}", options=options)
        answers = await Questions(caller.log.channel).ask(f"mcp_{secrets.token_hex(4)}", (item,))
        return answers.get(question, NO)

    async def _answered(self, caller: ModelCaller, wanted: Sampling) -> Sampled:
        model = caller.models.model()
        request = ChatRequest(wanted.system_prompt, wanted.messages, (), model.thought_level, caller.session_id)
        room = min(max(wanted.max_tokens, 1) * LONGEST_TOKEN, MOST_CHARS)
        text: list[str] = []
        stop = "endTurn"
        async with stream_with_retry(model.provider, request, caller.policy, lambda _: None) as stream:
            async for batch in stream:
                for delta in batch:
                    if isinstance(delta, TextPart):
                        text.append(delta.text[: max(0, room)])
                        room -= len(delta.text)
                    elif isinstance(delta, Finish):
                        caller.meter.costs.charge(model.provider.info, delta)
                        stop = _STOPS.get(delta.reason or "", "endTurn")
                if room <= 0:
                    stop = "maxTokens"
                    break
        return Sampled("".join(text), model.provider.info.model, stop)


def _said(wanted: Sampling) -> Iterator[str]:
    if wanted.system_prompt:
        yield f"system: {wanted.system_prompt}"
    for message in wanted.messages:
        parts = (part.text if isinstance(part, TextPart) else "[an image or audio]" for part in message.content)
        yield f"{message.role}: {' '.join(parts)}"
