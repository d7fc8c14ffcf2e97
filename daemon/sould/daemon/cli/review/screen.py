"""A review on a terminal: the list of what is pending, and hunks as coloured diffs. Pure; whoever prints takes colours away.

Nothing that comes from files drives the terminal: it is shown as `reviewtext` and `reviewdiff` show it.
"""

import sys
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

import click

from sould.agents.base.text import plural
from sould.agents.files.reviewing.shapes import ShownFile, ShownHunk
from sould.agents.permissions.visible import visible
from sould.agents.sessions.operations.reviewdiff import DiffLine, Piece, deletion_of, diff_of, shortened
from sould.agents.sessions.operations.reviewtext import NOTHING_YET, Names, Speech, described, glimpse

SPEECH = Speech(
    show="sould review show",
    keep="sould review keep",
    reject="sould review reject",
    undo="sould review undo",
    choice="--choice ",
)
SHORT_ID = 10
"""Characters of a session's or turn's id: enough to name it by."""
_COLOURS = {"+": "green", "-": "red", "@": "cyan"}


def listing(names: Names, files: Sequence[ShownFile]) -> str:
    """What is to be reviewed, file by file."""
    counts = [len(file.hunks) for file in files if file.hunks]
    head = f"{plural(sum(counts), 'hunk')} to review in {plural(len(counts), 'file')}." if counts else NOTHING_YET
    return "\n".join([head, *(line for file in files for line in _file(names, file))])


def _file(names: Names, file: ShownFile) -> Iterator[str]:
    written = [author(hunk) for hunk in file.hunks]
    same = len(set(written)) == 1
    unsaved = f"not saved in {visible(', '.join(file.unsaved_in))}" if file.unsaved_in else "not saved"
    signs = [sign for sign, holds in (("new", file.is_new), (unsaved, file.unsaved)) if holds]
    name = click.style(names.file(file.path), bold=True)
    yield ""
    yield name + "".join(f" ({sign})" for sign in signs) + (_dim(f"  {written[0]}") if same else "")
    width = max((len(names.number(hunk.id)) for hunk in file.hunks), default=0)
    for hunk, by in zip(file.hunks, written, strict=True):
        number = click.style(names.number(hunk.id).rjust(width + 2), fg="yellow")
        look = glimpse(hunk)
        yield f"{number}  {described(hunk, names)}" + (f": {look}" if look else "") + ("" if same else _dim(f"  {by}"))
    for hunk in file.streaming:
        look = glimpse(hunk)
        yield f"  about to be written: {described(hunk, names)}" + (f": {look}" if look else "")


def author(hunk: ShownHunk) -> str:
    """Whose agents wrote it: session, turn, subagent, model, as far as they are known."""
    found: dict[str, None] = {}
    for agent in hunk.agents:
        ids = [f"session {agent.session_id[:SHORT_ID]}", f"turn {agent.turn_id[:SHORT_ID]}"]
        named = [agent.subagent and f"subagent {agent.subagent}", agent.model]
        found[visible(", ".join([*ids, *filter(None, named)]))] = None
    return "; ".join(found)


def hunk_lines(
    names: Names, hunk: ShownHunk, text: Sequence[str], *, place: str = "", longest: int = sys.maxsize
) -> Iterator[str]:
    """A hunk with its heading; `place`: which of how many it is. `text`: the lines of its file, () where they are not known.

    Of lines with more than `longest` characters a part is shown.
    """
    head = f"{place}{names.number(hunk.id)}  {names.file(hunk.path)}, {described(hunk, names)}"
    yield click.style(head, bold=True) + _dim(f"  {author(hunk)}")
    diff: Sequence[DiffLine] = ()
    if hunk.kind == "text":
        diff = diff_of(hunk, text)
    elif hunk.kind == "delete":
        diff = deletion_of("".join(text))
    yield from (_diff_line(shortened(line, longest)) for line in diff)


def shown(names: Names, hunks: Iterable[tuple[ShownHunk, Sequence[str]]]) -> str:
    """Several hunks, each with the lines of its file."""
    return "\n\n".join("\n".join(hunk_lines(names, hunk, text)) for hunk, text in hunks)


def _diff_line(line: DiffLine) -> str:
    """The words that differ are reversed, unless they are the whole line."""
    colour = _COLOURS.get(line.sign)
    if colour is None:
        return line.text
    marked = not all(piece.differs for piece in line.pieces)
    pieces = ((piece.text, marked and piece.differs) for piece in (Piece(line.sign), *line.pieces))
    runs = groupby(pieces, key=lambda piece: piece[1])
    return "".join(
        click.style("".join(text for text, _ in run), fg=colour, reverse=reverse or None) for reverse, run in runs
    )


def _dim(text: str) -> str:
    return click.style(text, dim=True)
