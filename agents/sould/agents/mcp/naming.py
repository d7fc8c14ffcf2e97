"""What of a server's words reaches the model: names, descriptions and schemas, made safe.

Pure. A server cannot shadow another's tool or ours, hide text from the user, fill the context with a description, or
make a provider fetch a schema.
"""

import hashlib
import re
import unicodedata
from typing import Any, Final, cast

from sould.agents.toolapi.portable import LONGEST_DESCRIPTION, inlined, portable

LONGEST_NAME: Final = 64
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
    longest = LONGEST_NAME if plain[0].isalpha() else LONGEST_NAME - 1  # models see it with `_` before it
    ambiguous = "__" in server or server.endswith("_") or tool.startswith("_")
    if plain == f"{server}__{tool}" and not ambiguous and len(plain) <= longest:
        return plain
    tail = hashlib.sha256(f"{server}\0{tool}".encode()).hexdigest()[:_TAIL]
    return f"{plain[: longest - len(tail) - 1]}_{tail}"


def may_be_of(name: str, server: str) -> bool:
    """Whether a tool of this server can be called so."""
    beginning = f"{_UNFIT.sub('_', server)}__"[: LONGEST_NAME - _TAIL - 2]
    return name.startswith(beginning)


def described(server: str, text: str) -> str:
    """A description that begins with the server's name, without invisible characters, at most 1 KiB."""
    return shortened(f"{server}: {cleaned(text).strip() or 'no description.'}")


def shortened(text: str) -> str:
    """A text for a model without invisible characters, cut to 1 KiB."""
    shown = cleaned(text).strip()
    encoded = shown.encode(errors="replace")
    if len(encoded) <= LONGEST_DESCRIPTION:
        return shown
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
    """The schema as every provider takes it: an object, references inside it resolved, remote ones gone, texts short."""
    safe = cast("dict[str, Any]", _with_safe_texts(inlined(schema)))
    result = portable(inlined(safe))  # again, because a hidden character may have kept a key from being `$ref`
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
        return shortened(value)
    if key == "properties" and isinstance(value, dict):  # its keys are names, whatever they look like
        return {cleaned(name): _with_safe_texts(child) for name, child in cast("dict[str, Any]", value).items()}
    return _with_safe_texts(value)
