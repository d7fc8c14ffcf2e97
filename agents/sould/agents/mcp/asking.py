"""A server's question to the user: its form as questions of ours, and the answers as its form wants them.

Nothing is answered in the user's name: without an answer, and for a form that cannot be shown, there is none.
"""

import re
import secrets
from collections.abc import Mapping
from typing import Any, cast

from sould.agents.mcp.naming import cleaned
from sould.agents.mcp.results import Elicitation
from sould.agents.wire.channel import RequestClosedError
from sould.agents.wire.log import SessionLog
from sould.agents.wire.messages import QuestionItem, QuestionOption, QuestionRequest, QuestionResponse

LONGEST = 4000
MOST_FIELDS = 20
YES, NO = "Yes", "No"
WARNING = "Type no password or key here: the server reads it, and this session keeps it."
_SECRET = re.compile(r"passw|passphrase|secret|credential|api.?key|private.?key|token|\bpin\b|\bcvc\b", re.IGNORECASE)
DONE = "Done"


async def ask_user(log: SessionLog, server: str, question: Elicitation) -> dict[str, Any] | None:
    """Ask everybody who looks at the session; None when the question was dismissed or the form cannot be shown."""
    properties = cast("dict[str, dict[str, Any]]", (question.schema or {}).get("properties", {}))
    if len(properties) > MOST_FIELDS:
        return None
    said = f"The MCP server {cleaned(server)} asks: {cleaned(question.message)[:LONGEST]}"
    if any(map(_SECRET.search, (question.message, *map(str, properties), *map(str, properties.values())))):
        said = f"{said}\n\n{WARNING}"
    if question.url:
        said = f"{said}\n\nIt wants you to visit {cleaned(question.url)}"
    items = {name: _item(name, field, said) for name, field in properties.items()} or {
        "": QuestionItem(question=said, header="MCP", options=(QuestionOption(label=DONE),))
    }
    request = QuestionRequest(
        id=secrets.token_hex(8), tool_call_id=f"mcp_{secrets.token_hex(4)}", questions=tuple(items.values())
    )
    try:
        response = await log.channel.request(request)
    except RequestClosedError:
        return None
    if not isinstance(response, QuestionResponse) or not response.answers:
        return None
    given = {name: response.answers[item.question] for name, item in items.items() if item.question in response.answers}
    return _content(properties, given, (question.schema or {}).get("required", []))


def _item(name: str, field: Mapping[str, Any], said: str) -> QuestionItem:
    title = cleaned(str(field.get("title") or name))
    about = cleaned(str(field.get("description") or ""))[:1000]
    options = tuple(QuestionOption(label=label) for label in _labels(field))
    return QuestionItem(
        question=f"{title}: {about}" if about else title,
        header=title[:40],
        body=said,
        options=options,
        multi_select=field.get("type") == "array",
    )


def _choices(field: Mapping[str, Any]) -> dict[str, Any]:
    """Label to value; empty for a field of free text."""
    if field.get("type") == "boolean":
        return {YES: True, NO: False}
    source = cast("Mapping[str, Any]", field.get("items", {})) if field.get("type") == "array" else field
    titled = cast("list[dict[str, Any]]", source.get("oneOf") or source.get("anyOf") or [])
    if titled:
        return {cleaned(str(choice.get("title") or choice.get("const"))): choice.get("const") for choice in titled}
    names = cast("list[str]", field.get("enumNames") or [])
    values = cast("list[Any]", source.get("enum") or [])
    return {cleaned(str(names[at] if at < len(names) else value)): value for at, value in enumerate(values)}


def _labels(field: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(_choices(field))


def _content(
    properties: Mapping[str, Mapping[str, Any]], given: Mapping[str, str], required: list[str]
) -> dict[str, Any] | None:
    """The form filled in; None when something required is missing or does not fit."""
    content: dict[str, Any] = {}
    for name, text in given.items():
        if not name:
            continue
        value = _value(properties[name], text)
        if value is not None:
            content[name] = value
    return content if all(name in content for name in required) else None


def _value(field: Mapping[str, Any], text: str) -> Any:
    choices = _choices(field)
    if field.get("type") == "array":
        return [choices[label] for label in text.split(", ") if label in choices]
    if choices:
        return choices.get(text, text if text in choices.values() else None)
    try:
        if field.get("type") == "integer":
            return int(text)
        if field.get("type") == "number":
            return float(text)
    except ValueError:
        return None
    return text
