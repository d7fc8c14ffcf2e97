"""What the structured content of a result says that its content blocks do not.

Servers repeat there what the blocks show, pictures included; a model that reads base64 pays for each letter and sees nothing.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeAlias, cast

from pydantic import JsonValue

Block: TypeAlias = Mapping[str, Any]
"""A content block as MCP writes it, without what is null."""

DEEPEST: Final = 100
"""Levels of structured content that are looked at."""
SHORTEST: Final = 256
"""Letters from which on a value is taken for base64."""
_BASE64: Final = re.compile(rf"[A-Za-z0-9+/_-]{{{SHORTEST},}}={{0,2}}")
_NOTHING: Final = object()


class Shown:
    """What the blocks of a result show."""

    def __init__(self, blocks: Sequence[Block]) -> None:
        self._blocks = blocks
        self._data: dict[str, Block] = {}
        for block in (each.get("resource", each) for each in blocks):
            data = block.get("data") or block.get("blob")
            if data:
                self._data[data] = block

    def left_out(self, text: str) -> str:
        """A text with words in place of the data that another block shows."""
        return _BASE64.sub(lambda found: _beside(self._data.get(found[0])) or found[0], text) if self._data else text

    def beyond(self, structured: JsonValue) -> JsonValue:
        """What structured content says besides, with words in place of base64; None: nothing."""
        rest = self._rest(structured, DEEPEST)
        return None if rest is _NOTHING else cast("JsonValue", rest)

    def _rest(self, value: object, levels: int) -> object:
        """`value` without what the blocks say; `_NOTHING` where that was all of it."""
        if not levels:
            return "[too deep to be shown]"
        match value:
            case str():
                data = value.rpartition(";base64,")[2] if value.startswith("data:") else value
                return _NOTHING if data in self._data else _in_words(value, data)
            case list():
                return _kept([self._rest(each, levels - 1) for each in cast("list[object]", value)])
            case dict():
                return self._rest_of_object(cast("dict[str, object]", value), levels - 1)
            case _:
                return value

    def _rest_of_object(self, value: dict[str, object], levels: int) -> object:
        given = {key: each for key, each in value.items() if each is not None}
        if given in self._blocks:
            return _NOTHING
        block = next(
            (self._data[each] for each in given.values() if isinstance(each, str) and each in self._data), None
        )
        if block is not None:  # what it says of the data besides
            value = {key: each for key, each in given.items() if block.get(key) != each}
        rest = {key: kept for key, each in value.items() if (kept := self._rest(each, levels)) is not _NOTHING}
        return rest if rest or not given else _NOTHING


def _kept(members: list[object]) -> object:
    kept = [each for each in members if each is not _NOTHING]
    return kept if kept or not members else _NOTHING


def _in_words(value: str, data: str) -> str:
    return f"[base64 of {len(data) * 3 // 4} bytes, not shown]" if _BASE64.fullmatch(data) else value


def _beside(block: Block | None) -> str:
    return f"[{block.get('mimeType') or 'data'}, beside this text]" if block is not None else ""
