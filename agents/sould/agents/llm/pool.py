"""The provider pool: from a model's key and a session's environment to a provider that can be asked.

It builds a client once for each distinct (server, key, proxy and CA settings) and shares it. Keys come from the
configuration, the session's environment or the keyring, in that order; the daemon's own environment is never read.
"""

import asyncio
import difflib
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

from msgspec import Struct
from msgspec.structs import replace
from pydantic import SecretStr

from sould.agents.base.config import Capability, Config, ModelConfig
from sould.agents.base.errors import ConfigError, NoModelError
from sould.agents.base.importing import begin_loading, is_loaded
from sould.agents.base.liveconfig import LiveConfig
from sould.agents.base.network.settings import NetworkSettings
from sould.agents.llm.discovery import (
    DISCOVERY_VARIABLES,
    Found,
    KeyLookup,
    Probe,
    address_variable,
    discover,
    no_keys,
    probe_server,
    unused,
)
from sould.agents.llm.given import is_of_another
from sould.agents.llm.openai import OpenAIClient
from sould.agents.llm.provider import ChatProvider, ModelInfo
from sould.agents.llm.registry import CHAT, ECHO, KEY_VARIABLES, OFFLINE, TYPES, Known, ProviderType, known
from sould.agents.llm.requests import RequestStyle
from sould.agents.llm.scripted import SCRIPTS_VARIABLE, EchoProvider, ScriptedProvider
from sould.agents.llm.server import Check, Connect, ModelClient, ProviderSettings
from sould.agents.llm.tokens import TokenStore

if TYPE_CHECKING:
    from sould.agents.llm.signin import SignIn

NO_MODEL = (
    "No model is configured. Run `sould login` in a terminal, start Ollama or LM Studio, set MOONSHOT_API_KEY, "
    "OPENAI_API_KEY or OPENROUTER_API_KEY, or write a configuration file (`sould config edit`)."
)

_FOUND_HOLDS_S = 5.0
AFTER_OPENING = 0.25
"""Seconds from a first session to loading it: that session is open by then, and nobody has typed a question yet."""


def key_variables(config: Config) -> frozenset[str]:
    """Every variable that may hold a provider key: what commands and MCP servers do not get (D14)."""
    named = {provider.api_key_env for provider in config.providers.values() if provider.api_key_env}
    return (KEY_VARIABLES | named) - set(config.environment.pass_keys)


PROTOCOLS: Final[Mapping[str, Connect]] = {CHAT: OpenAIClient}
"""How servers are asked, by the names that `registry.TYPES` gives the protocols."""


class _Choice(Struct, frozen=True):
    """A model with its provider, configured or found."""

    key: str
    model: ModelConfig
    provider: Known


def troubles(config: Config) -> tuple[str, ...]:
    """One sentence for each configured model that cannot work as written, with the model's name (D22)."""
    return _said(config, _trouble)


def remarks(config: Config) -> tuple[str, ...]:
    """One sentence for each configured model that works in another way than its configuration may let one think."""
    return _said(config, _remark)


def _said(config: Config, about: Callable[[str, ModelConfig, Known | None], str | None]) -> tuple[str, ...]:
    named = ((key, model, config.providers.get(model.provider)) for key, model in config.models.items())
    said = (about(key, model, known(model.provider, written)) for key, model, written in named)
    return tuple(sentence for sentence in said if sentence)


EnvironmentHint: TypeAlias = Callable[[Mapping[str, str]], str]
"""Why an environment may miss a model that the user has elsewhere.

A sentence to be said with the error; "" when there is nothing to say.
"""


def _no_hint(environment: Mapping[str, str]) -> str:
    del environment
    return ""


class ProviderPool:
    """All models of a configuration and of a session's environment. Reloads take effect at the next use."""

    def __init__(
        self,
        config: LiveConfig,
        *,
        keys: KeyLookup = no_keys,
        tokens: TokenStore | None = None,
        probe: Probe = probe_server,
        hint: EnvironmentHint = _no_hint,
        types: Mapping[str, ProviderType] = TYPES,
        protocols: Mapping[str, Connect] = PROTOCOLS,
    ) -> None:
        """`tokens` None: nobody can be signed in. `hint`: why this environment may miss a model, said with the error."""
        self.repairs = Counter[str]()
        """How often conversations were mended because a server refused them, by what was done."""
        self._config = config
        self._keys = keys
        self._tokens = tokens
        self._sign_ins: dict[object, SignIn] = {}
        self._probe = probe
        self._hint = hint
        self._found: dict[object, tuple[float, tuple[Found, ...]]] = {}
        self._types = types
        self._protocols = protocols
        self._clients: dict[object, ModelClient] = {}
        self._scripted: dict[tuple[ModelInfo, Path], tuple[int, ScriptedProvider]] = {}

    async def models(self, environment: Mapping[str, str]) -> tuple[ModelInfo, ...]:
        """The usable models, the default first; configured ones before discovered ones."""
        choices = await self._choices(environment)
        default = self._config.now.default_model
        infos = [_info(choice) for choice in choices.values()]
        return tuple(sorted(infos, key=lambda info: info.key != default))

    async def get(self, model_key: str | None, environment: Mapping[str, str]) -> ChatProvider:
        """The provider of a model; None: the default one.

        Raises:
            NoModelError: nothing is configured or found, no such model, or no key for it; says what to do.
            ConfigError: an address, a key or a header, or a proxy or certificates of the environment, cannot be used; the model
                is of a server that a client gave, and that is not known.
        """
        choice = await self._chosen(model_key, environment)
        if choice.provider.type.protocol in OFFLINE:
            return self._offline(choice, environment)
        info, client, sign_in = await self._online(choice, environment)
        if sign_in is None:
            return client.model(info, _style(choice))
        from sould.agents.llm.signin import SignedInProvider  # noqa: PLC0415 -- loads what signs in

        return SignedInProvider(info, client, _style(choice), sign_in)

    async def check(self, model_key: str, environment: Mapping[str, str], timeout_s: float) -> Check:
        """Whether a model can be asked, at the least cost; nothing is renewed. Raises as `get` does."""
        choice = await self._chosen(model_key, environment)
        if choice.provider.type.protocol in OFFLINE:
            self._offline(choice, environment)
            return Check(said="it is a script or an echo and needs no server")
        info, client, sign_in = await self._online(choice, environment)
        if sign_in is None:
            return await client.check(info.provider, timeout_s)
        from sould.agents.llm.signin import check_signed_in  # noqa: PLC0415 -- as in `get`

        return await check_signed_in(info, client, sign_in, timeout_s)

    async def _chosen(self, model_key: str | None, environment: Mapping[str, str]) -> _Choice:
        choices = await self._choices(environment)
        if is_of_another(model_key, choices):
            raise ConfigError(
                f"{model_key!r} is a model of the server that an editor had set, which is not known here: open the session "
                "again in that editor, or choose another model."
            )
        if not choices:
            said = (NO_MODEL, *troubles(self._config.now), *unused(environment), self._hint(environment))
            raise NoModelError(" ".join(filter(None, said)))
        wanted = model_key or self._config.now.default_model or next(iter(choices))
        choice = choices.get(wanted)
        if choice is None:
            near = difflib.get_close_matches(wanted, choices, 1)
            hint = f"Did you mean {near[0]!r}?" if near else f"Available: {', '.join(choices)}."
            raise NoModelError(f"There is no usable model {wanted!r}. {hint} {self._hint(environment)}".rstrip())
        return choice

    def is_configured(self, model_key: str, environment: Mapping[str, str]) -> bool:
        """Whether the configuration and `environment` alone say which models there are, and how this one is asked.

        Else a key that was stored, a sign-in, a server that was found or a file of scripts does, too.
        """
        configured = self._configured()
        choice = configured.get(model_key)
        if choice is None or not self._suffice(configured) or choice.provider.type.protocol in OFFLINE:
            return False
        written = bool(choice.provider.config.api_key.get_secret_value().strip())
        return written or _key_variable(choice, environment) is not None

    async def aclose(self) -> None:
        """Close all clients."""
        clients = list(self._clients.values())
        self._clients.clear()
        for client in clients:
            await client.aclose()

    def _configured(self) -> dict[str, _Choice]:
        config = self._config.now
        named = {
            key: (model, known(model.provider, config.providers.get(model.provider), self._types))
            for key, model in config.models.items()
        }
        return {
            key: _Choice(key, model, provider)
            for key, (model, provider) in named.items()
            if provider is not None and not provider.type.unsupported
        }

    def _suffice(self, configured: Mapping[str, _Choice]) -> bool:
        """No other models are looked for."""
        default = self._config.now.default_model
        return bool(configured) and (not default or default in configured)

    async def _choices(self, environment: Mapping[str, str]) -> dict[str, _Choice]:
        configured = self._configured()
        if self._suffice(configured):
            return configured
        found = await self._discovered(environment)
        return configured | {key: choice for item in found for key, choice in _of(item)}

    async def _discovered(self, environment: Mapping[str, str]) -> tuple[Found, ...]:
        """What was found a moment ago still holds: opening a session asks twice, and a local server may be slow to say no."""
        now = asyncio.get_running_loop().time()
        key = tuple(sorted((name, environment[name]) for name in DISCOVERY_VARIABLES if name in environment))
        kept = self._found.get(key)
        if kept is not None and now - kept[0] < _FOUND_HOLDS_S:
            return kept[1]
        found = await discover(environment, self._probe, self._keys)
        self._found = {key: (now, found)}
        return found

    def _offline(self, choice: _Choice, environment: Mapping[str, str]) -> ChatProvider:
        info = _info(choice)
        if choice.provider.type.protocol == ECHO:
            return EchoProvider(info)
        secret = choice.provider.config.env.get(SCRIPTS_VARIABLE)
        path = Path(secret.get_secret_value() if secret else environment.get(SCRIPTS_VARIABLE, "")).expanduser()
        version = path.stat().st_mtime_ns if path.is_file() else None
        if version is None:
            raise NoModelError(
                f"The scripted provider of model {choice.key!r} needs a file of scripts in env.{SCRIPTS_VARIABLE}; "
                f"{str(path)!r} does not exist."
            )
        known = self._scripted.get((info, path))
        if known is None or known[0] != version:
            known = self._scripted[info, path] = (version, ScriptedProvider(info, path))
        return known[1]

    async def _online(
        self, choice: _Choice, environment: Mapping[str, str]
    ) -> "tuple[ModelInfo, ModelClient, SignIn | None]":
        """A model that is asked over a network, with the sign-in that takes a key's place."""
        provider, base_url = choice.provider.config, choice.provider.base_url
        if provider.env:  # variables of this provider alone, over the session's
            environment = {**environment, **{name: value.get_secret_value() for name, value in provider.env.items()}}
        key, remedy = await self._key(choice, environment)
        settings = ProviderSettings(
            base_url=base_url,
            api_key=key or SecretStr(""),
            headers=provider.custom_headers,
            network=NetworkSettings.of(environment),
            timeouts=self._config.now.timeouts,
            remedy=remedy,
            variable="" if self._is_written(choice) else address_variable(choice.model.provider, environment),
        )
        protocol = choice.provider.type.protocol
        identity = (protocol, _identity(settings))
        client = self._clients.get(identity)
        if client is None:
            try:
                client = self._clients[identity] = self._protocols[protocol](settings)
            except ConfigError as error:
                raise ConfigError(f"Provider {choice.model.provider!r} cannot be used: {error.message}") from None
            if client.needs and not is_loaded(client.needs):
                asyncio.get_running_loop().call_later(AFTER_OPENING, begin_loading, client.needs)
        place, _, _ = client.server.url.partition("?")
        setting = f"models.{choice.key}.model" if self._is_written(choice) else ""
        origin = f"{place} {choice.model.model}"
        info = replace(_info(choice), server=client.server.address, origin=origin, setting=setting)
        return info, client, None if key is not None else await self._sign_in(choice, environment)

    def _is_written(self, choice: _Choice) -> bool:
        """It stands in the configuration, and was not found or given."""
        return choice.key in self._config.now.models and not choice.provider.type.remedy

    async def _sign_in(self, choice: _Choice, environment: Mapping[str, str]) -> "SignIn":
        """The sign-in of a provider that declares one. Raises NoModelError when there is none: it is asked nothing yet."""
        from sould.agents.llm.authserver import AuthServer  # noqa: PLC0415 -- as in `get`
        from sould.agents.llm.signin import KimiSignIn, StoredSignIn  # noqa: PLC0415 -- as in `get`

        name, oauth = choice.model.provider, choice.provider.config.oauth
        assert oauth is not None
        if not oauth.token_url:
            kimi = KimiSignIn.of(name, oauth, environment)
            if await kimi.kept() is None:
                raise NoModelError(
                    f"Provider {name!r} uses the sign-in of kimi-cli, and there is none in {kimi.file}. Sign in with "
                    "kimi-cli, or use a key of your own: `sould login kimi`."
                )
            return kimi
        network = NetworkSettings.of(environment)
        sign_in = self._sign_ins.get((name, oauth, network))
        if sign_in is None and self._tokens is not None:
            sign_in = StoredSignIn(name, AuthServer(name, oauth, network), self._tokens)
            self._sign_ins[name, oauth, network] = sign_in
        if sign_in is None or await sign_in.kept() is None:
            raise NoModelError(f"You are not signed in to {name!r}: run `sould login {name}`.")
        return sign_in

    async def _key(self, choice: _Choice, environment: Mapping[str, str]) -> tuple[SecretStr | None, str]:
        """The key, None where a sign-in takes its place, and what to do when it is refused."""
        if choice.provider.type.remedy:
            return SecretStr(""), choice.provider.type.remedy
        provider, name = choice.provider.config, choice.model.provider
        login = f"`sould login {name}`"
        if provider.api_key.get_secret_value().strip():
            written = name in self._config.now.providers
            edit = f"Correct `providers.{name}.api_key` (`sould config edit`), or remove it there and run {login}."
            remedy = edit if written else f"Run {login} with another key."
            return _sendable(provider.api_key, f"The key of provider {name!r}", remedy), remedy
        names, variable = _key_names(choice), _key_variable(choice, environment)
        if variable is not None:
            there = "in the environment your editor is started from"
            remedy = f"Correct the variable {variable} {there}, or unset it and run {login}."
            return _sendable(SecretStr(environment[variable]), f"The key in {variable}", remedy), remedy
        if provider.oauth is not None:
            return None, f"Run {login}."
        stored = await self._keys(name)
        if stored is not None:
            remedy = f"Run {login} with another key."
            return _sendable(stored, f"The stored key of provider {name!r}", remedy), remedy
        if choice.provider.needs_key or provider.api_key_env:
            where = f" (run {login}, or set {' or '.join(names)})" if names else ""
            raise NoModelError(f"There is no key for provider {name!r} of model {choice.key!r}{where}.")
        variables = f", or set `api_key_env` of provider {name} to the variable that holds its key" if not names else ""
        return SecretStr(""), f"No key was sent: run {login}{variables}."


def _sendable(key: SecretStr, whose: str, remedy: str) -> SecretStr:
    """A key as a header takes it: without the blanks and line ends around it that files and secret stores add.

    Raises:
        ConfigError: it holds more than a key can; `whose` begins the sentence.
    """
    trimmed = key.get_secret_value().strip()
    if trimmed.isascii() and trimmed.isprintable():
        return SecretStr(trimmed)
    what = "a line end" if "\n" in trimmed or "\r" in trimmed else "characters that cannot be sent"
    raise ConfigError(f"{whose} holds {what}. {remedy}")


def _of(found: Found) -> list[tuple[str, _Choice]]:
    provider = known(found.name, found.provider)
    return [(key, _Choice(key, model, provider)) for key, model in found.models.items() if provider is not None]


def _info(choice: _Choice) -> ModelInfo:
    model = choice.model
    return ModelInfo(
        key=choice.key,
        model=model.model,
        provider=model.provider,
        max_context_size=model.max_context_size,
        capabilities=_capabilities(model),
        display_name=model.display_name or model.model,
        input_price=model.input_price,
        cached_input_price=model.cached_input_price,
        output_price=model.output_price,
        currency=model.currency,
    )


def _capabilities(model: ModelConfig) -> frozenset[Capability]:
    thinking: frozenset[Capability] = frozenset({"thinking"})
    return model.capabilities | thinking if "always_thinking" in model.capabilities else model.capabilities


def _identity(settings: ProviderSettings) -> object:
    headers = tuple(sorted((name, value.get_secret_value()) for name, value in settings.headers.items()))
    return (
        settings.base_url,
        settings.api_key,
        headers,
        settings.network,
        settings.timeouts,
        settings.remedy,
        settings.variable,
    )


def _key_names(choice: _Choice) -> tuple[str, ...]:
    """The variables that may hold a provider's key: one of a vendor goes to that vendor, or to the server that names it."""
    provider = choice.provider.config
    if provider.api_key_env:
        return (provider.api_key_env,)
    vendor = choice.provider.vendor if choice.provider.is_at_vendor and provider.oauth is None else None
    return tuple(vendor.key_variables) if vendor is not None else ()


def _key_variable(choice: _Choice, environment: Mapping[str, str]) -> str | None:
    return next((each for each in _key_names(choice) if environment.get(each, "").strip()), None)


def _style(choice: _Choice) -> RequestStyle:
    return RequestStyle(
        dialect=choice.provider.dialect,
        reasoning_key=choice.provider.config.reasoning_key,
        max_output_tokens=choice.model.max_output_tokens,
        temperature=choice.model.temperature,
        top_p=choice.model.top_p,
    )


def _trouble(key: str, model: ModelConfig, provider: Known | None) -> str | None:
    if provider is None:
        return f"Model {key!r} cannot be used: there is no provider {model.provider!r}."
    if provider.type.unsupported:
        return f"Model {key!r} cannot be used: a provider of type {provider.config.type!r} does not work here, {provider.type.unsupported}."
    return None


def _remark(key: str, _model: ModelConfig, provider: Known | None) -> str | None:
    oauth = provider.config.oauth if provider is not None else None
    if oauth is not None and not oauth.token_url:
        return f"Model {key!r} uses the sign-in of kimi-cli while that is valid; sould never renews it."
    if provider is not None and provider.type.remark:
        return f"Model {key!r} {provider.type.remark}."
    return None
