"""The options about the model: which one answers, and how much it reasons."""

from sould.agents.llm.provider import ThoughtLevel
from sould.agents.sessions.settings.models import SessionModels
from sould.agents.sessions.settings.options import Choice, SessionOption
from sould.agents.sessions.settings.state import SessionState

THOUGHT_LEVELS: dict[ThoughtLevel, Choice] = {
    "off": Choice("off", "Thinking off", "Answer without extended reasoning."),
    "low": Choice("low", "Thinking low", "A little reasoning."),
    "medium": Choice("medium", "Thinking medium", "Balanced."),
    "high": Choice("high", "Thinking high", "As much reasoning as the model offers."),
}


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
            Choice(info.key, info.display_name or info.key, info.provider) for info in self._models.available
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
