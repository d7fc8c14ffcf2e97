"""Glob patterns, matched without regular expressions, and the walk over a tree that a pattern asks for.

The work is bounded by pattern length times names seen, whatever the pattern; links are never followed, not even one that
takes a directory's place meanwhile. Blocks: use it in a thread, with a deadline and a way to stop.
"""

import time
from collections.abc import Generator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Final, Literal, TypeAlias

from msgspec import Struct, field

from sould.agents.base.diskfile import list_directory
from sould.agents.base.workspace import WorkspaceError

VCS: Final = frozenset({".git", ".hg", ".svn", ".jj", ".bzr", ".sl"})
MAX_ALTERNATIVES = 64
ANY_DEPTH: Final = "**"


class PatternError(ValueError):
    """The pattern means nothing; the text says why."""


class _OneOf(Struct, frozen=True):
    """A character class. `ranges` are pairs of first and last character."""

    ranges: tuple[tuple[str, str], ...]
    negated: bool

    def matches(self, letter: str) -> bool:
        return any(first <= letter <= last for first, last in self.ranges) != self.negated


_STAR: Final = object()
_ANY: Final = object()
_Segment: TypeAlias = tuple[object, ...] | Literal["**"]


def expand_braces(pattern: str) -> list[str]:
    """All alternatives of `{a,b}`, also nested; an unbalanced brace stands for itself."""
    done: list[str] = []
    rest = [pattern]
    while rest:
        text = rest.pop(0)
        parts = _first_braces(text)
        if parts is None:
            done.append(text)
        else:
            before, choices, after = parts
            rest[:0] = [before + choice + after for choice in choices]
        if len(done) + len(rest) > MAX_ALTERNATIVES:
            raise PatternError(f"the braces of the pattern make more than {MAX_ALTERNATIVES} alternatives")
    return done


def _first_braces(text: str) -> tuple[str, list[str], str] | None:
    start = text.find("{")
    if start < 0:
        return None
    depth = 0
    commas: list[int] = []
    for at in range(start, len(text)):
        if text[at] == "{":
            depth += 1
        elif text[at] == "," and depth == 1:
            commas.append(at)
        elif text[at] == "}":
            depth -= 1
            if depth == 0:
                edges = [start, *commas, at]
                choices = [text[one + 1 : other] for one, other in pairwise(edges)]
                return (text[:start], choices, text[at + 1 :]) if commas else None
    return None


def otherwise(pattern: str) -> list[str]:
    """How else a pattern may be meant that fits nothing as it is written: `*.ts,*.tsx` as two, `[slug]` as a name."""
    parts = [part.strip() for part in _split_at_commas(pattern)]
    meant = [each for part in parts if part for each in (part, part.replace("[", "[[]"))]
    return [each for each in dict.fromkeys(meant) if each != pattern]


def _split_at_commas(pattern: str) -> list[str]:
    """At those outside of braces and brackets."""
    parts, depth = [""], 0
    for letter in pattern:
        depth += (letter in "{[") - (letter in "}]")
        if letter == "," and depth <= 0:
            parts.append("")
        else:
            parts[-1] += letter
    return parts


def parse(pattern: str) -> list[_Segment]:
    """The segments of one alternative."""
    segments: list[_Segment] = []
    for part in pattern.split("/"):
        if part in {"", "."}:
            continue
        if part == "..":
            raise PatternError("a pattern cannot go up with `..`; give the directory instead")
        if part == ANY_DEPTH:
            if not segments or segments[-1] != ANY_DEPTH:
                segments.append(ANY_DEPTH)
        else:
            segments.append(_tokens(part))
    if not segments:
        raise PatternError("the pattern is empty")
    return segments


def _tokens(part: str) -> tuple[object, ...]:
    tokens: list[object] = []
    at = 0
    while at < len(part):
        letter = part[at]
        at += 1
        if letter == "*":
            if not tokens or tokens[-1] is not _STAR:
                tokens.append(_STAR)
        elif letter == "?":
            tokens.append(_ANY)
        elif letter == "[" and (end := part.find("]", at + (2 if part[at : at + 1] in {"!", "^"} else 1))) > 0:
            tokens.append(_one_of(part[at:end]))
            at = end + 1
        else:
            tokens.append(letter)
    return tuple(tokens)


def _one_of(body: str) -> _OneOf:
    negated = body[:1] in {"!", "^"}
    body = body[1:] if negated else body
    ranges: list[tuple[str, str]] = []
    at = 0
    while at < len(body):
        if body[at + 1 : at + 2] == "-" and at + 2 < len(body):
            ranges.append((body[at], body[at + 2]))
            at += 3
        else:
            ranges.append((body[at], body[at]))
            at += 1
    return _OneOf(tuple(ranges), negated)


def name_matches(tokens: Sequence[object], name: str) -> bool:
    """Whether one name fits one segment: at most tokens times letters steps."""
    at = token = 0
    star, mark = -1, 0
    while at < len(name):
        if token < len(tokens) and tokens[token] is _STAR:
            star, mark = token, at
            token += 1
        elif token < len(tokens) and _letter_matches(tokens[token], name[at]):
            token += 1
            at += 1
        elif star >= 0:
            mark += 1
            at, token = mark, star + 1
        else:
            return False
    return all(left is _STAR for left in tokens[token:])


def _letter_matches(token: object, letter: str) -> bool:
    return token is _ANY or token == letter or (isinstance(token, _OneOf) and token.matches(letter))


def top_names(root: Path, most: int) -> list[str]:
    """The first names in a directory, those of directories with a slash. Raises WorkspaceError."""
    return [f"{name}/" if is_directory else name for name, is_directory in list_directory(root)[:most]]


class GlobWalk(Struct):
    """One search, until its deadline (of the monotonic clock); the results so far stand when it is over or was cancelled."""

    root: Path
    patterns: Sequence[Sequence[_Segment]]
    limit: int
    deadline: float
    include_dirs: bool = True
    found: list[Path] = field(default_factory=list[Path])
    ended: Literal["complete", "limit", "stopped"] = "complete"
    _cancelled: bool = False

    @classmethod
    def of(cls, root: Path, patterns: Sequence[str], *, limit: int, seconds: float, include_dirs: bool) -> "GlobWalk":
        """A walk for what fits any of the patterns, with a deadline. Raises PatternError."""
        deadline = time.monotonic() + seconds
        parsed = [parse(one) for pattern in patterns for one in expand_braces(pattern)]
        return cls(root, parsed, limit, deadline, include_dirs)

    def cancel(self) -> None:
        """Nobody waits for the results any more; from any thread."""
        self._cancelled = True

    def run(self) -> None:
        """Fill `found`, sorted by path."""
        pending: list[Generator[tuple[Path, frozenset[tuple[int, int]]], None, None]] = [
            self._children(self.root, self._starts)
        ]
        while pending and self.ended == "complete":
            following = next(pending[-1], None)
            if following is None:
                pending.pop()
            else:
                pending.append(self._children(*following))

    def _children(
        self, directory: Path, states: frozenset[tuple[int, int]]
    ) -> Generator[tuple[Path, frozenset[tuple[int, int]]], None, None]:
        """Take in what matches in `directory`; yield the directories below it that can hold more."""
        try:
            listed = list_directory(directory)
        except WorkspaceError:
            return
        reached = self._closure(states)
        for count, (name, is_dir) in enumerate(listed):
            if count % 256 == 0 and (self._cancelled or time.monotonic() > self.deadline):
                self.ended = "stopped"
            if self.ended != "complete":
                return
            following = self._step(reached, name, is_dir=is_dir)
            if not following:
                continue
            closed = self._closure(following)
            if any(at == len(self.patterns[index]) for index, at in closed):
                self._take(directory / name, is_dir=is_dir)
            if is_dir and self.ended == "complete":
                yield directory / name, following

    def fits(self, name: str) -> bool:
        """Whether a file below `root`, by its relative path, is one that is looked for."""
        states = self._starts
        *above, last = name.split("/")
        for part in above:
            states = self._step(self._closure(states), part, is_dir=True)
        states = self._closure(self._step(self._closure(states), last, is_dir=False))
        return any(at == len(self.patterns[index]) for index, at in states)

    @property
    def _starts(self) -> frozenset[tuple[int, int]]:
        return frozenset((index, 0) for index in range(len(self.patterns)))

    def _take(self, path: Path, *, is_dir: bool) -> None:
        if is_dir and not self.include_dirs:
            return
        if len(self.found) == self.limit:
            self.ended = "limit"
        else:
            self.found.append(path)

    def _closure(self, states: frozenset[tuple[int, int]]) -> frozenset[tuple[int, int]]:
        """`**` may also stand for no directory at all."""
        more = {(i, at + 1) for i, at in states if at < len(self.patterns[i]) and self.patterns[i][at] == ANY_DEPTH}
        return states | more

    def _step(self, states: frozenset[tuple[int, int]], name: str, *, is_dir: bool) -> frozenset[tuple[int, int]]:
        following: set[tuple[int, int]] = set()
        for index, at in states:
            if at >= len(self.patterns[index]):
                continue
            segment = self.patterns[index][at]
            if segment == ANY_DEPTH:
                if name not in VCS and (is_dir or at == len(self.patterns[index]) - 1):
                    following.add((index, at))
            elif name_matches(segment, name):
                following.add((index, at + 1))
        return frozenset(following)
