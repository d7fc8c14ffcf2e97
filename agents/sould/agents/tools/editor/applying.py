"""What backends want written, as texts: edits of an editor or a language server against the text they were made for. Pure."""

from collections.abc import Sequence
from itertools import accumulate
from typing import Final

from sould.agents.base.diskfile import digest_of
from sould.agents.files.review.lines import split
from sould.agents.tools.editor.anchors import Position
from sould.agents.tools.editor.backends import FileEdits, TextEdit
from sould.agents.tools.editor.errors import EditorToolError

LARGEST_TEXT: Final = 8_000_000
"""Characters of what is to be written."""


def applied(wanted: FileEdits, text: str, name: str) -> str:
    """The text after the edits; `name` is what errors call the file.

    Raises:
        EditorToolError: stale, or edits that overlap or lie outside.
    """
    if wanted.digest and wanted.digest != digest_of(text.encode()):
        raise EditorToolError("stale", f"{name} is not what it was when the edits were made; ask again.")
    made = wanted.text if wanted.text is not None else _with_edits(text, wanted.edits, name)
    if len(made) > LARGEST_TEXT:
        raise EditorToolError("failed", f"The edits would make {name} larger than {LARGEST_TEXT // 1_000_000} MB.")
    return made


def _with_edits(text: str, edits: Sequence[TextEdit], name: str) -> str:
    lines = split(text)
    starts = [0, *accumulate(map(len, lines))]
    placed = [
        (_index(lines, starts, each.span.start, name), _index(lines, starts, each.span.end, name), each.text)
        for each in edits
    ]
    parts: list[str] = []
    at = 0
    for start, end, new in sorted(placed, key=lambda each: (each[0], each[1])):
        if start < at or end < start:
            raise EditorToolError("failed", f"The edits of {name} overlap, so nothing was written.")
        parts += (text[at:start], new)
        at = end
    return "".join([*parts, text[at:]])


def _index(lines: Sequence[str], starts: Sequence[int], position: Position, name: str) -> int:
    """Behind the end of a line counts as its end, and the line behind the last one as the end of the text, as LSP has it."""
    line = position.line - 1
    if line == len(lines):
        return starts[-1]
    if not 0 <= line < len(lines) or position.column < 1:
        raise EditorToolError("stale", f"{name} has no line {position.line}; it is not what the edits were made for.")
    body = lines[line].rstrip("\r\n")
    if body.isascii():
        return starts[line] + min(position.column - 1, len(body))
    head = body.encode("utf-16-le", "surrogatepass")[: (position.column - 1) * 2]
    return starts[line] + len(head.decode("utf-16-le", "ignore"))
