"""Which model answers in a session, at what cost, and the options about it: the user's choice among those that are offered.

Where none can be used, something that says what to do stands in its place.
"""

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from sould.agents.base.errors import ConfigError, NoModelError
from sould.agents.base.liveconfig import LiveConfig
from sould.agents.journal.log import SessionLog
from sould.agents.llm.costs import Costs
from sould.agents.llm.given import is_given, is_of_another
from sould.agents.llm.pool import ProviderPool
from sould.agents.llm.provider import ChatProvider, ChatRequest, DeltaStream, ModelInfo, ProviderError, ThoughtLevel
from sould.agents.sessions.settings.budgets import Budgets, DailySpend
from sould.agents.sessions.settings.options import OptionChoice, SessionOption
from sould.agents.sessions.settings.state import SessionState
from sould.agents.soul.model_call import Model
from sould.agents.soul.session_request import SessionRequest

THOUGHT_LEVELS: dict[ThoughtLevel, OptionChoice] = {
    "off": OptionChoice("off", "Thinking off", "Answer without extended reasoning."),
    "low": OptionChoice("low", "Thinking low", "A little reasoning."),
    "medium": OptionChoice("medium", "Thinking medium", "Balanced."),
    "high": OptionChoice("high", "Thinking high", "As much reasoning as the model offers."),
}
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


class SessionModels(Struct):
    """The models of one session's environment, and the chosen one. Made by `open`."""

    _pool: ProviderPool
    _environment: Mapping[str, str]
    available: tuple[ModelInfo, ...]
    """Every model the session could use, the default first."""
    _provider: ChatProvider
    thought_level: ThoughtLevel
    lasting: bool = False
    """All this is as `refresh` would find it, as long as the configuration stays the same."""

    @classmethod
    async def open(
        cls, pool: ProviderPool, environment: Mapping[str, str], key: str | None, thought_level: ThoughtLevel
    ) -> "SessionModels":
        """Choose `key` if it is still offered, else the default; one that cannot be used says why when it is asked.

        So does one of a server that a client gave, and that is not known now: no other is asked in its place.
        """
        available = await pool.models(environment)
        offered = {info.key for info in available}
        chosen = key if key in offered or is_of_another(key, offered) else None
        provider = await model_or_missing(pool, chosen, environment, available)
        return cls(pool, environment, available, provider, thought_level)

    @property
    def provider(self) -> ChatProvider:
        """The chosen model's provider."""
        return self._provider

    @property
    def missing(self) -> bool:
        """The chosen model cannot be used: whoever asks it is told why, at once."""
        return isinstance(self._provider, MissingModel)

    def capabilities(self) -> frozenset[str]:
        """What the chosen model can take in."""
        return frozenset(self.info.capabilities)

    @property
    def info(self) -> ModelInfo:
        """The chosen model."""
        return self._provider.info

    async def choose(self, key: str) -> None:
        """Use another model from the next step on. Raises NoModelError when it cannot work."""
        self._provider, self.lasting = await self._pool.get(key, self._environment), False

    async def prefer(self, key: str | None) -> None:
        """Use another model, None for the default, from the next step on; one that cannot be used says why when it is asked."""
        provider = await model_or_missing(self._pool, key, self._environment, self.available)
        self._provider, self.lasting = provider, False

    def think(self, level: ThoughtLevel) -> None:
        """Let the model reason so much from the next step on, if it can."""
        self.thought_level = level

    async def other(self, key: str) -> "SessionModels":
        """The same models with another one chosen. Raises NoModelError, naming those there are."""
        if key not in {info.key for info in self.available}:
            known = ", ".join(info.key for info in self.available)
            raise NoModelError(f"There is no model {key!r}; there are {known}.")
        return replace(self, _provider=await self._pool.get(key, self._environment))

    async def refresh(self) -> None:
        """Take up a changed configuration, also a model that was missing; a chosen one that is gone stays until another is chosen."""
        self.lasting = False
        self.available = await self._pool.models(self._environment)
        if isinstance(self._provider, MissingModel):
            await self.prefer(self._provider.wanted)
        elif any(info.key == self.info.key for info in self.available):
            try:
                self._provider = await self._pool.get(self.info.key, self._environment)
            except (NoModelError, ConfigError):
                return
            self.lasting = self._pool.is_configured(self.info.key, self._environment)

    def model(self) -> Model:
        """What the next step asks."""
        thinks = "thinking" in self.info.capabilities
        return Model(self._provider, self.thought_level if thinks else None)


class ModelUse(Struct, frozen=True):
    """Of one session."""

    models: SessionModels
    costs: Costs
    budgets: Budgets
    """Of the whole session, whichever agent spends."""


async def open_model_use(
    providers: ProviderPool,
    config: LiveConfig,
    log: SessionLog,
    state: SessionState,
    opening: SessionRequest,
    directory: Path,
) -> ModelUse:
    """The models of the client's environment, with the one the user chose, and the budgets.

    Those of the day are kept in `directory` for all sessions.
    """
    thinking: ThoughtLevel = state.thought_level or ("medium" if config.now.default_thinking else "off")
    models = await SessionModels.open(providers, opening.environment, opening.model or state.model, thinking)
    if is_given(models.info.key):  # without its server, the session shall not ask another
        state.choose_model(models.info.key)
    costs = Costs()
    return ModelUse(
        models, costs, Budgets(log.channel, state.account, DailySpend(directory / "spending.json"), config, costs)
    )


class ModelOption:
    """The `model` option of one session."""

    def __init__(self, models: SessionModels, state: SessionState) -> None:
        self._models = models
        self._state = state

    def option(self) -> SessionOption | None:
        """See `OptionSource`."""
        if not self._models.available:
            return None
        choices = tuple(
            OptionChoice(info.key, info.display_name or info.key, info.provider) for info in self._models.available
        )
        description = "The model, from the next step on."
        return SessionOption("model", "Model", "model", description, self._models.info.key, choices)

    async def choose(self, value: str, client_id: str) -> None:
        """See `OptionSource`."""
        await self._models.choose(value)
        self._state.choose_model(value)


class ThoughtOption:
    """The `thought_level` option of one session, for models that reason."""

    def __init__(self, models: SessionModels, state: SessionState) -> None:
        self._models = models
        self._state = state

    def option(self) -> SessionOption | None:
        """See `OptionSource`."""
        if "thinking" not in self._models.info.capabilities:
            return None
        description, level = "How much the model reasons before it answers.", self._models.thought_level
        choices = tuple(THOUGHT_LEVELS.values())
        return SessionOption("thought_level", "Thinking", "thought_level", description, level, choices)

    async def choose(self, value: str, client_id: str) -> None:
        """See `OptionSource`."""
        level: ThoughtLevel = next(known for known in THOUGHT_LEVELS if known == value)
        self._models.think(level)
        self._state.choose_thought_level(level)


def model_options(models: SessionModels, state: SessionState) -> tuple[ModelOption, ThoughtOption]:
    """Both, in the order clients show them."""
    return ModelOption(models, state), ThoughtOption(models, state)
