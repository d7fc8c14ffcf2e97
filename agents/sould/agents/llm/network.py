"""Proxy and certificate settings of a session's environment, for one server.

The HTTP library would read the daemon's own environment; the settings that count are those of the editor that opened
the session, so they are read here from the mapping that is passed in (D14).
"""

import ipaddress
from collections.abc import Mapping
from urllib.parse import urlsplit

from msgspec import Struct

_NAMES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")


class NetworkSettings(Struct, frozen=True):
    """How to reach a server. Empty strings: directly, and with the usual certificates. The proxy may hold a password: never shown."""

    proxy: str = ""
    ca_file: str = ""
    ca_directory: str = ""

    def __repr__(self) -> str:
        return f"NetworkSettings(proxy={'set' if self.proxy else 'none'}, ca_file={self.ca_file!r}, ca_directory={self.ca_directory!r})"

    @classmethod
    def of(cls, url: str, environment: Mapping[str, str]) -> "NetworkSettings":
        """The settings that apply to `url`; lower-case names win, as with curl."""
        parts = urlsplit(url)
        proxies = {name: environment.get(name) or environment.get(name.upper()) or "" for name in _NAMES}
        proxy = proxies[f"{parts.scheme}_proxy"] if parts.scheme in {"http", "https"} else ""
        proxy = proxy or proxies["all_proxy"]
        if proxy and _is_exempt(parts.hostname or "", parts.port, proxies["no_proxy"]):
            proxy = ""
        if proxy and "://" not in proxy:
            proxy = f"http://{proxy}"
        secure = parts.scheme == "https" or proxy.startswith("https:")
        return cls(
            proxy=proxy,
            ca_file=(environment.get("SSL_CERT_FILE") or environment.get("REQUESTS_CA_BUNDLE") or "") if secure else "",
            ca_directory=(environment.get("SSL_CERT_DIR") or "") if secure else "",
        )


def _is_exempt(host: str, port: int | None, no_proxy: str) -> bool:
    host = host.lower()
    for entry in (item.strip().lower() for item in no_proxy.split(",")):
        name, colon, wanted = entry.rpartition(":")
        has_port = bool(colon) and wanted.isdigit() and ":" not in name
        if has_port and str(port) != wanted:
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
