"""Titles of tool cards: one line that says what a call does, however long and however written that is. Pure.

Whole, the same stands in the card's content or its input; nobody decides by a title alone.
"""

from sould.agents.permissions.visible import cut_to, visible

MAX_TITLE = 240
"""Columns; East Asian characters take two, marks above other characters none."""
LINE_END = "⏎"
"""In place of a line's end: two commands must not read like one."""


def first_title(tool: str) -> str:
    """What a call does whose tool says nothing of it, as far as its name does; never only the name."""
    server, parted, name = tool.partition("__")
    if parted and server and name:
        return title(f"{server}: {name}")
    return title(f"Use {tool}")


def title(text: str) -> str:
    """`text` as a title: on one line, nothing in it invisible, its end there also when it is cut to `MAX_TITLE` columns."""
    plain = len(text) <= MAX_TITLE and text.isascii() and text.isprintable()
    if plain and "\\" not in text and "  " not in text and text.strip() == text:
        return text  # as nearly all are
    lines = (" ".join(visible(line.strip()).replace(LINE_END, "\\u23ce").split()) for line in text.splitlines())
    return cut_to(f" {LINE_END} ".join(line for line in lines if line), MAX_TITLE)
