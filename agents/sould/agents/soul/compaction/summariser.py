"""From the parts of a plan to one summary: asked in chunks that fit, asked once more when sections lack, then repaired.

Every way this can go wrong ends in a summary or in a provider's error; it publishes nothing and knows no session.
"""

from collections.abc import Awaitable, Callable, Iterator, Sequence
from pathlib import Path
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from sould.agents.base.text import tokens
from sould.agents.llm.provider import ChatMessage, ChatRequest, EmptyAnswerError, ProviderError
from sould.agents.soul.compaction.strategies import Plan
from sould.agents.soul.compaction.summary import Summary, fitted, merge, parse, repaired, shortened
from sould.agents.soul.compaction.transcript import Language
from sould.agents.wire.content import TextPart

_HERE = Path(__file__).parent
_SYSTEM: dict[Language, str] = {
    "en": "You compact the working context of a coding agent so that it can go on without losing its task.",
    "zh": "你负责压缩编程智能体的工作上下文，使它能够继续工作而不丢失任务。",
}
_GUIDANCE: dict[Language, str] = {
    "en": "The user asks you to pay special attention to: {}",
    "zh": "用户要求你特别注意：{}",
}
_SO_FAR: dict[Language, str] = {
    "en": "What came before is compacted already. Bring it up to date with the conversation and rewrite all sections, "
    "leaving nothing of it out:",
    "zh": "更早的内容已经压缩如下。请根据后面的对话更新它，重写所有各节，不要遗漏其中任何内容：",
}
_AGAIN: dict[Language, str] = {
    "en": "Your answer lacks these sections: {}. Send the whole answer again, with all six sections and nothing else.",
    "zh": "你的回答缺少这些节：{}。请重新发送完整的回答，包含全部六节，不要写其他内容。",
}
Ask: TypeAlias = Callable[[ChatRequest], Awaitable[str]]
"""One model call without tools; the answer's text. Raises ProviderError."""
SMALLEST_CHUNK = 500
FOCUS_CHARS = 2000
TRUNCATED: dict[Language, str] = {
    "en": "The conversation before this could not be compacted ({}), so it was cut: only its ends are kept here.",
    "zh": "之前的对话无法压缩（{}），因此被截断：这里只保留了首尾部分。",
}


def summary_request(
    transcript: str, language: Language, *, guidance: str = "", so_far: str = "", session_id: str = ""
) -> ChatRequest:
    """Ask for a summary of `transcript`; `so_far` is the summary of what came before it. No tools."""
    parts = [(_HERE / f"summarise.{language}.md").read_text(encoding="utf-8").strip()]
    if guidance:
        parts.append(_GUIDANCE[language].format(guidance))
    if so_far:
        parts.append(f"{_SO_FAR[language]}\n\n<summary_so_far>\n{so_far}\n</summary_so_far>")
    parts.append(f"<conversation>\n{transcript}\n</conversation>")
    question = ChatMessage("user", (TextPart(text="\n\n".join(parts)),))
    return ChatRequest(_SYSTEM[language], (question,), session_id=session_id)


def asked_again(asked: ChatRequest, answer: str, missing: Sequence[str], language: Language) -> ChatRequest:
    """Ask once more for an answer that lacks sections."""
    reply = (ChatMessage("assistant", (TextPart(text=answer),)),) if answer.strip() else ()
    complaint = ChatMessage("user", (TextPart(text=_AGAIN[language].format(", ".join(missing))),))
    return ChatRequest(asked.system_prompt, (*asked.messages, *reply, complaint), session_id=asked.session_id)


class Summariser(Struct, frozen=True):
    """`chunk`: tokens of conversation one question may hold. `limit`: tokens of the summary. `focus`: the user's last request."""

    ask: Ask
    language: Language
    chunk: int
    limit: int
    focus: str
    session_id: str = ""

    async def summarise(self, plan: Plan, guidance: str = "") -> Summary:
        """One summary of everything the plan gives away.

        Raises:
            ProviderError: the model cannot be asked.
        """
        summary = plan.earlier
        for part in plan.parts:
            made = await self._part(part, guidance)
            summary = made if summary is None else merge(summary, made)
        return fitted(repaired(summary or Summary(), self._focus), self.limit)

    def truncated(self, plan: Plan, reason: str) -> Summary:
        """Without a model: the earlier summary, the beginning and the end, and a notice."""
        said = "\n\n".join(text for part in plan.parts for text in part)
        notice = TRUNCATED[self.language].format(reason.rstrip("."))
        room = max(400, 2 * self.limit)
        cut = Summary({"current_focus": self._focus, "important_context": f"{notice}\n{shortened(said, room)}"})
        return fitted(repaired(merge(plan.earlier, cut) if plan.earlier else cut, self._focus), self.limit)

    @property
    def _focus(self) -> str:
        return shortened(self.focus, FOCUS_CHARS)

    async def _part(self, texts: Sequence[str], guidance: str) -> Summary:
        """A part that is too long for one question is asked in chunks, each bringing the summary up to date."""
        smaller = self
        while True:
            try:
                return await smaller._in_chunks(texts, guidance)
            except ProviderError as error:
                if error.kind != "context_too_long" or smaller.chunk < 2 * SMALLEST_CHUNK:
                    raise
                smaller = replace(smaller, chunk=smaller.chunk // 2)

    async def _in_chunks(self, texts: Sequence[str], guidance: str) -> Summary:
        summary: Summary | None = None
        for transcript in chunks(texts, max(SMALLEST_CHUNK, self.chunk)):
            so_far = summary.text if summary is not None else ""
            summary = fitted(repaired(await self._asked(transcript, guidance, so_far), self._focus), self.limit)
        return summary or Summary()

    async def _asked(self, transcript: str, guidance: str, so_far: str) -> Summary:
        request = summary_request(
            transcript, self.language, guidance=guidance, so_far=so_far, session_id=self.session_id
        )
        answer = await self.ask(request)
        first = parse(answer)
        if not first.missing:
            return first
        try:
            second = parse(await self.ask(asked_again(request, answer, first.missing, self.language)))
        except EmptyAnswerError:
            return first
        return second if len(second.missing) <= len(first.missing) else first


def chunks(texts: Sequence[str], limit: int) -> Iterator[str]:
    """Transcripts of at most about `limit` tokens; a text that is longer alone is cut into pieces."""
    held: list[str] = []
    size = 0
    for piece in (piece for text in texts for piece in _pieces(text, limit)):
        cost = tokens(piece)
        if held and size + cost > limit:
            yield "\n\n".join(held)
            held, size = [], 0
        held.append(piece)
        size += cost
    if held:
        yield "\n\n".join(held)


def _pieces(text: str, limit: int) -> Iterator[str]:
    if tokens(text) <= limit:
        yield text
        return
    step = max(1, len(text) * limit // (tokens(text) + 1))
    for start in range(0, len(text), step):
        yield text[start : start + step]
