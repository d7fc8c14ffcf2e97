"""The meter: tokens and money of a session, from what providers report. An unknown price stays unknown, never 0 (D38)."""

from collections.abc import Callable
from dataclasses import dataclass

from sould.agents.llm.provider import Finish, ModelInfo
from sould.agents.sessionlog.context import Context
from sould.agents.sessionlog.log import SessionLog
from sould.agents.wire.messages import StatusUpdate, TokenUsage


@dataclass(slots=True)
class Meter:
    """Running totals of one session; `cost` is None until a priced model answered."""

    log: SessionLog
    cost: float | None = None
    estimate: Callable[[], int] | None = None
    """What the context takes, for providers that do not report usage."""
    above: "Meter | None" = None
    """The session's, when this is a subagent's: what the subagent costs, the session costs."""

    def count(self, info: ModelInfo, finish: Finish) -> None:
        """Publish the status after a model call."""
        self.charge(info, finish)
        usage = finish.usage
        tokens = usage.total if usage is not None else self._estimated()
        self.log.publish(
            StatusUpdate(
                context_usage=min(1.0, tokens / info.max_context_size),
                context_tokens=tokens,
                max_context_tokens=info.max_context_size,
                token_usage=usage,
                message_id=finish.message_id,
                cost=self.cost,
                currency=info.currency if self.cost is not None else None,
            )
        )

    def _estimated(self) -> int:
        context = self.log.context
        return self.estimate() if self.estimate is not None else context.token_count + context.pending_estimate

    def charge(self, info: ModelInfo, finish: Finish) -> None:
        """Count the money of a model call that is not part of the conversation; the next status tells it."""
        price = cost_of(info, finish.usage) if finish.usage is not None else None
        self.cost = self.cost if price is None else (self.cost or 0.0) + price
        if self.above is not None:
            self.above.charge(info, finish)


def cost_of(info: ModelInfo, usage: TokenUsage) -> float | None:
    """Money for one call, None when a price is unknown."""
    if info.input_price is None or info.output_price is None:
        return None
    cached = info.input_price if info.cached_input_price is None else info.cached_input_price
    fresh = usage.input_other + usage.input_cache_creation
    return (fresh * info.input_price + usage.input_cache_read * cached + usage.output * info.output_price) / 1_000_000


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
