"""Where in a file: an anchor as a model gives it, against the text as it is. Pure.

Lines and columns count from 1, columns in UTF-16 code units, as editors do. Nothing is guessed: what fits more than once is an
error that names the places.
"""

import re
from collections.abc import Iterable, Sequence
from typing import Final, Protocol

from msgspec import Struct

from sould.agents.tools.editor.errors import Candidate, EditorToolError

MOST_NAMED: Final = 20
"""Places in an error."""
_BREAK: Final = re.compile(r"\r\n|\n|\r")
_INDEX: Final = re.compile(r"(.*)\[(\d+)\]")


class Position(Struct, frozen=True):
    """A place in a text."""

    line: int
    column: int = 1


class AnchorPlace(Struct, frozen=True):
    """One of three: `line` with `column`; `symbol`, with the text of a line that has it; `name_path`: `Class/method`."""

    line: int | None = None
    column: int | None = None
    symbol: str = ""
    line_text: str = ""
    name_path: str = ""


class Named(Protocol):
    """A symbol of a file, as far as it takes to find it by name."""

    @property
    def name_path(self) -> str:
        """`Class/method`."""
        ...

    @property
    def place(self) -> Position:
        """Where its name stands."""
        ...


def lines_of(text: str) -> list[str]:
    """The lines without their ends, as editors count them."""
    return _BREAK.split(text)


def units(text: str) -> int:
    """UTF-16 code units of a text."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


def place(anchor: AnchorPlace, text: str, file: str) -> Position:
    """Where an anchor points; one with a name path needs `place_of_name`. `file` is what errors call it.

    Raises:
        EditorToolError: not_found, ambiguous, invalid.
    """
    lines = lines_of(text)
    if anchor.line is not None:
        return _at(anchor.line, anchor.column, lines, file)
    if anchor.symbol:
        return _of_symbol(anchor.symbol, anchor.line_text, lines, file)
    raise EditorToolError("invalid", "The anchor says neither a line, a symbol nor a name path.")


def _at(line: int, column: int | None, lines: Sequence[str], file: str) -> Position:
    if not 1 <= line <= len(lines):
        raise EditorToolError("not_found", f"{file} has {len(lines)} lines, not {line}.")
    body = lines[line - 1]
    if column is None:
        return Position(line, units(body) - units(body.lstrip()) + 1)
    if not 1 <= column <= units(body) + 1:
        raise EditorToolError("not_found", f"Line {line} of {file} has {units(body)} columns, not {column}.")
    return Position(line, column)


def _of_symbol(symbol: str, line_text: str, lines: Sequence[str], file: str) -> Position:
    """The symbol as a whole word, in the lines that hold `line_text`; lines that are exactly it come first."""
    word = re.compile(rf"(?<!\w){re.escape(symbol)}(?!\w)")
    wanted = line_text.strip()
    having = [(number, line) for number, line in enumerate(lines, 1) if word.search(line)]
    exact = [each for each in having if wanted and each[1].strip() == wanted]
    fitting = exact or [each for each in having if wanted in each[1]]
    if len(fitting) == 1:
        number, line = fitting[0]
        found = word.search(line)
        assert found is not None
        return Position(number, units(line[: found.start()]) + 1)
    candidates = [Candidate(file, number, line) for number, line in (fitting or having)[:MOST_NAMED]]
    if fitting:
        said = f"{symbol!r} is in {len(fitting)} lines of {file} that fit; say more of the line, or its number."
        raise EditorToolError("ambiguous", said, candidates)
    where = f" in a line with {wanted[:80]!r}" if wanted and having else ""
    raise EditorToolError("not_found", f"There is no {symbol!r}{where} in {file}. Do not make lines up.", candidates)


def place_of_name(name_path: str, symbols: Iterable[Named], file: str) -> Position:
    """Where the symbol stands that a name path means: all of it, or its end. `name[1]` is the second one of a name.

    Raises:
        EditorToolError: not_found, ambiguous.
    """
    indexed = _INDEX.fullmatch(name_path)
    wanted, index = (indexed[1], int(indexed[2])) if indexed else (name_path, None)
    wanted = wanted.strip("/")
    known = list(symbols)
    exact = [each for each in known if each.name_path == wanted]
    fitting = exact or [each for each in known if each.name_path.endswith(f"/{wanted}")]
    if index is not None:
        fitting = fitting[index : index + 1]
    if len(fitting) == 1:
        return fitting[0].place
    candidates = [Candidate(file, each.place.line, "", each.name_path) for each in (fitting or known)[:MOST_NAMED]]
    if fitting:
        said = f"{len(fitting)} symbols of {file} are called {wanted!r}; say more of the path, or {wanted}[0]."
        raise EditorToolError("ambiguous", said, candidates)
    raise EditorToolError("not_found", f"{file} has no symbol {name_path!r}.", candidates)
