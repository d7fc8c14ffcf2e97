"""One skill: a Markdown file with a YAML head, alone or as `SKILL.md` in a directory of its own.

Reading never runs anything. Skills are written by hand for many programs: what is not as it should be is remarked on, and
the skill used where its meaning is clear. Else it is a `SkillError` that names file and line, and costs only itself.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Literal, TypeAlias

import yaml
from msgspec import Struct

from sould.agents.base.errors import SouldError
from sould.agents.base.regularfile import read_beginning

# The head of a skill: YAML, or what people write for it.
# Nothing is ever built from it: it may be anybody's, and from a few lines YAML builds gigabytes, or fails in ways of
# its own over a number or a date. Only the texts of a few keys count; those of other programs are ignored.


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


MAX_BYTES = 256 * 1024
MAX_DESCRIPTION = 1024
SKILL_FILE = "SKILL.md"
"""In whatever letters: see `is_skill_file`."""
TYPES = ("standard", "flow")
Scope: TypeAlias = Literal["project", "user", "extra", "builtin"]
_NAME = re.compile(r"\w[\w.-]{0,63}")
_OPENED = re.compile(r"---[ \t]*\r?\n[ \t]*[\w-]+[ \t]*:")
"""What begins with a line and no key is no head: Markdown draws lines so, too."""
_HEAD = re.compile(r"\A---[ \t]*\n(.*?)^(?:---|\.\.\.)(?:(?=[ \t]*#)|[ \t]*(?:\n|\Z))", re.DOTALL | re.MULTILINE)
"""A heading may stand right behind the closing line."""


class SkillError(SouldError):
    """A skill's file cannot be used."""

    kind = "skill"


class Skill(Struct, frozen=True):
    """`body` is everything below the head; `line` is the file's line the body begins on.

    `directory` is where the skill's other files are; None for a file that stands alone. `mistake`: why it is not what its
    author meant it to be; `remarks`: what is not as it should be and changes nothing.
    """

    name: str
    description: str
    body: str
    path: Path
    scope: Scope
    directory: Path | None = None
    flow: bool = False
    line: int = 1
    mistake: str = ""
    remarks: tuple[str, ...] = ()


def is_skill_file(name: str) -> bool:
    """Whether a file of that name makes its directory a skill."""
    return name.casefold() == SKILL_FILE.casefold()


def read_skill(path: Path, scope: Scope) -> Skill:
    """The skill in a file; its name is the head's where that can be one, else the directory's or the file's.

    Raises:
        SkillError: naming the file, and the line where there is one.
    """
    text = _read(path)
    head, body = _split(text, path)
    alone = not is_skill_file(path.name)
    own = path.stem if alone else path.parent.name
    name = head.name if _NAME.fullmatch(head.name) else own
    if not _NAME.fullmatch(name):
        raise SkillError(f"{path}: the name {name[:80]!r} cannot be a skill's: letters, digits, `.`, `_` and `-` only.")
    remarks = [f"{path}:{head.remark}"] if head.remark else []
    if head.name and name != head.name:
        what = f"its name {head.name[:80]!r} is not letters, digits, `.`, `_` and `-` only"
        remarks.append(f"{path}:{head.line_of('name')}: {what}, so it is called {name}.")
    return Skill(
        name=name,
        description=_one_line(head.description or _first_line(body)),
        body=body.strip(),
        path=path,
        scope=scope,
        directory=None if alone else path.parent,
        flow=head.type == "flow",
        line=_body_line(text, body),
        mistake=_wrong_type(head, path),
        remarks=tuple(remarks),
    )


def _split(text: str, path: Path) -> tuple[Head, str]:
    """The head and what is below it. Raises SkillError."""
    found = _HEAD.match(text)
    if not found:
        if _OPENED.match(text):
            raise SkillError(
                f"{path}:1: the front matter that begins here is not closed: a line `---` or `...` is missing."
            )
        return Head(), text
    try:
        head = read_head(found.group(1))
    except HeadError as error:
        raise SkillError(f"{path}:{error.message}") from error
    return (Head(), text) if head is None else (head, text[found.end() :])


def _wrong_type(head: Head, path: Path) -> str:
    if head.type in ("", *TYPES):
        return ""
    known = " and ".join(TYPES)
    return f"{path}:{head.line_of('type')}: there is no type {head.type[:80]!r}, only {known}; it is used as standard."


def _read(path: Path) -> str:
    try:
        data = read_beginning(path, MAX_BYTES + 1)
        text = data.decode()
    except OSError as error:
        raise SkillError(f"{path} cannot be read: {error.strerror}.") from error
    except UnicodeDecodeError:
        raise SkillError(f"{path} is not UTF-8 text.") from None
    if len(data) > MAX_BYTES:
        raise SkillError(f"{path} is longer than {MAX_BYTES // 1024} KiB; move parts of it into files beside it.")
    return text.removeprefix("\ufeff").replace("\r\n", "\n")


def _body_line(text: str, body: str) -> int:
    """The file's line of the first line of the stripped body."""
    blank = len(body) - len(body.lstrip())
    return text[: len(text) - len(body) + blank].count("\n") + 1


def _first_line(body: str) -> str:
    return next((line.lstrip("# ") for line in body.splitlines() if line.strip("# ")), "")


def _one_line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= MAX_DESCRIPTION else line[: MAX_DESCRIPTION - 1] + "…"
