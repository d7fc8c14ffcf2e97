"""What stands in place of a model that cannot be used: a session has it like any other, and whoever asks it is told what to do."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Final

from sould.agents.base.errors import ConfigError, NoModelError
from sould.agents.llm.pool import ProviderPool
from sould.agents.llm.provider import ChatProvider, ChatRequest, DeltaStream, ModelInfo, ProviderError

_NONE: Final = ModelInfo(key="", model="no model", provider="", max_context_size=128_000)
"""Of no model at all. Its window only has to be one that any prompt fits in."""


class MissingModel:
    """A `ChatProvider` that always fails. `wanted`: the model's key, None for the default; `info`: what is known of that model."""

    def __init__(self, wanted: str | None, info: ModelInfo, problem: NoModelError | ConfigError) -> None:
        self.wanted = wanted
        self.info = info
        self._problem = problem

    def stream(self, request: ChatRequest) -> AbstractAsyncContextManager[DeltaStream]:
        """See `ChatProvider`."""
        raise ProviderError(self._problem.message, kind=self._problem.kind)


async def model_or_missing(
    pool: ProviderPool, wanted: str | None, environment: Mapping[str, str], available: Sequence[ModelInfo]
) -> ChatProvider:
    """The model of this key, None for the default. `available`: the models of the environment, the default first."""
    try:
        return await pool.get(wanted, environment)
    except (NoModelError, ConfigError) as problem:
        known = (info for info in available if wanted in (None, info.key))
        return MissingModel(wanted, next(known, _NONE), problem)
