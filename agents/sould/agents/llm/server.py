"""A model server as configured: where it is, what every request to it says of its sender, and how its failures are told.

Nothing here asks it, and no HTTP library is loaded: a session is opened with this alone.
"""

import base64
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Protocol, TypeAlias
from urllib.parse import SplitResult, unquote, urlsplit

from msgspec import Struct, field
from pydantic import SecretStr

from sould.agents.base.config import ModelTimeouts
from sould.agents.base.errors import ConfigError
from sould.agents.base.network.certificates import advice, trusted
from sould.agents.base.network.failures import is_refused, is_unknown_host, is_untrusted, why_unreachable
from sould.agents.base.network.settings import NetworkSettings, NetworkSettingsError
from sould.agents.llm.provider import (
    ChatProvider,
    ModelInfo,
    ProviderConnectionError,
    ProviderError,
    ProviderTimeoutError,
)
from sould.agents.llm.provider_errors import Asked, Redactor
from sould.agents.llm.requests import RequestStyle

_SCHEMES = frozenset({"http", "https"})
_HEADERS = {
    "accept": "application/json",
    "content-type": "application/json",
    "user-agent": "sould",
    "accept-encoding": "identity",  # compressed streams arrive in blocks instead of as they are written
}
_UNSENDABLE = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
"""What no header may hold (RFC 9110, 5.5)."""


class ProviderSettings(Struct, frozen=True):
    """Where a server is and how to reach it. Secrets are `SecretStr`; headers may hold some."""

    base_url: str
    api_key: SecretStr = field(default_factory=lambda: SecretStr(""))
    headers: Mapping[str, SecretStr] = field(default_factory=dict[str, SecretStr])
    network: NetworkSettings = field(default_factory=NetworkSettings)
    timeouts: ModelTimeouts = field(default_factory=ModelTimeouts)
    remedy: str = ""
    """What to do about a refused key: a sentence that names where it comes from."""
    variable: str = ""
    """That the address stands in; "" where the configuration or nobody says it."""


class Server:
    """One server, key and environment.

    Raises:
        ConfigError: the address, a header, the proxy or the certificates cannot be used.
    """

    def __init__(self, settings: ProviderSettings, path: str, headers: Mapping[str, str]) -> None:
        """`path`: where its protocol asks, below the address that the configuration gives; `headers`: how that sends the key."""
        self.settings = settings
        self.path = path
        self.redact = Redactor.of((settings.api_key, *_secrets(settings.headers), _password(settings.base_url)))
        self.url, self.host = self._address(path)
        self.place = self.redact.line(urlsplit(self.url).netloc)
        """The name with the port, as the address has it."""
        self.address = self.redact.line(self._address("")[0].partition("?")[0])
        """As it is configured, without secrets."""
        self.headers = self._headers(headers)
        self.proxy = ""
        """The variable that names the proxy through which requests go."""
        self._check_network()

    @property
    def asked(self) -> Asked:
        """What is told with a refusal."""
        settings = self.settings
        keyless = not (
            settings.api_key.get_secret_value() or "@" in urlsplit(settings.base_url).netloc or settings.headers
        )
        address = self.redact.line(self.url.partition("?")[0])
        return Asked(address, keyless, settings.remedy, settings.variable or "the base_url")

    def not_accepted(self) -> ProviderError:
        """No connection came about in time."""
        said = f"{self.place} did not accept a connection within {self.settings.timeouts.connect_s:g} s."
        return ProviderTimeoutError(said, retryable=True, kind="connection")

    def not_answered(self, seconds: float) -> ProviderError:
        """It took the request and said nothing for so long."""
        said = f"{self.place} did not start to answer within {round(seconds, 1):g} s."
        return ProviderTimeoutError(said, retryable=True, kind="connection")

    def unreached(self, error: Exception, detail: str) -> ProviderError:
        """A connection that was not made, or broke before the answer; `detail` is what is said when nothing better is known."""
        way = f" through the proxy that {self.proxy} names" if self.proxy else ""
        if is_unknown_host(error):
            said = f"Cannot find {self.host}{way}. Are you offline?"
        elif is_refused(error):
            server = "proxy running? NO_PROXY lists what is reached without it." if way else "server running?"
            said = f"Cannot reach {self.place}{way}: connection refused. Is the {server}"
        else:
            said = f"Cannot reach {self.place}{way}: {why_unreachable(error) or detail}."
        if is_untrusted(error):
            said = f"{said} {advice(self.settings.network)}"
        return ProviderConnectionError(said, retryable=not is_untrusted(error), kind="connection")

    def said(self, error: Exception) -> str:
        """A library's words, without secrets."""
        return self.redact.line(str(error)) or type(error).__name__

    def _address(self, below: str) -> tuple[str, str]:
        """Of requests, and the name in it."""
        parts = self._parts()
        _, _, place = parts.netloc.rpartition("@")
        query = f"?{parts.query}" if parts.query else ""
        path = f"{parts.path.rstrip('/')}{below}{query}"
        return f"{parts.scheme}://{place}{path}", self.redact.line(parts.hostname or "")

    def _parts(self) -> SplitResult:
        try:
            parts = urlsplit(self.settings.base_url)
            if parts.scheme in _SCHEMES and parts.hostname and parts.port != 0:
                return parts
        except ValueError:
            pass
        shown = self.redact.line(self.settings.base_url)
        place = self.settings.variable or "its base_url"
        raise ConfigError(f"{place} {shown!r} must begin with http:// or https:// and the name of a server.")

    def _headers(self, protocols: Mapping[str, str]) -> dict[str, str]:
        headers = {"connection": "keep-alive", **protocols, **_HEADERS}
        headers |= {name.lower(): value.get_secret_value() for name, value in self.settings.headers.items()}
        user, at, _ = urlsplit(self.settings.base_url).netloc.rpartition("@")
        if at:
            name, _, password = map(unquote, user.partition(":"))
            headers["authorization"] = f"Basic {base64.b64encode(f'{name}:{password}'.encode()).decode()}"
        for name, value in headers.items():
            if _UNSENDABLE.search(value):
                raise ConfigError(f"its header {name!r} holds a line end or another control character.")
        return headers

    def _check_network(self) -> None:
        """A session says at once that it cannot reach its model."""
        network = self.settings.network
        try:
            proxy = network.proxy_for(self.url)
            if self.url.startswith("https:") or proxy.startswith("https:"):
                trusted(network)
        except NetworkSettingsError as error:
            raise ConfigError(f"in this environment {error}.") from None
        self.redact = Redactor.of((*self.redact.secrets, _password(proxy)))
        self.proxy = network.proxy_variable(self.url).name if proxy else ""

    @property
    def is_proxied(self) -> bool:
        """The peer's address says nothing about the server."""
        return bool(self.proxy)


def _secrets(headers: Mapping[str, SecretStr]) -> Iterator[SecretStr]:
    """Their values, and of `Authorization: Bearer …` also what is behind the scheme."""
    for name, value in headers.items():
        yield value
        if name.lower().endswith("authorization"):
            yield SecretStr(value.get_secret_value().rpartition(" ")[2])


def _password(url: str) -> SecretStr:
    try:
        return SecretStr(unquote(urlsplit(url).password or ""))
    except ValueError:
        return SecretStr("")


class ServedModel(Struct, frozen=True):
    """A model a server says it has; `context` is None when it does not say."""

    name: str
    context: int | None = None


def served_models(answer: Any) -> tuple[ServedModel, ...]:
    """The models of a `/models` answer; servers that say how long their context is do so under different names."""
    models: list[ServedModel] = []
    for item in answer["data"]:
        meta: dict[str, Any] = item.get("meta") or {}
        context: Any = item.get("max_model_len") or item.get("context_length") or meta.get("n_ctx_train")
        models.append(ServedModel(str(item["id"]), int(context) if context else None))
    return tuple(models)


class Check(Struct, frozen=True):
    """What came of asking whether a model can be used: a problem with what to do about it, or what is `said` of one that can."""

    server: str = ""
    """Its address, as people know it."""
    said: str = "it answers"
    problem: str = ""
    remedy: str = ""
    models: tuple[ServedModel, ...] | None = None
    """Those that its server names; None: it names none."""
    skew_s: float = 0.0
    """How far the server's clock is behind ours."""


class ModelClient(Protocol):
    """A server as one wire protocol asks it, for all its models, with one key and environment."""

    @property
    def needs(self) -> str:
        """The module that its first request loads, which is loaded ahead of it; "": none."""
        ...

    @property
    def server(self) -> Server:
        """The server."""
        ...

    def signed(self, key: SecretStr) -> "ModelClient":
        """The same client with another key; it lives as long as this one."""
        ...

    def model(self, info: ModelInfo, style: RequestStyle) -> ChatProvider:
        """One of its models."""
        ...

    async def check(self, provider: str, timeout_s: float) -> Check:
        """Whether it can be asked, at the least cost; `provider` is its name in the configuration."""
        ...

    async def aclose(self) -> None:
        """Close all connections."""
        ...


Connect: TypeAlias = Callable[[ProviderSettings], ModelClient]
"""Makes a client. Raises ConfigError."""
