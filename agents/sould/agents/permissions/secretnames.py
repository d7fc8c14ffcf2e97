"""Which files are taken for secrets by their name: certainly, likely (their content decides), or not.

Looks at names only and opens nothing. Names are compared as `protected.normalised` has them, so that a file system that
is lax about case or spelling is no way round.
"""

import re
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase, translate
from functools import cache, lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Final, Literal, TypeAlias

import msgspec
from msgspec import Struct

from sould.agents.permissions.policycontext import PolicyContext
from sould.agents.permissions.protected import normalised

Likelihood: TypeAlias = Literal["certain", "likely", "no"]


LARGEST: Final = 1024 * 1024
"""Bytes of a text that are judged; what is larger cannot be told to be free of secrets."""
NEVER: Final = (".example", ".sample", ".template", ".dist", ".pub")
"""Endings of what stands in a secret's place, and of public keys."""
_TABLES: Final = Path(__file__).with_name("secretnames.json")
"""The names, each group with where it is documented; read when a path is first judged."""
_WORD: Final = re.compile(r"[a-z0-9]+")


class _Group(Struct, frozen=True):
    source: str
    files: tuple[str, ...] = ()
    patterns: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    """A directory and what lies in it, anywhere: `.kube/config`."""
    trees: tuple[str, ...] = ()
    """Directories, anywhere, with all that lies below."""
    home: tuple[str, ...] = ()
    """Likewise, of the home directory."""


class _Tables(Struct, frozen=True):
    certain: tuple[_Group, ...]
    likely: tuple[_Group, ...]
    public: frozenset[str]
    """Named as a secret, and the same everywhere."""
    fixtures: frozenset[str]
    """Directories of a project whose files are made for tests: only a provider's own kind of key is a secret there."""
    tests: frozenset[str]
    """Words in the name of a directory whose keys and certificates are made up; an `.env` there may well be real."""
    keys: tuple[str, ...]
    """Those keys and certificates."""


class _Names(Struct, frozen=True):
    """The groups of one likelihood, as they are looked up."""

    files: frozenset[str]
    patterns: tuple[str, ...]
    fitting: re.Pattern[str]
    paths: frozenset[tuple[str, str]]
    trees: frozenset[str]
    home: tuple[str, ...]


@cache
def _tables() -> _Tables:
    return msgspec.json.decode(_TABLES.read_bytes(), type=_Tables)


@cache
def _certain() -> _Names:
    return _together(_tables().certain)


@cache
def _likely() -> _Names:
    return _together(_tables().likely)


def _together(groups: Sequence[_Group]) -> _Names:
    patterns = tuple(name for group in groups for name in group.patterns)
    return _Names(
        frozenset(name for group in groups for name in group.files),
        patterns,
        re.compile("|".join(map(translate, patterns))),
        frozenset(_pair(name) for group in groups for name in group.paths),
        frozenset(name for group in groups for name in group.trees),
        tuple(name for group in groups for name in group.home),
    )


def _pair(path: str) -> tuple[str, str]:
    directory, name = path.split("/")
    return directory, name


def likelihood(path: Path, where: PolicyContext) -> Likelihood:
    """What the name of an absolute path says. A template, an example or a public key is never a secret."""
    more = where.secret_names()
    parts = [*map(_same, path.parts[:-1]), _original(_same(path.name))]
    if not path.name or is_template(path):
        return "no"
    if _fits(parts, more.certain):
        return "certain"
    by_name = _by_name(parts[-1])
    if by_name == "certain" or _is_in_secret_place(parts, where):
        return "likely" if is_fixture(path, where) else "certain"
    return "likely" if by_name == "likely" or _is_git_config(parts) or _fits(parts, more.likely) else "no"


def is_template(path: Path) -> bool:
    """Whether the name says that it stands in a secret's place, or is the public half of a key."""
    return _original(_same(path.name)).endswith(NEVER)


def certain_globs() -> tuple[str, ...]:
    """The certain names, as far as a glob can say them without saying a template's, for a search to pass over."""
    names = _certain()
    return (
        *sorted(names.files),
        *(pattern for pattern in names.patterns if pattern != ".env.*"),
        *(f".env.{{,*.}}{kind}" for kind in ("local", "dev*", "prod*", "stag*", "test*", "ci", "keys", "docker")),
        *(f"{directory}/**" for directory in sorted(names.trees)),
        *("/".join(pair) for pair in sorted(names.paths)),
    )


def secret_globs(where: PolicyContext) -> tuple[str, ...]:
    """The names of files that are or may be secrets, the user's own among them, also of templates that look like one.

    Of backups all: what is one of a secret (`_BACKUP`) cannot be told by a glob.
    """
    more = where.secret_names()
    likely = (*sorted(_likely().files), *_likely().patterns, ".env.*", "*.git/**", *_BACKUPS)
    return (*certain_globs(), *likely, *more.certain, *more.likely)


def is_fixture(path: Path, where: PolicyContext) -> bool:
    """Whether it is test data of the project: where the project itself lies says nothing."""
    tables = _tables()
    roots = [root for root in (where.root, *where.additional) if path.is_relative_to(root)]
    inner = min((path.relative_to(root).parts for root in roots), key=len, default=())
    above = [_same(part) for part in inner[:-1]]
    if any(part in tables.fixtures for part in above) or above[:3] == ["src", "test", "resources"]:
        return True
    if not any(part == "t" or not tables.tests.isdisjoint(_WORD.findall(part)) for part in above):
        return False
    name = _original(_same(path.name))
    return not _certain().trees.isdisjoint(above) or any(fnmatchcase(name, key) for key in tables.keys)


def _original(name: str) -> str:
    """Of an editor's or a careful person's backup the name of what it is of."""
    return _BACKUP.sub("", name) or name


_BACKUP = re.compile(r"(?:~|\.(?:bak|backup|old|orig|save|saved|copy|tmp|sw[nop]))+$|^#(?=.+#$)|(?<=.)#$")
_BACKUPS: Final = ("*~", "*.{bak,backup,old,orig,save,saved,copy,tmp,swn,swo,swp}", "[#]*", "*#")
_same = lru_cache(maxsize=4096)(normalised)


@lru_cache(maxsize=4096)
def _by_name(last: str) -> Likelihood:
    if last in _tables().public:
        return "no"
    if last in _certain().files or _certain().fitting.match(last):
        return "certain"
    return "likely" if last in _likely().files or _likely().fitting.match(last) else "no"


def _is_in_secret_place(parts: list[str], where: PolicyContext) -> bool:
    names = _certain()
    if not names.trees.isdisjoint(parts) or not names.paths.isdisjoint(pairwise(parts)):
        return True
    if parts[-1] == "credentials.json" and any(_starts(parts, own) for own in where.own):
        return True
    home = [_same(part) for part in where.home.parts]
    return parts[: len(home)] == home and any(_below(parts[len(home) :], tree) for tree in names.home)


def _starts(parts: list[str], directory: Path) -> bool:
    return parts[: len(directory.parts)] == [_same(part) for part in directory.parts]


def _below(parts: list[str], tree: str) -> bool:
    names = tree.split("/")
    return parts[: len(names)] == names


def _is_git_config(parts: list[str]) -> bool:
    """The configuration of a repository, of a submodule or of a bare one; its URLs may hold a token."""
    return parts[-1] in {"config", "config.worktree"} and any(part.endswith(".git") for part in parts[:-1])


def _fits(parts: list[str], patterns: Iterable[str]) -> bool:
    for pattern in patterns:
        wanted = [normalised(part) for part in pattern.strip("/").split("/")]
        if len(wanted) <= len(parts) and all(
            fnmatchcase(part, each) for part, each in zip(parts[-len(wanted) :], wanted, strict=True)
        ):
            return True
    return False
