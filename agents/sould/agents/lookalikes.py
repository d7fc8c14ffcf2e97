"""Characters that look like others: texts as they look, and the names of characters that make two of them differ. Pure."""

import difflib
import unicodedata
from collections.abc import Iterator
from functools import cache
from typing import Final

MOST_NAMED: Final = 5
MOST_COMPARED: Final = 2_000
"""Characters of each text."""
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

    Such as "U+2019 (right single quotation mark) in place of `'`".
    """
    pairs = dict.fromkeys(_pairs(there[:MOST_COMPARED], given[:MOST_COMPARED]))
    return [f"{_named(one)} in place of {_named(other)}{_forms(one, other)}" for one, other in list(pairs)[:MOST_NAMED]]


def _pairs(there: str, given: str) -> Iterator[tuple[str, str]]:
    compared = difflib.SequenceMatcher(None, given, there, autojunk=False)
    for tag, given_from, given_to, there_from, there_to in compared.get_opcodes():
        one, other = there[there_from:there_to], given[given_from:given_to]
        if tag == "equal":
            continue
        if len(one) == len(other):
            yield from (pair for pair in zip(one, other, strict=True) if _are_alike(*pair))
        elif looks(one) == looks(other):
            yield one, other


def _are_alike(one: str, other: str) -> bool:
    return one != other and (looks(one) == looks(other) or {_script(one), _script(other)} in _PASS_FOR_LATIN)


def _script(char: str) -> str:
    return unicodedata.name(char, "").partition(" ")[0] if char.isalpha() else ""


def _forms(one: str, other: str) -> str:
    same = unicodedata.normalize("NFC", one) == unicodedata.normalize("NFC", other)
    return (", NFD for NFC" if len(one) > len(other) else ", NFC for NFD") if same else ""


def _named(text: str) -> str:
    return " + ".join(map(_name, text)) or "nothing"


def _name(char: str) -> str:
    if char.isascii():
        return "a space" if char == " " else repr(char) if char == "`" else f"`{char}`"
    return f"U+{ord(char):04X} ({unicodedata.name(char, 'without a name').lower()})"
