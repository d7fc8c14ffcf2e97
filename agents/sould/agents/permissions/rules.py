"""Rules: what the user allows, wants to be asked about, and forbids.

The user's file may do all three. What answers of theirs allowed is in memory for a session, and beyond it in a file of the same
form (`remembered`). A project has none. A rule never matches the raw text of a command by prefix or pattern: `argv` matches word
by word, on what bash will really run.
"""

import os
import re
import time
import tomllib
from collections.abc import Callable, Iterable
from datetime import date
from difflib import get_close_matches
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, Generic, Literal, Self, TypeAlias, TypeVar

from msgspec import Struct
from msgspec.structs import replace
from pydantic import ConfigDict, Field, ValidationError, field_validator, model_validator

from sould.agents.base.errors import ConfigError
from sould.agents.base.file_ownership import why_not_own
from sould.agents.base.parsed import Parsed
from sould.agents.base.regularfile import read_text
from sould.agents.base.text import fault
from sould.agents.permissions.policycontext import PolicyContext
from sould.agents.permissions.programs import Programs
from sould.agents.permissions.protected import normalised
from sould.agents.permissions.shelltext import Argv

Decision: TypeAlias = Literal["allow", "ask", "deny"]
Output: TypeAlias = Literal["", "ask"]
"""Whether the user is shown what came back before the model is; "": no word about that."""
ANY_WORD = "*"
ANY_WORDS = "**"
_SETTLED_NS: Final = 100_000_000
"""A file changed that long ago has another time when it changes again."""


class RulesError(ConfigError):
    """A rules file is wrong; the message names file, rule, line and key."""


class Rule(Struct, frozen=True):
    """One rule. Empty fields match everything of the tool."""

    decision: Decision | None
    """None: of a rule that is about outputs only."""
    tool: str
    """`shell`, `edit`, `read`, `fetch`, or `mcp:<name>` for any other tool; one that ends in `*` is all that begin so."""
    argv: Argv = ()
    line: str = ""
    """The exact text of a command; only of what an answer allowed."""
    path: str = ""
    """A glob on the resolved path."""
    cwd: str = ""
    """`workspace` or an absolute directory: where the command runs, or what the path must be below."""
    sandbox: str = ""
    expires: date | None = None
    programs: Programs | None = None
    """What the command runs, as it was when somebody allowed it; None: whatever it is by now (D48)."""
    output: Output = ""
    definition: str = ""
    """Of an external tool: which one of this name; see `CallExternal`."""


class Rules(Struct, frozen=True):
    """Rules in force. Order does not matter: deny wins over ask, ask over allow."""

    rules: tuple[Rule, ...] = ()

    def __add__(self, more: "Rules") -> "Rules":
        return Rules(self.rules + more.rules)

    def of(self, decision: Decision, tool: str) -> Iterable[Rule]:
        """The rules with this decision for this tool."""
        return (rule for rule in self.rules if rule.decision == decision and tool_matches(rule.tool, tool))

    def review_output(self, tool: str, host: str) -> bool:
        """Whether the user wants to see what such a tool brought, from such a host, before the model does."""
        return any(
            rule.output == "ask" and tool_matches(rule.tool, tool) and (not rule.argv or rule.argv == (host,))
            for rule in self.rules
        )


def tool_matches(pattern: str, tool: str) -> bool:
    """Whether a rule for `pattern` is about the tool; no tool has a `*` in its name."""
    return tool.startswith(pattern[:-1]) if pattern.startswith("mcp:") and pattern.endswith("*") else pattern == tool


def argv_matches(pattern: Argv, argv: Argv) -> bool:
    """Word by word: `*` is exactly one word, `**` (last only) any number, everything else literal."""
    if pattern and pattern[-1] == ANY_WORDS:
        pattern = pattern[:-1]
        if len(argv) < len(pattern):
            return False
        argv = argv[: len(pattern)]
    return len(pattern) == len(argv) and all(
        wanted in (ANY_WORD, word) for wanted, word in zip(pattern, argv, strict=True)
    )


def argv_resembles(pattern: Argv, argv: Argv) -> bool:
    """For deny and ask: like `argv_matches`, but `/bin/rm` is `rm` too."""
    return argv_matches(pattern, argv) or argv_matches(pattern, (argv[0].rpartition("/")[2], *argv[1:]))


def path_matches(pattern: str, path: Path, where: PolicyContext) -> bool:
    """Whether a resolved path matches a glob: relative ones below the workspace, `~` the home directory."""
    if pattern.startswith("~/"):
        pattern = f"{where.home}/{pattern[2:]}"
    elif not pattern.startswith(("/", "**")):
        pattern = f"{where.root}/{pattern}"
    return _glob(pattern).fullmatch("/".join(map(normalised, str(path).split("/")))) is not None


def place_matches(cwd: str, path: Path, where: PolicyContext) -> bool:
    """Whether a rule's `cwd` is the place of a command or file, or above it."""
    if not cwd:
        return True
    if cwd == "workspace":
        return where.inside(path)
    return path.is_relative_to(os.path.realpath(cwd))


def place_is(cwd: str, directory: Path, where: PolicyContext) -> bool:
    """Whether an allow rule's `cwd` holds for a command's directory: exactly, not for what is below."""
    if cwd in ("", "workspace"):
        return place_matches(cwd, directory, where)
    return os.path.realpath(cwd) == os.path.realpath(directory)


@lru_cache(maxsize=256)
def _glob(pattern: str) -> re.Pattern[str]:
    folded = "/".join(_folded(part) for part in pattern.split("/"))
    tokens = re.split(r"(\*\*/|\*\*|\*|\?)", folded)
    return re.compile("".join(_GLOB.get(token) or re.escape(token) for token in tokens), re.DOTALL)


_GLOB = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}


def _folded(part: str) -> str:
    return part if set(part) <= {"*", "?"} else normalised(part)


# --- the file ----------------------------------------------------------------------------------------------------------------


class RuleEntry(Parsed):
    """A rule as it is written."""

    model_config = ConfigDict(extra="forbid", strict=True)

    decision: Decision | None = None
    tool: str
    output: Output = ""
    argv: list[str] = Field(default_factory=list[str])
    path: str = ""
    cwd: str = ""
    sandbox: Literal["", "required"] = ""
    expires: date | None = None

    @field_validator("tool")
    @classmethod
    def _known_tool(cls, tool: str) -> str:
        if tool in ("shell", "edit", "read", "fetch") or (tool.startswith("mcp:") and len(tool) > 4):
            return tool
        raise ValueError("is one of shell, edit, read, fetch, mcp:<server>__<tool>")

    @field_validator("argv")
    @classmethod
    def _rest_is_last(cls, argv: list[str]) -> list[str]:
        if ANY_WORDS in argv[:-1]:
            raise ValueError("`**` can only be the last word")
        return argv

    @field_validator("cwd")
    @classmethod
    def _known_place(cls, cwd: str) -> str:
        if cwd in ("", "workspace") or os.path.isabs(cwd):
            return cwd
        raise ValueError("is `workspace` or an absolute path")

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        if self.decision is None and not self.output:
            raise ValueError("`decision` is missing: allow, ask or deny; or `output` is: ask")
        if self.output and self.tool != "fetch" and not self.tool.startswith("mcp:"):
            raise ValueError("`output` is for `fetch` and `mcp:...`")
        return self

    @field_validator("expires", mode="before")
    @classmethod
    def _date(cls, value: object) -> object:
        return date.fromisoformat(value) if isinstance(value, str) else value

    def is_over(self, today: date) -> bool:
        """It has expired."""
        return self.expires is not None and self.expires < today

    def as_rule(self) -> Rule:
        """What it says."""
        rule = Rule(self.decision, self.tool, tuple(self.argv), path=self.path, cwd=self.cwd)
        return replace(rule, sandbox=self.sandbox, expires=self.expires, output=self.output)


EntryT = TypeVar("EntryT", bound=RuleEntry)


def parse_entries(text: str, name: str, kind: type[EntryT]) -> tuple[tuple[int, EntryT], ...]:
    """The entries of a file, each with the line on which its table begins; 0 where it is written in another way.

    Raises:
        RulesError: something is wrong with it.
    """
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise RulesError(f"{name}: {error}.") from error
    unknown = sorted(document.keys() - {"rule"})
    if unknown:
        raise RulesError(f"{name}: unknown key {unknown[0]!r}; rules are written as [[rule]] tables.")
    raws = document.get("rule", [])
    if not isinstance(raws, list):
        raise RulesError(f"{name}: `rule` must be written as [[rule]] tables.")
    lines = table_lines(text)
    entries: list[tuple[int, EntryT]] = []
    for number, raw in enumerate(raws, 1):  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType] -- parsed TOML
        line = lines[number - 1] if number <= len(lines) else 0
        at = f"{name}: rule {number}" + (f" (line {line})" if line else "")
        entries.append((line, _entry(raw, at, kind)))
    return tuple(entries)


def read_entries(path: Path) -> tuple[tuple[int, RuleEntry], ...]:
    """What the user wrote into a file of rules, with lines; a missing file is none.

    Raises:
        RulesError: the file is wrong, or others may change it.
    """
    try:
        text = read_text(path)
    except FileNotFoundError:
        return ()
    except (OSError, UnicodeDecodeError) as error:
        raise RulesError(f"{path}: cannot be read ({error}).") from error
    if problem := why_not_own(path):
        raise RulesError(problem)
    return parse_entries(text, str(path), RuleEntry)


class ReadOnce(Generic[EntryT]):
    """The entries of a file of rules, which is read again when the disk says that it is another."""

    def __init__(self) -> None:
        self._known: tuple[tuple[int, ...], tuple[tuple[int, EntryT], ...]] | None = None
        """What the file was when it was read, and what it said."""

    def entries(
        self, status: os.stat_result, read: Callable[[], tuple[tuple[int, EntryT], ...]]
    ) -> tuple[tuple[int, EntryT], ...]:
        """`status`: what the disk says of the file now. `read` reads it; see it for what is raised."""
        last = status.st_ctime_ns
        stamp = (status.st_dev, status.st_ino, status.st_mode, status.st_size, status.st_mtime_ns, last)
        if self._known is not None and self._known[0] == stamp:
            return self._known[1]
        found = read()
        self._known = (stamp, found) if time.time_ns() - last >= _SETTLED_NS else None
        return found


class UserRules:
    """The rules that the user wrote, for all sessions: asked for at each decision."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._read = ReadOnce[RuleEntry]()

    def now(self, today: date) -> Rules:
        """As the file is now. Expired rules are left out.

        Raises:
            RulesError: see `read_entries`.
        """
        try:
            status = os.stat(self._path)
        except FileNotFoundError:
            return Rules()
        except OSError:
            entries = read_entries(self._path)
        else:
            if problem := why_not_own(self._path):
                raise RulesError(problem)
            entries = self._read.entries(status, lambda: read_entries(self._path))
        return Rules(tuple(entry.as_rule() for _, entry in entries if not entry.is_over(today)))


def table_lines(text: str) -> list[int]:
    """Where the tables of a file begin, by the look of its lines."""
    return [number for number, line in enumerate(text.split("\n"), 1) if line.strip().startswith("[[rule]]")]


def _entry(raw: Any, at: str, kind: type[EntryT]) -> EntryT:
    try:
        return kind.model_validate(raw)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        key = ".".join(str(part) for part in first["loc"]) or "the rule"
        if first["type"] == "extra_forbidden":
            nearest = get_close_matches(key, list(kind.model_fields), 1)
            advice = f"; did you mean {nearest[0]!r}?" if nearest else f"; known keys: {', '.join(kind.model_fields)}."
            raise RulesError(f"{at}: unknown key {key!r}{advice}") from error
        raise RulesError(f"{at}: {key}: {fault(first)}.") from error
