"""Finding models without configuration: provider keys in the session's environment, servers on this machine.

It only looks: it starts nothing, stores nothing and sends keys to nobody but the server they belong to. A base URL from
an environment is used only with a key from the same environment (D14).
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from typing import TypeAlias, get_args
from urllib.parse import urlsplit

import orjson
from msgspec import Struct
from pydantic import SecretStr, ValidationError

from sould.agents.base.config import Capability, ModelConfig, ProviderConfig
from sould.agents.llm.openai import bearer
from sould.agents.llm.registry import TYPES, VENDORS, Vendor
from sould.agents.llm.server import ServedModel, served_models

_PROBE_S = 0.4
_PROBE_BYTES = 1024 * 1024
DEFAULT_CONTEXT = 131_072
_LOCAL_CONTEXT = 32_768
CLOUD: frozenset[Capability] = frozenset({"image_in", "thinking"})


Probe: TypeAlias = Callable[[str, SecretStr], Awaitable[tuple[ServedModel, ...]]]
"""Ask the server at a base URL which models it has; empty when it cannot be reached quickly."""


KeyLookup: TypeAlias = Callable[[str], Awaitable[SecretStr | None]]
"""A provider's stored key, by the provider's name."""


class Found(Struct, frozen=True):
    """A provider and the models to offer, as if they had been configured. Model keys are `provider/model`."""

    name: str
    provider: ProviderConfig
    models: Mapping[str, ModelConfig]


_OFFERED = tuple(vendor for vendor in VENDORS.values() if vendor.model)

_KIMI_SETTINGS = {
    "temperature": ("KIMI_MODEL_TEMPERATURE",),
    "top_p": ("KIMI_MODEL_TOP_P",),
    "max_output_tokens": ("KIMI_MODEL_MAX_COMPLETION_TOKENS", "KIMI_MODEL_MAX_TOKENS"),
}
"""What kimi-cli's users say of the model in variables."""

DISCOVERY_VARIABLES = (
    *(name for vendor in _OFFERED for name in vendor.key_variables),
    *(name for service in _OFFERED for name in (service.url_variable, service.model_variable)),
    "KIMI_MODEL_MAX_CONTEXT_SIZE",
    "KIMI_MODEL_CAPABILITIES",
    *(variable for variables in _KIMI_SETTINGS.values() for variable in variables),
)
"""Every variable discovery looks at."""

_LOCAL = (("ollama", "http://127.0.0.1:11434/v1"), ("lmstudio", "http://127.0.0.1:1234/v1"))


async def no_keys(_provider: str) -> SecretStr | None:
    """The lookup that knows nothing."""
    return None


async def discover(
    environment: Mapping[str, str],
    probe: Probe,
    keys: KeyLookup = no_keys,
    local: tuple[tuple[str, str], ...] = _LOCAL,
) -> tuple[Found, ...]:
    """What the environment, stored keys and this machine offer, in the order of preference: services, then local servers."""
    services = [_service(service, environment, probe, keys) for service in _OFFERED]
    servers = [_local(name, base_url, probe) for name, base_url in local]
    found = await asyncio.gather(*services, *servers)
    return tuple(item for item in found if item is not None)


def unused(environment: Mapping[str, str]) -> tuple[str, ...]:
    """A sentence for each address and each key in the environment that is not used as it stands there, with what to do."""
    return (*_unused_addresses(environment), *_unused_keys(environment))


def _unused_addresses(environment: Mapping[str, str]) -> Iterator[str]:
    for service in _OFFERED:
        keys = service.key_variables
        if environment.get(service.url_variable, "").strip() and not _set(keys, environment):
            yield (
                f"{service.url_variable} is not used: an address goes with a key from the same environment, and "
                f"{' or '.join(keys)} is not set (a server that wants none takes any word)."
            )


def _unused_keys(environment: Mapping[str, str]) -> Iterator[str]:
    for vendor in VENDORS.values():
        variable = _set(vendor.key_variables, environment)
        if variable and not vendor.model:
            yield (
                f"{variable} is set, but no model to use it with: add one to the configuration (`sould config edit`), "
                f'[models.NAME] with provider = "{vendor.name}", model = "..." and max_context_size = {vendor.context}.'
            )


def _set(variables: Iterable[str], environment: Mapping[str, str]) -> str:
    return next((name for name in variables if environment.get(name, "").strip()), "")


def _provider(vendor: Vendor) -> ProviderConfig:
    """The vendor at its own address, as a configuration would name it."""
    if vendor.name in TYPES:
        return ProviderConfig(type=vendor.name, base_url=vendor.base_url)
    return ProviderConfig(type="openai_compatible", vendor=vendor.name, base_url=vendor.base_url)


def address_variable(provider: str, environment: Mapping[str, str]) -> str:
    """The variable that the address of a found provider stands in; "" where none says it."""
    names = (service.url_variable for service in _OFFERED if service.name == provider)
    return next((name for name in names if environment.get(name)), "")


def known_services() -> tuple[Found, ...]:
    """The services that need nothing but a key, as `discover` would find them; for `sould login`."""
    return tuple(
        Found(
            service.name,
            _provider(service),
            models_of(service.name, (ServedModel(service.model, service.context),), CLOUD, DEFAULT_CONTEXT),
        )
        for service in _OFFERED
    )


async def _service(service: Vendor, environment: Mapping[str, str], probe: Probe, keys: KeyLookup) -> Found | None:
    variable = _set(service.key_variables, environment)
    if not variable:
        return _stored(service, environment, await keys(service.name))
    own_url = environment.get(service.url_variable) or ""
    provider = _provider(service).model_copy(update={"base_url": own_url or service.base_url, "api_key_env": variable})
    wanted = environment.get(service.model_variable)
    served: tuple[ServedModel, ...] = (ServedModel(wanted or service.model, service.context),)
    if own_url and not wanted:
        # another server behind the same variables: only it knows what it serves
        served = await probe(own_url, SecretStr(environment[variable].strip())) or served
    if service.name == "kimi":
        served = tuple(_with_kimi_context(model, environment) for model in served)
    models = models_of(service.name, served, CLOUD, DEFAULT_CONTEXT)
    if service.name == "kimi":
        models = {key: with_kimi_settings(model, environment) for key, model in models.items()}
    return Found(service.name, provider, models)


def _stored(service: Vendor, environment: Mapping[str, str], key: SecretStr | None) -> Found | None:
    """A service the user has logged in to: at its own address, whatever the environment's URL says (D14)."""
    if key is None:
        return None
    provider = _provider(service).model_copy(update={"api_key": key})
    served = ServedModel(environment.get(service.model_variable) or service.model, service.context)
    return Found(service.name, provider, models_of(service.name, (served,), CLOUD, DEFAULT_CONTEXT))


def _with_kimi_context(model: ServedModel, environment: Mapping[str, str]) -> ServedModel:
    size = environment.get("KIMI_MODEL_MAX_CONTEXT_SIZE", "")
    return ServedModel(model.name, int(size)) if size.isdigit() and int(size) >= 1000 else model


def with_kimi_settings(model: ModelConfig, environment: Mapping[str, str]) -> ModelConfig:
    """A value that makes no sense changes nothing, as in kimi-cli."""
    for name, variables in _KIMI_SETTINGS.items():
        value = next((environment[each] for each in variables if environment.get(each)), None)
        if value is not None:
            with contextlib.suppress(ValidationError):
                model = ModelConfig.model_validate(model.model_dump() | {name: value})
    named = {name.strip() for name in environment.get("KIMI_MODEL_CAPABILITIES", "").split(",")}
    capabilities = frozenset(known for known in get_args(Capability) if known in named)
    return model.model_copy(update={"capabilities": capabilities}) if capabilities else model


async def _local(name: str, base_url: str, probe: Probe) -> Found | None:
    served = await probe(base_url, SecretStr(""))
    if not served:
        return None
    provider = ProviderConfig(type="openai_compatible", base_url=base_url)
    return Found(name, provider, models_of(name, served, frozenset(), _LOCAL_CONTEXT))


def models_of(
    provider: str, served: tuple[ServedModel, ...], capabilities: frozenset[Capability], context: int
) -> dict[str, ModelConfig]:
    """Models as they are offered, by `provider/model`; `context` is that of those whose server does not say it."""
    return {
        f"{provider}/{model.name}": ModelConfig(
            provider=provider,
            model=model.name,
            max_context_size=max(1000, model.context or context),
            capabilities=capabilities,
        )
        for model in served
        if "embed" not in model.name
    }


async def probe_server(base_url: str, key: SecretStr) -> tuple[ServedModel, ...]:
    """`GET /models`, for plain HTTP on this machine only and within 0.4 s: a foreign address is not asked uninvited."""
    host, port, path = _loopback(base_url)
    if not host:
        return ()
    try:
        async with asyncio.timeout(_PROBE_S):
            body = await _get(host, port, f"{path}/models", key)
        return served_models(orjson.loads(body))
    except (OSError, TimeoutError, ValueError, TypeError, KeyError, AttributeError, asyncio.IncompleteReadError):
        return ()


def _loopback(base_url: str) -> tuple[str, int, str]:
    try:
        parts = urlsplit(base_url)
        port = parts.port or 80
    except ValueError:
        return "", 0, ""
    local = parts.scheme == "http" and parts.hostname in {"127.0.0.1", "localhost", "::1"}
    return (parts.hostname or "" if local else ""), port, parts.path.rstrip("/")


async def _get(host: str, port: int, path: str, key: SecretStr) -> bytes:
    reader, writer = await asyncio.open_connection(host, port)
    try:
        authorization = "".join(f"{name}: {value}\r\n" for name, value in bearer(key).items())
        # HTTP/1.0: no chunked answers to take apart
        writer.write(
            f"GET {path} HTTP/1.0\r\nHost: {host}:{port}\r\nAccept: application/json\r\n{authorization}\r\n".encode()
        )
        answer = await reader.read(_PROBE_BYTES)
        while len(answer) < _PROBE_BYTES and (more := await reader.read(_PROBE_BYTES)):
            answer += more
    finally:
        writer.close()
    head, _, body = answer.partition(b"\r\n\r\n")
    if b" 200" not in head.split(b"\r\n", 1)[0]:
        raise ValueError("not a list of models")
    return body
