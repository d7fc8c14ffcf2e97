"""The inbox on a terminal: a list of what waits, and as much of the chosen request as there is room for. Pure.

Nothing that comes from models, files or servers drives the terminal. A command stands first, whole; one that does not fit
is shown a page at a time. What else does not fit is left out in the middle, and said to be: the end is always seen.
"""

import os
import textwrap
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Final

import click
from msgspec import Struct
from msgspec.structs import replace

from sould.agents.base.text import plural
from sould.agents.clients.inbox.shapes import EndedItem, InboxItem
from sould.agents.permissions.visible import both_ends
from sould.daemon.cli.output import one_line, span, visible
from sould.daemon.cli.terminal.screenfuls import Screen, wrapped
from sould.daemon.cli.waiting import choices

LIST_SHARE: Final = 3
"""Of a screen, the part that the list takes at most."""
_OUTCOMES: Final = {
    "approved": "approved",
    "approved_for_session": "approved for the session",
    "approved_for_project": "approved for the project",
    "approved_always": "approved for all projects",
    "rejected": "rejected",
    "answered": "answered",
    "declined": "declined",
    "dismissed": "dismissed",
    "cancelled": "cancelled with its turn",
    "expired": "expired: what it was about has changed",
}
_COLOURS: Final = {"+": "green", "-": "red", "@": "cyan"}


LEAST_BESIDE: Final = 4
"""Rows below a command for what else is said; with fewer it is shown in pages."""


class ScreenFrame(Struct, frozen=True):
    """A screen: its rows from the top, the last one for the cursor."""

    rows: list[str]
    has_end: bool = True
    """The end of the chosen command is in sight."""
    following: int | None = None
    """The row of the request with which its next page begins, the first one behind the last; None: it has no pages."""


def frame(
    items: Sequence[InboxItem], at: int | None, said: str, now: float, size: Screen, first: int = 0
) -> ScreenFrame:
    """`at`: the chosen one, from its row `first` on where it has pages; `said`: what happened last."""
    head = f"{plural(len(items), 'request')} waiting" if items else "Nothing waits for you."
    rows = [click.style(head, bold=True), ""]
    rows += _list(items, at, now, Screen(size.columns, max(1, size.rows // LIST_SHARE)))
    item = items[at] if at is not None else None
    foot = _foot(item, said, has_any=bool(items), has_pages=True, columns=size.columns)
    if item is None:
        return ScreenFrame([*rows, "", *foot][: size.rows])
    room = max(1, size.rows - len(rows) - len(foot) - 3)
    page = _page(item, now, Screen(size.columns, room), first)
    if page.following is None:
        foot = _foot(item, said, has_any=True, has_pages=False, columns=size.columns)
    rows += ["", *page.rows]
    return replace(page, rows=[*rows, *foot][: size.rows], has_end=page.has_end and len(rows) <= size.rows)


def _page(item: InboxItem, now: float, size: Screen, first: int) -> ScreenFrame:
    """As much of a request as there is room for, and a row below."""
    command = [row for line in command_lines(item) for row in wrapped(line, size.columns)]
    beside = [row for line in _other_lines(item, now) for row in _rows(item, line, size.columns)]
    if not command or len(command) + LEAST_BESIDE <= size.rows:
        return ScreenFrame([*command, *both_ends(beside, size.rows - len(command)), ""])
    body = [*command, *beside]
    end = first + size.rows
    left = len(body) - end
    below = click.style(f"… {plural(left, 'more row')}", dim=True) if left > 0 else ""
    return ScreenFrame([*body[first:end], below], has_end=end >= len(command), following=end if left > 0 else 0)


def _list(items: Sequence[InboxItem], at: int | None, now: float, size: Screen) -> Iterator[str]:
    first = min(max(0, (at or 0) - size.rows + 1), max(0, len(items) - size.rows))
    for n, item in enumerate(items[first : first + size.rows], first):
        about = f"  {place(item)}, {span(age(item, now))}"
        mark = "> " if n == at else "  "
        name = label(item, max(20, size.columns - len(about) - len(mark) - 1))
        row = wrapped(f"{mark}{name}{about}", size.columns - 1)[0]
        yield click.style(row, bold=True) if n == at else row
    left = len(items) - first - size.rows
    if left > 0:
        yield click.style(f"  … {left} more", dim=True)


def label(item: InboxItem, width: int) -> str:
    """A request in one line: the command itself where that is what it is about."""
    return one_line(f"$ {item.commands[0].command}" if item.commands else item.title, width)


def request_lines(item: InboxItem, now: float) -> Iterator[str]:
    """A request, whole: what would be run, what is asked, by whom, where, since when, and what an answer would remember."""
    yield from command_lines(item)
    yield from _other_lines(item, now)


def command_lines(item: InboxItem) -> list[str]:
    """What would be run."""
    return [f"$ {visible(line)}" for each in item.commands for line in each.command.split("\n")]


def _other_lines(item: InboxItem, now: float) -> Iterator[str]:
    for text in _texts(item, now):
        first, *more = visible(text).split("\n")
        yield first
        yield from (f"    {line}" for line in more)


def _texts(item: InboxItem, now: float) -> Iterator[str]:
    yield item.title
    session = item.session
    asker = f"{item.asker} of " if item.asker else ""
    yield f"  {asker}“{one_line(session.title, 80)}” in {home(session.cwd)}, waits {span(age(item, now))}"
    if not session.open:
        yield "  its session was closed by a restart; the answer opens it again"
    command = set(command_lines(item))
    yield from (f"  {line}" for line in item.lines if visible(line) not in command)
    for question in item.questions:
        if len(item.questions) > 1:
            yield f"  {question.question}"
        for number, label in choices(question).numbered.items():
            yield f"    {number}. {one_line(label, 120)}"
    for scope in item.scopes:
        if scope.remembers:
            yield f"  {scope.label}: {scope.remembers}"


def _rows(item: InboxItem, line: str, columns: int) -> list[str]:
    colour = _COLOURS.get(line[2:3]) if item.edits else None
    return [click.style(row, fg=colour) if colour else row for row in wrapped(line, columns)]


def keys(item: InboxItem) -> dict[str, str]:
    """What can be done with a request: key and name."""
    scopes = {scope.scope for scope in item.scopes}
    found = {"a": "allow once"} if scopes else {"a": "answer"}
    if "session" in scopes:
        found["s"] = "allow this session"
    if "session_also_changed" in scopes:
        found["c"] = "… also when it changes"
    if "project" in scopes:
        found["w"] = "allow in this project"
    if "always" in scopes:
        found["e"] = "always allow, everywhere"
    if scopes:
        found["m"] = "allow once, with a message"
    found["r"] = "reject" if scopes else "dismiss"
    if item.edits:
        found["o"] = "open the file"
    return found


def _foot(item: InboxItem | None, said: str, *, has_any: bool, has_pages: bool, columns: int) -> list[str]:
    paging = {"space": "next page"} if has_pages else {}
    offered = {**keys(item), **paging, "p": "show all"} if item is not None else {}
    moving = {"j/k": "choose"} if has_any else {}
    shown = "  ".join(f"[{key}] {name}" for key, name in (offered | moving | {"q": "quit"}).items())
    told = [click.style(row, fg="yellow") for row in wrapped(one_line(said, 2 * columns), columns)] if said else []
    return [*told, *(click.style(row, fg="blue", bold=True) for row in textwrap.wrap(shown, columns))]


def place(item: InboxItem) -> str:
    """The project, as a name."""
    project = item.session.project
    return one_line(os.path.basename(project) or project, 30)


def home(path: str) -> str:
    """A path as its user writes it."""
    own = os.path.expanduser("~")
    return f"~{path[len(own) :]}" if path == own or path.startswith(f"{own}/") else path


def age(item: InboxItem, now: float) -> float:
    """Seconds that it waits."""
    return max(0.0, now - datetime.fromisoformat(item.since).timestamp())


def told(ended: EndedItem) -> str:
    """That a request waits no more, in a sentence."""
    words = f": {ended.words}" if ended.words else ""
    by = f" by {ended.by}" if ended.by else ""
    return f"{_OUTCOMES[ended.outcome].capitalize()}{by}{words}."
