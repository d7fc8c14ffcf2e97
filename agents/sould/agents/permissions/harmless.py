"""The commands that need no question: programs that only show things, with flags known to keep it so.

A list (`harmless.json`) of what is known, never of what is forbidden: an unknown program, flag or count of operands is not harmless.
Programs that run others, write files, follow configuration or recurse into unnamed files are not here on purpose, nor are
flags that follow unnamed links, which may lead out of the project.
"""

import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Final, Literal

import msgspec
from msgspec import Struct

from sould.agents.permissions.shelltext import Argv

_TABLES: Final = Path(__file__).with_name("harmless.json")
"""The programs and git's commands with their flags; read when a command is first judged."""


class _Safe(Struct, frozen=True):
    flags: str = ""
    """Single letters that take no value, or whose value is harmless as any text."""
    valued: str = ""
    """Letters that take a value: the rest of the word, or the next word."""
    names: frozenset[str] = frozenset()
    """Long flags without their dashes, with or without a value; exactly, because GNU programs accept abbreviations of unlisted ones."""
    operands: int = 1_000
    reads: bool = True
    """Operands may name files, so each is judged like a file that is read."""
    builtin: bool = False
    """bash runs its own, whatever is on PATH."""
    digits: bool = False
    """`-5` is a count."""
    start: str = ""
    """What every operand must begin with."""


class _Group(Struct, frozen=True):
    source: str
    """The documentation that says what the flags do."""
    programs: dict[str, _Safe]


class _Tables(Struct, frozen=True):
    programs: tuple[_Group, ...]
    git: _Group


@cache
def _tables() -> _Tables:
    return msgspec.json.decode(_TABLES.read_bytes(), type=_Tables)


@cache
def _programs() -> Mapping[str, _Safe]:
    return {name: safe for group in _tables().programs for name, safe in group.programs.items()}


_LETTERS_OF_CONTENTS: Final = frozenset("puUGS")


class Harmless(Struct, frozen=True):
    """A command that only shows. `files`: words to be judged as files that are read; `builtin`: PATH does not matter.

    `repository`: what it shows of a git repository, which must name no programs of its own.
    """

    files: tuple[str, ...]
    builtin: bool
    repository: Literal["nothing", "names", "contents"] = "nothing"
    history: bool = False
    """It may show what files held in the past, also those that are gone."""


_SMALL: Final = re.compile(r"-w|-?\d{1,5}")
"""What `seq` may be given: it prints for ever up to `inf`, and for long by steps of a fraction."""
SEARCHES: Final = frozenset({"rg"})
"""They look into files that nobody named: what they pass over by themselves, or because of a glob, must not be a secret."""


def harmless(argv: Argv) -> Harmless | None:
    """What the command reads, or None when it is not known to be harmless."""
    if argv[0] == "echo":
        return Harmless((), builtin=True)
    if argv[0] == "git":
        return _git(argv[1:])
    if argv[0] == "seq" and not all(map(_SMALL.fullmatch, argv[1:])):
        return None
    safe = _programs().get(argv[0])
    split = _split(argv[1:], safe) if safe is not None else None
    if safe is None or split is None:
        return None
    operands, values = split
    if len(operands) > safe.operands or not all(operand.startswith(safe.start) for operand in operands):
        return None
    return Harmless((*operands, *values) if safe.reads else (), safe.builtin)


def _git(words: Argv) -> Harmless | None:
    """`git diff HEAD:a b`: the words, and what stands behind a colon in them, may be files of now or of back then."""
    if words[:1] == ("--no-pager",):
        words = words[1:]
    safe = _tables().git.programs.get(words[0]) if words else None
    split = _split(words[1:], safe) if safe is not None else None
    if safe is None or split is None:
        return None
    operands, values = split
    if len(operands) > safe.operands or any(word.startswith(":") or set(word) & set("*?[") for word in operands):
        return None
    named = (piece for word in (*operands, *values) for piece in {word, word.rpartition(":")[2]} if piece)
    if not safe.reads:
        return Harmless((), builtin=False, repository="names")
    return Harmless(tuple(named), builtin=False, repository="contents", history=_shows_the_past(words, operands))


def _shows_the_past(words: Argv, operands: list[str]) -> bool:
    """Not where git compares what is tracked now, nor where `log` says of commits no more than what they are named."""
    match words[0]:
        case "diff":
            return bool(operands) or not {"--cached", "--staged"}.isdisjoint(words)
        case "log":
            return any(_is_about_contents(word) for word in words[1:])
        case command:
            return command == "show"


def _is_about_contents(word: str) -> bool:
    if word.startswith("--"):
        return word.partition("=")[0] in ("--patch", "--unified")
    return word.startswith("-") and not _LETTERS_OF_CONTENTS.isdisjoint(word)


def _split(words: Argv, safe: _Safe) -> tuple[list[str], list[str]] | None:
    """Operands and values of flags; None when a flag is not listed, or a word could be a flag after all."""
    operands: list[str] = []
    values: list[str] = []
    rest = iter(words)
    for word in rest:
        if word == "--":
            operands.extend(rest)
            if any(operand.startswith("-") for operand in operands):
                return None
        elif word.startswith("--"):
            name, _, value = word.partition("=")
            if name[2:] not in safe.names:
                return None
            values.append(value)
        elif word.startswith("-") and word != "-":
            value = _letters(word[1:], safe, rest)
            if value is None:
                return None
            values.append(value)
        else:
            operands.append(word)
    return operands, [value for value in values if value]


def _letters(letters: str, safe: _Safe, rest: Iterator[str]) -> str | None:
    """The value that a word of single-letter flags brings, empty for none; None when a letter is not listed."""
    if safe.digits and letters.isdecimal():
        return ""
    for at, letter in enumerate(letters):
        if letter in safe.valued:
            value = letters[at + 1 :] or next(rest, "")
            return None if value.startswith("-") else value
        if letter not in safe.flags:
            return None
    return ""
