"""What language servers say, read once: the fields of LSP 3.18 that are used. What does not fit is dropped, never believed.

Written by hand because lsprotocol's types cost 16 MB. A server is a program like any other: its lists are cut, its nesting too.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Final, TypeAlias, TypeVar, cast
from urllib.parse import unquote, urlsplit

from msgspec import Meta, Struct, ValidationError, convert

Unsigned: TypeAlias = Annotated[int, Meta(ge=0)]
Json: TypeAlias = dict[str, Any]
MOST: Final = 5000
"""Entries of a list that are read."""


class Shape(Struct, frozen=True, rename="camel"):
    """Base: camelCase on the wire, unknown fields ignored."""


class LsPlace(Shape, frozen=True):
    """Counted from 0, in the units of the server."""

    line: Unsigned
    character: Unsigned


class LsRange(Shape, frozen=True):
    """Up to `end`, which is not included."""

    start: LsPlace
    end: LsPlace


class Location(Shape, frozen=True):
    """Somewhere in a file."""

    uri: str
    range: LsRange


class LocationLink(Shape, frozen=True):
    """The same as newer servers say it."""

    target_uri: str
    target_range: LsRange
    target_selection_range: LsRange


class LsDiagnostic(Shape, frozen=True):
    """A problem."""

    range: LsRange
    message: str
    severity: Any = 1
    code: Any = None
    source: Any = None


class DocumentSymbol(Shape, frozen=True):
    """A symbol of a file, with those in it."""

    name: str
    kind: int
    range: LsRange
    selection_range: LsRange
    detail: Any = ""
    children: Any = None


class FlatSymbol(Shape, frozen=True):
    """A symbol anywhere; `location` may lack its range."""

    name: str
    kind: int
    location: Any
    container_name: Any = ""


class LsTextEdit(Shape, frozen=True):
    """`new_text` in the place of a range."""

    range: LsRange
    new_text: str


class Published(Shape, frozen=True):
    """`textDocument/publishDiagnostics`."""

    uri: str
    diagnostics: list[Any]
    version: Any = None


ShapeT = TypeVar("ShapeT", bound=Shape)


def read(kind: type[ShapeT], raw: object) -> ShapeT | None:
    """One of them; None: it is none."""
    try:
        return convert(raw, kind)
    except (ValidationError, RecursionError):
        return None


def each(kind: type[ShapeT], raw: object, most: int = MOST) -> Iterator[ShapeT]:
    """Those of a list that are what they should be."""
    entries = cast("list[Any]", raw) if isinstance(raw, list) else []
    for entry in entries[:most]:
        found = read(kind, entry)
        if found is not None:
            yield found


def members(raw: object) -> Json:
    """A JSON object; an empty one where it is none."""
    return cast("Json", raw) if isinstance(raw, dict) else {}


def text_of(raw: object, most: int = 1000) -> str:
    """A text or a number, cut; "" for anything else."""
    return str(raw)[:most] if isinstance(raw, str | int) and not isinstance(raw, bool) else ""


def path_of(uri: str) -> Path | None:
    """The file that a URI means; None: it means none of this machine."""
    try:
        parts = urlsplit(uri)
    except ValueError:
        return None
    path = unquote(parts.path)
    if parts.scheme != "file" or parts.netloc not in ("", "localhost") or not path.startswith("/") or "\0" in path:
        return None
    return Path(path)
