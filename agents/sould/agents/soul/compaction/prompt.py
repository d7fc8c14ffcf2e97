"""What the summarising model is asked. Pinned by golden files: a changed word here is a changed product."""

from collections.abc import Sequence
from pathlib import Path

from sould.agents.llm.provider import ChatMessage, ChatRequest
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


def request(
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


def again(asked: ChatRequest, answer: str, missing: Sequence[str], language: Language) -> ChatRequest:
    """Ask once more for an answer that lacks sections."""
    reply = (ChatMessage("assistant", (TextPart(text=answer),)),) if answer.strip() else ()
    complaint = ChatMessage("user", (TextPart(text=_AGAIN[language].format(", ".join(missing))),))
    return ChatRequest(asked.system_prompt, (*asked.messages, *reply, complaint), session_id=asked.session_id)
