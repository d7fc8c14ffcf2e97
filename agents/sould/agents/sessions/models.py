"""Which model answers in a session: the user's choice among those its environment and the configuration offer."""

from collections.abc import Mapping, Sequence

from sould.agents.errors import NoModelError
from sould.agents.llm.pool import ProviderPool
from sould.agents.llm.provider import ModelInfo, ThoughtLevel
from sould.agents.soul.answer import Model


class SessionModels:
    """The models of one session's environment, and the chosen one."""

    def __init__(
        self, pool: ProviderPool, environment: Mapping[str, str], key: str | None, thought_level: ThoughtLevel | None
    ) -> None:
        """Choose `key` if it is still offered, else the default.

        Raises:
            NoModelError: nothing is configured and nothing was found.
        """
        self._pool = pool
        self._environment = environment
        offered = {info.key: info for info in self.available}
        if not offered:
            raise NoModelError(
                "No model is configured: set an API key in the environment, start Ollama, or run `sould login`."
            )
        chosen = key if key in offered else pool.default_key(environment)
        self._key = chosen if chosen in offered else next(iter(offered))
        self.thought_level: ThoughtLevel = thought_level or "off"

    @property
    def available(self) -> Sequence[ModelInfo]:
        """Every model the session could use, in configuration order."""
        return self._pool.models(self._environment)

    @property
    def info(self) -> ModelInfo:
        """The chosen model."""
        return self.model().provider.info

    def choose(self, key: str) -> None:
        """Use another model from the next step on."""
        self._key = key

    def model(self) -> Model:
        """What the next step asks."""
        provider = self._pool.get(self._key, self._environment)
        thinks = "thinking" in provider.info.capabilities
        return Model(provider, self.thought_level if thinks else None)
