"""Conversations from elsewhere, as text for the model: sessions, exports, and what other programs keep.

Reads what it is given and nothing else. What it cannot read it refuses, with the line; it never guesses.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, cast

import orjson

from sould.agents.base.errors import OptionError
from sould.agents.sessions.store.conversation import as_markdown

TITLES = {"user": "User", "assistant": "Assistant", "tool": "Tool", "system": "System", "developer": "System"}


def conversation_in(path: Path, text: str) -> str:
    """The conversation in a file, as Markdown. Its name says how to read it.

    Raises:
        OptionError: it holds none.
    """
    match path.suffix.lower():
        case ".jsonl" | ".ndjson":
            said = _of_lines(path, text)
        case ".json":
            said = "\n\n".join(_of_document(path, _parsed(path, text, 1)))
        case _:
            said = text
    if not said.strip():
        raise OptionError(f"{path} holds no conversation.")
    return said.strip()


def _of_lines(path: Path, text: str) -> str:
    lines = [(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
    first: object = _parsed(path, lines[0][1], lines[0][0]) if lines else None
    if isinstance(first, dict) and cast("dict[str, Any]", first).get("type") == "metadata":
        return as_markdown(path, heading=False)
    return "\n\n".join(
        block for number, line in lines for block in _message(path, _parsed(path, line, number), f"line {number}")
    )


def _of_document(path: Path, document: object) -> Iterator[str]:
    """Our own export, or a list of messages, alone or under `messages`."""
    if isinstance(document, dict):
        fields = cast("dict[str, Any]", document)
        if fields.get("format") == "sould-conversation":
            yield from _turns(path, fields.get("turns"))
            return
        document = fields.get("messages")
    if not isinstance(document, list):
        raise OptionError(f"{path} is neither a file of `/export` nor a list of messages with `role` and `content`.")
    for number, message in enumerate(cast("list[object]", document), 1):
        yield from _message(path, message, f"message {number}")


def _turns(path: Path, turns: object) -> Iterator[str]:
    for turn in _objects(path, "turns", turns):
        yield f"## {TITLES['user']}\n\n{turn.get('prompt', '')}"
        said = [_item(item) for item in _objects(path, "items", turn.get("items"))]
        yield "\n\n".join([f"## {TITLES['assistant']}", *(part for part in said if part)])


def _objects(path: Path, name: str, value: object) -> list[dict[str, Any]]:
    """A list of objects, empty when there is none."""
    found = cast("list[object]", value or [])
    if not isinstance(value, list | None) or not all(isinstance(each, dict) for each in found):
        raise OptionError(f"{path}: `{name}` is not a list of objects, as in a file of `/export`.")
    return cast("list[dict[str, Any]]", found)


def _item(item: dict[str, Any]) -> str:
    match item.get("kind"):
        case "text":
            return str(item.get("text", ""))
        case "steer":
            return f"The user, meanwhile: {item.get('text', '')}"
        case "tool":
            return f"[{item.get('text') or item.get('tool')}: {item.get('status')}]\n{item.get('output', '')}".strip()
        case _:
            return ""


def _message(path: Path, message: object, place: str) -> Iterator[str]:
    """One message with a role and a text or parts; records of other programs' own (`_usage` …) are passed over."""
    fields = cast("dict[str, Any]", message) if isinstance(message, dict) else {}
    role = fields.get("role")
    if isinstance(role, str) and role.startswith("_"):
        return
    if not isinstance(role, str) or role not in TITLES:
        raise OptionError(f"{path}, {place}: there is no message with a `role` of {', '.join(TITLES)}.")
    text = "\n\n".join(_texts(fields.get("content")))
    if text.strip():
        yield f"## {TITLES[role]}\n\n{text}"


def _texts(content: object) -> Iterable[str]:
    if isinstance(content, str):
        return [content]
    parts = cast("list[object]", content) if isinstance(content, list) else []
    known = [cast("dict[str, Any]", part) for part in parts if isinstance(part, dict)]
    return [str(part["text"]) for part in known if part.get("type") in (None, "text") and part.get("text")]


def _parsed(path: Path, text: str, line: int) -> object:
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise OptionError(f"{path}, line {line + error.lineno - 1}: it is not JSON ({error.msg}).") from None
