"""What of a server's words reaches the model: names, descriptions and schemas, made safe (F79).

Pure. A server cannot shadow another's tool or ours, hide text from the user, fill the context with a description, or
make a provider fetch a schema.
"""

import hashlib
import re
import unicodedata
from typing import Any, Final, cast

from sould.agents.toolapi.schemas import inlined

LONGEST_NAME: Final = 64
LONGEST_DESCRIPTION: Final = 2048
"""Bytes, the server's name included."""
LARGEST_SCHEMA: Final = 64 * 1024
"""Characters of its JSON text; a larger one is replaced by "any object"."""

_TAIL = 8
"""Characters of a hash."""
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
    safe = cast("dict[str, Any]", _with_safe_texts(inlined(schema)))
    result = inlined(safe)  # again, because a hidden character may have kept a key from being `$ref`
    result["type"] = "object"
    if not isinstance(result.get("properties"), dict):
        result["properties"] = {}
    if len(repr(result)) > LARGEST_SCHEMA:
        return {"type": "object", "properties": {}}
    return result


def _with_safe_texts(node: Any) -> Any:
    if isinstance(node, list):
        return [_with_safe_texts(item) for item in cast("list[Any]", node)]
    if isinstance(node, str):
        return cleaned(node)
    if not isinstance(node, dict):
        return node
    return {cleaned(key): _safe_value(key, value) for key, value in cast("dict[str, Any]", node).items()}


def _safe_value(key: str, value: Any) -> Any:
    if key == "description" and isinstance(value, str):
        return described_short(value)
    if key == "properties" and isinstance(value, dict):  # its keys are names, whatever they look like
        return {cleaned(name): _with_safe_texts(child) for name, child in cast("dict[str, Any]", value).items()}
    return _with_safe_texts(value)


def described_short(text: str) -> str:
    """A description inside a schema."""
    text = cleaned(text)
    return text if len(text) <= 1000 else f"{text[:990]} [cut]"
