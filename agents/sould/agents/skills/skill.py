"""One skill: a Markdown file with a YAML head, alone or as `SKILL.md` in a directory of its own.

Reading never runs anything. A file that is wrong is a `SkillError` that names file and line, and costs only itself.
"""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError

from sould.agents.errors import SouldError
from sould.agents.wording import fault

MAX_BYTES = 256 * 1024
MAX_HEAD = 8 * 1024
MAX_BRACKETS = 100
"""Of a head: the parser's time grows with the square of how deep they nest."""
MAX_DESCRIPTION = 1024
SKILL_FILE = "SKILL.md"
Scope: TypeAlias = Literal["project", "user", "extra", "builtin"]
_NAME = re.compile(r"\w[\w.-]{0,63}")
_OPENED = re.compile(r"---[ \t]*\r?\n[ \t]*[\w-]+[ \t]*:")
"""What begins with a line and no key is no head: Markdown draws lines so, too."""
_HEAD = re.compile(r"\A---[ \t]*\r?\n(.*?)^---[ \t]*(?:\r?\n|\Z)", re.DOTALL | re.MULTILINE)


class SkillError(SouldError):
    """A skill's file cannot be used."""

    kind = "skill"


class _Head(BaseModel):
    """The keys of the head that mean something here; those of other programs are ignored."""

    model_config = ConfigDict(extra="ignore")

    name: str = ""
    description: str = ""
    type: str = "standard"


@dataclass(frozen=True, slots=True)
class Skill:
    """`body` is everything below the head; `line` is the file's line the body begins on.

    `directory` is where the skill's other files are; None for a file that stands alone.
    """

    name: str
    description: str
    body: str
    path: Path
    scope: Scope
    directory: Path | None = None
    flow: bool = False
    line: int = 1


def read_skill(path: Path, scope: Scope) -> Skill:
    """The skill in a file; its name is the head's, else the directory's or the file's.

    Raises:
        SkillError: naming the file, and the line where there is one.
    """
    text = _read(path)
    found = _HEAD.match(text)
    if not found and _OPENED.match(text):
        raise SkillError(f"{path}:1: the head that begins here is not closed: a line `---` is missing.")
    head = _parse(found.group(1), path) if found else _Head()
    body = text[found.end() :] if found else text
    alone = path.name != SKILL_FILE
    name = head.name.strip() or (path.stem if alone else path.parent.name)
    if not _NAME.fullmatch(name):
        raise SkillError(f"{path}: the name {name[:80]!r} cannot be a skill's: letters, digits, `.`, `_` and `-` only.")
    return Skill(
        name=name,
        description=_one_line(head.description or _first_line(body)),
        body=body.strip(),
        path=path,
        scope=scope,
        directory=None if alone else path.parent,
        flow=head.type == "flow",
        line=_body_line(text, body),
    )


def _read(path: Path) -> str:
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
        text = data.decode()
    except OSError as error:
        raise SkillError(f"{path} cannot be read: {error.strerror}.") from error
    except UnicodeDecodeError:
        raise SkillError(f"{path} is not UTF-8 text.") from None
    if len(data) > MAX_BYTES:
        raise SkillError(f"{path} is longer than {MAX_BYTES // 1024} KiB; move parts of it into files beside it.")
    return text.removeprefix("\ufeff").replace("\r\n", "\n")


def _parse(head: str, path: Path) -> _Head:
    if len(head) > MAX_HEAD or head.count("[") + head.count("{") > MAX_BRACKETS:
        raise SkillError(f"{path}:1: the head is longer than {MAX_HEAD // 1024} KiB or has too many brackets.")
    try:
        return _Head.model_validate(_fields(head))
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        place = f"{mark.line + 2}:{mark.column + 1}" if mark else "1"
        raise SkillError(
            f"{path}:{place}: the head is not YAML: {error.problem}; a text with a colon belongs in quotes."
        ) from error
    except yaml.YAMLError as error:
        raise SkillError(f"{path}:1: the head is not YAML: {error}") from error
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        key = ".".join(str(part) for part in first["loc"]) or "the head"
        raise SkillError(f"{path}:{_line_of(head, key)}: {key}: {fault(first)}.") from error


def _fields(head: str) -> object:
    """The head's own keys with their texts; what is nested stands as an empty list.

    Read as it is parsed and never built: it may be anybody's, and from a few lines YAML builds gigabytes, or fails in
    ways of its own over a number or a date.
    """
    fields: dict[str, object] = {}
    key: list[object] = []
    depth = 0
    for event in yaml.parse(head, Loader=yaml.BaseLoader):  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType] -- PyYAML is half typed
        if isinstance(event, yaml.NodeEvent) and depth < 2:
            value: object = str(event.value) if isinstance(event, yaml.ScalarEvent) else []  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType] -- as above
            if depth == 0 and not isinstance(event, yaml.MappingStartEvent):
                return value
            if depth == 1 and key:
                fields[str(key.pop())] = value
            elif depth == 1:
                key.append(value)
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
    return fields


def _line_of(head: str, key: str) -> int:
    """The file's line of a key of the head, 1 where there is none."""
    found = re.search(rf"^{re.escape(key)}[ \t]*:", head, re.MULTILINE)
    return head.count("\n", 0, found.start()) + 2 if found else 1


def _body_line(text: str, body: str) -> int:
    """The file's line of the first line of the stripped body."""
    blank = len(body) - len(body.lstrip())
    return text[: len(text) - len(body) + blank].count("\n") + 1


def _first_line(body: str) -> str:
    return next((line.lstrip("# ") for line in body.splitlines() if line.strip("# ")), "")


def _one_line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= MAX_DESCRIPTION else line[: MAX_DESCRIPTION - 1] + "…"
