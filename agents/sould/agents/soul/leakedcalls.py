"""Calls that a model wrote as text, because its server did not recognize them: it is asked once more to make them.

The text is never run: who made it up cannot be told from the text of a page or a file. Calls that an answer shows in a code
block are part of the answer.
"""

import re
from collections import Counter

from msgspec import Struct

from sould.agents.journal.log import SessionLog
from sould.agents.soul.loop import StepExtension
from sould.agents.soul.turn import Turn
from sould.agents.toolapi.toolset import Toolset
from sould.agents.wire.content import TextPart
from sould.agents.wire.messages import ContextNote
from sould.agents.wire.notice import notice

NOTE = (
    "Your last message holds a call of a tool as text, so nothing was run. If you meant to call it, make the call as a tool call "
    "now; if not, say again what you wanted to say, without such markup."
)
_MARKUP = re.compile(
    r"<tool_call>|<function=\w|<function_calls>|<invoke name=|<\|tool_calls?(?:_section)?_begin|<\|tool_call\|>|\[TOOL_CALLS\]"
    "|<\N{FULLWIDTH VERTICAL LINE}tool\N{LOWER ONE EIGHTH BLOCK}calls?\N{LOWER ONE EIGHTH BLOCK}begin"
)
"""How Hermes and Qwen, Qwen3-Coder, Claude, Kimi, GLM, Mistral and DeepSeek write calls."""
_CODE = re.compile(r"```.*?(?:```|\Z)|`[^`\n]*`", re.DOTALL)


class LeakedCalls(StepExtension, Struct):
    """Asks for them again, not twice in a row."""

    log: SessionLog
    toolset: Toolset
    counts: Counter[str]
    """See `Repairs.counts`."""
    _asked_at: int = -1
    """How many messages there were when it asked last."""

    async def before_stop(self, turn: Turn) -> bool:
        """See `StepExtension`."""
        messages = self.log.context.messages
        said = messages[-1] if messages and messages[-1].role == "assistant" else None
        if said is None or said.tool_calls or len(messages) == self._asked_at + 1:
            return False
        text = "".join(part.text for part in said.content if isinstance(part, TextPart))
        if not self._is_call(text):
            return False
        self.log.publish(ContextNote(text=NOTE))
        self.log.publish(
            notice("repair", "The model wrote a call as text", "It was asked to make it.", severity="warning")
        )
        self.counts["call"] += 1
        self._asked_at = len(self.log.context.messages)
        return True

    def _is_call(self, text: str) -> bool:
        plain = _CODE.sub("", text) if "`" in text else text
        return bool(_MARKUP.search(plain)) and any(spec.name in plain for spec in self.toolset.specs)
