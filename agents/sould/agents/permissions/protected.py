"""Paths that are never changed or read unasked, in any mode; secrets are `secretnames`.

A file is protected when it can run or configure something later without anybody looking, or belongs to sould: by its name
(`obeyed.json`), or because it lies in what git takes for a repository. Names are compared case-folded, NFC-normalised and
without invisible characters, on every component of the resolved path.
"""

import os
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import cache, lru_cache
from itertools import chain, pairwise
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from sould.agents.permissions.policycontext import PolicyContext
from sould.agents.permissions.shelltext import Argv

_OBEYED: Final = Path(__file__).with_name("obeyed.json")
"""Programs and what they obey, each with where its documentation says so; read when a path is first judged."""
_IS_PATTERN: Final = re.compile(r"[*?\[]")
_PROC_FILES: Final = frozenset({"environ", "mem"})


class _Program(Struct, frozen=True):
    """One program. A name is a pattern for each of its parts, between slashes; case does not count."""

    program: str
    source: str
    names: tuple[str, ...] = ()
    """Obeyed in any directory, with all that lies below."""
    home: tuple[str, ...] = ()
    """Obeyed in the home directory."""
    system: tuple[str, ...] = ()
    """Absolute paths."""
    in_commands: bool = True
    """A command that only has the name in its text is asked about, too; not where everyday commands have it."""


class _Obeyed(Struct, frozen=True):
    parts: tuple[str, ...]
    """As `normalised` has them."""
    program: _Program


def normalised(name: str) -> str:
    """A name as the laxest file system compares it."""
    if name.isascii():
        return name.lower().rstrip(". ") or name.lower()
    visible = "".join(char for char in name if unicodedata.category(char) != "Cf")
    folded = unicodedata.normalize("NFC", unicodedata.normalize("NFD", visible).casefold())
    return folded.rstrip(". ") or folded


def change_is_protected(path: Path, where: PolicyContext, *, named: bool = False) -> str:
    """Why changing `path` must be asked about; empty when it need not. `named`: only a word that looks like this path."""
    parts = _parts(path)
    if program := _obeying(parts, where.home, named=named):
        return f"{path} configures {program} or has it run things"
    if repository := where.bare_repository(path):
        return f"{path} is in {repository}, a git repository whose settings can run programs"
    if _below_any(parts, (_parts(place) for place in where.account)):
        return f"a link in your account's own set-up leads to {path}"
    if not named and _below_any(parts, (_parts(directory) for directory in where.path)):
        return f"{path} is in a directory that programs are run from"
    if _below_any(parts, (_parts(directory) for directory in where.own)):
        return f"{path} belongs to sould itself"
    return ""


def read_is_protected(path: Path, where: PolicyContext) -> str:
    """Why reading `path` must be asked about, secrets aside; empty when it need not."""
    parts = _parts(path)
    if parts[:2] == ("/", "proc") and parts[-1] in _PROC_FILES:
        return f"{path} shows another process's secrets"
    if _below_any(parts, (_parts(directory) for directory in where.own)):
        return f"{path} belongs to sould itself"
    return ""


def account_places(home: Path) -> tuple[Path, ...]:
    """Where the account's own files really are, as far as links lead elsewhere: many keep them in a project of theirs."""
    linked = sorted(_behind_links(os.path.realpath(home), _home_entries()))
    return tuple(Path(real) for entry in linked if (real := os.path.realpath(entry)) != entry)


def _behind_links(directory: str, entries: Iterable[str]) -> Iterator[str]:
    """The entries that may be reached by a link.

    Most are not there, or are no links: one look at each directory, before links are followed for milliseconds.
    """
    below = dict[str, list[str]]()
    for entry in entries:
        name, _, rest = entry.partition("/")
        below.setdefault(name, []).append(rest)
    try:
        with os.scandir(directory) as found:
            links = {each.name.casefold(): each.is_symlink() for each in found}
    except (FileNotFoundError, NotADirectoryError):
        return
    except OSError:  # what cannot be listed may be entered all the same
        links = {name.casefold(): True for name in below}
    for name, rests in below.items():
        place = f"{directory}/{name}"
        if links.get(name.casefold()):
            yield from (f"{place}/{rest}" if rest else place for rest in rests)
        elif name.casefold() in links:
            yield from _behind_links(place, filter(None, rests))


@lru_cache(maxsize=2048)  # of what it is given alone; a session's own directories are compared at every decision
def _parts(path: Path) -> tuple[str, ...]:
    return tuple(normalised(part) for part in path.parts)


def _obeying(parts: tuple[str, ...], home: Path, *, named: bool) -> str:
    """Which program obeys the path of these parts; "" when none is known to."""
    found = [name for at, part in enumerate(parts) for name in _beginning_with(part) if _fits(parts[at:], name.parts)]
    below = _parts(home)
    if parts[: len(below)] == below:
        found += [name for name in _in_home() if _fits(parts[len(below) :], name.parts)]
    if not named:
        found += [name for name in _in_system() if _fits(parts, name.parts)]
    return next((name.program.program for name in found if name.program.in_commands or not named), "")


def _fits(parts: tuple[str, ...], patterns: tuple[str, ...]) -> bool:
    return len(parts) >= len(patterns) and all(map(fnmatchcase, parts, patterns))


@lru_cache(maxsize=4096)
def _beginning_with(part: str) -> tuple[_Obeyed, ...]:
    """The names whose first part this is: a decision about a long command asks for thousands."""
    plain, patterns = _anywhere()
    return (*plain.get(part, ()), *(name for name in patterns if fnmatchcase(part, name.parts[0])))


@cache
def _anywhere() -> tuple[Mapping[str, Sequence[_Obeyed]], Sequence[_Obeyed]]:
    """The names of any directory: by their first part, and those where that is a pattern."""
    plain, patterns = dict[str, list[_Obeyed]](), list[_Obeyed]()
    for program in _programs():
        for name in _split(program, program.names):
            if _IS_PATTERN.search(name.parts[0]):
                patterns.append(name)
            else:
                plain.setdefault(name.parts[0], []).append(name)
    return plain, patterns


@cache
def _home_entries() -> frozenset[str]:
    return frozenset(entry for program in _programs() for entry in program.home)


@cache
def _in_home() -> tuple[_Obeyed, ...]:
    return tuple(name for program in _programs() for name in _split(program, program.home))


@cache
def _in_system() -> tuple[_Obeyed, ...]:
    return tuple(name for program in _programs() for name in _split(program, program.system))


def _split(program: _Program, names: Iterable[str]) -> Iterator[_Obeyed]:
    return (_Obeyed(_parts(Path(name)), program) for name in names)


@cache
def _programs() -> tuple[_Program, ...]:
    groups = msgspec.json.decode(_OBEYED.read_bytes(), type=dict[str, tuple[_Program, ...]])
    return tuple(chain.from_iterable(groups.values()))


def _below_any(parts: tuple[str, ...], directories: Iterable[tuple[str, ...]]) -> bool:
    return any(parts[: len(directory)] == directory for directory in directories)


_DECIDES: Final = {
    "trust": "whether this project's configuration may run as you",
    "mcp": "which MCP servers run as you",
    "rules": "what is not asked about",
    "login": "which key models are asked with",
    "logout": "which key models are asked with",
}
"""Commands of our own that the agent may not use on itself, and what each decides."""


def decides_for_the_user(commands: Iterable[Argv]) -> str:
    """Why a line is the user's own to run: the agent may not take its own changes of configuration into use (D23)."""
    for argv in commands:
        words = [word.rpartition("/")[2] for word in argv]
        for command, decides in _DECIDES.items():
            if ("sould", command) in pairwise(words):
                return f"it decides {decides}"
    return ""
