"""How much of an answer is shown: lists are shortened and texts cut until it fits, and it is said that they were. Pure."""

from typing import Any, Final

import msgspec
import orjson

from sould.agents.tools.editor.results import Shape

LARGEST_ANSWER: Final = 4 * 1024 * 1024
"""Bytes of what a client answers."""
CUT: Final = " [...]"
_SHORTEST: Final = 200
"""Characters that stay of a text that is cut."""


def bounded(data: Shape, limit: int, most: int) -> tuple[dict[str, Any], bool]:
    """As JSON, with at most `most` items in a list and about `limit` characters in all; and whether anything was left out."""
    value: dict[str, Any] = orjson.loads(msgspec.json.encode(data))
    cut = _shorten_lists(value, most)
    while (size := len(orjson.dumps(value))) > limit:
        if not _halve(value, size - limit):
            break
        cut = True
    return value, cut


def _shorten_lists(value: Any, most: int) -> bool:
    cut = False
    for each in _values(value):
        if isinstance(each, list) and len(each) > most:  # pyright: ignore[reportUnknownArgumentType] -- JSON
            del each[most:]
            cut = True
        cut |= _shorten_lists(each, most)
    return cut


def _halve(value: dict[str, Any], over: int) -> bool:
    """Take half of what is largest away, or less where less is too much; False: nothing is left to be cut."""
    place = _largest(value)
    if place is None:
        return False
    holder, key = place
    each = holder[key]
    if isinstance(each, str):
        kept = max(_SHORTEST, len(each) - max(over, len(each) // 8))
        holder[key] = each[:kept] + CUT
    else:
        del each[max(1, len(each) - max(1, len(each) // 4)) :]
    return True


def _largest(value: dict[str, Any]) -> tuple[Any, Any] | None:
    """Where the largest list or text stands that can be cut: its holder, and its name or number there."""
    found: list[tuple[int, Any, Any]] = []
    pending: list[Any] = [value]
    while pending:
        holder: Any = pending.pop()
        for key, each in _items(holder):
            if isinstance(each, str) and len(each) > _SHORTEST + len(CUT):
                found.append((len(each), holder, key))
            elif isinstance(each, list) and len(_values(each)) > 1:
                found.append((len(orjson.dumps(each)), holder, key))
            if isinstance(each, dict | list):
                pending.append(each)
    if not found:
        return None
    _, holder, key = max(found, key=lambda each: each[0])
    return holder, key


def _items(value: Any) -> list[tuple[Any, Any]]:
    if isinstance(value, dict):
        return list(value.items())  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType] -- JSON
    items: list[Any] = value
    return list(enumerate(items))


def _values(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return list(value.values())  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType] -- JSON
    return value if isinstance(value, list) else []  # pyright: ignore[reportUnknownVariableType] -- JSON
