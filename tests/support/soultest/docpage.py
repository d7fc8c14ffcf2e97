"""Reading a Markdown page as something to follow: its fenced blocks, in order, and what is to be done with each.

What a reader sees decides, as far as it goes:

- `sh` is run. A `text` block behind it is all that it prints; `…` or `...` stands for anything in a
  line, and alone in one for any lines.
- `console`: lines with `$ ` are run, the lines below one are what it prints, where there are any.
- a block of another kind (or `text`) below a line that ends in a file's name in backquotes and a colon is that file; so
  is one whose first line is a comment with nothing but a path.

The rest is said in HTML comments, which a reader does not see. They stand before the block they are about:

- `not run: REASON`: the block is only shown.
- `file: PATH` or `append: PATH`: the block is that file, or goes to its end, whatever stands above it.
- `exit: CODE`: the commands end with this code.
- `typed: y`: the commands run at a terminal; each line of the comment answers one question.

And these stand for themselves:

- `model: SCRIPT`: what the scripted model says from here on; scripts are parted by lines of `---`.
- `before: COMMANDS`: run, but not shown: what a reader has already, or a look at what they made.
- `shows: TEXT`: what the commands above print somewhere, `…` as above; for pages that do not show it.

Every block must be one of these: a page with a block that nobody runs is wrong.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

_COMMENT = re.compile(r"<!--\s*(not run|file|append|exit|typed|model|before|shows):[ \t]*\n?(.*?)\s*-->", re.DOTALL)
_FENCE = re.compile(r"(`{3,})(\w*)\n(.*?)^\1[ \t]*$", re.DOTALL | re.MULTILINE)
_FILE = re.compile(r"`([^`\s]+)`:\s*\Z")
_TITLE = re.compile(r"(?:#|//|<!--) (\S+\.\w+)(?: -->)?\n")
_NOT_A_FILE = {"sh", "console", "mermaid"}


class PageError(AssertionError):
    """A page is not as it says; `page:line: …`."""


@dataclass(frozen=True, slots=True)
class Command:
    """To be run. `answers` is what is typed, None without a terminal; `expected` None: anything may be printed."""

    line: int
    text: str
    exit: int = 0
    answers: tuple[str, ...] | None = None
    expected: str | None = None


@dataclass(frozen=True, slots=True)
class File:
    """To be written."""

    line: int
    path: str
    text: str
    append: bool = False


@dataclass(frozen=True, slots=True)
class Script:
    """What the model will say."""

    line: int
    text: str


@dataclass(frozen=True, slots=True)
class Shows:
    """What the commands before have printed."""

    line: int
    text: str


Step = Command | File | Script | Shows
_Said = dict[str, str]


@dataclass(frozen=True, slots=True)
class _Piece:
    """A comment (`kind` its word) or a block (`kind` "", `language` its language)."""

    line: int
    kind: Literal["not run", "file", "append", "exit", "typed", "model", "before", "shows", ""]
    text: str
    language: str = ""
    above: str = ""


def read_page(page: Path) -> list[Step]:
    """The steps of a page.

    Raises:
        PageError: a block that is neither run, nor a file, nor marked.
    """
    steps: list[Step] = []
    said: _Said = {}
    for piece in _pieces(page.read_text(encoding="utf-8")):
        match piece.kind:
            case "model":
                steps.append(Script(piece.line, piece.text))
            case "before":
                steps.append(Command(piece.line, piece.text))
            case "shows":
                steps.append(Shows(piece.line, piece.text))
            case "":
                steps = _with_block(steps, piece, said, page)
                said = {}
            case word:
                said[word] = piece.text
    return steps


def _pieces(text: str) -> Iterator[_Piece]:
    """The comments and blocks of a page; what looks like one inside of another is none."""
    at = 0
    while found := min(
        filter(None, (_COMMENT.search(text, at), _FENCE.search(text, at))),
        key=lambda match: match.start(),
        default=None,
    ):
        line = text.count("\n", 0, found.start()) + 1
        if found.re is _COMMENT:
            yield _Piece(line, found[1], found[2])  # pyright: ignore[reportArgumentType] -- the pattern names them
        else:
            yield _Piece(line + 1, "", found[3], found[2], text[at : found.start()].rstrip())
        at = found.end()


def _with_block(steps: list[Step], piece: _Piece, said: _Said, page: Path) -> list[Step]:
    """The steps with a block more."""
    if "not run" in said:
        if not said["not run"]:
            raise PageError(f"{page}:{piece.line}: say why this block is not run.")
        return steps
    for word in ("file", "append"):
        if word in said:
            return [*steps, File(piece.line, said[word], piece.text, append=word == "append")]
    named = None
    if piece.language not in _NOT_A_FILE:
        named = _FILE.search(piece.above) or _TITLE.match(piece.text)
    if named:
        return [*steps, File(piece.line, named[1], piece.text)]
    typed = tuple(said["typed"].splitlines()) if "typed" in said else None
    code = int(said.get("exit", "0"))
    if piece.language == "sh":
        return [*steps, Command(piece.line, piece.text, code, typed)]
    if piece.language == "console":
        return [*steps, *_console(piece, code, typed)]
    last = steps[-1] if steps else None
    if piece.language == "text" and isinstance(last, Command) and last.expected is None:
        return [*steps[:-1], Command(last.line, last.text, last.exit, last.answers, piece.text)]
    raise PageError(
        f"{page}:{piece.line}: nobody runs this {piece.language or 'block'}: name its file above it, "
        "or put `<!-- not run: REASON -->` there."
    )


def _console(piece: _Piece, code: int, typed: tuple[str, ...] | None) -> Iterator[Command]:
    """The commands of a console block; `code` is that of the last one."""
    parts = re.split(r"^\$ ", piece.text, flags=re.MULTILINE)
    line = piece.line + parts[0].count("\n")
    for number, part in enumerate(parts[1:], start=2):
        command, _, printed = part.partition("\n")
        yield Command(line, command, code if number == len(parts) else 0, typed, printed if printed.strip() else None)
        line += part.count("\n")
