"""HTTP clients: the only module that makes them. It loads the HTTP library, which takes 60 ms.

Nothing of the daemon's environment reaches a request: proxies and certificates are those of the given settings. No client
follows a redirect unasked, retries, or logs what it sends.
"""

import logging
import socket
import ssl
from collections.abc import Awaitable, Callable, Mapping
from urllib.parse import urlsplit

import httpx2

from sould.agents.base.network.certificates import trusted
from sould.agents.base.network.settings import NetworkSettings

_ALIVE = {"TCP_KEEPIDLE": 30, "TCP_KEEPALIVE": 30, "TCP_KEEPINTVL": 10, "TCP_KEEPCNT": 4}
"""After how many seconds of silence, how often and how many times the other end is asked whether it is there; macOS has other names."""
_SOCKET_OPTIONS = [
    (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),
    *((socket.IPPROTO_TCP, getattr(socket, name), value) for name, value in _ALIVE.items() if hasattr(socket, name)),
]
"""A server may be silent for minutes; only a dead one is given up before."""
_LIMITS = httpx2.Limits(max_connections=None, max_keepalive_connections=None, keepalive_expiry=60)

Responded = Callable[[httpx2.Response], Awaitable[None]]

# their debug output holds what is sent
for _library in ("httpx2", "httpcore2"):
    logging.getLogger(_library).setLevel(logging.WARNING)


def client_to(url: str, network: NetworkSettings, timeout: httpx2.Timeout) -> httpx2.AsyncClient:
    """A client of one server. Raises NetworkSettingsError."""
    return httpx2.AsyncClient(transport=_transport_to(url, network), timeout=timeout, trust_env=False)


def blocking_client_to(url: str, network: NetworkSettings, timeout: httpx2.Timeout) -> httpx2.Client:
    """The same for threads that wait."""
    proxy, certificates = _way(url, network)
    transport = httpx2.HTTPTransport(verify=certificates, proxy=proxy, trust_env=False, limits=_LIMITS)
    return httpx2.Client(transport=transport, timeout=timeout, trust_env=False)


def client_to_any(
    network: NetworkSettings,
    timeout: httpx2.Timeout,
    *,
    headers: Mapping[str, str],
    auth: httpx2.Auth | None,
    responded: Responded,
) -> httpx2.AsyncClient:
    """A client for a library that asks servers which we do not know beforehand. `responded` sees each answer's head."""
    return httpx2.AsyncClient(
        transport=_RoutingTransport(network),
        timeout=timeout,
        headers=headers,
        auth=auth,
        event_hooks={"response": [responded]},
        trust_env=False,
    )


class _RoutingTransport(httpx2.AsyncBaseTransport):
    """Chooses proxy and certificates by the URL of each request."""

    def __init__(self, network: NetworkSettings) -> None:
        self._network = network
        self._transports: dict[tuple[str, str], httpx2.AsyncHTTPTransport] = {}

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """See `AsyncBaseTransport`."""
        place = (request.url.scheme, request.url.netloc.decode("ascii"))
        if place not in self._transports:
            self._transports[place] = _transport_to(str(request.url), self._network)
        return await self._transports[place].handle_async_request(request)

    async def aclose(self) -> None:
        """See `AsyncBaseTransport`."""
        for transport in self._transports.values():
            await transport.aclose()


def _transport_to(url: str, network: NetworkSettings) -> httpx2.AsyncHTTPTransport:
    proxy, certificates = _way(url, network)
    return httpx2.AsyncHTTPTransport(
        verify=certificates, proxy=proxy, trust_env=False, limits=_LIMITS, socket_options=_SOCKET_OPTIONS
    )


def _way(url: str, network: NetworkSettings) -> tuple[httpx2.Proxy | None, ssl.SSLContext | bool]:
    """The proxy to an address and the certificates that count there: none for plain HTTP, where loading them costs 20 ms."""
    address = network.proxy_for(url)
    is_secure = urlsplit(url).scheme == "https"
    proxy = None
    if address:
        behind_tls = address.startswith("https:")
        proxy = httpx2.Proxy(address, ssl_context=trusted(network) if behind_tls else None)
    return proxy, trusted(network) if is_secure else False
