"""The model's context as a fold of the message stream: live and rebuilt sessions run the same code.

Never reads a file, never asks a model, never counts tokens beyond an estimate. Whatever the stream, `messages` is
well-formed for a provider: every tool call has exactly one result, right after it.
"""

from collections.abc import Sequence

from sould.agents.llm.provider import ChatMessage
from sould.agents.wire.messages import WireMessage

INTERRUPTED = "interrupted; it may or may not have run"


class Context:
    """What the model remembers."""

    def __init__(self) -> None:
        self.system_prompt = ""
        self.checkpoint = -1
        """The newest checkpoint's id; ids count from 0 and are never reused (D28)."""
        self.token_count = 0
        """Tokens of the last model call, as the provider counted them."""

    def apply(self, message: WireMessage) -> None:
        """Fold one message (or delta) in."""
        raise NotImplementedError

    @property
    def messages(self) -> Sequence[ChatMessage]:
        """The conversation for the next model call."""
        raise NotImplementedError

    @property
    def pending_estimate(self) -> int:
        """Estimated tokens added since `token_count` was reported."""
        raise NotImplementedError

    def has_checkpoint(self, checkpoint_id: int) -> bool:
        """Whether `ContextReverted` can go there: it exists and lies after the last compaction."""
        raise NotImplementedError
