"""Sessions of kimi-cli: `~/.kimi/sessions/<md5 of the directory>/<id>/context.jsonl`, as versions that speak Wire 1.10 write it.

A line is a message with a `role`; those that begin with `_` are the program's own. Reasoning is left out.
"""

from collections.abc import Iterator

from sould.agents.sessions.store.imported.shape import (
    ImportedConversation,
    Json,
    Part,
    answered,
    as_object,
    as_objects,
    as_text,
    called,
    image,
    lines_of,
)
from sould.agents.wire.content import TextPart


def read(data: bytes) -> ImportedConversation:
    """The conversation in what such a file holds."""
    found = ImportedConversation("Kimi")
    for message in lines_of(data, found):
        _take(message, found)
    return found


def _take(message: Json, found: ImportedConversation) -> None:
    parts = tuple(_parts(message.get("content"), found))
    match message.get("role"):
        case "user":
            found.say("user", *parts)
        case "assistant":
            calls = (as_object(each.get("function")) for each in as_objects(message.get("tool_calls")))
            found.say(
                "assistant", *parts, *(called(as_text(each.get("name")), each.get("arguments")) for each in calls)
            )
        case "tool":
            said = "\n".join(part.text for part in parts if isinstance(part, TextPart))
            found.say("assistant", answered(said), *(part for part in parts if not isinstance(part, TextPart)))
        case "_checkpoint" | "_usage" | "_system_prompt":
            return
        case _:
            found.skip("records of unknown kinds")


def _parts(content: object, found: ImportedConversation) -> Iterator[Part]:
    if isinstance(content, str):
        yield TextPart(text=content)
    for each in as_objects(content):
        match each.get("type"):
            case "text":
                yield TextPart(text=as_text(each.get("text")))
            case "image_url":
                yield image(as_text(as_object(each.get("image_url")).get("url")), found)
            case "think":
                found.skip("reasoning")
            case _:
                found.skip("parts of unknown kinds")
