"""The commands about what the model knows: `/init`, `/context`, `/compact`, `/clear`."""

from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from sould.agents.sessions.commands.conversation import Conversation
from sould.agents.sessions.commands.slash import Entry, SlashCommand
from sould.agents.sessions.operations.context import ModelContext, NotCompacted
from sould.agents.sessions.operations.wording import CLEARED, COMPACTED, breakdown_text
from sould.agents.soul.loop import Ending
from sould.agents.soul.turn import Turn

_INIT_PROMPT = Path(__file__).with_name("init.md")


class ContextCommands(Struct, frozen=True):
    """Of one session."""

    conversation: Conversation
    context: ModelContext

    def entries(self) -> Iterator[Entry]:
        """See `CommandSource`."""
        init = "Analyze the project and write its AGENTS.md"
        yield SlashCommand("init", init, "what to focus on (optional)"), self._init
        yield SlashCommand("context", "Show what fills the model's window"), self._context
        yield SlashCommand("compact", "Compact the conversation", "[preview] [what to keep]"), self._compact
        yield SlashCommand("clear", "Start over with an empty context", aliases=("reset",)), self._clear

    async def _init(self, turn: Turn, wishes: str) -> Ending:
        instruction = _INIT_PROMPT.read_text(encoding="utf-8").strip()
        return await self.conversation.ask(turn, f"{instruction}\n\n{wishes}".strip())

    async def _context(self, _turn: Turn, _: str) -> Ending:
        return self.conversation.say(breakdown_text(self.context.breakdown))

    async def _compact(self, _turn: Turn, guidance: str) -> Ending:
        """`preview` as the first word shows the summary before it is used."""
        first, _, rest = guidance.partition(" ")
        preview = first == "preview"
        done = await self.context.compact(rest.strip() if preview else guidance, preview=preview)
        if isinstance(done, NotCompacted):
            return self.conversation.say(f"The context is unchanged. {done.reason}")
        return self.conversation.say(COMPACTED)

    async def _clear(self, _turn: Turn, _: str) -> Ending:
        self.context.clear()
        return self.conversation.say(f"{CLEARED} The history stays readable.")
