"""Two texts as a patch for a model: bounded, line ends put aside. Blocks for as long as comparing takes: use it in a thread."""

import difflib
from typing import Final

MOST_COMPARED: Final = 200_000
"""Characters of both texts."""
MOST_SHOWN: Final = 4_000
NO_END: Final = "\n\\ No newline at end of file"
LONGER: Final = "[... the patch is longer; read the file]"
NOT_COMPARED: Final = "[It is too long for a patch: read the file before you edit it again.]"


def patch(before: str, after: str, name_before: str, name_after: str) -> str:
    """What makes `after` of `before`, as a unified diff; "" where they differ in line ends at most."""
    old, new = (text.replace("\r\n", "\n") for text in (before, after))
    if old == new:
        return ""
    if len(old) + len(new) > MOST_COMPARED:
        return NOT_COMPARED
    lines = difflib.unified_diff(_lines(old), _lines(new), name_before, name_after, lineterm="", n=2)
    return shortened("\n".join(lines), MOST_SHOWN)


def _lines(text: str) -> list[str]:
    *lines, last = text.split("\n")
    return [*lines, f"{last}{NO_END}"] if last else lines


def shortened(text: str, most: int) -> str:
    """At most so many characters of it, and that there are more."""
    return text if len(text) <= most else f"{text[: max(0, most)]}\n{LONGER}"
