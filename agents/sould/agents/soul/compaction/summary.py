"""A summary in its six sections (D25): read from what a model wrote, written out in one form, merged, cut to a size.

Pure text work. Nothing a model wrote is dropped for being in the wrong place: it goes where nothing gets lost.
"""

import re
from collections.abc import Iterator, Mapping
from typing import TypeAlias

from msgspec import Struct, field
from msgspec.structs import replace

from sould.agents.base.text import tokens

SECTIONS = ("current_focus", "environment", "completed_tasks", "active_issues", "code_state", "important_context")
_UNIONS = ("environment", "completed_tasks", "important_context")
"""Sections in which what was said earlier stays true; the others say how things are now."""
_SACRIFICE = ("completed_tasks", "environment", "important_context", "active_issues", "current_focus")
"""What is cut first when a summary is too long."""
_SHORTEST = 160
CUT = "[…]"
_THINKING = re.compile(r"<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)", re.DOTALL | re.IGNORECASE)
_OPENING = re.compile(rf"<({'|'.join(SECTIONS)})\s*>")
_FILE = re.compile(r"<file(?:\s+name\s*=\s*[\"']?([^\"'>]*)[\"']?)?\s*>(.*?)(?:</file>|\Z)", re.DOTALL)
_PARTS = ("summary", "key_elements", "latest_version")

Text: TypeAlias = Mapping[str, str]


class FileState(Struct, frozen=True):
    """One file as the work left it."""

    name: str
    summary: str = ""
    key_elements: str = ""
    latest_version: str = ""


class Summary(Struct, frozen=True):
    """`texts`: the sections but `code_state`, by name. `loose`: what stood outside every section."""

    texts: Text = field(default_factory=dict[str, str])
    files: tuple[FileState, ...] = ()
    missing: tuple[str, ...] = ()
    loose: str = ""

    @property
    def text(self) -> str:
        """The summary as the model reads it; the same for the same content."""
        return "\n".join(_rendered(self))


def without_thinking(text: str) -> str:
    """What models put between `<think>` tags inside their text is reasoning too."""
    return _THINKING.sub("", text)


def parse(text: str) -> Summary:
    """Read the sections; one that is not closed goes to the next one's beginning."""
    text = without_thinking(text)
    found: dict[str, str] = {}
    loose: list[str] = []
    position = 0
    while opening := _OPENING.search(text, position):
        loose.append(text[position : opening.start()])
        name = opening[1]
        closing = text.find(f"</{name}>", opening.end())
        following = _OPENING.search(text, opening.end())
        cut_off = following.start() if following else len(text)
        end = closing if closing >= 0 else cut_off
        said = text[opening.end() : end].strip()
        found[name] = "\n".join(filter(None, (found.get(name, ""), said)))
        position = end + (len(name) + 3 if closing >= 0 else 0)
    loose.append(text[position:])
    missing = tuple(name for name in SECTIONS if name not in found)
    code = found.pop("code_state", "")
    files = tuple(_file(match[1] or "", match[2]) for match in _FILE.finditer(code))
    outside = _FILE.sub("", code).strip()
    if outside and outside.rstrip(".").lower() not in {"none", "无"}:
        files = (*files, FileState("", outside))
    return Summary(found, files, missing, "\n".join(filter(None, (part.strip() for part in loose))))


def repaired(summary: Summary, focus: str) -> Summary:
    """The summary with every section: an absent focus is `focus`, loose text joins the important context."""
    texts = {name: summary.texts.get(name, "") for name in SECTIONS if name != "code_state"}
    texts["current_focus"] = texts["current_focus"] or focus
    texts["important_context"] = "\n".join(filter(None, (texts["important_context"], summary.loose)))
    return Summary(texts, summary.files)


def merge(earlier: Summary, later: Summary) -> Summary:
    """What was compacted before, brought up to date by code, so that no model writes it again from scratch."""
    texts = {**earlier.texts, **{name: text for name, text in later.texts.items() if text}}
    for name in _UNIONS:
        texts[name] = _union(earlier.texts.get(name, ""), later.texts.get(name, ""))
    newer = {state.name for state in later.files}
    kept = tuple(state for state in earlier.files if state.name not in newer)
    return Summary(texts, (*kept, *later.files))


def fitted(summary: Summary, limit: int) -> Summary:
    """At most about `limit` tokens: old code goes first, then the oldest of what is done, the current focus last."""
    while tokens(summary.text) > limit:
        shorter = _shorter(summary)
        if shorter is None:
            return summary
        summary = shorter
    return summary


def shortened(text: str, limit: int) -> str:
    """At most `limit` characters: head and tail, with a mark between."""
    if len(text) <= limit:
        return text
    half = max(0, limit - len(CUT)) // 2
    return f"{text[:half]}{CUT}{text[len(text) - half :]}"


def _rendered(summary: Summary) -> Iterator[str]:
    for name in SECTIONS:
        if name != "code_state":
            yield f"<{name}>\n{summary.texts.get(name, '') or 'None.'}\n</{name}>"
            continue
        files = "\n".join(_rendered_file(state) for state in summary.files)
        yield f"<code_state>\n{files or 'None.'}\n</code_state>"


def _rendered_file(state: FileState) -> str:
    parts = ((name, getattr(state, name)) for name in _PARTS)
    inner = "\n".join(f"<{name}>{text}</{name}>" for name, text in parts if text)
    return f'<file name="{state.name}">\n{inner}\n</file>'


def _file(name: str, body: str) -> FileState:
    parts: dict[str, str] = {}
    rest = body
    for part in _PARTS:
        match = re.search(rf"<{part}>(.*?)(?:</{part}>|\Z)", rest, re.DOTALL)
        if match:
            parts[part] = match[1].strip()
            rest = rest.replace(match[0], "")
    rest = rest.strip()
    named = re.match(r"<?name>?\s*[:=]?\s*([^\n<]+)(?:</name>)?", rest)
    if not name and named:
        name, rest = named[1].strip(), rest[named.end() :].strip()
    parts["summary"] = "\n".join(filter(None, (parts.get("summary", ""), rest)))
    return FileState(name.strip(), parts["summary"], parts.get("key_elements", ""), parts.get("latest_version", ""))


def _union(earlier: str, later: str) -> str:
    known = {line.strip() for line in earlier.splitlines()} | {"None.", "无。", "无"}
    added = [line for line in later.splitlines() if line.strip() not in known]
    kept = [line for line in earlier.splitlines() if line.strip() not in {"None.", "无。", "无"}]
    return "\n".join([*kept, *added])


def _shorter(summary: Summary) -> Summary | None:
    """One step shorter, None when nothing is left to cut."""
    for at, state in enumerate(summary.files):
        if len(state.latest_version) > _SHORTEST:
            smaller = replace(state, latest_version=shortened(state.latest_version, len(state.latest_version) // 2))
            return replace(summary, files=(*summary.files[:at], smaller, *summary.files[at + 1 :]))
    for at, state in enumerate(summary.files):
        if len(state.summary) + len(state.key_elements) > 2 * _SHORTEST:
            smaller = replace(
                state,
                summary=shortened(state.summary, len(state.summary) // 2),
                key_elements=shortened(state.key_elements, len(state.key_elements) // 2),
            )
            return replace(summary, files=(*summary.files[:at], smaller, *summary.files[at + 1 :]))
    longest = next((name for name in _SACRIFICE if len(summary.texts.get(name, "")) > 4 * _SHORTEST), None)
    longest = longest or next((name for name in _SACRIFICE if len(summary.texts.get(name, "")) > _SHORTEST), None)
    if longest is not None:
        text = summary.texts[longest]
        return replace(summary, texts={**summary.texts, longest: shortened(text, len(text) * 3 // 4)})
    return replace(summary, files=summary.files[1:]) if summary.files else None
