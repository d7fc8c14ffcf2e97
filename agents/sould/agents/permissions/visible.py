"""Text as a person may safely be shown it in a question: nothing invisible, nothing that moves the cursor (F77).

Two different texts never become the same: every mark can be told from the same letters typed out.
"""

import re
import unicodedata
from collections.abc import Sequence

LONG = 2_000
"""Characters beyond which a text is shown as its first and last part, and nothing is remembered for the session."""

_MARK = re.compile(r"\\(?=u[0-9a-f]{4}|U[0-9a-f]{8})")
_BLANKS = re.compile(r"[ \t]{17,}|[ \t]*(?:\n[ \t]*){8,}")
"""So much that what follows is out of sight."""
_SAME = re.compile(r"(.)\1*", re.DOTALL)


def visible(text: str) -> str:
    r"""`text` with control, format and foreign blank characters as marks like `\u202e`; much blank space is counted."""
    if text.isascii() and text.isprintable() and "\\" not in text and " " * 17 not in text:
        return text
    marked = _MARK.sub(r"\\u005c", text)
    marked = "".join(char if _is_plain(char) else _mark(char) for char in marked)
    return _BLANKS.sub(_counted, marked)


def _counted(run: re.Match[str]) -> str:
    return _SAME.sub(lambda same: f"{_mark(same[1])}{{{len(same[0])}}}", run[0])


def shortened(text: str) -> str:
    """`text`, or its first and last part with the number of characters between."""
    if len(text) <= LONG:
        return text
    half = LONG // 2
    return f"{text[:half]}\n… {len(text) - 2 * half:,} more characters, view all …\n{text[-half:]}"


def both_ends(lines: Sequence[str], most: int | None) -> tuple[str, ...]:
    """At most so many lines (None: all), the last ones among them: what is left out stands in the middle."""
    if most is None or len(lines) <= most:
        return tuple(lines)
    end = most // 4
    return (*lines[: most - end - 1], f"… {len(lines) - most + 1} lines …", *lines[-end:])


def foreign_characters(text: str) -> str:
    """A sentence about characters that look like others, or empty: homoglyphs in a command or a path are named."""
    found = sorted({char for char in text if not char.isascii()})
    if not found:
        return ""
    shown = ", ".join(f"{visible(char)} (U+{ord(char):04X})" for char in found[:5])
    return f"Contains characters outside ASCII: {shown}{' …' if len(found) > 5 else ''}."


def has_hidden_characters(text: str) -> bool:
    """Whether `text` holds characters that change direction or cannot be seen, line ends aside."""
    return any(unicodedata.category(char) == "Cf" for char in text if not char.isascii())


def _is_plain(char: str) -> bool:
    return char in "\n\t " or unicodedata.category(char)[0] not in "CZ"


def _mark(char: str) -> str:
    code = ord(char)
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"
