"""One skill: a Markdown file with a YAML head, alone or as `SKILL.md` in a directory of its own.

Reading never runs anything. Skills are written by hand for many programs: what is not as it should be is remarked on, and
the skill used where its meaning is clear. Else it is a `SkillError` that names file and line, and costs only itself.
"""

import re
from pathlib import Path
from typing import Literal, TypeAlias

from msgspec import Struct

from sould.agents.base.errors import SouldError
from sould.agents.base.regularfile import read_beginning
from sould.agents.soul.skills.head import Head, HeadError, read_head

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
