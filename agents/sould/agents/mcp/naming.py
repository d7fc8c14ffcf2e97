"""What of a server's words reaches the model: names, descriptions and schemas, made safe (F79).

Pure. A server cannot shadow another's tool or ours, hide text from the user, fill the context with a description, or
make a provider fetch a schema.
"""

import hashlib
import re
import unicodedata
from typing import Any, Final, cast

LONGEST_NAME: Final = 64
LONGEST_DESCRIPTION: Final = 2048
"""Bytes, the server's name included."""
LARGEST_SCHEMA: Final = 64 * 1024
"""Characters of its JSON text; a larger one is replaced by "any object"."""
DEEPEST: Final = 24

_TAIL = 8
"""Characters of a hash."""
_DROPPED = frozenset({"$defs", "definitions", "$schema", "$id", "$anchor", "$dynamicAnchor"})
_UNFIT = re.compile(r"[^A-Za-z0-9_-]")


def tool_name(server: str, tool: str) -> str:
    """`server__tool`, always at most 64 of the characters that providers accept.

    What does not fit in as it stands ends in a hash, so that two different tools never get one name.
    """
    plain = f"{_UNFIT.sub('_', server)}__{_UNFIT.sub('_', tool)}"
    ambiguous = "__" in server or server.endswith("_") or tool.startswith("_")
    if plain == f"{server}__{tool}" and not ambiguous and len(plain) <= LONGEST_NAME:
        return plain
    tail = hashlib.sha256(f"{server}\0{tool}".encode()).hexdigest()[:_TAIL]
    return f"{plain[: LONGEST_NAME - len(tail) - 1]}_{tail}"


def may_be_of(name: str, server: str) -> bool:
    """Whether a tool of this server can be called so."""
    beginning = f"{_UNFIT.sub('_', server)}__"[: LONGEST_NAME - _TAIL - 1]
    return name.startswith(beginning)


def described(server: str, text: str) -> str:
    """A description that begins with the server's name, without invisible characters, at most 2 KiB."""
    whole = f"{cleaned(server)}: {cleaned(text).strip() or 'no description.'}"
    encoded = whole.encode()
    if len(encoded) <= LONGEST_DESCRIPTION:
        return whole
    mark = " [cut]"
    return encoded[: LONGEST_DESCRIPTION - len(mark)].decode(errors="ignore") + mark


def cleaned(text: str) -> str:
    """Without control, format, private and unassigned characters; other blanks than space become spaces."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(_shown(char) for char in text)


def _shown(char: str) -> str:
    if char in "\n\t":
        return char
    category = unicodedata.category(char)
    if category[0] == "Z":
        return " "
    return "" if category[0] == "C" else char


def safe_schema(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema as a provider may have it: an object, references inside it resolved, remote ones gone, texts short."""
    found = _Resolver(schema).resolve(schema, (), 0)
    result: dict[str, Any] = cast("dict[str, Any]", found) if isinstance(found, dict) else {}
    result["type"] = "object"
    if not isinstance(result.get("properties"), dict):
        result["properties"] = {}
    if len(repr(result)) > LARGEST_SCHEMA:
        return {"type": "object", "properties": {}}
    return result


class _Resolver:
    """Copies a schema; `budget` bounds what references in references can grow to."""

    def __init__(self, root: dict[str, Any]) -> None:
        self._root = root
        self._budget = 5000

    def resolve(self, node: Any, inside: tuple[str, ...], depth: int) -> Any:
        self._budget -= 1
        if depth > DEEPEST or self._budget < 0:
            return {}
        if isinstance(node, list):
            return [self.resolve(item, inside, depth + 1) for item in cast("list[Any]", node)]
        if isinstance(node, str):
            return cleaned(node)
        if not isinstance(node, dict):
            return node
        items = cast("dict[str, Any]", node)
        reference = items.get("$ref", items.get("$dynamicRef"))
        if isinstance(reference, str):
            rest = {key: value for key, value in items.items() if key not in ("$ref", "$dynamicRef")}
            target = None if reference in inside else self._find(reference)
            merged = {**target, **rest} if target is not None else rest
            return self.resolve(merged, (*inside, reference), depth + 1)
        return {
            cleaned(key): self._value(key, value, inside, depth + 1)
            for key, value in items.items()
            if key not in _DROPPED
        }

    def _value(self, key: str, value: Any, inside: tuple[str, ...], depth: int) -> Any:
        if key == "description" and isinstance(value, str):
            return described_short(value)
        if key == "properties" and isinstance(value, dict):  # its keys are names, whatever they look like
            named = cast("dict[str, Any]", value)
            return {cleaned(name): self.resolve(child, inside, depth + 1) for name, child in named.items()}
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


def described_short(text: str) -> str:
    """A description inside a schema."""
    text = cleaned(text)
    return text if len(text) <= 1000 else f"{text[:990]} [cut]"
