"""How many tokens the next model call of an agent takes: the conversation, and the tools while nothing has counted them."""

from msgspec import Struct

from sould.agents.journal.log import SessionLog
from sould.agents.soul.compaction.breakdown import Breakdown, Sizes, ToolOwners, broken_down, spec_tokens
from sould.agents.toolapi.toolset import Toolset


class ContextSize(Struct):
    """Of one agent: of its log, with the tools that it has at the moment."""

    log: SessionLog
    toolset: Toolset
    _tool_tokens: tuple[int, int] = (-1, 0)

    @property
    def used(self) -> int:
        """Tokens the next model call will take, as far as is known."""
        context = self.log.context
        # before the first report nothing has counted the tools
        unseen = 0 if context.token_count else self.tools
        return context.token_count + context.pending_estimate + unseen

    @property
    def tools(self) -> int:
        """Tokens of what the model is told of the tools, estimated."""
        specs = self.toolset.specs
        if self._tool_tokens[0] != len(specs):
            self._tool_tokens = (len(specs), sum(map(spec_tokens, specs)))
        return self._tool_tokens[1]

    def breakdown(self, owners: ToolOwners, window: int) -> Breakdown:
        """What it is made of."""
        context = self.log.context
        sizes = Sizes(self.used, window, bool(context.token_count))
        return broken_down(context.system_prompt, context.messages, self.toolset.specs, owners, sizes)
