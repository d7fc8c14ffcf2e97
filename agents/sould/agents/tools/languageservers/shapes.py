"""What language servers say, read once: the fields of LSP 3.18 that are used. What does not fit is dropped, never believed.

A server is a program like any other: its lists are cut, its nesting too.
"""

from collections.abc import Iterator
from typing import Any, Final, TypeAlias, TypeVar, cast

from msgspec import ValidationError, convert

from sould.agents.base.lsp import Range
from sould.agents.base.shape import Shape

Json: TypeAlias = dict[str, Any]
MOST: Final = 5000
"""Entries of a list that are read."""


class Location(Shape, frozen=True):
    """Somewhere in a file."""

    uri: str
    range: Range


class LocationLink(Shape, frozen=True):
    """The same as newer servers say it."""

    target_uri: str
    target_range: Range
    target_selection_range: Range


class LsDiagnostic(Shape, frozen=True):
    """A problem."""

    range: Range
    message: str
    severity: Any = 1
    code: Any = None
    source: Any = None


class DocumentSymbol(Shape, frozen=True):
    """A symbol of a file, with those in it."""

    name: str
    kind: int
    range: Range
    selection_range: Range
    detail: Any = ""
    children: Any = None


class FlatSymbol(Shape, frozen=True):
    """A symbol anywhere; `location` may lack its range."""

    name: str
    kind: int
    location: Any
    container_name: Any = ""


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
