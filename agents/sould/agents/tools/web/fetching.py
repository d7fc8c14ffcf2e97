"""One page over HTTP: each redirect judged anew, size and time limited, nothing of the daemon's environment.

It reads a page and no more: no cookies, no credentials, GET only.
"""

import asyncio
import zlib
from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from sould.agents.base.network.settings import NetworkSettings
from sould.agents.tools.web.address import AddressError, Target, parse_url, refuse_private, resolve

if TYPE_CHECKING:
    import httpx2

MAX_REDIRECTS = 5
_REDIRECTS = frozenset({301, 302, 303, 307, 308})


class FetchError(Exception):
    """There is no page; the sentence says why."""


class Page(Struct, frozen=True):
    """What came. `cut`: it was longer than the limit."""

    url: str
    status: int
    content_type: str
    charset: str
    body: bytes
    cut: bool = False


class Limits(Struct, frozen=True):
    """`seconds` for everything together, `size` in decoded bytes."""

    seconds: float
    size: int


Allow = Callable[[str, str], Awaitable[None]]
"""Asked, with host and URL, before each host is even looked up (a name tells who owns it); raises to refuse."""


async def admitted(text: str, allow: Allow, private: Collection[str], seconds: float) -> Target:
    """A URL that may be fetched, and the one address for it.

    Raises:
        FetchError, and what `allow` raises
    """
    try:
        url = parse_url(text)
        refuse_private(url, private)
        await allow(url.host.lower(), str(url))
        async with asyncio.timeout(seconds):
            return await resolve(url, private)
    except AddressError as error:
        raise FetchError(str(error)) from error
    except TimeoutError as error:
        raise FetchError("Its host could not be looked up in time.") from error


async def fetch(
    text: str, allow: Allow, environment: Mapping[str, str], private: Collection[str], limits: Limits
) -> Page:
    """Fetch a page, each redirect admitted like the first URL. The time people take to answer does not count.

    Raises:
        FetchError, and what `allow` raises
    """
    import httpx2  # noqa: PLC0415 -- slow, and most sessions read no page

    clock = asyncio.get_running_loop().time
    left = limits.seconds
    try:
        for _ in range(MAX_REDIRECTS + 1):
            target = await admitted(text, allow, private, left)
            began = clock()
            async with asyncio.timeout(left):
                answer = await _get(target, environment, limits)
            if isinstance(answer, Page):
                return answer
            left = max(0.0, left - (clock() - began))
            text = str(target.url.join(answer))
    except TimeoutError as error:
        raise FetchError(f"The page did not come within {limits.seconds:g} seconds.") from error
    except (httpx2.HTTPError, httpx2.InvalidURL, httpx2.StreamError, OSError) as error:
        raise FetchError(f"The page could not be fetched: {str(error) or type(error).__name__}") from error
    raise FetchError(f"The page redirects more than {MAX_REDIRECTS} times.")


async def _get(target: Target, environment: Mapping[str, str], limits: Limits) -> Page | str:
    """The page, or where it redirects to."""
    async with client_for(str(target.url), environment) as client:
        response = await asked(client, target)
        try:
            if response.status_code in _REDIRECTS and "location" in response.headers:
                return response.headers["location"]
            body, cut = await read_body(response, limits.size)
        finally:
            await response.aclose()
    kind, _, _ = response.headers.get("content-type", "").partition(";")
    return Page(str(target.url), response.status_code, kind.strip().lower(), response.charset_encoding or "", body, cut)


async def asked(client: "httpx2.AsyncClient", target: Target) -> "httpx2.Response":
    """The answer of the first address that takes the connection."""
    import httpx2  # noqa: PLC0415 -- as above

    headers = {"Host": target.url.netloc.decode("ascii"), "User-Agent": "sould", "Accept-Encoding": "gzip"}
    headers["Accept"] = "text/html,text/*;q=0.9,*/*;q=0.5"
    named = {"sni_hostname": target.url.raw_host.decode("ascii")}
    *others, last = target.connect_to
    for address in others:
        try:
            return await client.send(
                client.build_request("GET", address, headers=headers, extensions=named), stream=True
            )
        except (httpx2.ConnectError, httpx2.ConnectTimeout):
            continue
    return await client.send(client.build_request("GET", last, headers=headers, extensions=named), stream=True)


def client_for(url: str, environment: Mapping[str, str]) -> "httpx2.AsyncClient":
    """A client with the proxy and certificates of the session's environment, and nothing of ours."""
    import httpx2  # noqa: PLC0415 -- as above

    from sould.agents.base.network.clients import client_to  # noqa: PLC0415 -- as above

    return client_to(url, NetworkSettings.of(environment), httpx2.Timeout(20, connect=5))


async def read_body(response: "httpx2.Response", most: int) -> tuple[bytes, bool]:
    """The body as far as the limit goes, unpacked by us so that a small answer cannot become a large one."""
    encoding = response.headers.get("content-encoding", "identity").strip().lower()
    if encoding not in ("", "identity", "gzip", "deflate"):
        raise FetchError(f"The page is encoded as {encoding[:40]}, which was not asked for.")
    unpack: Any = None if encoding in ("", "identity") else zlib.decompressobj(zlib.MAX_WBITS | 32)
    body = bytearray()
    async for data in response.aiter_raw():
        room = most - len(body) + 1
        try:
            body += data[:room] if unpack is None else unpack.decompress(data, room)
        except zlib.error as error:
            raise FetchError("The page is damaged: it cannot be unpacked.") from error
        if len(body) > most:
            return bytes(body[:most]), True
    return bytes(body), False
