"""The meter: tokens and money of a session, from what providers report. An unknown price stays unknown, never 0 (D38)."""

from dataclasses import dataclass

from sould.agents.llm.provider import Finish, ModelInfo
from sould.agents.wire.log import SessionLog
from sould.agents.wire.messages import StatusUpdate, TokenUsage


@dataclass(slots=True)
class Meter:
    """Running totals of one session; `cost` is None until a priced model answered."""

    log: SessionLog
    cost: float | None = None

    def count(self, info: ModelInfo, finish: Finish) -> None:
        """Publish the status after a model call."""
        usage = finish.usage
        if usage is not None:
            price = cost_of(info, usage)
            self.cost = self.cost if price is None else (self.cost or 0.0) + price
        tokens = usage.total if usage is not None else self.log.context.token_count + self.log.context.pending_estimate
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


def cost_of(info: ModelInfo, usage: TokenUsage) -> float | None:
    """Money for one call, None when a price is unknown."""
    if info.input_price is None or info.output_price is None:
        return None
    cached = info.input_price if info.cached_input_price is None else info.cached_input_price
    fresh = usage.input_other + usage.input_cache_creation
    return (fresh * info.input_price + usage.input_cache_read * cached + usage.output * info.output_price) / 1_000_000
