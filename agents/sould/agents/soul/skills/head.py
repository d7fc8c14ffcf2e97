"""The head of a skill: YAML, or what people write for it.

Nothing is ever built from it: it may be anybody's, and from a few lines YAML builds gigabytes, or fails in ways of its own
over a number or a date. Only the texts of a few keys count; those of other programs are ignored.
"""

import re
from collections.abc import Mapping

import yaml
from msgspec import Struct

from sould.agents.base.errors import SouldError

MAX_HEAD = 8 * 1024
MAX_BRACKETS = 100
"""The parser's time grows with the square of how deep they nest."""
_KEY = re.compile(r"([A-Za-z_][\w-]*)[ \t]*:(?:[ \t]+(.*)|[ \t]*)")
_BLOCK = re.compile(r"[|>][0-9+-]*")
_QUOTES = ('"', "'")


class HeadError(SouldError):
    """It cannot be read at all; the message begins with the file's line."""

    kind = "skill"


class Head(Struct, frozen=True):
    """The keys that mean something here. `remark` begins with line and column: why it was not read as YAML."""

    name: str = ""
    description: str = ""
    type: str = ""
    remark: str = ""
    lines: Mapping[str, int] | None = None

    def line_of(self, key: str) -> int:
        """The file's line of a key, 1 where there is none."""
        return (self.lines or {}).get(key, 1)


def read_head(text: str) -> Head | None:
    """The head between its two lines; None for what has no key at all and is no head.

    Raises:
        HeadError: too long, or too deep.
    """
    if len(text) > MAX_HEAD or text.count("[") + text.count("{") > MAX_BRACKETS:
        raise HeadError(f"1: the front matter is longer than {MAX_HEAD // 1024} KiB or has too many brackets.")
    plain, lines = _by_lines(text)
    if not plain and text.strip():
        return None
    remark = ""
    try:
        fields = plain | {key: value for key, value in _as_yaml(text).items() if value is not None}
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        place = f"{mark.line + 2}:{mark.column + 1}" if mark else "1"
        fields = plain
        remark = (
            f"{place}: the front matter is not YAML ({error.problem}), so it was read line by line; "
            "a text with a colon belongs in quotes."
        )
    except yaml.YAMLError:
        fields, remark = plain, "1: the front matter is not YAML, so it was read line by line."
    name, description, kind = (fields.get(key, "").strip() for key in ("name", "description", "type"))
    return Head(name, description, kind, remark, lines)


def _as_yaml(head: str) -> dict[str, str | None]:
    """The head's own keys with their texts; None for what is nested. It is read as it is parsed, and never built."""
    fields: dict[str, str | None] = {}
    key: list[str] = []
    depth = 0
    for event in yaml.parse(head, Loader=yaml.BaseLoader):  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType] -- PyYAML is half typed
        if isinstance(event, yaml.NodeEvent) and depth < 2:
            value = str(event.value) if isinstance(event, yaml.ScalarEvent) else None  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType] -- as above
            if depth == 0 and not isinstance(event, yaml.MappingStartEvent):
                return fields
            if depth == 1 and key:
                fields[key.pop()] = value
            elif depth == 1:
                key.append(value or "")
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
    return fields


def _by_lines(head: str) -> tuple[dict[str, str], dict[str, int]]:
    """Each `key: text` that begins a line, what follows it included; and the file's line of each."""
    texts: dict[str, list[str]] = {}
    lines: dict[str, int] = {}
    current: list[str] = []
    for number, line in enumerate(head.split("\n"), 2):
        if found := _KEY.fullmatch(line.rstrip()):
            current = [found.group(2) or ""]
            if texts.setdefault(found.group(1), current) is current:
                lines[found.group(1)] = number
        else:
            current.append(line)
    return {key: _unquoted("\n".join(parts)) for key, parts in texts.items()}, lines


def _unquoted(text: str) -> str:
    first, _, rest = text.partition("\n")
    text = (rest if _BLOCK.fullmatch(first.strip()) else text).strip()
    return text[1:-1] if len(text) > 1 and text[0] in _QUOTES and text[-1] == text[0] else text
