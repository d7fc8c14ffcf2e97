"""What the user allowed beyond one session: in a project, or always. One file, beside the rules they wrote themselves.

Its entries are rules of the same form that only allow, so nothing in it reaches past a protection, a denial or a question the
user wants. It is read anew whenever it has changed: what was deleted by hand is over. A damaged file counts for nothing, and
nothing is written to it, so that nothing in it is lost. Never in a project: no project says what is allowed. Blocks.
"""

import hashlib
import json
import os
from collections.abc import Callable, Collection, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Final, TypeAlias

from msgspec import Struct
from msgspec.structs import replace
from pydantic import ConfigDict, Field, field_validator, model_validator

from sould.agents.base.answerfile import LARGEST, AnswerFile, UnreadableError
from sould.agents.base.errors import why_refused
from sould.agents.base.file_ownership import why_not_own
from sould.agents.base.parsed import Parsed
from sould.agents.permissions.programs import Program
from sould.agents.permissions.rules import (
    Decision,
    Output,
    ReadOnce,
    Rule,
    RuleEntry,
    Rules,
    RulesError,
    parse_entries,
    table_lines,
)
from sould.agents.permissions.secrets import text_holds_secret
from sould.agents.permissions.visible import prints_nothing, visible
from sould.agents.wire.messages import Lasts

FILE: Final = "remembered.toml"
_LONGEST_TEXT: Final = 4_000
"""Characters of a program that are kept, to show what changed in it."""
_LONGEST_NAME: Final = 80
"""Characters of a client's name."""
_HEAD: Final = """\
# What you allowed beyond one session. `sould rules` shows it. Entries may be changed and deleted here; that counts at once.
"""


class ProjectKey(Struct, frozen=True):
    """Which directory a project is, as its kernel tells it. `born`: 0 where the file system does not say."""

    root: Path
    device: int
    inode: int
    born: int


FindProject: TypeAlias = Callable[[], ProjectKey | None]
"""The project that a session works in now; None: none. Blocks."""


class _Program(Parsed):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    path: str
    part: str = ""
    digest: str = ""
    text: str | None = None


class Entry(RuleEntry):
    """One answer. Below its project, paths are written as seen from there: a project that is moved keeps them."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    scope: Lasts
    project: str = ""
    """Where it was."""
    identity: Annotated[list[int], Field(max_length=3)] = Field(default_factory=list[int])
    """Device, inode and time of birth; where there is none, the path alone counts."""
    line: str = ""
    definition: str = ""
    programs: list[_Program] = Field(default_factory=list[_Program])
    given: datetime | None = None
    by: str = ""

    @field_validator("decision")
    @classmethod
    def _only_allows(cls, decision: Decision | None) -> Decision | None:
        if decision == "allow":
            return decision
        raise ValueError("must be allow; rules that ask or deny stand in rules.toml")

    @field_validator("output")
    @classmethod
    def _of_calls(cls, output: Output) -> Output:
        if not output:
            return output
        raise ValueError("is for rules.toml")

    @field_validator("cwd")
    @classmethod
    def _known_place(cls, cwd: str) -> str:
        if cwd == "" or os.path.isabs(cwd) or _is_relative(cwd):
            return cwd
        raise ValueError("is an absolute path, or one as seen from the project: . or ./sub")

    @model_validator(mode="after")
    def _whose(self) -> "Entry":
        if (self.scope == "project") != os.path.isabs(self.project):
            raise ValueError("of scope project has the absolute path of one, and no other has")
        if self.identity and len(self.identity) != 3:
            raise ValueError("identity has three numbers")
        return self

    @classmethod
    def of(cls, rule: Rule, project: ProjectKey | None, by: str) -> "Entry":
        """What is kept of a rule that was allowed now; without a project, always."""
        root = project.root if project else None
        return cls(
            decision="allow",
            tool=rule.tool,
            argv=list(rule.argv),
            line=rule.line,
            path=_seen_from(root, rule.path),
            cwd=_seen_from(root, rule.cwd),
            scope="project" if project else "always",
            project=str(root or ""),
            identity=[project.device, project.inode, project.born] if project and project.born else [],
            definition=rule.definition,
            programs=[_kept_of(each, root) for each in rule.programs or ()],
            given=datetime.now(UTC).replace(microsecond=0),
            by=visible(by)[:_LONGEST_NAME],
        )

    @property
    def id(self) -> str:
        """The same for two answers about the same thing, however what they are about has changed since."""
        project: object = self.identity[1:] or self.project
        about = [self.scope, project, self.tool, self.argv, self.line, self.path, self.cwd]
        return hashlib.sha256(json.dumps(about).encode()).hexdigest()[:8]

    def is_in(self, project: ProjectKey | None) -> bool:
        """Whether it holds there: a directory that was moved is the same one, a copy or what took its path is not."""
        if self.scope == "always":
            return True
        if project is None:
            return False
        if not self.identity:
            return self.project == str(project.root)
        device, *rest = self.identity
        # a device may have another number after each start of the machine
        return rest == [project.inode, project.born] and (self.project == str(project.root) or device == project.device)

    def rule_in(self, root: Path | None) -> Rule:
        """What it says in a project at `root`; None: where the project was."""
        root = root or Path(self.project or "/")
        rule = super().as_rule()
        programs = tuple(
            Program(Path(_seen_at(root, each.path)), each.part, each.digest, each.text) for each in self.programs
        )
        return replace(
            rule,
            line=self.line,
            path=_seen_at(root, self.path),
            cwd=_seen_at(root, self.cwd),
            definition=self.definition,
            programs=programs if self.tool == "shell" else None,
        )

    def written(self) -> str:
        """As the file has it."""
        lines = ["[[rule]]", f'decision = "{self.decision}"', f"tool = {_toml(self.tool)}"]
        lines += [f"argv = [{', '.join(map(_toml, self.argv))}]"] if self.argv else []
        texts = {"line": self.line, "path": self.path, "cwd": self.cwd, "definition": self.definition}
        lines += [f"{key} = {_toml(text)}" for key, text in texts.items() if text]
        if self.programs:
            lines += ["programs = [", *(f"  {_inline(each)}," for each in self.programs), "]"]
        lines += [f'scope = "{self.scope}"']
        lines += [f"project = {_toml(self.project)}"] if self.project else []
        lines += [f"identity = {self.identity}"] if self.identity else []
        lines += [f"given = {self.given.isoformat().replace('+00:00', 'Z')}"] if self.given else []
        lines += [f"by = {_toml(self.by)}"] if self.by else []
        return "\n".join(lines) + "\n"


class Remembered:
    """The file at `path`. Several daemons and commands may have one each for the same file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = AnswerFile(path, durable=True)
        self._read = ReadOnce[Entry]()

    def entries(self) -> tuple[tuple[int, Entry], ...]:
        """All there are, each with its line.

        Raises:
            RulesError: the file is wrong, or others may change it.
        """
        status = self._status()
        if status is None:
            return ()
        if problem := why_not_own(self.path):
            raise RulesError(problem)
        return self._read.entries(status, lambda: parse_entries(self._text(), str(self.path), Entry))

    def rules(self, tools: Collection[str], project: FindProject) -> Rules:
        """What is allowed with these tools, in the project that `project` finds, which is asked only when that matters.

        Raises:
            RulesError: see `entries`.
        """
        today = datetime.now().astimezone().date()
        found = [each for _, each in self.entries() if each.tool in tools and not each.is_over(today)]
        if not found:
            return Rules()
        key = project() if any(each.scope == "project" for each in found) else None
        here = [each.rule_in(key.root if key else None) for each in found if each.is_in(key)]
        # a directory that has become a link since would lead anywhere
        return Rules(tuple(rule for rule in here if not rule.cwd or os.path.realpath(rule.cwd) == rule.cwd))

    def keep(self, entry: Entry) -> None:
        """Add an entry, in place of one about the same.

        Raises:
            RulesError, ConfigError: it could not be saved, and the file is as it was.
        """
        with self._file.alone():
            text, before = self._now()
            left = [each for _, each in before if each.id != entry.id]
            kept = _without(text, [number for number, (_, each) in enumerate(before) if each.id == entry.id])
            self._replace(f"{kept.rstrip() or _HEAD.rstrip()}\n\n{entry.written()}", [*left, entry])

    def forget(self, ids: Collection[str]) -> int:
        """Take entries out; how many there were.

        Raises:
            RulesError, ConfigError: it could not be saved, and the file is as it was.
        """
        with self._file.alone():
            text, before = self._now()
            gone = [number for number, (_, each) in enumerate(before) if each.id in ids]
            if gone:
                self._replace(_without(text, gone), [each for _, each in before if each.id not in ids])
            return len(gone)

    def _now(self) -> tuple[str, tuple[tuple[int, Entry], ...]]:
        if self._status() is None:
            return "", ()
        if problem := why_not_own(self.path):
            raise RulesError(problem)
        text = self._text()
        return text, parse_entries(text, str(self.path), Entry)

    def _replace(self, text: str, expected: Sequence[Entry]) -> None:
        """What is written is read first, as everybody will read it: nothing else comes of it than was meant."""
        if [each for _, each in parse_entries(text, str(self.path), Entry)] != list(expected):
            raise RulesError(f"{self.path} is written in a way that only you can change: edit it by hand.")
        if len(data := text.encode()) > LARGEST:
            raise RulesError(
                f"{self.path} would be larger than {LARGEST // 1024**2} MiB: `sould rules forget` makes room."
            )
        try:
            self._file.write(data)
        except OSError as error:
            raise RulesError(f"{self.path} cannot be written: {why_refused(error)}.") from error

    def _status(self) -> os.stat_result | None:
        """None: there is no file."""
        try:
            return os.lstat(self.path)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise RulesError(f"{self.path}: cannot be read ({why_refused(error)}).") from error

    def _text(self) -> str:
        try:
            return self._file.read().decode()
        except UnreadableError as error:
            raise RulesError(error.message) from error
        except (FileNotFoundError, UnicodeDecodeError) as error:
            raise RulesError(f"{self.path}: cannot be read ({error}).") from error


# --- how it is written -------------------------------------------------------------------------------------------------


def _without(text: str, numbers: Collection[int]) -> str:
    """The text without some of its tables; comments above a table are that table's."""
    if not numbers:
        return text
    lines = text.split("\n")
    starts = [line - 1 for line in table_lines(text)]
    if not starts:
        return text
    begins = [_with_comments(lines, start, (starts[n - 1] + 1) if n else 0) for n, start in enumerate(starts)]
    ends = [*begins[1:], len(lines)]
    # the comment at the file's beginning is the file's
    gone = {
        line
        for n, (begin, end) in enumerate(zip(begins, ends, strict=True))
        if n in numbers
        for line in range(begin if n else starts[0], end)
    }
    return "\n".join(line for n, line in enumerate(lines) if n not in gone)


def _with_comments(lines: Sequence[str], start: int, least: int) -> int:
    while start > least and lines[start - 1].lstrip().startswith("#"):
        start -= 1
    return start


def _is_relative(path: str) -> bool:
    return path == "." or path.startswith("./")


def _seen_from(root: Path | None, path: str) -> str:
    if root is None or not os.path.isabs(path) or not Path(path).is_relative_to(root):
        return path
    below = os.path.relpath(path, root)
    return below if below == "." else f"./{below}"


def _seen_at(root: Path, path: str) -> str:
    return os.path.normpath(root / path) if _is_relative(path) else path


def _kept_of(program: Program, root: Path | None) -> _Program:
    """A long text, or one that holds a secret, is told apart only."""
    text = program.text
    if text is not None and (len(text) > _LONGEST_TEXT or text_holds_secret(text)):
        text = None
    return _Program(path=_seen_from(root, str(program.path)), part=program.part, digest=program.digest, text=text)


def _inline(program: _Program) -> str:
    texts = {"path": program.path, "part": program.part, "digest": program.digest, "text": program.text}
    pairs = (f"{key} = {_toml(text)}" for key, text in texts.items() if text is not None and (text or key == "path"))
    return f"{{ {', '.join(pairs)} }}"


def _toml(text: str) -> str:
    """A text in quotes. What prints nothing is an escape, so that whoever reads the file sees it."""
    return "".join(
        f"\\U{ord(char):08x}" if char != " " and char not in '"\\' and prints_nothing(char) else char
        for char in json.dumps(text, ensure_ascii=False)
    )
