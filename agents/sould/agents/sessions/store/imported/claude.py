"""Sessions of Claude Code: `~/.claude/projects/<slug>/<id>.jsonl`, as versions 1.0.3 to 2.1.12 write them.

A line is a record: `user` and `assistant` have a message in the form of Anthropic's API, `summary` a title; records of
subagents (`isSidechain`) and of the program itself (`isMeta`) are no part of the conversation. Reasoning is left out.
"""

import re
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

_KNOWN = {"system", "file-history-snapshot", "queue-operation", "progress", "attachment"}


def folder_of(home: Path, cwd: Path) -> Path:
    """Where the sessions of a directory are."""
    return home / ".claude" / "projects" / re.sub(r"[^A-Za-z0-9]", "-", str(cwd))


def read(data: bytes) -> ImportedConversation:
    """The conversation in what such a file holds."""
    found = ImportedConversation("Claude Code")
    for record in lines_of(data, found):
        _take(record, found)
    return found


def _take(record: Json, found: ImportedConversation) -> None:
    kind = as_text(record.get("type"))
    if kind == "summary":
        found.name(as_text(record.get("summary")))
    elif kind not in ("user", "assistant"):
        if kind not in _KNOWN:
            found.skip("records of unknown kinds")
    elif record.get("isSidechain") is True or record.get("isMeta") is True:
        found.skip("records of subagents and of the program itself")
    else:
        found.is_from(record.get("cwd"), record.get("version"))
        found.begins(as_moment(record.get("timestamp")))
        content = as_object(record.get("message")).get("content")
        if isinstance(content, str):
            found.say("user" if kind == "user" else "assistant", TextPart(text=content))
            return
        blocks = as_objects(content)
        results = [each for each in blocks if each.get("type") == "tool_result"]
        others = [each for each in blocks if each.get("type") != "tool_result"]
        for each in results:
            found.say("assistant", answered("\n".join(_texts(each.get("content")))))
        found.say("user" if kind == "user" else "assistant", *(part for each in others for part in _parts(each, found)))


def _texts(content: object) -> Iterator[str]:
    if isinstance(content, str):
        yield content
    for each in as_objects(content):
        yield as_text(each.get("text")) or f"[{as_text(each.get('type')) or 'something'}]"


def _parts(block: Json, found: ImportedConversation) -> Iterator[Part]:
    match block.get("type"):
        case "text":
            yield TextPart(text=as_text(block.get("text")))
        case "image":
            source = as_object(block.get("source"))
            yield image(f"data:{as_text(source.get('media_type'))};base64,{as_text(source.get('data'))}", found)
        case "tool_use":
            yield called(as_text(block.get("name")), block.get("input"))
        case "thinking" | "redacted_thinking":
            found.skip("reasoning")
        case _:
            found.skip("parts of unknown kinds")
