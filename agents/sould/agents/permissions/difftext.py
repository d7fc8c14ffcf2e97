"""A change of a file as lines of text that a person may safely be shown: nothing in them is invisible or looks like another."""

import difflib

from sould.agents.permissions.visible import file_name, visible_ends

NO_NEWLINE = "\\ No newline at end of file"


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
