"""What language servers answer, as the editor tools' catalogue has it. Reads files through the call's reader only; writes none.

A server's places are not believed: what lies outside a text is its end, what is no file of this machine is left out, and what may
not be read without a question is named, not shown.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, cast

from msgspec import Struct

from sould.agents.base import lsp
from sould.agents.base.lsp import PositionEncoding
from sould.agents.base.workspace import TextFile, WorkspaceError
from sould.agents.tools.editor.anchors import Position, lines_of, units
from sould.agents.tools.editor.backends import BackendEdit, FileEdits, Reader
from sould.agents.tools.editor.errors import EditorToolError
from sould.agents.tools.editor.results import AllReferences, Hit, Hover, Problem, References, Severity, Span, Symbol
from sould.agents.tools.editor.results import Location as FoundLocation
from sould.agents.tools.languageservers import shapes

# Places in a text, as editor tools and as a language server count them. Pure.
# Editor tools count lines and columns from 1, columns in UTF-16 code units; a server counts from 0, in the units it
# was agreed upon with it. What a server names beyond a line or a text is taken as its end, as the protocol says.


ENCODINGS: Final[tuple[PositionEncoding, ...]] = ("utf-32", "utf-16", "utf-8")
"""The ones we can speak. Servers that have a choice count characters well, and UTF-16 less so."""


class Text:
    """A text whose places are asked for."""

    def __init__(self, text: str, encoding: PositionEncoding) -> None:
        self.lines: Sequence[str] = lines_of(text)
        self._encoding: PositionEncoding = encoding

    def to_server(self, position: Position) -> dict[str, int]:
        """A place of ours, for the server."""
        line = self._line(position.line - 1)
        index = _index_of(line, position.column - 1, "utf-16")
        return {"line": position.line - 1, "character": _size(line[:index], self._encoding)}

    def from_server(self, line: int, character: int) -> Position:
        """A place that the server named."""
        if line >= len(self.lines):
            return Position(len(self.lines), units(self.lines[-1]) + 1)
        text = self.lines[line]
        if self._encoding == "utf-16":
            return Position(line + 1, min(character, units(text)) + 1)
        return Position(line + 1, units(text[: _index_of(text, character, self._encoding)]) + 1)

    def _line(self, number: int) -> str:
        return self.lines[number] if 0 <= number < len(self.lines) else ""


def encoding_of(said: object) -> PositionEncoding:
    """What a server said that it counts in; the protocol's own where it said nothing we know."""
    for each in ENCODINGS:
        if each == said:
            return each
    return "utf-16"


def _size(text: str, encoding: PositionEncoding) -> int:
    if encoding == "utf-32" or text.isascii():
        return len(text)
    return units(text) if encoding == "utf-16" else len(text.encode("utf-8", "surrogatepass"))


def _index_of(line: str, count: int, encoding: PositionEncoding) -> int:
    """The index of the character that so many units stand before; one that is halved begins there."""
    if encoding == "utf-32" or line.isascii():
        return min(count, len(line))
    for index, char in enumerate(line):
        count -= _size(char, encoding)
        if count < 0:
            return index
    return len(line)


SEVERITIES: Final[tuple[Severity, ...]] = ("error", "warning", "information", "hint")
KINDS: Final = (
    *("file", "module", "namespace", "package", "class", "method", "property", "field", "constructor", "enum"),
    *("interface", "function", "variable", "constant", "string", "number", "boolean", "array", "object", "key"),
    *("null", "enumMember", "struct", "event", "operator", "typeParameter"),
)
DEEPEST: Final = 20
MOST_FILES: Final = 500
"""That a rename may change."""
MOST_TEXTS: Final = 200
"""Files that are read for one answer."""
LONGEST_LINE: Final = 400
LONGEST_TEXT: Final = 20_000


class AnswerTexts:
    """The files of one answer, each read once."""

    def __init__(self, reader: Reader, encoding: PositionEncoding, known: Iterable[TextFile]) -> None:
        self._reader = reader
        self.encoding: PositionEncoding = encoding
        self._files: dict[Path, TextFile | None] = {file.path: file for file in known}
        self._texts: dict[Path, Text] = {}

    async def file(self, path: Path) -> TextFile | None:
        """A file as its user sees it; None: it may not be read, or there were too many."""
        if path not in self._files and len(self._files) < MOST_TEXTS + MOST_FILES:
            try:
                self._files[path] = await self._reader.read_text(path)
            except WorkspaceError:
                self._files[path] = None
        return self._files.get(path)

    async def text(self, path: Path) -> Text | None:
        """The same, to look for places in."""
        if path not in self._texts:
            file = await self.file(path)
            if file is None:
                return None
            self._texts[path] = Text(file.text, self.encoding)
        return self._texts[path]

    async def span(self, path: Path, found: lsp.Range) -> Span:
        """A range that the server named."""
        text = await self.text(path)
        return Span(_position(text, found.start), _position(text, found.end))

    async def line(self, path: Path, number: int) -> str:
        """A line, counted from 1; "" where it may not be read."""
        text = await self.text(path)
        return text.lines[number - 1][:LONGEST_LINE] if text is not None and number <= len(text.lines) else ""

    async def body(self, path: Path, span: Span) -> str:
        """What stands in a range; "" where it may not be read."""
        text = await self.text(path)
        if text is None:
            return ""
        lines = text.lines[span.start.line - 1 : span.end.line]
        return "\n".join(lines)[:LONGEST_TEXT]


def _position(text: Text | None, place: lsp.Position) -> Position:
    if text is None:
        return Position(place.line + 1, place.character + 1)
    return text.from_server(place.line, place.character)


# --- problems -----------------------------------------------------------------------------------------------------------


async def problems(path: Path, found: Iterable[shapes.LsDiagnostic], texts: AnswerTexts) -> list[Problem]:
    """Those of one file."""
    return [
        Problem(
            str(path),
            await texts.span(path, each.range),
            severity_of(each),
            each.message[:2000],
            shapes.text_of(each.code, 100),
            shapes.text_of(each.source, 100),
        )
        for each in found
    ]


def severity_of(found: shapes.LsDiagnostic) -> Severity:
    """An error, where the server does not say."""
    number = found.severity if isinstance(found.severity, int) else 1
    return SEVERITIES[number - 1] if 1 <= number <= len(SEVERITIES) else "error"


# --- symbols ------------------------------------------------------------------------------------------------------------


class Wanted(Struct, frozen=True):
    """Of a list of symbols."""

    kinds: Collection[str] = ()
    depth: int = 1
    bodies: bool = False
    most: int = 1000


class _Nested(Struct, frozen=True):
    """One of a file's symbols, with the names round it."""

    names: tuple[str, ...]
    symbol: shapes.DocumentSymbol


async def outline(path: Path, raw: object, wanted: Wanted, texts: AnswerTexts) -> tuple[Symbol, ...]:
    """The symbols of a file, in its order."""
    found = list(_nested(raw, (), wanted.depth))
    if not found:
        return await elsewhere(raw, wanted, texts)
    return tuple(
        [
            await _symbol(path, each, wanted, texts)
            for each in found
            if not wanted.kinds or kind_of(each.symbol.kind) in wanted.kinds
        ][: wanted.most]
    )


def _nested(raw: object, above: tuple[str, ...], depth: int) -> Iterable[_Nested]:
    if len(above) > min(depth, DEEPEST):
        return
    for symbol in shapes.each(shapes.DocumentSymbol, raw):
        names = (*above, symbol.name[:200])
        yield _Nested(names, symbol)
        yield from _nested(symbol.children, names, depth)


async def _symbol(path: Path, found: _Nested, wanted: Wanted, texts: AnswerTexts) -> Symbol:
    symbol = found.symbol
    span = await texts.span(path, symbol.range)
    return Symbol(
        found.names[-1],
        "/".join(found.names),
        kind_of(symbol.kind),
        str(path),
        span,
        await texts.span(path, symbol.selection_range),
        shapes.text_of(symbol.detail, LONGEST_LINE),
        await texts.body(path, span) if wanted.bodies else "",
    )


async def elsewhere(raw: object, wanted: Wanted, texts: AnswerTexts) -> tuple[Symbol, ...]:
    """Symbols anywhere, as `workspace/symbol` says them, and older servers those of a file."""
    made: list[Symbol] = []
    for each in shapes.each(shapes.FlatSymbol, raw):
        place = shapes.read(shapes.Location, each.location)
        path = lsp.path_of(place.uri) if place is not None else None
        if place is None or path is None or (wanted.kinds and kind_of(each.kind) not in wanted.kinds):
            continue
        if len(made) >= wanted.most:
            break
        span = await texts.span(path, place.range)
        around = shapes.text_of(each.container_name, 200)
        name = each.name[:200]
        body = await texts.body(path, span) if wanted.bodies else ""
        made.append(
            Symbol(name, f"{around}/{name}" if around else name, kind_of(each.kind), str(path), span, body=body)
        )
    return tuple(made)


def kind_of(number: int) -> str:
    """The protocol's number as a word."""
    return KINDS[number - 1] if 1 <= number <= len(KINDS) else "symbol"


# --- places -------------------------------------------------------------------------------------------------------------


async def locations(raw: object, texts: AnswerTexts, *, bodies: bool) -> tuple[FoundLocation, ...]:
    """Where something is defined, each place once."""
    made: list[FoundLocation] = []
    for path, found, whole in _places(raw):
        span = await texts.span(path, found)
        body = await texts.body(path, await texts.span(path, whole)) if bodies else ""
        made.append(FoundLocation(str(path), span, await texts.line(path, span.start.line), body))
    return tuple(dict.fromkeys(made))


def _places(raw: object) -> Iterable[tuple[Path, lsp.Range, lsp.Range]]:
    """Each with what is named there, and all that belongs to it."""
    entries = cast("list[object]", raw) if isinstance(raw, list) else [raw]
    for link in shapes.each(shapes.LocationLink, entries):
        path = lsp.path_of(link.target_uri)
        if path is not None:
            yield path, link.target_selection_range, link.target_range
    for place in shapes.each(shapes.Location, entries):
        path = lsp.path_of(place.uri)
        if path is not None:
            yield path, place.range, place.range


async def references(raw: object, texts: AnswerTexts, most: int, declared: object = ()) -> AllReferences:
    """The places by file, and how many there are in all. `declared`: an answer with the places that are none."""
    by_file: dict[Path, list[lsp.Range]] = {}
    out = {(path, found.start.line, found.start.character) for path, found, _ in _places(declared or ())}
    for path, found, _ in _places(raw):
        if (path, found.start.line, found.start.character) not in out:
            by_file.setdefault(path, []).append(found)
    groups: list[References] = []
    left = most
    for path in sorted(by_file):
        ranges = sorted(by_file[path], key=lambda each: (each.start.line, each.start.character))[: max(0, left)]
        left -= len(ranges)
        spans = [await texts.span(path, each) for each in ranges]
        hits = [Hit(each.start.line, await texts.line(path, each.start.line), each.start.column) for each in spans]
        if hits:
            groups.append(References(str(path), tuple(hits)))
    return AllReferences(sum(map(len, by_file.values())), tuple(groups))


# --- words --------------------------------------------------------------------------------------------------------------


def hover(raw: object) -> Hover:
    """What a server says of a symbol. Raises EditorToolError: nothing."""
    said = _words(shapes.members(raw).get("contents")).strip()
    if not said:
        raise EditorToolError("not_found", "The language server knows nothing of this place.")
    return Hover(said[:LONGEST_TEXT])


def _words(contents: object) -> str:
    if isinstance(contents, str):
        return contents
    if isinstance(contents, list):
        return "\n\n".join(filter(None, map(_words, cast("list[Any]", contents)[:50])))
    marked = shapes.members(contents)
    value = marked.get("value")
    if not isinstance(value, str):
        return ""
    language = marked.get("language")
    return f"```{language}\n{value}\n```" if isinstance(language, str) else value


# --- edits --------------------------------------------------------------------------------------------------------------


async def edits(raw: object, texts: AnswerTexts) -> tuple[FileEdits, ...]:
    """A workspace edit, as what is to become of each file.

    Raises:
        EditorToolError: it is none, does more than to edit texts, or names files that may not be read; nothing is to be written.
    """
    by_file: dict[Path, list[lsp.TextEdit]] = {}
    for uri, listed in _documents(shapes.members(raw)):
        path = lsp.path_of(uri)
        made = list(shapes.each(lsp.TextEdit, listed, 100_000))
        if path is None or not isinstance(listed, list) or len(made) != len(cast("list[Any]", listed)):
            raise EditorToolError(
                "failed", "The language server answered with edits that are none. Nothing was changed."
            )
        by_file.setdefault(path, []).extend(made)
    if len(by_file) > MOST_FILES:
        said = f"{len(by_file)} files would change; {MOST_FILES} may. Nothing was changed."
        raise EditorToolError("failed", said)
    return tuple([await _file_edits(path, by_file[path], texts) for path in sorted(by_file)])


def _documents(edit: Mapping[str, Any]) -> Iterable[tuple[str, object]]:
    changes = edit.get("documentChanges")
    if isinstance(changes, list):
        for change in cast("list[Any]", changes):
            given = shapes.members(change)
            if "kind" in given:
                said = "It would also create, rename or delete files, which is not supported. Nothing was changed."
                raise EditorToolError("not_supported", said)
            yield shapes.text_of(shapes.members(given.get("textDocument")).get("uri"), 10_000), given.get("edits")
        return
    yield from shapes.members(edit.get("changes")).items()


async def _file_edits(path: Path, found: Sequence[lsp.TextEdit], texts: AnswerTexts) -> FileEdits:
    file = await texts.file(path)
    if file is None:
        raise EditorToolError("denied", f"{path} would change, too, which may not be read. Nothing was changed.")
    made = [BackendEdit(await texts.span(path, each.range), each.new_text) for each in found]
    return FileEdits(path, tuple(made), digest=file.digest)
