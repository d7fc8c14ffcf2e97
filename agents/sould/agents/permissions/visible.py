r"""Text as a person may safely be shown it in a question: nothing that prints nothing, nothing that moves the cursor.

Two different texts never become the same: every mark can be told from the same letters typed out, and what is left out
in the middle is named by its size and its checksum.
"""

import difflib
import hashlib
import re
import unicodedata
from collections.abc import Sequence
from functools import cache

NO_NEWLINE = "\\ No newline at end of file"
LONG = 2_000
"""Characters beyond which a text is shown as its first and last part, and nothing is remembered for the session."""
MOST_MARKS = 4
"""Accents above or below one letter; further ones would cover the lines around it."""
_MARK = re.compile(r"\\(?=u[0-9a-f]{4}|U[0-9a-f]{8})")
_BLANKS = re.compile(r"[ \t]{17,}|[ \t]*(?:\n[ \t]*){8,}")
"""So much that what follows is out of sight."""
_TRAILING = re.compile(r"(?<![ \t])[ \t]+(?=\n|\Z)")
_SAME = re.compile(r"(.)\1*", re.DOTALL)
_BLANK_NAMES = (" BLANK", " FILLER", " NULL NOTEHEAD")
"""How Unicode names letters and symbols whose picture is empty; no property of theirs says so."""
_IN_NAMES = str.maketrans({"\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t", "`": "\\x60"})


def visible(text: str) -> str:
    r"""`text` with every character that prints nothing as a mark like `\u202e`; much blank space is counted."""
    if text.isascii() and text.isprintable() and "\\" not in text and " " * 17 not in text and text[-1:] != " ":
        return text
    return _TRAILING.sub(_marked_blanks, _BLANKS.sub(_counted, _marked(text)))


def visible_ends(text: str) -> str:
    """`visible` for a line of code: much blank space is indentation there."""
    return _TRAILING.sub(_marked_blanks, _marked(text))


def _marked(text: str) -> str:
    if text.isascii() and text.isprintable() and "\\" not in text:
        return text
    loose = not unicodedata.is_normalized("NFC", text)
    shown: list[str] = []
    accents = 0
    for char in _MARK.sub(r"\\u005c", text):
        accents = accents + 1 if unicodedata.category(char) in ("Mn", "Me") else 0
        hidden = char not in "\n\t" and (
            prints_nothing(char) or accents > MOST_MARKS or (loose and _is_another_s_form(char))
        )
        shown.append(_mark(char) if hidden else char)
    return "".join(shown)


def file_name(path: object) -> str:
    r"""A path within a sentence: line ends, tabs and backticks are escaped, as git does it; `visible` does the rest."""
    return str(path).translate(_IN_NAMES)


def shortened(text: str) -> str:
    """`text`, or its first and last part with the number of characters between."""
    if len(text) <= LONG:
        return text
    half = LONG // 2
    left_out = text[half:-half]
    return f"{text[:half]}\n… {len(left_out):,} more characters ({checksum(left_out)}), view all …\n{text[-half:]}"


def both_ends(lines: Sequence[str], most: int | None) -> tuple[str, ...]:
    """At most so many lines (None: all), the last ones among them: what is left out stands in the middle."""
    if most is None or len(lines) <= most:
        return tuple(lines)
    end = most // 4
    left_out = lines[most - end - 1 : -end]
    whole = "\n".join(left_out)
    mark = f"… {len(left_out)} lines ({checksum(whole)}) …"
    return (*lines[: most - end - 1], mark, *lines[-end:])


def checksum(text: str) -> str:
    """What tells two texts apart that are not shown."""
    return f"sha256 {hashlib.sha256(text.encode(errors='surrogatepass')).hexdigest()[:8]}"


def cut_to(line: str, columns: int) -> str:
    """A line of at most so many columns: when it is longer its beginning and its end, and how much is left out."""
    if columns_of(line) <= columns:
        return line
    room = columns - len(_left_out(len(line)))
    tail = _fitting(line[::-1], room // 3)
    head = _fitting(line, room - room // 3)
    return f"{line[:head].rstrip()}{_left_out(len(line) - head - tail)}{line[len(line) - tail :].lstrip()}"


def columns_of(text: str) -> int:
    """How wide a terminal shows it: East Asian characters take two columns, marks above other characters none."""
    return len(text) if text.isascii() else sum(map(_width, text))


def foreign_characters(text: str) -> str:
    """A sentence about characters that look like others, or empty: homoglyphs in a command or a path are named."""
    found = sorted({char for char in text if not char.isascii()})
    if not found:
        return ""
    shown = ", ".join(f"{visible(char)} (U+{ord(char):04X})" for char in found[:5])
    return f"Contains characters outside ASCII: {shown}{' …' if len(found) > 5 else ''}."


def has_hidden_characters(text: str) -> bool:
    """Whether `text` holds characters that cannot be seen or change direction; blanks of other widths and emoji aside."""
    found = {char for char in text if not char.isascii()} - _PART_OF_EMOJI
    return any(unicodedata.category(char) != "Zs" and prints_nothing(char) for char in found)


_PART_OF_EMOJI = frozenset("\u200d\ufe0f")


@cache
def prints_nothing(char: str) -> bool:
    """Whether a character leaves no picture of its own, by Unicode's data; the space, line ends and tabs are for the caller."""
    if char == " ":
        return False
    if unicodedata.category(char)[0] in "CZ":  # controls, formats, surrogates, private, unassigned; separators
        return True
    if char.isascii():
        return False
    return _is_ignorable(char) or unicodedata.name(char, "").endswith(_BLANK_NAMES)


def _is_ignorable(char: str) -> bool:
    import regex  # noqa: PLC0415 -- 2 MB and 40 ms, for those who write beyond ASCII only; `unicodedata` lacks the property

    return regex.match(r"\p{Default_Ignorable_Code_Point}", char) is not None


def _is_another_s_form(char: str) -> bool:
    """In a text that is not normalised: what may join the letter before it, or is only another way to write a letter."""
    joins = unicodedata.category(char) in ("Mn", "Mc") or "\u1160" <= char <= "\u11ff"
    return joins or not unicodedata.is_normalized("NFC", char)


def _counted(run: re.Match[str]) -> str:
    return _SAME.sub(lambda same: f"{_mark(same[1])}{{{len(same[0])}}}", run[0])


def _marked_blanks(run: re.Match[str]) -> str:
    return "".join(map(_mark, run[0]))


def _mark(char: str) -> str:
    code = ord(char)
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


def _left_out(count: int) -> str:
    return f" … {count:,} more … "


def _fitting(text: str, columns: int) -> int:
    """How many characters from the beginning fit."""
    used = 0
    for number, char in enumerate(text):
        used += _width(char)
        if used > columns:
            return number
    return len(text)


def _width(char: str) -> int:
    if unicodedata.combining(char):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def diff_lines(path: str, old: str, new: str) -> list[str]:
    """A unified diff. Line ends other than the newline are shown, unless the whole file has Windows' both before and after."""
    if _has_windows_ends(old) and _has_windows_ends(new):
        old, new = old.replace("\r\n", "\n"), new.replace("\r\n", "\n")
    name = file_name(path)
    lines = difflib.unified_diff(_lines(old), _lines(new), name, name, lineterm="")
    return [part[:1] + visible_ends(part[1:]) for line in lines for part in line.split("\n")]


def _lines(text: str) -> list[str]:
    *whole, last = text.split("\n")
    return [*whole, f"{last}\n{NO_NEWLINE}"] if last else whole


def _has_windows_ends(text: str) -> bool:
    return not text or text.count("\n") == text.count("\r\n") == text.count("\r") > 0
