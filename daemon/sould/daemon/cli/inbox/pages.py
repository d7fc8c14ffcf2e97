"""The live screen of `sould inbox`: what waits, kept current, and keys that answer what is chosen and nothing else.

A key answers what was on the screen when it was pressed: what was typed before is forgotten, several characters at once are no
key, and when somebody else answers what is chosen, nothing is chosen until the user does so. A command is allowed only when its
end was shown.
"""

import contextlib
import os
import select
import signal
import subprocess
import sys
import termios
import time
import tty
from collections.abc import Generator
from types import TracebackType
from typing import Any, Final, Self

import click

from sould.agents.clients.inbox.shapes import EndedItem, InboxItem
from sould.daemon.cli.asking import asked_here
from sould.daemon.cli.inbox.client import InboxClient
from sould.daemon.cli.inbox.screen import ScreenFrame, frame, keys, label, request_lines, told
from sould.daemon.cli.output import CommandError
from sould.daemon.cli.terminal import pager
from sould.daemon.cli.terminal.keyboard import editor, forget_typed
from sould.daemon.cli.terminal.screenfuls import Screen, screen
from sould.daemon.cli.waiting import read_answers

EVERY: Final = 20.0
"""Seconds after which the ages are drawn anew."""
_MOVES: Final = {"j": 1, "k": -1, "\x1b[B": 1, "\x1b[A": -1, "\x1bOB": 1, "\x1bOA": -1}
_ENTER: Final = "\x1b[?1049h"
_LEAVE: Final = "\x1b[?1049l"
_CLEAR: Final = "\x1b[H\x1b[2J"
_SCOPES: Final = {"a": "once", "s": "session", "c": "session_also_changed", "w": "project", "e": "always"}


class InboxPages:
    """One screen; a context manager, as the terminal is to be left as it was."""

    def __init__(self, client: InboxClient, *, colour: bool) -> None:
        self._client = client
        self._colour = colour
        self._chosen = ""
        """The id of a request."""
        self._said = ""
        self._first = 0
        """The row from which on the chosen request is shown."""
        self._shown = ScreenFrame([])
        self._place = ("", Screen(80, 24))
        """The request to whose rows this belongs, and how large they were."""
        self._seen: set[str] = set()
        """The ids of those whose command was shown to its end."""
        self._before: list[Any] = []

    def __enter__(self) -> Self:
        self._before = termios.tcgetattr(0)
        self._begin()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._end()

    def run(self) -> None:
        """Until `q`, Ctrl-C, or the end of input."""
        self._client.wake_on(signal.SIGWINCH)
        items = self._client.items
        self._chosen = items[0].id if items else ""
        self._draw()
        with contextlib.suppress(KeyboardInterrupt):
            self._serve()

    def _serve(self) -> None:
        while True:
            ready, _, _ = select.select([0, *self._client.descriptors], [], [], EVERY)
            for ended in self._client.take():
                self._note(ended)
            if 0 in ready:
                key = os.read(0, 64).decode(errors="replace")
                if key in ("", "q", "\x04"):
                    return
                self._act(key)
            self._draw()

    # --- the terminal -------------------------------------------------------------------------------------------------

    def _begin(self) -> None:
        tty.setcbreak(0)
        self._write(_ENTER)
        forget_typed()

    def _end(self) -> None:
        self._write(_LEAVE)
        termios.tcsetattr(0, termios.TCSADRAIN, self._before)

    @contextlib.contextmanager
    def _aside(self) -> Generator[None]:
        """The terminal as it was, for a dialogue or another program; whatever fails there is said on the screen."""
        self._end()
        try:
            yield
        except CommandError as error:
            self._said = str(error)
        except KeyboardInterrupt:
            self._said = "Nothing was answered."
        finally:
            self._begin()

    def _write(self, text: str) -> None:
        sys.stdout.write(text)
        sys.stdout.flush()

    def _draw(self) -> None:
        size = screen() or Screen(80, 24)
        if self._place != (self._chosen, size):
            self._place, self._first = (self._chosen, size), 0
        self._shown = frame(self._client.items, self._at, self._said, time.time(), size, self._first)
        if self._shown.has_end and self._at is not None:
            self._seen.add(self._chosen)
        text = "\r\n".join(self._shown.rows)
        self._write(_CLEAR + (text if self._colour else click.unstyle(text)))

    # --- what is chosen -----------------------------------------------------------------------------------------------

    @property
    def _at(self) -> int | None:
        return next((n for n, item in enumerate(self._client.items) if item.id == self._chosen), None)

    def _note(self, ended: EndedItem) -> None:
        """Somebody else answered, or nobody will."""
        if ended.id == self._chosen:
            self._chosen, self._said = "", told(ended)
            forget_typed()

    def _move(self, by: int) -> None:
        items, at = self._client.items, self._at
        if items:
            to = 0 if at is None else min(max(0, at + by), len(items) - 1)
            self._chosen = items[to].id

    def _act(self, key: str) -> None:
        self._said = ""
        if key in _MOVES:
            self._move(_MOVES[key])
            return
        at = self._at
        if at is None:
            return
        item = self._client.items[at]
        if key == " " and self._shown.following is not None:
            self._first = self._shown.following
            forget_typed()
        elif key in ("p", "\n", " "):
            self._show(item)
        elif key not in keys(item):
            return
        elif key == "o":
            self._open(item)
        elif key == "r":
            self._reject(item)
        elif item.commands and item.id not in self._seen:
            self._said = "See its end first: space shows the rest."
        elif key == "m":
            self._say(item, "What does the agent get told with the result? Ctrl-C allows nothing.", "approve")
        elif item.kind == "approval":
            self._answer(item, {"decision": "approve", "scope": _SCOPES[key]})
        else:
            self._ask(item)

    # --- what is done -------------------------------------------------------------------------------------------------

    def _show(self, item: InboxItem) -> None:
        with self._aside():
            pager.show(
                "\n".join(request_lines(self._client.show(item.id), time.time())), colour=self._colour, stays=True
            )

    def _open(self, item: InboxItem) -> None:
        with self._aside():
            subprocess.run([*editor(), *dict.fromkeys(edit.path for edit in item.edits)], check=False)

    def _reject(self, item: InboxItem) -> None:
        if item.kind != "approval":
            self._answer(item, {"decision": "decline" if item.kind == "form" else "dismiss"})
            return
        self._say(
            item, "What shall the agent do instead? Without words its turn ends. Ctrl-C rejects nothing.", "reject"
        )

    def _say(self, item: InboxItem, question: str, decision: str) -> None:
        with self._aside():
            click.echo("\n".join([*request_lines(item, time.time()), ""]), color=self._colour)
            click.echo(question)
            line = sys.stdin.readline()
            if not line:
                raise CommandError("Nothing was answered.")
            self._answer(item, {"decision": decision, "words": line.strip()})

    def _ask(self, item: InboxItem) -> None:
        request = self._client.show(item.id)
        with self._aside():
            typed = asked_here(request, ())
            if typed is None:
                self._said = "Nothing was answered."
                return
            self._answer(item, {"decision": "answer", "answers": read_answers(request, typed)})

    def _answer(self, item: InboxItem, decision: dict[str, Any]) -> None:
        """Give it, say what became of it, and go on to the next one."""
        at = self._at or 0
        try:
            answered = self._client.answer(item.id, decision)
        except CommandError as error:
            self._said = str(error)
            return
        self._client.forget(item.id)
        self._said = f"{label(item, 60)}: {answered.message}"
        items = self._client.items
        self._chosen = items[min(at, len(items) - 1)].id if items else ""
        forget_typed()
