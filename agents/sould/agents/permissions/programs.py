"""What a command line runs that the agent can rewrite: the scripts it names as programs, the Makefile, the script of package.json.

An answer for the session is bound to these, as they were when it was given (D48). A script is named as a program by
its path (`./build.sh`), or given to a shell or an interpreter (`bash build.sh`, `python x.py`). What test runners, linters
and builders run, and whatever a program reads in its turn, is not bound: that is the code that the agent was asked to
write. Reads files; runs nothing.
"""

import hashlib
import json
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Final, cast

import orjson
from msgspec import Struct

from sould.agents.base.regularfile import without_waiting
from sould.agents.permissions.policycontext import PolicyContext
from sould.agents.permissions.shelltext import Argv, read_loosely


def _set(text: str) -> frozenset[str]:
    return frozenset(text.split())


LARGEST: Final = 1024 * 1024
"""Bytes of a file whose content is compared; a larger one has changed when its times or its size have."""

SHELLS: Final = _set(". ash bash dash fish ksh mksh sh source zsh")
WRAPPERS: Final = _set(
    """builtin bundle busybox chroot chronic chrt command doas entr env eval exec find flock hatch ionice nice nohup npx parallel pdm pipenv
    pnpx poetry rye script setarch setpriv setsid stdbuf strace sudo time timeout trap unbuffer unshare uv uvx watch xargs
    xvfb-run"""
)
"""Programs that run the one named behind their own options."""
INTERPRETERS: Final = _set("deno julia lua node perl php pypy python Rscript ruby ts-node tsx")
"""They run the script that they are given."""
CODE_RUNNERS: Final = _set(
    """ant bazel behave bun bundle cargo cmake ctest cucumber deno dotnet eslint flake8 go gradle gradlew hatch java jest
    julia lua mocha mvn mvnw mypy ninja node nox npx perl php phpunit pip pipenv playwright poetry prettier pylint
    pyright pytest python pypy Rscript rspec ruby ruff sbt swift tox ts-node tsc tsx uv uvx vitest"""
)
"""Interpreters, test runners, linters and builders: they run, or are steered by, what the agent writes."""
SYSTEM: Final = _set(
    """free host journalctl lsblk lscpu lsof netstat nslookup pgrep ping ping6 ps systemctl timedatectl traceroute uname
    uptime vmstat whois"""
)
"""About the machine or the network: they run, read and write nothing of the directory that they are started in."""
_BUILTIN: Final = _set(". source")
"""Of these no other program can run."""
_SHELL_VALUES: Final = re.compile(r"[-+][a-zA-Z]*[oO]|--rcfile|--init-file")
"""Options of a shell that take the next word: `-o`, also as the last of several letters (`-euo pipefail`)."""


class Recipes(Struct, frozen=True):
    """A program whose commands stand in a file of the directory it runs in: its usual names, and the options that say others."""

    names: tuple[str, ...]
    file: frozenset[str]
    directory: frozenset[str]
    above: bool = True
    """It also looks in the directories above."""


_MAKE: Final = Recipes(
    ("GNUmakefile", "makefile", "Makefile"), _set("-f --file --makefile"), _set("-C --directory"), above=False
)
RECIPES: Final = {
    "make": _MAKE,
    "gmake": _MAKE,
    "just": Recipes(("justfile", "Justfile", ".justfile"), _set("-f --justfile"), _set("-d --working-directory")),
    "task": Recipes(("Taskfile.yml", "Taskfile.yaml"), _set("-t --taskfile"), _set("-d --dir")),
    "rake": Recipes(("Rakefile", "rakefile", "Rakefile.rb"), _set("-f --rakefile"), frozenset()),
}
SCRIPT_RUNNERS: Final = {
    each: Recipes(("package.json",), frozenset(), _set("-C --cwd --dir --prefix"))
    for each in ("npm", "pnpm", "yarn", "bun")
}
_SCRIPT_ALIASES: Final = {"t": "test", "tst": "test", "i": "install", "ci": "install", "add": "install"}
_KNOWN: Final = SHELLS | RECIPES.keys() | SCRIPT_RUNNERS.keys()
_VERSION = re.compile(r"[\d.]+$")
_LETTERS = re.compile(r"-[a-zA-Z]+")


class Program(Struct, frozen=True):
    """A file, or the part of it that runs, as it is now. `digest` is empty where there is nothing."""

    path: Path
    part: str = ""
    """Of package.json, the names of the scripts; empty: all of the file."""
    digest: str = ""
    text: str | None = None
    """None: it is no text, or a very long one. Programs are told apart without it, and shown without."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Program) and self._known_by == other._known_by

    def __hash__(self) -> int:
        return hash(self._known_by)

    def __repr__(self) -> str:
        return f"Program(path={self.path!r}, part={self.part!r}, digest={self.digest!r})"

    @property
    def _known_by(self) -> tuple[Path, str, str]:
        return self.path, self.part, self.digest


Programs = tuple[Program, ...]


def programs(commands: Iterable[Argv], places: Sequence[Path], where: PolicyContext) -> Programs:
    """What these commands run when they begin in one of `places`; also files that would be run, were they there."""
    found: dict[tuple[Path, str], None] = {}
    for argv in commands:
        for place in places:
            found.update(dict.fromkeys(_named(argv, place, where)))
    return tuple(_state(path, part) for path, part in sorted(found))


def runs_code(commands: Iterable[Argv]) -> bool:
    """Whether one of these runs code that is no program named in it."""
    return any(plain_name(word) in CODE_RUNNERS for argv in commands for word in (argv if _wraps(argv) else argv[:1]))


def same_everywhere(argv: Argv, place: Path, where: PolicyContext) -> bool:
    """Whether a command does the same whatever project it is run in: a list of what is known, so doubt is a no."""
    found = where.find(argv[0]) if argv[0] in SYSTEM else None
    if found is None or where.inside(found):
        return False
    words = (piece for word in argv[1:] for piece in (word, word[2:], word.rpartition("=")[2]) if piece)
    return not any(_names_project(piece, place, where) for piece in words)


def _names_project(word: str, place: Path, where: PolicyContext) -> bool:
    try:
        path = where.resolve(word, place)
        looks = "/" in word or word.startswith(".")
        return where.inside(path) and (looks or os.path.lexists(place / word))
    except (OSError, ValueError):
        return True


class ChangedProgram(Struct, frozen=True):
    """A program that is not what it was when it was allowed."""

    before: Program
    now: Program


def changed(before: Programs, now: Programs) -> tuple[ChangedProgram, ...]:
    """What differs, what came and what went."""
    old = {(each.path, each.part): each for each in before}
    new = {(each.path, each.part): each for each in now}
    pairs = (
        ChangedProgram(old.get(key) or Program(*key), new.get(key) or Program(*key))
        for key in sorted(old.keys() | new.keys())
    )
    return tuple(pair for pair in pairs if pair.before != pair.now)


# --- what is named -----------------------------------------------------------------------------------------------------


def _named(argv: Argv, place: Path, where: PolicyContext) -> Iterator[tuple[Path, str]]:
    """Behind a wrapper the first word that can be run is the program; what stands behind it are its arguments."""
    yield from _program(argv, place, where)
    for start in range(1, len(argv) if _wraps(argv) else 0):
        word = argv[start]
        if word in _BUILTIN or ("/" in word and not os.path.isfile(place / word)):
            continue
        yield from _program(argv[start:], place, where)
        known = word in _KNOWN or plain_name(word) in CODE_RUNNERS or where.find(word) is not None
        runs = os.access(place / word, os.X_OK) if "/" in word else known and word not in WRAPPERS
        if runs:  # `flock ./lock bash b.sh`: a file that cannot be run is for the wrapper itself
            return


def _program(argv: Argv, place: Path, where: PolicyContext) -> Iterator[tuple[Path, str]]:
    name, rest = argv[0].rpartition("/")[2], argv[1:]
    if "/" in argv[0]:
        yield _at(place, argv[0]), ""
    elif (found := where.find(argv[0])) is not None and where.inside(found):
        yield found, ""
    if name in SHELLS:
        yield from _script(rest, place, where)
    elif plain_name(name) in INTERPRETERS:
        yield from ((_at(place, word), "") for word in _given(rest))
    elif recipes := RECIPES.get(name):
        yield from ((path, "") for path in _recipes(recipes, rest, place, where))
    elif recipes := SCRIPT_RUNNERS.get(name):
        words = " ".join(_SCRIPT_ALIASES.get(word, word) for word in rest if not word.startswith("-"))
        yield from ((path, words or "install") for path in _recipes(recipes, rest, place, where))


def _script(words: Argv, place: Path, where: PolicyContext) -> Iterator[tuple[Path, str]]:
    """What a shell is given: a script, or a text with commands of its own."""
    rest = iter(words)
    for word in rest:
        if _SHELL_VALUES.fullmatch(word):
            next(rest, None)
        elif re.fullmatch(r"-[a-zA-Z]*c[a-zA-Z]*", word):
            for argv in read_loosely(next(rest, ""), runners=False):
                yield from _named(argv, place, where)
            return
        elif word[:1] not in ("-", "+"):
            yield _at(place, word), ""
            return


def _given(words: Argv) -> Argv:
    """The script that an interpreter is given, if it is one: `-m`, `-c` and `-e` name other code."""
    words = words[1:] if words[:1] == ("run",) else words
    for at, word in enumerate(words):
        if not word.startswith("-"):
            return words[at : at + 1]
        if word in ("-m", "-c", "-e", "--test"):
            break
    return ()


def _recipes(recipes: Recipes, words: Argv, place: Path, where: PolicyContext) -> Iterator[Path]:
    for directory in option_values(words, recipes.directory):
        place = _at(place, directory)
    files = list(option_values(words, recipes.file))
    if files:
        yield from (_at(place, file) for file in files)
        return
    while True:
        usual = [place / name for name in recipes.names]
        yield from usual
        if not recipes.above or any(map(os.path.isfile, usual)) or not where.inside(place.parent):
            return
        place = place.parent


def option_values(words: Argv, options: frozenset[str]) -> Iterator[str]:
    """What options are given: `-f NAME`, `-fNAME`, `-sf NAME`, `--file NAME`, `--file=NAME`."""
    for word, following in zip_longest(words, words[1:], fillvalue=""):
        name, equals, value = word.partition("=")
        if word in options or (_LETTERS.fullmatch(word) and f"-{word[-1]}" in options):
            yield following
        elif equals and name in options:
            yield value
        elif not word.startswith("--") and word[:2] in options:
            yield word[2:]


def _at(place: Path, word: str) -> Path:
    """By the name that was given: where a link leads to is part of what may change."""
    return Path(os.path.normpath(place / word))


def _wraps(argv: Argv) -> bool:
    return plain_name(argv[0]) in WRAPPERS


def plain_name(word: str) -> str:
    """`/usr/bin/python3.12` is `python`."""
    name = word.rpartition("/")[2]
    return _VERSION.sub("", name) or name


# --- as it is now ------------------------------------------------------------------------------------------------------


def _state(path: Path, part: str) -> Program:
    try:
        with open(path, "rb", opener=without_waiting) as file:
            data = file.read(LARGEST + 1)
            if len(data) > LARGEST:
                seen = os.fstat(file.fileno())
                return Program(
                    path, part, f"{seen.st_dev}:{seen.st_ino}:{seen.st_size}:{seen.st_mtime_ns}:{seen.st_ctime_ns}"
                )
    except (OSError, ValueError):
        return Program(path, part)
    if part:
        data = _scripts(data, part)
    return Program(path, part, hashlib.sha256(data).hexdigest() if data else "", _text(data))


def _scripts(data: bytes, words: str) -> bytes:
    """The scripts that these words run, with those that run before and after; all of the file where it cannot be read."""
    try:
        document = orjson.loads(data)
    except orjson.JSONDecodeError:
        return data
    scripts = cast("dict[str, object]", document).get("scripts") if isinstance(document, dict) else None
    known = cast("dict[str, object]", scripts) if isinstance(scripts, dict) else {}
    names = (f"{when}{word}" for word in words.split() for when in ("pre", "", "post"))
    found = {name: known[name] for name in names if name in known}
    return json.dumps(found, indent=2, ensure_ascii=False).encode() if found else b""


def _text(data: bytes) -> str | None:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return None
