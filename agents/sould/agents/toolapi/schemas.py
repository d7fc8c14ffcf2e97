"""JSON Schemas as providers take them: what they refer to stands in its place, because some servers do not follow `$ref`.

Pure, and safe for schemas of strangers: remote references are dropped, never fetched, and what references in references
can grow to is bounded. Says nothing about the texts in them.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final, cast

DEEPEST: Final = 24
MOST_NODES: Final = 5000

_REFERENCES = frozenset({"$ref", "$dynamicRef"})
_DROPPED = frozenset({"$defs", "definitions", "$schema", "$id", "$anchor", "$dynamicAnchor"})


def inlined(schema: dict[str, Any]) -> dict[str, Any]:
    """A copy with all references inside it resolved. A recursive type allows anything below its first level."""
    found = _Resolver(schema).resolve(schema, (), 0)
    return cast("dict[str, Any]", found) if isinstance(found, dict) else {}


class _Resolver:
    """Copies a schema; `budget` bounds how large that becomes."""

    def __init__(self, root: dict[str, Any]) -> None:
        self._root = root
        self._budget = MOST_NODES

    def resolve(self, node: Any, inside: tuple[str, ...], depth: int) -> Any:
        self._budget -= 1
        if depth > DEEPEST or self._budget < 0:
            return {}
        if isinstance(node, list):
            return [self.resolve(item, inside, depth + 1) for item in cast("list[Any]", node)]
        if not isinstance(node, dict):
            return node
        items = cast("dict[str, Any]", node)
        reference = items.get("$ref", items.get("$dynamicRef"))
        if isinstance(reference, str):
            rest = {key: value for key, value in items.items() if key not in _REFERENCES}
            target = None if reference in inside else self._find(reference)
            merged = {**target, **rest} if target is not None else rest
            return self.resolve(merged, (*inside, reference), depth + 1)
        return {key: self._value(key, value, inside, depth + 1) for key, value in items.items() if key not in _DROPPED}

    def _value(self, key: str, value: Any, inside: tuple[str, ...], depth: int) -> Any:
        if key == "properties" and isinstance(value, dict):  # its keys are names, whatever they look like
            named = cast("dict[str, Any]", value)
            return {name: self.resolve(child, inside, depth + 1) for name, child in named.items()}
        return self.resolve(value, inside, depth)

    def _find(self, reference: str) -> dict[str, Any] | None:
        """What a reference inside the document names; None for any other."""
        if not reference.startswith("#"):
            return None
        node: Any = self._root
        for part in reference[1:].strip("/").split("/"):
            if not part:
                continue
            key = part.replace("~1", "/").replace("~0", "~")
            if not isinstance(node, dict) or key not in node:
                return None
            node = cast("Any", node[key])
        return cast("dict[str, Any]", node) if isinstance(node, dict) else None


def branches(schema: Mapping[str, Any], *keys: str) -> Iterator[dict[str, Any]]:
    """The schemas that a schema combines with these keywords: `anyOf`, `oneOf`, `allOf`."""
    for key in keys:
        found = schema.get(key)
        for branch in cast("list[Any]", found) if isinstance(found, list) else ():
            if isinstance(branch, dict):
                yield cast("dict[str, Any]", branch)


def type_of(value: object) -> str:
    """The name that JSON Schema has for a value's type."""
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int():
            return "integer"
        case float():
            return "number"
        case str():
            return "string"
        case list():
            return "array"
        case _:
            return "object"
