"""Emacs at a terminal. Its user's keys go through the terminal; what its buffers hold is asked through its own server."""

import json
import os
import signal
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, ClassVar

from soultest.daemon import until
from soultest.editors.driving import TerminalEditor, connected
from soultest.screen import PATIENCE, Screen, screen
from soultest.world import World

QUIET = """
(setq inhibit-startup-screen t make-backup-files nil auto-save-default nil create-lockfiles nil
      native-comp-jit-compilation nil native-comp-deferred-compilation nil native-comp-enable-subr-trampolines nil
      comp-enable-subr-trampolines nil
      server-socket-dir "{folder}" server-name "{name}")
"""
"""No files of its own in the project, no compiler in the background, and where the server listens."""
_SHOWN = """\
(window-buffer (or (minibuffer-selected-window) (frame-selected-window (car (last (frame-list))))))"""
_CANDIDATES = """\
(let ((asking (active-minibuffer-window)))
  (when asking
    (with-selected-window asking
      (all-completions "" minibuffer-completion-table minibuffer-completion-predicate))))"""
"""With the predicate, which the table of M-x, when that is still there, calls."""
_MINIBUFFER = """\
(let ((asking (active-minibuffer-window)))
  (when asking (with-selected-window asking (minibuffer-contents-no-properties))))"""
_QUOTED = str.maketrans({"&": "&&", " ": "&_", "\n": "&n"})
_UNQUOTED = {"&&": "&", "&_": " ", "&n": "\n", "&-": "-"}


def _unquoted(text: str) -> str:
    rest = iter(text)
    return "".join(_UNQUOTED[each + next(rest)] if each == "&" else each for each in rest)


class Emacs(TerminalEditor):
    """`lisp` beside what every editor can."""

    without: ClassVar[Mapping[str, str]] = {"lenses": "eglot draws no code lenses"}

    def __init__(self, screen: Screen, path: Path) -> None:
        super().__init__(screen)
        self._path = path

    def lisp(self, code: str) -> Any:
        """What an expression is, through JSON. It is evaluated in the buffer before the user."""
        answer = self._evaluated(f"(with-current-buffer {_SHOWN} (json-encode {code}))")
        return json.loads(json.loads(answer))

    def _evaluated(self, code: str) -> str:
        with connected(self._path) as server:
            server.sendall(f"-eval {code.translate(_QUOTED)} \n".encode())
            with server.makefile(encoding="utf-8") as answering:
                answer = answering.read()
        said = [line.partition(" ") for line in answer.splitlines()]
        assert not any(kind == "-error" for kind, _, _ in said), _unquoted(answer)
        return "".join(_unquoted(text) for kind, _, text in said if kind.startswith("-print"))

    def command(self, name: str) -> None:
        """Type `M-x NAME`."""
        self.screen.press("M-x")
        self.screen.wait("M-x")
        self.screen.type(name)
        self.screen.press("Enter")

    def ready(self) -> None:
        until(lambda: self.lisp("(and (fboundp 'eglot-managed-p) (eglot-managed-p) t)"), PATIENCE, "a language server")

    def buffer(self) -> str:
        return str(self.lisp("(buffer-substring-no-properties (point-min) (point-max))"))

    def buffer_named(self, name: str) -> str:
        """What another buffer holds."""
        return str(
            self.lisp(f'(with-current-buffer "{name}" (buffer-substring-no-properties (point-min) (point-max)))')
        )

    def unsaved(self) -> bool:
        return bool(self.lisp("(and (buffer-modified-p) t)"))

    def go(self, line: int) -> None:
        self.screen.press("M-g", "g")
        self.screen.wait("Goto line")
        self.screen.type(str(line))
        self.screen.press("Enter")
        until(lambda: self.lisp("(line-number-at-pos)") == line, PATIENCE, f"line {line}")

    def append(self, text: str) -> None:
        self.screen.press("C-e")
        self.screen.type(text)

    def undo(self) -> None:
        self.screen.press("C-x", "u")

    def save(self) -> None:
        until(self._saved, PATIENCE, "a saved buffer")

    def _saved(self) -> bool:
        """Press the keys. eglot drops them while a command of its server has not been answered: then its user presses again."""
        self.screen.press("C-x", "C-s")
        with suppress(AssertionError):
            until(lambda: not self.unsaved(), 5.0)
        return not self.unsaved()

    def act(self, title: str) -> None:
        self.command("eglot-code-actions")
        self.choose(title)

    def offered(self) -> list[str]:
        self.command("eglot-code-actions")
        titles = until(self._candidates, PATIENCE, "actions")
        self.screen.press("C-g")
        return titles

    def choose(self, title: str) -> None:
        until(lambda: any(each.startswith(title) for each in self._candidates()), PATIENCE, f"{title} asked")
        until(lambda: self._entered(title), PATIENCE, f"{title} in the minibuffer")
        self.screen.press("Tab", "Enter")

    def _entered(self, title: str) -> bool:
        """Type it in the place of what is there: eglot's questions begin with the first answer, which may come late."""
        self.screen.press("C-a", "C-k")
        self.screen.type(title)
        with suppress(AssertionError):
            until(lambda: self.lisp(_MINIBUFFER) == title, 5.0)
        return self.lisp(_MINIBUFFER) == title

    def _candidates(self) -> list[str]:
        """What can be chosen in the minibuffer now."""
        return list(self.lisp(_CANDIDATES) or ())

    def kill(self) -> None:
        os.kill(self.screen.pid, signal.SIGKILL)


@contextmanager
def emacs(world: World, program: Path, settings: str, file: Path, name: str = "emacs") -> Generator[Emacs]:
    """Emacs with these settings (Lisp) and that file, until the block is left. Two in one world have different names."""
    init, listening = world.root / f"{name}.el", world.root / f"{name}.socket"
    quiet = QUIET.replace("{folder}", str(world.root)).replace("{name}", listening.name)
    init.write_text(f"{quiet}{settings}\n(server-start)\n")
    command = f"exec '{program}' -nw -Q -l '{init}' '{file}'"
    with screen(world, command, world.project, name) as shown:
        yield Emacs(shown, listening)
