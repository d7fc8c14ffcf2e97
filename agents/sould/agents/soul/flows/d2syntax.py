"""D2 text as statements: keys, arrows, values and blocks, each with its place. What they mean is decided elsewhere.

Reads all of D2 that a diagram of boxes and arrows can hold; what it does not understand is an error with line and column.
"""

import re
import textwrap

from msgspec import Struct

from sould.agents.soul.flows.scanner import Scanner

_BLANK = re.compile(r'(?:[\s;]|#[^\n]*|"""(?:(?!""").)*""")+', re.DOTALL)
_SPACE = re.compile(r"(?:[^\S\n]|\\\n)+")
_VARIABLE = r"\$\{[^}\n]*\}"
_KEY = re.compile(rf"(?:\\\n[^\S\n]*|\\.|{_VARIABLE}|(?!-+>|--|(?<=\s)#)[^\n;{{}}:.|\[\]<>\\])+")
_VALUE = re.compile(rf"(?:\\\n[^\S\n]*|\\.|{_VARIABLE}|(?!(?<=\s)#)[^\n;{{}}\\])+")
_ESCAPE = re.compile(r"\\(?:(\n[^\S\n]*)|(.))", re.DOTALL)
_QUOTED = re.compile(r'"((?:\\.|[^"\\\n])*)"')
_SINGLE = re.compile(r"'((?:''|[^'\n])*)'")
_FENCE = re.compile(r"\|+[^\w\s|]*")
_TAG = re.compile(r"[A-Za-z0-9]*(?=\s)")
_ARROW = re.compile(r"<-+>|<-+|-+>|--+")
_LIST = re.compile(r"\[[^\[\]]*\]")
_INDEX = re.compile(r"\[(?:\d+|\*)\]")
MAX_DEPTH = 20


class D2Part(Struct, frozen=True):
    """One part of a key, between dots. A quoted one is never a word of the language."""

    text: str
    at: int
    quoted: bool


class Arrow(Struct, frozen=True):
    """`text` as it is written."""

    text: str
    at: int


class D2Value(Struct, frozen=True):
    """`text` None: a list."""

    text: str | None
    at: int
    quoted: bool


class Statement(Struct, frozen=True):
    """`keys` joined by `arrows`. `refers`: to edges there are already, `(a -> b)[0]`; `attribute` is what stands behind them."""

    at: int
    keys: tuple[tuple[D2Part, ...], ...]
    arrows: tuple[Arrow, ...] = ()
    refers: bool = False
    attribute: tuple[D2Part, ...] = ()
    value: D2Value | None = None
    block: "tuple[Statement, ...] | None" = None


class D2Reader:
    """Reads one text. Every method raises `FlowError` where it does not understand it."""

    def __init__(self, scanner: Scanner) -> None:
        self._in = scanner

    def statements(self) -> tuple[Statement, ...]:
        """All of it."""
        found = self._several(0)
        if not self._in.done:
            self._in.unexpected()
        return found

    def _several(self, depth: int) -> tuple[Statement, ...]:
        found: list[Statement] = []
        while True:
            self._in.take(_BLANK)
            if self._in.done or self._ahead("}"):
                return tuple(found)
            found.append(self._statement(depth))

    def _ahead(self, text: str) -> bool:
        return self._in.text.startswith(text, self._in.at)

    def _statement(self, depth: int) -> Statement:
        scanner = self._in
        at = scanner.at
        grouped = scanner.literal("(")
        keys, arrows = self._chain()
        refers, attribute = self._reference(at, grouped=grouped)
        value = None
        scanner.take(_SPACE)
        if scanner.literal(":"):
            scanner.take(_SPACE)
            value = None if self._ahead("{") else self._value()
            scanner.take(_SPACE)
        block = self._block(depth + 1) if self._ahead("{") else None
        scanner.take(_SPACE)
        if not scanner.done and scanner.text[scanner.at] not in "\n;#}":
            scanner.unexpected()
        return Statement(at, keys, arrows, refers, attribute, value, block)

    def _chain(self) -> tuple[tuple[tuple[D2Part, ...], ...], tuple[Arrow, ...]]:
        scanner = self._in
        keys, arrows = [self._key()], list[Arrow]()
        while True:
            scanner.take(_SPACE)
            at = scanner.at
            found = scanner.take(_ARROW)
            if not found:
                return tuple(keys), tuple(arrows)
            arrows.append(Arrow(found.group(), at))
            scanner.take(_SPACE)
            keys.append(self._key())

    def _reference(self, at: int, *, grouped: bool) -> tuple[bool, tuple[D2Part, ...]]:
        scanner = self._in
        if grouped and not scanner.literal(")"):
            scanner.fail("this `(` is not closed", at)
        refers = scanner.take(_INDEX) is not None
        return refers, self._key() if (refers or grouped) and scanner.literal(".") else ()

    def _key(self) -> tuple[D2Part, ...]:
        scanner = self._in
        parts = [self._part()]
        while True:
            before = scanner.at
            scanner.take(_SPACE)
            if not scanner.literal("."):
                scanner.move_to(before)
                return tuple(parts)
            scanner.take(_SPACE)
            parts.append(self._part())

    def _part(self) -> D2Part:
        scanner = self._in
        at = scanner.at
        text = self._quoted()
        if text is not None:
            if not text.strip():
                scanner.fail("a node needs a name", at)
            return D2Part(text, at, quoted=True)
        found = scanner.take(_KEY)
        text = found.group() if found else ""
        if text.endswith(")") and text.count("(") < text.count(")"):  # it closes a group of edges
            scanner.move_to(scanner.at - 1)
            text = text[:-1]
        text = _unescaped(text.strip())
        if not text:
            scanner.move_to(at)
            scanner.unexpected()
        return D2Part(text, at, quoted=False)

    def _quoted(self) -> str | None:
        scanner = self._in
        at = scanner.at
        if found := scanner.take(_QUOTED):
            return _unescaped(found.group(1))
        if found := scanner.take(_SINGLE):
            return found.group(1).replace("''", "'")
        if self._ahead('"') or self._ahead("'"):
            scanner.fail("this quoted text is not closed on its line", at)
        return None

    def _value(self) -> D2Value:
        """A quoted text, a block between pipes, a list, or the rest of the line."""
        scanner = self._in
        at = scanner.at
        quoted = self._quoted()
        if quoted is not None:
            return D2Value(quoted.strip(), at, quoted=True)
        if fence := scanner.take(_FENCE):
            closing = fence.group()[::-1]
            scanner.take(_TAG)
            body = scanner.until(closing, f"this block is not closed by `{closing}`", at)
            return D2Value(textwrap.dedent(body.strip("\n")).strip(), at, quoted=True)
        if scanner.take(_LIST):
            return D2Value(None, at, quoted=False)
        found = scanner.take(_VALUE)
        if not found or not found.group().strip():
            scanner.unexpected()
        return D2Value(_unescaped(found.group().strip()), at, quoted=False)

    def _block(self, depth: int) -> tuple[Statement, ...]:
        scanner = self._in
        at = scanner.at
        if depth > MAX_DEPTH:
            scanner.fail(f"blocks nest at most {MAX_DEPTH} levels deep")
        scanner.literal("{")
        found = self._several(depth)
        if not scanner.literal("}"):
            scanner.fail("this `{` is not closed", at)
        return found


def _unescaped(text: str) -> str:
    return _ESCAPE.sub(lambda found: "" if found.group(1) else "\n" if found.group(2) == "n" else found.group(2), text)
