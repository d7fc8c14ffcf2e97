"""Is all that a command line runs known, and bound by its content? Only then may an answer reach beyond once (D48).

A grammar of what is known, never a list of what is forbidden: a shell has a script or a text that is read for certain, an
interpreter has a script, a wrapper has a command. What reads its script or its arguments from elsewhere is not bound.
Test runners, linters and build tools are taken as they are: they run what the agent writes, and their button says so.
"""

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct

from sould.agents.permissions.harmless import harmless
from sould.agents.permissions.policycontext import PolicyContext
from sould.agents.permissions.programs import (
    CODE_RUNNERS,
    INTERPRETERS,
    RECIPES,
    SCRIPT_RUNNERS,
    SHELLS,
    WRAPPERS,
    Programs,
    option_values,
    plain_name,
)
from sould.agents.permissions.shelltext import RUNNERS, Argv, looks_like_text, read_strictly


def _set(text: str) -> frozenset[str]:
    return frozenset(text.split())


MOST_PLACES: Final = 8
"""Directories from which the words of one command are looked at."""

_FILE_TOOLS: Final = _set("chmod chown cp false ln mkdir mktemp mv rm rmdir sleep tee test touch true truncate unlink")
"""They run nothing that a word of theirs names."""
_PLACES_CHANGE: Final = _set("alias enable export popd pushd set shopt umask unalias unset")
"""They change what later words of the line mean."""
_GIT: Final = _set(
    """add blame branch checkout cherry-pick clean commit diff fetch init log ls-files merge mv pull push rebase remote
    reset restore rev-parse revert rm show stash status switch tag worktree"""
)
_GIT_RUNS: Final = ("-x", "--ex", "--up", "--rece")
"""How git's options begin that name a program."""
_RUN_FIRST: Final = _set("hatch pdm pipenv poetry rye uv")
"""`uv run COMMAND`."""
_RUN_NEXT: Final = _set("builtin chronic command exec nohup npx pnpx setsid sudo unbuffer uvx")
"""The next word is the program, as long as it is no option."""
_SHELL_FLAGS: Final = re.compile(r"-[efuvx]+")
_SHELL_OPTION: Final = re.compile(r"[-+][efuvx]*o")
_OWN_FLAGS: Final = {
    "python": re.compile(r"-[BEIOPRSsuqv]+"),
    "pypy": re.compile(r"-[BEIOPRSsuqv]+"),
    "node": re.compile(r"--test"),
    "perl": re.compile(r"-w"),
    "ruby": re.compile(r"-w"),
}
"""Options of interpreters before the script that neither take a word nor name code."""
_DENO_TOOLS: Final = _set("check fmt lint test")
_MAKE_FLAGS: Final = re.compile(
    r"-[BiknqsS]+|-j\d*|--(?:always-make|dry-run|ignore-errors|jobs(?:=\d+)?|keep-going|no-print-directory|quiet|silent)"
)
_SCRIPT_FLAGS: Final = _set("-s --silent --if-present")
_PACKAGES: Final = _set("create dlx exec explore init x")
"""Words behind a package manager that name a program of their own."""
_QUIET: Final = re.compile(r"(?<=\s)(?:2>&1|[12&]?>\s?/dev/null)(?=\s|$)")
_OUTPUT: Final = re.compile(r"(?<=\s)>>?\s?[\w./-]+(?=\s|$)")
"""Where the output goes changes nothing about what the command runs that prints it."""
_DURATION: Final = re.compile(r"[\d.]+[smhd]?")
_PIECES: Final = re.compile(r"[=:,@]")


def is_bound(line: str, places: Sequence[Path], found: Programs, where: PolicyContext) -> bool:
    """Whether `found` are all that a line runs when it begins in one of `places`, as they are now. Blocks."""
    plain, files = _OUTPUT.subn("", _QUIET.sub("", line))
    commands = read_strictly(plain).commands
    if not commands or len(places) >= MOST_PLACES:
        return False
    known = _Line(tuple(places), found, where)
    if not all(map(known.binds, commands)):
        return False
    if len(commands) == 1 or not any(each.digest for each in found):
        return True
    # what one command writes, the next would run
    return not files and all(map(known.runs_only, commands))


class _Line(Struct, frozen=True):
    places: tuple[Path, ...]
    found: Programs
    where: PolicyContext

    def binds(self, argv: Argv) -> bool:
        by_path = "/" in argv[0]
        if by_path and not self._is_script(argv[0]):
            return False
        if not self._knows(plain_name(argv[0]), argv):
            return False
        return all(self._knows(plain_name(str(real)), argv) for real in self._behind(argv[0]))

    def _behind(self, word: str) -> list[Path]:
        """What a program of the project is a link to, by its own name."""
        if "/" in word:
            real = [self.where.resolve(word, place) for place in self.places]
        else:
            inside = self.where.find(word)
            real = [inside] if inside is not None and self.where.inside(inside) else []
        return [path for path in real if path.name != word.rpartition("/")[2] and path.exists()]

    def _knows(self, name: str, argv: Argv) -> bool:
        words = argv[1:]
        if name == "cd":
            return len(words) <= 1 and not "".join(words).startswith("-")
        if name in SHELLS:
            return self._shell(words)
        if name in INTERPRETERS:
            return self._interpreter(name, words)
        if name in RECIPES:
            return self._recipes(name, words)
        if name in SCRIPT_RUNNERS:
            return self._package_script(name, words)
        if (inner := _inner(name, words)) is not None:
            return bool(inner) and ("/" in inner[0] or not self._is_file(inner[0])) and self.binds(inner)
        if name in CODE_RUNNERS:
            return True
        if name == "git":
            return _git(words)
        if name == "find":
            return not any(word.startswith(("-exec", "-ok")) for word in words)
        if harmless(argv) is not None or name in _FILE_TOOLS:
            return True
        if name in RUNNERS or name in WRAPPERS or name in _PLACES_CHANGE:
            return False
        return self._is_of_project(argv[0]) or not any(map(self._may_name_code, words))

    def runs_only(self, argv: Argv) -> bool:
        """Whether a command writes nothing by itself; what the code does that it runs is another matter (D48)."""
        name = plain_name(argv[0])
        known = name in SHELLS | INTERPRETERS | CODE_RUNNERS or name in RECIPES or name in SCRIPT_RUNNERS
        return known or name == "cd" or harmless(argv) is not None or self._is_of_project(argv[0])

    # --- what is given to whom -----------------------------------------------------------------------------------------

    def _shell(self, words: Argv) -> bool:
        """A script, or a text with `-c`; without either, a shell runs what it reads."""
        rest = list(words)
        while rest and rest[0][:1] in ("-", "+"):
            flag = rest.pop(0)
            if re.fullmatch(r"-[efuvx]*c", flag):
                return bool(rest) and is_bound(rest[0], self.places, self.found, self.where)
            if _SHELL_OPTION.fullmatch(flag):
                del rest[:1]
            elif not _SHELL_FLAGS.fullmatch(flag):
                return False
        return bool(rest) and self._is_script(rest[0])

    def _interpreter(self, name: str, words: Argv) -> bool:
        rest = list(words)
        while rest and rest[0].startswith("-") and (flags := _OWN_FLAGS.get(name)) and flags.fullmatch(rest[0]):
            if rest.pop(0) == "--test":
                return True
        if rest[:1] == ["-m"]:
            return len(rest) > 1
        if name == "deno" and rest:
            if rest[0] in _DENO_TOOLS:
                return True
            return rest[0] == "run" and len(rest) > 1 and self._is_script(rest[1])
        return bool(rest) and not rest[0].startswith("-") and self._is_script(rest[0])

    def _recipes(self, name: str, words: Argv) -> bool:
        options = RECIPES[name].file | RECIPES[name].directory
        for word in words:
            known = word.partition("=")[0] in options if word.startswith("-") else "=" not in word
            if not known and not _MAKE_FLAGS.fullmatch(word):
                return False  # a variable may be what a recipe runs
        return all(map(self._is_known_file, option_values(words, RECIPES[name].file)))

    def _package_script(self, name: str, words: Argv) -> bool:
        if name == "bun" and words[:1] == ("run",) and len(words) > 1 and self._is_file(words[1]):
            return self._is_script(words[1])
        own = words[: words.index("--")] if "--" in words else words
        options = SCRIPT_RUNNERS[name].directory | _SCRIPT_FLAGS
        if any(word.startswith("-") and word.partition("=")[0] not in options for word in own):
            return False
        return not _PACKAGES & set(own) and not (name == "bun" and any(map(self._is_file, own[:1])))

    # --- files ---------------------------------------------------------------------------------------------------------

    def _is_script(self, word: str) -> bool:
        """Whether the file that a word names is among what is bound, wherever the line begins."""
        if "/" not in word and self.where.find(word) is not None:
            return False  # `source` looks on PATH first
        return self._is_known_file(word)

    def _is_known_file(self, word: str) -> bool:
        states = {each.path: each.digest for each in self.found}
        paths = [Path(os.path.normpath(place / word)) for place in self.places]
        bound = [bool(states.get(path)) for path in paths]
        return any(bound) and all(known or not os.path.lexists(path) for known, path in zip(bound, paths, strict=True))

    def _is_file(self, word: str) -> bool:
        return any(os.path.isfile(place / word) for place in self.places)

    def _is_of_project(self, word: str) -> bool:
        if "/" in word:
            return all(self.where.inside(self.where.resolve(word, place)) for place in self.places)
        found = self.where.find(word)
        return found is not None and self.where.inside(found)

    def _may_name_code(self, word: str) -> bool:
        """Whether an unknown program could make a program of a word: a text, or a file of the project."""
        if looks_like_text(word):
            return True
        pieces = {word, word[2:], *_PIECES.split(word)} - {""}
        return any(
            os.path.lexists(place / piece) and not os.path.isdir(place / piece) and self.where.inside(place / piece)
            for piece in pieces
            if len(piece) < os.pathconf("/", "PC_PATH_MAX")
            for place in self.places
        )


def _git(words: Argv) -> bool:
    if words[:1] == ("--no-pager",):
        words = words[1:]
    if not words or words[0] not in _GIT:
        return False
    return not any(word.startswith(_GIT_RUNS) or "::" in word for word in words[1:])


def _inner(name: str, words: Argv) -> Argv | None:
    """The command behind a wrapper, () where that is not certain; None: `name` is no wrapper that is known here."""
    at = 0
    if name in _RUN_FIRST:
        if words[:1] != ("run",):
            return None
        at = 1
    elif name == "bundle":
        if words[:1] != ("exec",):
            return None
        at = 1
    elif name == "timeout":
        at = 1 if words and _DURATION.fullmatch(words[0]) else len(words)
    elif name == "nice":
        at = 2 if words[:1] == ("-n",) else 0
    elif name not in _RUN_NEXT and name != "env":
        return None
    inner = words[at:]
    return () if not inner or inner[0].startswith("-") or "=" in inner[0] else inner
