"""A model server as configured: where it is, what every request to it says of its sender, and how its failures are told.

Nothing here asks it, and no HTTP library is loaded: a session is opened with this alone.
"""

import base64
import ssl
from collections.abc import Mapping
from urllib.parse import unquote, urlsplit

from msgspec import Struct, field
from pydantic import SecretStr

from sould.agents.config import ModelTimeouts
from sould.agents.llm.failures import Redactor
from sould.agents.llm.network import NetworkSettings
from sould.agents.llm.provider import ProviderConnectionError, ProviderError, ProviderTimeoutError
from sould.agents.llm.tls import verification
from sould.agents.unreachable import is_refused, is_unknown_host, is_untrusted, why_unreachable

_SCHEMES = frozenset({"http", "https"})
_HEADERS = {
    "accept": "application/json",
    "content-type": "application/json",
    "user-agent": "sould",
    "accept-encoding": "identity",  # compressed streams arrive in blocks instead of as they are written
}


class ProviderSettings(Struct, frozen=True):
    """Where a server is and how to reach it. Secrets are `SecretStr`; headers may hold some."""

    base_url: str
    api_key: SecretStr = field(default_factory=lambda: SecretStr(""))
    headers: Mapping[str, SecretStr] = field(default_factory=dict[str, SecretStr])
    network: NetworkSettings = field(default_factory=NetworkSettings)
    timeouts: ModelTimeouts = field(default_factory=ModelTimeouts)
    remedy: str = ""
    """What to do about a refused key: a sentence that names where it comes from."""


class Server:
    """One server, key and environment.

    Raises:
        ProviderError: the address, the proxy or the certificates cannot be used.
    """

    def __init__(self, settings: ProviderSettings) -> None:
        self.settings = settings
        passwords = (SecretStr(_password(url)) for url in (settings.base_url, settings.network.proxy))
        self.redact = Redactor.of((settings.api_key, *settings.headers.values(), *passwords))
        self.url, self.host = self._address()
        self.headers = self._headers()
        self.trusted = self._trusted()

    def not_accepted(self) -> ProviderError:
        """No connection came about in time."""
        said = f"{self.host} did not accept a connection within {self.settings.timeouts.connect_s:g} s."
        return ProviderTimeoutError(said, retryable=True, kind="connection")

    def not_answered(self) -> ProviderError:
        """It took the request and said nothing in time."""
        said = f"{self.host} did not start to answer within {self.settings.timeouts.first_byte_s:g} s."
        return ProviderTimeoutError(said, retryable=True, kind="connection")

    def unreached(self, error: Exception, detail: str) -> ProviderError:
        """A connection that was not made, or broke before the answer; `detail` is what is said when nothing better is known."""
        if is_unknown_host(error):
            said = f"Cannot find {self.host}. Are you offline?"
        elif is_refused(error):
            said = f"Cannot reach {self.host}: connection refused. Is the server running?"
        else:
            said = f"Cannot reach {self.host}: {why_unreachable(error) or detail}."
        return ProviderConnectionError(said, retryable=not is_untrusted(error), kind="connection")

    def said(self, error: Exception) -> str:
        """A library's words, without secrets."""
        return self.redact.line(str(error)) or type(error).__name__

    def _address(self) -> tuple[str, str]:
        """Of chat requests, and the name in it."""
        base_url = self.settings.base_url
        try:
            parts = urlsplit(base_url)
            if parts.scheme not in _SCHEMES or not parts.hostname:
                raise ValueError(f"{base_url!r} does not begin with https:// or http:// and a name")
        except ValueError as error:
            raise ProviderConnectionError(
                f"The address of the model server cannot be used: {self.said(error)}", kind="connection"
            ) from None
        _, _, place = parts.netloc.rpartition("@")
        query = f"?{parts.query}" if parts.query else ""
        path = f"{parts.path.rstrip('/')}/chat/completions{query}"
        return f"{parts.scheme}://{place}{path}", self.redact.line(parts.hostname)

    def _headers(self) -> dict[str, str]:
        key = self.settings.api_key.get_secret_value()
        headers = {"connection": "keep-alive"} | ({"authorization": f"Bearer {key}"} if key else {}) | _HEADERS
        headers |= {name.lower(): value.get_secret_value() for name, value in self.settings.headers.items()}
        user, at, _ = urlsplit(self.settings.base_url).netloc.rpartition("@")
        if at:
            name, _, password = map(unquote, user.partition(":"))
            headers["authorization"] = f"Basic {base64.b64encode(f'{name}:{password}'.encode()).decode()}"
        return headers

    def _trusted(self) -> ssl.SSLContext | bool:
        network = self.settings.network
        try:
            if network.proxy and urlsplit(network.proxy).scheme not in _SCHEMES:
                raise ValueError(f"a proxy like {network.proxy.partition(':')[0]!r} is not supported")
            trusted = verification(self.settings.base_url, network)
        except (OSError, ValueError) as error:
            raise ProviderConnectionError(
                f"The proxy or certificate settings of this environment cannot be used: {self.said(error)}",
                kind="connection",
            ) from None
        if isinstance(trusted, ssl.SSLContext):
            trusted.set_alpn_protocols(["http/1.1"])
        return trusted


def _password(url: str) -> str:
    try:
        return unquote(urlsplit(url).password or "")
    except ValueError:
        return ""
