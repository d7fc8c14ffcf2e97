"""What the answers of models cost, from what providers report. An unknown price stays unknown, never 0 (D38)."""

from msgspec import Struct

from sould.agents.llm.provider import Finish, ModelInfo
from sould.agents.wire.messages import TokenUsage


class Costs(Struct):
    """The running total of one agent since its session was opened. Publishes nothing."""

    above: "Costs | None" = None
    """The session's, when these are a subagent's: what the subagent costs, the session costs."""
    total: float | None = None
    """None until a priced model answered."""

    def charge(self, info: ModelInfo, finish: Finish) -> None:
        """Count the money of a model call; the next status tells it."""
        price = cost_of(info, finish.usage) if finish.usage is not None else None
        self.total = self.total if price is None else (self.total or 0.0) + price
        if self.above is not None:
            self.above.charge(info, finish)


def cost_of(info: ModelInfo, usage: TokenUsage) -> float | None:
    """Money for one call, None when a price is unknown."""
    if info.input_price is None or info.output_price is None:
        return None
    cached = info.input_price if info.cached_input_price is None else info.cached_input_price
    fresh = usage.input_other + usage.input_cache_creation
    return (fresh * info.input_price + usage.input_cache_read * cached + usage.output * info.output_price) / 1_000_000
