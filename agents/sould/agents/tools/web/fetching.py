"""One page over HTTP: each redirect judged anew, size and time limited, nothing of the daemon's environment.

It reads a page and no more: no cookies, no credentials, GET only.
"""

import asyncio
import codecs
import importlib.metadata
import importlib.util
import ipaddress
import shlex
import socket
import sys
import zlib
from collections.abc import Awaitable, Callable, Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from sould.agents.base.network.settings import NetworkSettings
from sould.agents.base.process.searching import SearchLimits, run_program
from sould.agents.base.terminaltext import PlainText

if TYPE_CHECKING:
    import httpx2

PROGRAM = Path(__file__).with_name("readmain.py")
MOST_TEXT = 8 * 1024 * 1024
_TEXT = ("application/json", "application/xml", "application/javascript", "application/yaml", "application/toml")
_CHARSETS = """ascii utf-8 utf-8-sig utf-16 utf-16-le utf-16-be iso8859-1 iso8859-2 iso8859-3 iso8859-4 iso8859-5 iso8859-6
    iso8859-7 iso8859-8 iso8859-10 iso8859-13 iso8859-14 iso8859-15 iso8859-16 cp1250 cp1251 cp1252 cp1253 cp1254 cp1255
    cp1256 cp1257 cp1258 cp866 cp874 koi8-r koi8-u mac-roman mac-cyrillic tis-620 gb2312 gbk gb18030 big5 big5hkscs
    euc_jp shift_jis cp932 iso2022_jp euc_kr cp949"""
"""What web pages are written in. Python knows further ones, of which some take minutes and some always fail."""
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


class FetchTarget(Struct, frozen=True):
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


async def resolve(url: "httpx2.URL", private: Collection[str]) -> FetchTarget:
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
    return FetchTarget(url, addresses[:MOST_ADDRESSES])


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


MAX_REDIRECTS = 5
_REDIRECTS = frozenset({301, 302, 303, 307, 308})


class FetchError(Exception):
    """There is no page; the sentence says why."""


class WebPage(Struct, frozen=True):
    """What came. `cut`: it was longer than the limit."""

    url: str
    status: int
    content_type: str
    charset: str
    body: bytes
    cut: bool = False


class PageLimits(Struct, frozen=True):
    """`seconds` for everything together, `size` in decoded bytes."""

    seconds: float
    size: int


Allow = Callable[[str, str], Awaitable[None]]
"""Asked, with host and URL, before each host is even looked up (a name tells who owns it); raises to refuse."""


async def admitted(text: str, allow: Allow, private: Collection[str], seconds: float) -> FetchTarget:
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
    text: str, allow: Allow, environment: Mapping[str, str], private: Collection[str], limits: PageLimits
) -> WebPage:
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
            if isinstance(answer, WebPage):
                return answer
            left = max(0.0, left - (clock() - began))
            text = str(target.url.join(answer))
    except TimeoutError as error:
        raise FetchError(f"The page did not come within {limits.seconds:g} seconds.") from error
    except (httpx2.HTTPError, httpx2.InvalidURL, httpx2.StreamError, OSError) as error:
        raise FetchError(f"The page could not be fetched: {str(error) or type(error).__name__}") from error
    raise FetchError(f"The page redirects more than {MAX_REDIRECTS} times.")


async def _get(target: FetchTarget, environment: Mapping[str, str], limits: PageLimits) -> WebPage | str:
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
    return WebPage(
        str(target.url), response.status_code, kind.strip().lower(), response.charset_encoding or "", body, cut
    )


async def asked(client: "httpx2.AsyncClient", target: FetchTarget) -> "httpx2.Response":
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


def extra_command() -> str:
    """The command that installs what the extra `web` names beside this sould."""
    lines = (line.partition(";") for line in importlib.metadata.requires("sould") or ())
    wanted = [name.strip() for name, _, condition in lines if "extra ==" in condition]
    has_pip = importlib.util.find_spec("pip") is not None
    installer = (
        [sys.executable, "-m", "pip", "install"] if has_pip else ["uv", "pip", "install", "--python", sys.executable]
    )
    return shlex.join([*installer, *wanted])


async def readable(page: WebPage, seconds: float) -> tuple[str, bool]:
    """What a person would read of a page, without characters that cannot be shown; and whether menus and all else are in it.

    Raises:
        FetchError: it is no text, or its text could not be found within `seconds`.
    """
    kind = page.content_type or "text/html"
    if kind in ("text/html", "application/xhtml+xml"):
        found, whole = await _text_of(page, seconds)
        return await asyncio.to_thread(plain, found), whole
    if kind.startswith("text/") or kind in _TEXT or kind.endswith(("+json", "+xml")):
        return await asyncio.to_thread(plain, _decoded(page).encode(errors="replace")), False
    raise FetchError(f"This is {kind}, not a page of text.")


def plain(text: bytes) -> str:
    """Text without what moves a terminal."""
    cleaned = PlainText()
    return cleaned.feed(text) + cleaned.finish()


async def _text_of(page: WebPage, seconds: float) -> tuple[bytes, bool]:
    """The text of a page as Markdown, and whether it is the whole text, not only the main part."""
    from sould.agents.tools.web.readmain import WHOLE  # noqa: PLC0415 -- it brings a parser of HTML, which only a page needs

    argv = [sys.executable, "-I", "-X", "utf8", str(PROGRAM), page.url]
    html = _decoded(page).encode(errors="replace")
    ran = await run_program(
        argv, cwd=Path("/"), environment={}, stdin=html, limits=SearchLimits(seconds=seconds, bytes=MOST_TEXT)
    )
    if ran.code in (0, WHOLE) or ran.overflowed:
        return ran.output, ran.code == WHOLE
    if ran.timed_out:
        raise FetchError(f"The text of this page could not be found within {seconds:g} seconds: it is too large.")
    raise FetchError("The text of this page could not be found: it is too large or damaged.")


def _decoded(page: WebPage) -> str:
    try:
        known = codecs.lookup(page.charset or "utf-8").name in _CHARSETS.split()
    except (LookupError, ValueError):
        known = False
    return page.body.decode(page.charset if known and page.charset else "utf-8", errors="replace")
