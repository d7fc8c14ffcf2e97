"""Sessions of Codex: `~/.codex/sessions/YYYY/MM/DD/rollout-*.jsonl`, as versions 0.46 to 0.65 write them.

A line is `{timestamp, type, payload}`; `response_item` has what went to and came from the model. `event_msg` says the same
again for its own screen. What Codex itself puts into the user's mouth (`<environment_context>` and the like) is left out.
"""

from collections.abc import Iterator
from pathlib import Path

from sould.agents.sessions.store.imported.shape import (
    ImportedConversation,
    Json,
    Part,
    answered,
    as_moment,
    as_object,
    as_objects,
    as_text,
    called,
    image,
    lines_of,
)
from sould.agents.wire.content import TextPart

_OWN = ("environment_context", "user_instructions", "permissions instructions")
_KNOWN = {"event_msg", "turn_context", "compacted"}


def folder_of(home: Path) -> Path:
    """Where all sessions are, whatever directory they are about."""
    return home / ".codex" / "sessions"


def read(data: bytes) -> ImportedConversation:
    """The conversation in what such a file holds."""
    found = ImportedConversation("Codex")
    for record in lines_of(data, found):
        found.begins(as_moment(record.get("timestamp")))
        kind, payload = as_text(record.get("type")), as_object(record.get("payload"))
        if kind == "session_meta":
            found.is_from(payload.get("cwd"), payload.get("cli_version"))
        elif kind == "response_item":
            _take(payload, found)
        elif kind not in _KNOWN:
            found.skip("records of unknown kinds")
    return found


def _take(item: Json, found: ImportedConversation) -> None:
    match item.get("type"):
        case "message":
            _message(item, found)
        case "function_call":
            found.say("assistant", called(as_text(item.get("name")), item.get("arguments")))
        case "custom_tool_call":
            found.say("assistant", called(as_text(item.get("name")), item.get("input")))
        case "local_shell_call":
            found.say("assistant", called("shell", as_object(item.get("action")).get("command")))
        case "function_call_output" | "custom_tool_call_output":
            found.say("assistant", answered(_output(item.get("output"))))
        case "reasoning":
            found.skip("reasoning")
        case _:
            found.skip("records of unknown kinds")


def _message(item: Json, found: ImportedConversation) -> None:
    content = item.get("content")
    parts = [TextPart(text=content)] if isinstance(content, str) else [*_parts(as_objects(content), found)]
    match item.get("role"):
        case "assistant":
            found.say("assistant", *parts)
        case "user":
            found.say("user", *(part for part in parts if not _is_own(part)))
        case _:
            found.skip("instructions")


def _is_own(part: Part) -> bool:
    text = part.text.strip() if isinstance(part, TextPart) else ""
    return any(text.startswith(f"<{name}>") and text.endswith(f"</{name}>") for name in _OWN)


def _parts(content: list[Json], found: ImportedConversation) -> Iterator[Part]:
    for each in content:
        match each.get("type"):
            case "input_text" | "output_text" | "text":
                yield TextPart(text=as_text(each.get("text")))
            case "input_image":
                yield image(as_text(each.get("image_url")), found)
            case _:
                found.skip("parts of unknown kinds")


def _output(output: object) -> str:
    if isinstance(output, str):
        return output
    given = as_object(output)
    texts = as_objects(output) or as_objects(given.get("content_items"))
    return as_text(given.get("content")) or "\n".join(as_text(each.get("text")) for each in texts)
