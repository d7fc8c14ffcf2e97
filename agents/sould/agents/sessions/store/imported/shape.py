"""What a conversation of another agent is read into, whoever kept it, and how its lines are read.

The files are hostile: a line that is broken, huge or of an unknown kind is counted and passed over, and never ends the
reading. Nothing of what they say is logged.
"""

from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, Final, Literal, TypeAlias, cast

import orjson
from msgspec import Struct, field

from sould.agents.wire.content import ImagePart, MediaUrl, TextPart

LONGEST_LINE: Final = 20_000_000
"""Bytes; a longer line is passed over."""
LARGEST_IMAGE: Final = 2_000_000
"""Characters of an image's data; a larger one is named, not kept."""
LONGEST_OUTPUT: Final = 20_000
"""Characters of what a tool answered, its beginning and its end."""
LONGEST_ARGUMENTS: Final = 4_000

Json: TypeAlias = dict[str, Any]
Part: TypeAlias = TextPart | ImagePart
Who: TypeAlias = Literal["user", "assistant"]


class ImportedMessage(Struct, frozen=True):
    """What the user or the agent said; what tools were called with and answered is text of the agent's."""

    who: Who
    parts: tuple[Part, ...]


class ImportedConversation(Struct):
    """What was read of one file."""

    agent: str
    title: str = ""
    cwd: str = ""
    version: str = ""
    began: float = 0.0
    """When, in wall seconds; 0.0: that is not said."""
    said: list[ImportedMessage] = field(default_factory=list[ImportedMessage])
    skipped: Counter[str] = field(default_factory=Counter[str])
    """How many lines or parts were passed over, by why."""

    def skip(self, why: str) -> None:
        """Something is passed over."""
        self.skipped[why] += 1

    def say(self, who: Who, *parts: Part) -> None:
        """Somebody said this; nothing is kept of what is empty."""
        kept = tuple(part for part in parts if not isinstance(part, TextPart) or part.text.strip())
        if kept:
            self.said.append(ImportedMessage(who, kept))

    def name(self, title: str) -> None:
        """It is called so."""
        self.title = title

    def begins(self, moment: float) -> None:
        """Something was said at this moment; the first one counts."""
        self.began = self.began or moment

    def is_from(self, cwd: object, version: object) -> None:
        """Where it was held, and by which version, as far as that is said."""
        self.cwd = self.cwd or (cwd if isinstance(cwd, str) else "")
        self.version = self.version or (version if isinstance(version, str) else "")


def lines_of(data: bytes, found: ImportedConversation) -> Iterator[Json]:
    """The objects of JSON lines; what is none is counted."""
    for line in data.split(b"\n"):
        if len(line) > LONGEST_LINE:
            found.skip("lines that are too long")
        elif line.strip():
            yield from _object(line, found)


def _object(line: bytes, found: ImportedConversation) -> Iterator[Json]:
    try:
        value: object = orjson.loads(line.decode("utf-8", errors="replace"))
    except (orjson.JSONDecodeError, RecursionError):
        found.skip("lines that are no JSON")
        return
    if isinstance(value, dict):
        yield cast("Json", value)
    else:
        found.skip("lines that are no objects")


def as_object(value: object) -> Json:
    """An object; an empty one in place of anything else."""
    return cast("Json", value) if isinstance(value, dict) else {}


def as_objects(value: object) -> list[Json]:
    """The objects of a list; none in place of anything else."""
    return (
        [cast("Json", each) for each in cast("list[object]", value) if isinstance(each, dict)]
        if isinstance(value, list)
        else []
    )


def as_text(value: object) -> str:
    """A text; "" in place of anything else."""
    return value if isinstance(value, str) else ""


def as_moment(value: object) -> float:
    """The wall seconds of a moment in the notation of ISO 8601; 0.0 in place of anything else."""
    try:
        moment = datetime.fromisoformat(as_text(value))
    except ValueError:
        return 0.0
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def image(url: str, found: ImportedConversation) -> Part:
    """A picture, or that there was one."""
    if url.startswith("data:image/") and len(url) <= LARGEST_IMAGE:
        return ImagePart(image_url=MediaUrl(url=url))
    found.skip("images that are too large or elsewhere")
    return TextPart(text="[An image was here.]")


def called(tool: str, arguments: object) -> TextPart:
    """A tool call, as a record in words."""
    given = arguments if isinstance(arguments, str) else _dumped(arguments)
    return TextPart(text=f"[Called {tool or 'a tool'}: {_cut(given, LONGEST_ARGUMENTS)}]")


def answered(output: str) -> TextPart:
    """What a tool answered, as a record in words."""
    return TextPart(text=f"[It answered:\n{_cut(output, LONGEST_OUTPUT)}\n]")


def _dumped(value: object) -> str:
    try:
        return orjson.dumps(value).decode()
    except orjson.JSONEncodeError:
        return ""


def _cut(text: str, most: int) -> str:
    if len(text) <= most:
        return text
    half = most // 2
    return f"{text[:half]}\n… {len(text) - 2 * half} characters left out …\n{text[-half:]}"
