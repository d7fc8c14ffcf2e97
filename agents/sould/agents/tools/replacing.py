"""Exact replacement in a text: one match or none at all, and when it fails, where the model probably meant.

Pure functions, but searching for near matches takes time on long texts: call in a thread. Bytes outside a match never change.
"""

import difflib
import re

from sould.agents.base.lookalikes import differences, looks
from sould.agents.tools.lineends import CRLF, LfText, dominant, with_line_ends

MAX_SHOWN = 5
MAX_LINES_COMPARED = 5_000
MAX_SHOWN_LINE = 200
MAX_SHOWN_BLOCK = 6
_NUMBERED = re.compile(r"^ *\d+\t", re.MULTILINE)


class EditError(Exception):
    """The edit cannot be made; the text tells the model why and shows the places in question."""


def replace_exactly(text: str, old: str, new: str, *, replace_all: bool) -> tuple[str, int]:
    """`text` with `old` replaced, and how often. LF and CRLF match each other; what is inserted has the file's line ends.

    Raises:
        EditError: `old` is not there, or is there more than once and `replace_all` is false.
    """
    plain = LfText.of(text)
    wanted = old.replace(CRLF, "\n")
    found = _matches(plain.text, wanted, overlapping=not replace_all)
    if not found:
        raise EditError(_missing(plain.text, wanted))
    if len(found) > 1 and not replace_all:
        raise EditError(_ambiguous(plain.text, found))
    usual = dominant(text)
    pieces: list[str] = []
    end = 0
    for at in found:
        begin = plain.original(at)
        pieces.append(text[end:begin])
        end = plain.original(at + len(wanted))
        pieces.append(with_line_ends(new, dominant(text[begin:end]) or usual))
    return "".join((*pieces, text[end:])), len(found)


def _matches(text: str, wanted: str, *, overlapping: bool) -> list[int]:
    found: list[int] = []
    at = text.find(wanted)
    while at >= 0:
        found.append(at)
        at = text.find(wanted, at + (1 if overlapping else len(wanted)))
    return found


def _ambiguous(text: str, found: list[int]) -> str:
    lines = text.split("\n")
    numbers = list(dict.fromkeys(text.count("\n", 0, at) for at in found[:MAX_SHOWN]))
    places = "\n".join(_row(number, lines[number]) for number in numbers)
    more = f"\n   and {len(found) - MAX_SHOWN} more" if len(found) > MAX_SHOWN else ""
    return (
        f"`old` is in the file {len(found)} times; nothing was changed. Take in more of the lines around the one you "
        f"mean, or set replace_all. It begins at these lines:\n{places}{more}"
    )


def _missing(text: str, wanted: str) -> str:
    lines = text.split("\n")
    without_numbers = _NUMBERED.sub("", wanted)
    if without_numbers != wanted and without_numbers in text:
        return "`old` holds the line numbers that ReadFile adds; nothing was changed. Leave them out."
    block = wanted.strip("\n").split("\n")
    alike = _alike(lines, block)
    found = alike or _nearest(lines, block)
    shown = min(len(block), MAX_SHOWN_BLOCK)
    places = "\n   ---\n".join(
        "\n".join(_row(number, lines[number]) for number in range(at, min(at + shown, len(lines)))) for at in found
    )
    named = differences("\n".join(lines[found[0] : found[0] + len(block)]), "\n".join(block)) if found else []
    said = _what_differs(named, alike=bool(alike), near=bool(found))
    return f"Nothing was changed: {said}\n{places}\nRead the file again if you are not sure of it.".replace(
        "\n\n", "\n"
    )


def _what_differs(named: list[str], *, alike: bool, near: bool) -> str:
    """What is said above the lines that are near; `named`: characters of the first place that only look like those of `old`."""
    characters = f"The file has {', '.join(named)}: copy such characters, or leave them out of `old`."
    if alike and named:
        return f"`old` is not in the file, but these lines look the same. {characters} They are:"
    if alike:
        return "`old` is not in the file, but these lines differ from it only in spaces, tabs or blank line ends:"
    if not near:
        return "`old` is not in the file, nor anything like it."
    return f"`old` is not in the file. {f'{characters} ' if named else ''}The nearest lines are:"


def _alike(lines: list[str], block: list[str]) -> list[int]:
    """Where `block` would match if white space did not count, nor which of those that look alike a character is."""
    wanted = ["".join(looks(line).split()) for line in block]
    if not any(wanted):
        return []
    bare = ["".join(looks(line).split()) for line in lines]
    first = wanted[0]
    found: list[int] = []
    for at, line in enumerate(bare):
        if line == first and bare[at : at + len(wanted)] == wanted:
            found.append(at)
            if len(found) == MAX_SHOWN:
                break
    return found


def _nearest(lines: list[str], block: list[str]) -> list[int]:
    """Where the longest line of `block` has its nearest relatives, moved up to where `block` would begin."""
    offset, longest = max(enumerate(block), key=lambda numbered: len(numbered[1].strip()))
    wanted = longest.strip()[:MAX_SHOWN_LINE]
    if not wanted or len(lines) > MAX_LINES_COMPARED:
        return []
    by_text: dict[str, int] = {}
    for number, line in enumerate(lines):
        by_text.setdefault(line.strip()[:MAX_SHOWN_LINE], number)
    close = difflib.get_close_matches(wanted, by_text, n=3, cutoff=0.6)
    return sorted({max(0, by_text[line] - offset) for line in close})


def _row(index: int, line: str) -> str:
    shown = line if len(line) <= MAX_SHOWN_LINE else f"{line[:MAX_SHOWN_LINE]} [...]"
    return f"{index + 1:6d}\t{shown}"
