"""The text of a page: its main content as Markdown for HTML, itself for other text. Blocking: call it in a thread."""

from sould.agents.tools.terminaltext import PlainText
from sould.agents.web.fetching import FetchError, Page

_TEXT = ("application/json", "application/xml", "application/javascript", "application/yaml", "application/toml")


def readable(page: Page) -> str:
    """What a person would read, without characters that cannot be shown.

    Raises:
        FetchError: it is no text.
    """
    kind = page.content_type or "text/html"
    if kind in ("text/html", "application/xhtml+xml"):
        text = _main_text(page)
    elif kind.startswith("text/") or kind in _TEXT or kind.endswith(("+json", "+xml")):
        text = _decoded(page)
    else:
        raise FetchError(f"This is {kind}, not a page of text.")
    plain = PlainText()
    return plain.feed(text.encode(errors="replace")) + plain.finish()


def _main_text(page: Page) -> str:
    import trafilatura  # noqa: PLC0415 -- slow to import, and needed by few sessions

    html = _decoded(page)
    found = trafilatura.extract(
        html, url=page.url, output_format="markdown", include_links=True, include_tables=True, include_comments=False
    )
    return found or trafilatura.html2txt(html)


def _decoded(page: Page) -> str:
    try:
        return page.body.decode(page.charset or "utf-8", errors="replace")
    except LookupError:
        return page.body.decode(errors="replace")
