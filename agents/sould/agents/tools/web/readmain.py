"""The program that takes the text out of a web page: run as a child, so that no page can hold or fill the daemon.

`python -I readmain.py URL` reads the page's HTML as UTF-8 from standard input and writes Markdown. It imports nothing of
ours and opens nothing: what a page names is not fetched.
"""

import resource
import sys
from collections.abc import Sequence
from html.parser import HTMLParser
from typing import Final
from urllib.parse import urljoin

MEMORY = 2 * 1024 * 1024 * 1024
CPU_SECONDS = 60
"""Ends a reader whose parent was killed."""
WHOLE = 3
"""All text of the page was written: the library that finds the main text cannot be loaded."""
_HIDDEN: Final = frozenset({"noscript", "script", "style", "svg", "template", "title"})
_TIGHT: Final = frozenset({"dd", "dt", "li", "tr"})
"""Stand below each other without an empty line."""
_OTHERS: Final = """address article aside blockquote body caption div dl fieldset figcaption figure footer form h1 h2 h3 h4 h5 h6
    header hr main nav ol p pre section table ul"""
_BLOCKS: Final = _TIGHT | set(_OTHERS.split())
_BEGIN: Final = {"li": "- ", "blockquote": "> "} | {f"h{level}": "#" * level + " " for level in range(1, 7)}


class WholeText(HTMLParser):
    """All that a page shows as text, menus included: headings, lists, links and preformatted text as Markdown."""

    def __init__(self, url: str) -> None:
        super().__init__()
        self._url = url
        self._text: list[str] = []
        self._block: list[str] = []
        self._begin = ""
        self._was_tight = self._is_tight = False
        self._hidden = 0
        self._preformatted = 0
        self._link = ""
        self._is_linking = False

    def read(self, html: str) -> str:
        """The text of a whole page."""
        self.feed(html)
        self.close()
        self._end_block()
        return "".join(self._text)

    def handle_starttag(self, tag: str, attrs: Sequence[tuple[str, str | None]]) -> None:
        """Blocks begin; the end of a link is kept until its text is read."""
        if tag in _HIDDEN:
            self._hidden += 1
        elif tag in _BLOCKS:
            self._end_block()
            self._begin = _BEGIN.get(tag, self._begin)
            self._is_tight = tag in _TIGHT or (
                self._is_tight and bool(self._begin)
            )  # the text of an item may be a paragraph
            self._preformatted += tag == "pre"
        elif tag == "a":
            self._end_link()
            self._link = self._end_of_link(dict(attrs).get("href") or "")
        elif tag == "br":
            self._block.append("\n")
        elif tag in ("td", "th") and self._block:
            self._block.append(" | ")

    def handle_endtag(self, tag: str) -> None:
        """Blocks and links end."""
        if tag in _HIDDEN:
            self._hidden = max(0, self._hidden - 1)
        elif tag in _BLOCKS:
            self._end_block()
            self._begin, self._is_tight = "", False
            self._preformatted = max(0, self._preformatted - (tag == "pre"))
        elif tag == "a":
            self._end_link()

    def handle_data(self, data: str) -> None:
        """Text; white space counts in preformatted text only."""
        if self._hidden:
            return
        if not self._preformatted:
            before, after = data[:1].isspace(), data[-1:].isspace()
            data = " " * before + " ".join(data.split()) + " " * after
        if self._link and not self._is_linking and data.strip():
            self._is_linking = True
            data = data.replace(data.lstrip(), "[" + data.lstrip(), 1)
        self._block.append(data)

    def _end_link(self) -> None:
        if self._is_linking:
            self._block.append(self._link)
        self._link, self._is_linking = "", False

    def _end_block(self) -> None:
        if self._is_linking:
            self._end_link()
        text = "".join(self._block)
        self._block.clear()
        if not text.strip():
            return
        if self._preformatted:
            text = f"```\n{text.strip(chr(10))}\n```"
        else:
            text = self._begin + "\n".join(" ".join(line.split()) for line in text.strip().split("\n"))
        between = "\n" if self._is_tight and self._was_tight else "\n\n"
        self._text += [between, text] if self._text else [text]
        self._was_tight, self._is_tight, self._begin = self._is_tight, False, ""

    def _end_of_link(self, to: str) -> str:
        """What follows a link's text; nothing where it leads to another place of this page, or to no page."""
        try:
            address = urljoin(self._url, to)
        except ValueError:
            return ""
        return f"]({address})" if address.startswith("http") and not to.startswith("#") and to else ""


def main() -> int:
    """Extract; the exit code."""
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
    if sys.platform == "linux":
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    html = sys.stdin.buffer.read().decode(errors="replace")
    try:
        import trafilatura  # noqa: PLC0415 -- under the limits
    except ImportError:
        sys.stdout.write(WholeText(sys.argv[1]).read(html))
        return WHOLE
    found = trafilatura.extract(
        html, url=sys.argv[1], output_format="markdown", include_links=True, include_tables=True, include_comments=False
    )
    sys.stdout.write(found or trafilatura.html2txt(html))
    return 0


if __name__ == "__main__":
    sys.exit(main())
