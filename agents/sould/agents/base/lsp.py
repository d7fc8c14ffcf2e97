"""Places in files as the Language Server Protocol has them, for editors as clients and for language servers. Pure.

Written by hand because lsprotocol's types cost 18 MB, which is for those who speak LSP with an editor. Nothing here knows a method.
"""

from pathlib import Path
from typing import Annotated, Literal, TypeAlias
from urllib.parse import unquote, urlsplit

from msgspec import Meta, Struct

from sould.agents.base.shape import Shape

Unsigned: TypeAlias = Annotated[int, Meta(ge=0)]
PositionEncoding: TypeAlias = Literal["utf-8", "utf-16", "utf-32"]
"""What `Position.character` counts: units of this encoding."""


class Position(Struct, frozen=True, order=True):
    """A place between two characters, counted from 0. Behind a line's end, or the last line, it is that end."""

    line: Unsigned
    character: Unsigned


class Range(Struct, frozen=True):
    """Up to `end`, which is not included."""

    start: Position
    end: Position


class TextEdit(Shape, frozen=True):
    """`new_text` in the place of a range."""

    range: Range
    new_text: str


def path_of(uri: str) -> Path | None:
    """The file that a URI names, None: it is none."""
    try:
        parts = urlsplit(uri)
    except ValueError:
        return None
    path = unquote(parts.path)
    if parts.scheme != "file" or parts.netloc not in ("", "localhost") or not path.startswith("/") or "\0" in path:
        return None
    return Path(path)
