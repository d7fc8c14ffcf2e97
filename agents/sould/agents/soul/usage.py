"""The meter: tells tokens and money of an agent, from what providers report."""

from msgspec import Struct

from sould.agents.journal.context import Context
from sould.agents.journal.log import SessionLog
from sould.agents.llm.costs import Costs
from sould.agents.llm.provider import Finish, ModelInfo
from sould.agents.soul.compaction.size import ContextSize
from sould.agents.wire.messages import StatusUpdate


class UsageCounter(Struct, frozen=True):
    """Of one agent: tells people after every model call how full the window is and what was spent."""

    log: SessionLog
    costs: Costs
    size: ContextSize
    """What the context takes, for providers that do not report usage."""

    def count(self, info: ModelInfo, finish: Finish) -> None:
        """Publish the status after a model call."""
        self.costs.charge(info, finish)
        cost, usage = self.costs.total, finish.usage
        tokens = usage.total if usage is not None else self.size.used
        self.log.publish(
            StatusUpdate(
                context_usage=min(1.0, tokens / info.max_context_size),
                context_tokens=tokens,
                max_context_tokens=info.max_context_size,
                token_usage=usage,
                message_id=finish.message_id,
                cost=cost,
                currency=info.currency if cost is not None else None,
            )
        )


def usage_of(context: Context, info: ModelInfo, cost: float | None) -> StatusUpdate | None:
    """How full the model's window is and what the session has cost; None before a model has counted anything."""
    if not context.token_count:
        return None
    return StatusUpdate(
        context_tokens=context.token_count + context.pending_estimate,
        max_context_tokens=info.max_context_size,
        cost=cost,
        currency=info.currency if cost is not None else None,
    )
