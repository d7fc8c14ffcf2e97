"""What the model is told of a session, changed by the user: compacted, cleared, added to."""

from collections.abc import Iterable

from msgspec import Struct

from sould.agents.journal.log import SessionLog
from sould.agents.soul.compaction.breakdown import Breakdown, ServerOf
from sould.agents.soul.compaction.compactor import Compactor
from sould.agents.soul.soul import NO_COMPACTOR, needed
from sould.agents.wire.messages import ContextCleared, ContextNote


class ModelContext(Struct, frozen=True):
    """Of one session. Like all operations it runs while nothing else works there.

    All but `tokens` and `tell` raise OptionError where the agent keeps its conversation itself.
    """

    log: SessionLog
    compactor: Compactor | None
    server_of: ServerOf

    @property
    def tokens(self) -> int:
        """Of the window that are taken, as far as is known."""
        return self.log.context.token_count + self.log.context.pending_estimate

    def status_lines(self) -> Iterable[str]:
        """See `StatusSource`."""
        if self.compactor is not None:
            yield f"- context: about {self.tokens} of {self.compactor.window} tokens"
        if given := self.log.context.prompt_given:
            place = "instead of the agent's" if given.mode == "override" else "behind the agent's"
            yield f"- instructions from the client: {len(given.text)} characters, {place}"
        if made := self.log.context.subagents:
            yield f"- subagent types made here: {', '.join(made)}"

    @property
    def breakdown(self) -> Breakdown:
        """What fills the window, as it is now."""
        return self._needed.breakdown(self.server_of)

    @property
    def free(self) -> int:
        """Tokens that can come before the conversation is compacted by itself."""
        return self._needed.free

    async def compact(self, guidance: str = "", *, preview: bool = False) -> str:
        """Compact the conversation: why it stays as it was, in a sentence, or "".

        `guidance`: what to keep; `preview`: the user sees the summary first.
        """
        compactor = self._needed
        return "" if await compactor.compact(guidance, preview=preview) else compactor.why

    def clear(self) -> None:
        """Start over with an empty context."""
        compactor = self._needed
        self.log.publish(ContextCleared())
        compactor.tell_used()

    def tell(self, note: str) -> None:
        """Something the model knows from now on; people are not shown it."""
        self.log.publish(ContextNote(text=note))

    @property
    def _needed(self) -> Compactor:
        return needed(self.compactor, NO_COMPACTOR)
