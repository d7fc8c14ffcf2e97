"""Whether a server is in a private network: on this machine, at home or in a company. Nothing is sent to it."""

import asyncio
import ipaddress

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
