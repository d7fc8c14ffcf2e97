"""What kimi-cli's users say in variables of a model that is configured: there the variables win over the file."""

from collections.abc import Mapping
from typing import Final

from pydantic import SecretStr

from sould.agents.base.config import Config, ModelConfig, ProviderConfig
from sould.agents.llm.discovery import with_kimi_settings

_VARIABLES: Final = {"kimi": "KIMI", "openai_legacy": "OPENAI", "openai_responses": "OPENAI"}
"""How the variables of a provider begin, by its type."""


def with_kimi_variables(config: Config, environment: Mapping[str, str]) -> Config:
    """The configuration, with what `environment` says otherwise. A value that makes no sense changes nothing."""
    providers = {name: _provider(each, environment) for name, each in config.providers.items()}
    models = {
        key: _model(each, environment) if _type_of(config, each) == "kimi" else each
        for key, each in config.models.items()
    }
    return config.model_copy(update={"providers": providers, "models": models})


def _type_of(config: Config, model: ModelConfig) -> str:
    provider = config.providers.get(model.provider)
    return provider.type if provider is not None else ""


def _provider(provider: ProviderConfig, environment: Mapping[str, str]) -> ProviderConfig:
    """An address is taken only with a key from the same environment (D14)."""
    begin = _VARIABLES.get(provider.type)
    key = environment.get(f"{begin}_API_KEY", "").strip()
    if not key:
        return provider
    address = environment.get(f"{begin}_BASE_URL", "").strip() or provider.base_url
    return provider.model_copy(update={"api_key": SecretStr(key), "base_url": address})


def _model(model: ModelConfig, environment: Mapping[str, str]) -> ModelConfig:
    name, size = environment.get("KIMI_MODEL_NAME", "").strip(), environment.get("KIMI_MODEL_MAX_CONTEXT_SIZE", "")
    named = model.model_copy(update={"model": name or model.model})
    if size.isdigit() and int(size) >= 1000:
        named = named.model_copy(update={"max_context_size": int(size)})
    return with_kimi_settings(named, environment)
