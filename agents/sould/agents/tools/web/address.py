"""Which address a page is fetched from: resolved once, judged, and then connected to as it is.

So a name cannot mean one address when it is judged and another when it is connected to. No request is made here.
"""

import asyncio
import ipaddress
import socket
from collections.abc import Collection
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    import httpx2

LONGEST = 8_000
MOST_ADDRESSES = 4
"""That are tried when the first ones do not answer."""
_EMBEDDING = ("64:ff9b::/96", "64:ff9b:1::/48", "2002::/16", "2001::/32", "::/96", "::ffff:0:0:0/96")
"""IPv6 networks whose addresses stand for IPv4 ones; what lies behind them cannot be told from here."""
_SPECIAL = ("192.0.0.0/24", "192.88.99.0/24", "168.63.129.16/32", "fec0::/10", "5f00::/16", "3fff::/20")
"""Not of the public internet either, though the library takes them for that; the third is a cloud's own service."""
_NEVER = tuple(map(ipaddress.ip_network, (*_EMBEDDING, *_SPECIAL)))


class AddressError(Exception):
    """This URL is not fetched; the sentence says why."""


class Target(Struct, frozen=True):
    """A URL and the addresses that it may be fetched from, all of them judged, the system's first choice first."""

    url: "httpx2.URL"
    addresses: tuple[str, ...]

    @property
    def host(self) -> str:
        """The exact name, in lower case."""
        return self.url.host.lower()

    @property
    def connect_to(self) -> "tuple[httpx2.URL, ...]":
        """The URL with each address in place of the name."""
        return tuple(self.url.copy_with(host=address) for address in self.addresses)


def parse_url(text: str) -> "httpx2.URL":
    """A web address a page can be fetched from.

    Raises:
        AddressError
    """
    import httpx2  # noqa: PLC0415 -- slow, and most sessions read no page

    try:
        url = httpx2.URL(text.strip())
    except (httpx2.InvalidURL, ValueError, TypeError) as error:
        raise AddressError(f"This is not a URL: {error}") from error
    if len(text) > LONGEST:
        raise AddressError(f"The URL is longer than {LONGEST} characters.")
    if url.scheme not in ("http", "https"):
        raise AddressError("Only http and https URLs are fetched.")
    if not url.host:
        raise AddressError("The URL names no host.")
    if url.userinfo:
        raise AddressError("URLs with a user name or password are not fetched.")
    return url


def refuse_private(url: "httpx2.URL", private: Collection[str]) -> None:
    """What can be told of a host without looking it up: an address, however it is written, or this machine's name.

    Raises:
        AddressError: it is not on the public internet.
    """
    host = url.host.lower()
    if host in private:
        return
    name = host.rstrip(".")
    if name == "localhost" or name.endswith(".localhost"):
        raise _not_public(host, "this machine")
    try:
        found = socket.getaddrinfo(name, None, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST)
    except (OSError, UnicodeError):
        return
    for entry in found:
        if not is_public(str(entry[4][0])):
            raise _not_public(host, str(entry[4][0]))


def _not_public(host: str, address: str) -> AddressError:
    where = f"{host} is not" if host == address else f"{host} is at {address}, which is not"
    return AddressError(
        f"{where} on the public internet. Private addresses are fetched only when the user lists the host in "
        "`tools.fetch_private_hosts`."
    )


async def resolve(url: "httpx2.URL", private: Collection[str]) -> Target:
    """Look the host up, once. `private`: hosts that may be in the private network, by exact name.

    Raises:
        AddressError: it has no address, or one that is not on the public internet.
    """
    host = url.host.lower()
    port = url.port or (443 if url.scheme == "https" else 80)
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise AddressError(f"The host {host} was not found.") from error
    addresses = tuple(dict.fromkeys(str(entry[4][0]) for entry in found))
    if host not in private:
        for address in addresses:
            if not is_public(address):
                raise _not_public(host, address)
    return Target(url, addresses[:MOST_ADDRESSES])


def is_public(address: str) -> bool:
    """Whether an address is one of the public internet, and stands for no other."""
    try:
        parsed = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return False
    if isinstance(parsed, ipaddress.IPv6Address) and parsed.ipv4_mapped is not None:
        return is_public(str(parsed.ipv4_mapped))
    if any(parsed in network for network in _NEVER):
        return False
    return parsed.is_global and not parsed.is_multicast and not parsed.is_reserved
