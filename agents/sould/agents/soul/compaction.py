"""Simple compaction: when the window fills, the model summarises, and the summary takes the place of what it covers.

The result is published as `CompactionEnd`, from which the context folds itself; a failure leaves the context as it was.
Never compacts twice without a new message in between (D8).
"""

import secrets
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from sould.agents.config import LoopControl
from sould.agents.llm.provider import ChatMessage, ChatProvider, ChatRequest, ModelInfo, ProviderError
from sould.agents.llm.retry import RetryPolicy, stream_with_retry
from sould.agents.wire.content import ContentPart, TextPart, ThinkPart
from sould.agents.wire.log import SessionLog
from sould.agents.wire.messages import CompactionBegin, CompactionEnd

_PROMPT = Path(__file__).with_name("compaction.md")
_SYSTEM = "You condense the working context of a coding agent so that it can go on without losing its task."


@dataclass(slots=True)
class Compactor:
    """Watches one session's context."""

    log: SessionLog
    provider: Callable[[], ChatProvider]
    limits: Callable[[], LoopControl]
    session_id: str
    _compacted_at: int = -1
    """Messages in the context right after the last compaction."""

    async def compact_if_needed(self) -> None:
        """Compact when the context has reached the trigger, at most once for the same messages."""
        if self._due(self.provider().info):
            await self.compact()

    async def compact(self, guidance: str = "") -> bool:
        """Compact now. False when there is nothing to condense or the model failed; the context then is as before."""
        messages = tuple(self.log.context.messages)
        split = split_at(messages, self.limits().max_preserved_messages)
        if split == 0 or len(messages) == self._compacted_at:
            return False
        before = self._tokens()
        compaction_id = secrets.token_hex(6)
        self.log.publish(CompactionBegin(compaction_id=compaction_id))
        try:
            summary = await self._summarise(messages[:split], guidance)
        except ProviderError as error:
            self.log.publish(CompactionEnd(compaction_id=compaction_id, failed=True, error=error.message))
            return False
        except BaseException:
            self.log.publish(
                CompactionEnd(compaction_id=compaction_id, failed=True, error="Compaction was interrupted.")
            )
            raise
        self.log.publish(
            CompactionEnd(
                compaction_id=compaction_id,
                summary=summary,
                kept=len(messages) - split,
                tokens_before=before,
                tokens_after=len(summary) // 4,
                strategy="simple",
            )
        )
        self._compacted_at = len(self.log.context.messages)
        await self.log.commit()
        return True

    def _due(self, info: ModelInfo) -> bool:
        limits = self.limits()
        tokens = self._tokens()
        reserve = min(limits.reserved_context_size, info.max_context_size // 4)
        return (
            tokens >= info.max_context_size * limits.compaction_trigger_ratio
            or tokens + reserve >= info.max_context_size
        )

    def _tokens(self) -> int:
        context = self.log.context
        return context.token_count + context.pending_estimate

    async def _summarise(self, messages: tuple[ChatMessage, ...], guidance: str) -> str:
        instruction = _PROMPT.read_text(encoding="utf-8").strip()
        if guidance:
            instruction += f"\n\nThe user asks you to pay special attention to: {guidance}"
        transcript = "\n\n".join(render(message) for message in messages)
        prompt = f"{instruction}\n\n<conversation>\n{transcript}\n</conversation>"
        question = (ChatMessage("user", (TextPart(text=prompt),)),)
        request = ChatRequest(_SYSTEM, question, session_id=self.session_id)
        async with stream_with_retry(self.provider(), request, RetryPolicy.of(self.limits()), lambda _: None) as stream:
            return "".join([delta.text async for delta in stream if isinstance(delta, TextPart)])


def split_at(messages: tuple[ChatMessage, ...], keep: int) -> int:
    """How many leading messages to condense: all but the last `keep` user or assistant ones, tool results staying with their call."""
    seen = 0
    for index in range(len(messages) - 1, -1, -1):
        if messages[index].role != "tool":
            seen += 1
            if seen == keep:
                return index
    return 0


def render(message: ChatMessage) -> str:
    """A message as text for the summariser: reasoning left out, media named."""
    lines = [_render_part(part) for part in message.content if not isinstance(part, ThinkPart)]
    lines += [f"[calls {call.function.name} {call.function.arguments or '{}'}]" for call in message.tool_calls]
    return f"## {message.role}\n" + "\n".join(lines)


def _render_part(part: ContentPart) -> str:
    return part.text if isinstance(part, TextPart) else f"[{part.type.removesuffix('_url')}]"
