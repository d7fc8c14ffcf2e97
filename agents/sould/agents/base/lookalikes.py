"""Characters that look like others: texts as they look, and the names of characters that make two of them differ. Pure."""

import difflib
import unicodedata
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Final

MOST_NAMED: Final = 5
MOST_COMPARED: Final = 2_000
"""Characters of each text."""
MOST_MATCHED: Final = 100
"""Units of two lines that differ in more than their looks: the time to match them grows with the third power."""
_PASS_FOR_LATIN: Final = ({"LATIN", "CYRILLIC"}, {"LATIN", "GREEK"})
"""Scripts, by the first word of their letters' names."""


def looks(text: str) -> str:
    """The text with one character for all that look alike: quotes, dashes, spaces, letters in any form; the invisible are left out."""
    if text.isascii():
        return text
    return "".join(map(_plain, unicodedata.normalize("NFKC", text)))


@cache
def _plain(char: str) -> str:
    if char.isascii():
        return char
    category, name = unicodedata.category(char), unicodedata.name(char, "")
    if category == "Zs":
        return " "
    if category == "Pd" or name == "MINUS SIGN":
        return "-"
    if category == "Cf":
        return ""
    if not category.startswith("N") and any(word in name for word in ("QUOTATION MARK", "APOSTROPHE", "PRIME")):
        return '"' if "DOUBLE" in name else "'"
    return char


def differences(there: str, given: str) -> list[str]:
    """Characters of `there` that only look like those that were given, by their names; the first ones, each pair once.

    Such as "U+2019 (right single quotation mark) in place of `'`". Both texts are compared line by line.
    """
    lines = zip(there[:MOST_COMPARED].split("\n"), given[:MOST_COMPARED].split("\n"), strict=False)
    pairs = dict.fromkeys(pair for one, other in lines if one != other for pair in _pairs(_units(one), _units(other)))
    return [f"{_named(one)} in place of {_named(other)}{_forms(one, other)}" for one, other in list(pairs)[:MOST_NAMED]]


def _units(line: str) -> list[str]:
    """A character with the marks and invisible characters that belong to it is one unit, and so is a run of spaces."""
    units: list[str] = []
    for char in line:
        is_mark = unicodedata.category(char) in {"Mn", "Me", "Cf"}
        is_run = bool(units) and char.isspace() and units[-1].isspace()
        if units and (is_mark or is_run or not looks(units[-1])):
            units[-1] += char
        else:
            units.append(char)
    return units


def _pairs(one: list[str], other: list[str]) -> Iterator[tuple[str, str]]:
    """Of two lines what differs and looks alike, without what is the same in both."""
    aligned = _aligned(one, other) or _aligned(_without_spaces(one), _without_spaces(other)) or _matched(one, other)
    return (_without_common_ends(*pair) for pair in aligned if _are_alike(*pair))


def _aligned(one: list[str], other: list[str]) -> list[tuple[str, str]]:
    """The pairs of two lines that look the same; empty of others."""
    same = len(one) == len(other) and all(_look(a) == _look(b) for a, b in zip(one, other, strict=True))
    return list(zip(one, other, strict=True)) if same else []


def _look(unit: str) -> str:
    return " " if unit.isspace() else looks(unit)


def _without_spaces(units: list[str]) -> list[str]:
    return [unit for unit in units if not unit.isspace()]


def _matched(one: list[str], other: list[str]) -> list[tuple[str, str]]:
    """Pairs of lines that differ otherwise, too: of what stands between their common ends, where that is short enough to be compared."""
    begin = _common(one, other)
    end = _common(one[begin:][::-1], other[begin:][::-1])
    one, other = one[begin : len(one) - end], other[begin : len(other) - end]
    if max(len(one), len(other)) > MOST_MATCHED:
        return []
    blocks = difflib.SequenceMatcher(None, other, one, autojunk=False).get_opcodes()
    replaced = ((one[from_:to], other[start:stop]) for tag, start, stop, from_, to in blocks if tag == "replace")
    return [pair for there, given in replaced if len(there) == len(given) for pair in zip(there, given, strict=True)]


def _common(one: Sequence[str], other: Sequence[str]) -> int:
    """How many units the two begin with alike."""
    return next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


def _without_common_ends(one: str, other: str) -> tuple[str, str]:
    begin = _common(one, other)
    one, other = one[begin:], other[begin:]
    end = _common(one[::-1], other[::-1])
    return one[: len(one) - end], other[: len(other) - end]


def _are_alike(one: str, other: str) -> bool:
    return one != other and (looks(one) == looks(other) or {_script(one), _script(other)} in _PASS_FOR_LATIN)


def _script(unit: str) -> str:
    return unicodedata.name(unit[0], "").partition(" ")[0] if unit[0].isalpha() else ""


def _forms(one: str, other: str) -> str:
    same = unicodedata.normalize("NFC", one) == unicodedata.normalize("NFC", other)
    return (", NFD for NFC" if len(one) > len(other) else ", NFC for NFD") if same else ""


def _named(text: str) -> str:
    return " + ".join(map(_name, text)) or "nothing"


def _name(char: str) -> str:
    if char.isascii():
        return "a space" if char == " " else repr(char) if char == "`" else f"`{char}`"
    return f"U+{ord(char):04X} ({unicodedata.name(char, 'without a name').lower()})"
