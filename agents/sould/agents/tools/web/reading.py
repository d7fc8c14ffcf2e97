"""The text of a page: its main content as Markdown for HTML, itself for other text.

HTML is read by a child program (`readmain.py`), within time and memory: a page of a few megabytes can take minutes.
"""

import asyncio
import codecs
import sys
from pathlib import Path

from sould.agents.base.process.searching import SearchLimits, run_program
from sould.agents.base.terminaltext import PlainText
from sould.agents.tools.web.fetching import FetchError, Page
from sould.agents.tools.web.readmain import UNREADABLE

PROGRAM = Path(__file__).with_name("readmain.py")
MOST_TEXT = 8 * 1024 * 1024
_TEXT = ("application/json", "application/xml", "application/javascript", "application/yaml", "application/toml")
_CHARSETS = """ascii utf-8 utf-8-sig utf-16 utf-16-le utf-16-be iso8859-1 iso8859-2 iso8859-3 iso8859-4 iso8859-5 iso8859-6
    iso8859-7 iso8859-8 iso8859-10 iso8859-13 iso8859-14 iso8859-15 iso8859-16 cp1250 cp1251 cp1252 cp1253 cp1254 cp1255
    cp1256 cp1257 cp1258 cp866 cp874 koi8-r koi8-u mac-roman mac-cyrillic tis-620 gb2312 gbk gb18030 big5 big5hkscs
    euc_jp shift_jis cp932 iso2022_jp euc_kr cp949"""
"""What web pages are written in. Python knows further ones, of which some take minutes and some always fail."""


async def readable(page: Page, seconds: float) -> str:
    """What a person would read, without characters that cannot be shown.

    Raises:
        FetchError: it is no text, or its text could not be found within `seconds`.
    """
    kind = page.content_type or "text/html"
    if kind in ("text/html", "application/xhtml+xml"):
        return await asyncio.to_thread(plain, await _main_text(page, seconds))
    if kind.startswith("text/") or kind in _TEXT or kind.endswith(("+json", "+xml")):
        return await asyncio.to_thread(plain, _decoded(page).encode(errors="replace"))
    raise FetchError(f"This is {kind}, not a page of text.")


def plain(text: bytes) -> str:
    """Text without what moves a terminal."""
    cleaned = PlainText()
    return cleaned.feed(text) + cleaned.finish()


async def _main_text(page: Page, seconds: float) -> bytes:
    argv = [sys.executable, "-I", "-X", "utf8", str(PROGRAM), page.url]
    html = _decoded(page).encode(errors="replace")
    ran = await run_program(
        argv, cwd=Path("/"), environment={}, stdin=html, limits=SearchLimits(seconds=seconds, bytes=MOST_TEXT)
    )
    if ran.code == 0 or ran.overflowed:
        return ran.output
    if ran.timed_out:
        raise FetchError(f"The text of this page could not be found within {seconds:g} seconds: it is too large.")
    if ran.code == UNREADABLE:
        raise FetchError(f"No page can be read with this installation ({ran.complaint}): reinstall sould.")
    raise FetchError("The text of this page could not be found: it is too large or damaged.")


def _decoded(page: Page) -> str:
    try:
        known = codecs.lookup(page.charset or "utf-8").name in _CHARSETS.split()
    except (LookupError, ValueError):
        known = False
    return page.body.decode(page.charset if known and page.charset else "utf-8", errors="replace")
