"""Proxies and certificates that an environment names.

The HTTP library would read the daemon's own environment; the settings that count are those of the editor that opened the
session, so they are read here from the mapping that is passed in (D14).
"""

import asyncio
import ipaddress
from collections.abc import Mapping
from urllib.parse import SplitResult, urlsplit

from msgspec import Struct

# Whether a server is in a private network: on this machine, at home or in a company. Nothing is sent to it.


_LOOKUP_S = 2.0
_NAMES = (".localhost", ".local", ".lan", ".internal", ".home.arpa")
_NETWORKS = tuple(
    map(
        ipaddress.ip_network,
        (
            *("127.0.0.0/8", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "169.254.0.0/16", "100.64.0.0/10"),
            *("::1/128", "fc00::/7", "fe80::/10"),
        ),
    )
)
"""This machine, RFC 1918, link-local, shared by the users of a provider or a mesh (RFC 6598), and RFC 4193."""


def is_private_address(address: str) -> bool | None:
    """Whether an address is private; None for a name."""
    try:
        parsed = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return None
    return any(parsed in network for network in _NETWORKS)


def told_by_name(host: str) -> bool | None:
    """What an address, or a name that only a private network has, says; None for any other name."""
    known = is_private_address(host)
    name = host.rstrip(".").lower()
    return True if known is None and ("." not in name or name.endswith(_NAMES)) else known


async def is_private(host: str) -> bool:
    """The same, with names looked up that do not say it themselves."""
    told = told_by_name(host)
    if told is not None:
        return told
    try:
        async with asyncio.timeout(_LOOKUP_S):
            found = await asyncio.get_running_loop().getaddrinfo(host, None)
    except (OSError, UnicodeError):  # TimeoutError is one
        return False
    return bool(found) and all(is_private_address(str(entry[4][0])) for entry in found)


_PORTS = {"http": 80, "https": 443}
PROXY_SCHEMES = ("http", "https", "socks5", "socks5h")


class NetworkSettingsError(OSError):
    """A proxy or a certificate file that the environment names cannot be used. The message names the variable."""


class NetworkVariable(Struct, frozen=True):
    """A variable of an environment; "" where it has none of the names that were looked for."""

    name: str = ""
    value: str = ""

    def __repr__(self) -> str:
        """Without the value, which may hold a password."""
        return f"Variable({self.name})"

    @classmethod
    def of(cls, environment: Mapping[str, str], *names: str) -> "NetworkVariable":
        """The first of `names` that is set and not empty."""
        name = next((name for name in names if environment.get(name)), "")
        return cls(name, environment[name] if name else "")


_UNSET = NetworkVariable()


class NetworkSettings(Struct, frozen=True):
    """How an environment reaches servers: directly and with the system's certificates where it says nothing."""

    http_proxy: NetworkVariable = _UNSET
    https_proxy: NetworkVariable = _UNSET
    all_proxy: NetworkVariable = _UNSET
    no_proxy: str = ""
    ca_file: NetworkVariable = _UNSET
    ca_directory: NetworkVariable = _UNSET
    extra_ca_file: NetworkVariable = _UNSET
    """Certificates that are trusted besides the system's."""

    @property
    def proxies(self) -> tuple[NetworkVariable, ...]:
        """Those that are named."""
        return tuple(variable for variable in (self.http_proxy, self.https_proxy, self.all_proxy) if variable.value)

    @property
    def certificates(self) -> tuple[NetworkVariable, ...]:
        """The files and directories that are named."""
        return tuple(variable for variable in (self.ca_file, self.ca_directory, self.extra_ca_file) if variable.value)

    def __repr__(self) -> str:
        """Without the proxies, which may hold passwords."""
        return f"NetworkSettings({', '.join(variable.name for variable in (*self.proxies, *self.certificates))})"

    @classmethod
    def of(cls, environment: Mapping[str, str]) -> "NetworkSettings":
        """What an environment says. Of a proxy's two names the one in small letters wins, as with curl."""
        return cls(
            http_proxy=NetworkVariable.of(environment, "http_proxy", "HTTP_PROXY"),
            https_proxy=NetworkVariable.of(environment, "https_proxy", "HTTPS_PROXY"),
            all_proxy=NetworkVariable.of(environment, "all_proxy", "ALL_PROXY"),
            no_proxy=NetworkVariable.of(environment, "no_proxy", "NO_PROXY").value,
            ca_file=NetworkVariable.of(environment, "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE"),
            ca_directory=NetworkVariable.of(environment, "SSL_CERT_DIR"),
            extra_ca_file=NetworkVariable.of(environment, "NODE_EXTRA_CA_CERTS"),
        )

    def proxy_for(self, url: str) -> str:
        """The proxy through which an address is reached, which may hold a password; "" where there is none.

        Raises:
            NetworkSettingsError: that proxy is not one of `PROXY_SCHEMES`, or is no address.
        """
        variable = self.proxy_variable(url)
        return proxy_address(variable) if variable.value else ""

    def proxy_variable(self, url: str) -> NetworkVariable:
        """The variable that names the proxy to an address; one without a value where there is none."""
        parts = urlsplit(url)
        own = {"http": self.http_proxy, "https": self.https_proxy}.get(parts.scheme, _UNSET)
        variable = own if own.value else self.all_proxy
        return _UNSET if _is_exempt(parts, self.no_proxy) else variable


def proxy_address(variable: NetworkVariable) -> str:
    """The proxy that a variable names. Raises NetworkSettingsError."""
    address = variable.value if "://" in variable.value else f"http://{variable.value}"
    scheme = address.partition("://")[0].lower()
    if scheme not in PROXY_SCHEMES:
        ways = f"{', '.join(PROXY_SCHEMES[:-1])} or {PROXY_SCHEMES[-1]}"
        raise NetworkSettingsError(f"{variable.name} names a proxy of the kind {scheme[:20]!r}; it must be {ways}")
    try:
        parts = urlsplit(address)
        usable = bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        usable = False
    if not usable:
        raise NetworkSettingsError(f"{variable.name} is not the address of a proxy, such as http://proxy:3128")
    return address


def _is_exempt(server: SplitResult, no_proxy: str) -> bool:
    host = (server.hostname or "").lower()
    for entry in (item.strip().lower() for item in no_proxy.split(",")):
        name, colon, wanted = entry.rpartition(":")
        has_port = bool(colon) and wanted.isdigit() and ":" not in name
        if has_port and str(server.port or _PORTS.get(server.scheme)) != wanted:
            continue
        pattern = name if has_port else entry
        if pattern == "*" or (pattern and _matches(host, pattern)):
            return True
    return False


def _matches(host: str, entry: str) -> bool:
    try:
        return ipaddress.ip_address(host) in ipaddress.ip_network(entry.strip("[]"), strict=False)
    except ValueError:
        bare = entry.removeprefix("*").removeprefix(".")
        return host == bare or host.endswith(f".{bare}")
