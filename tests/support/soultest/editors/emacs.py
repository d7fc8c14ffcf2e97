"""Emacs at a terminal. Its user's keys go through the terminal; what its buffers hold is asked through its own server."""

import json
import os
import signal
import socket
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar

from soultest.daemon import until
from soultest.editors.driving import Editor
from soultest.screen import PATIENCE, Screen, screen
from soultest.world import World

QUIET = """
(setq inhibit-startup-screen t make-backup-files nil auto-save-default nil create-lockfiles nil
      native-comp-jit-compilation nil native-comp-deferred-compilation nil native-comp-enable-subr-trampolines nil
      server-socket-dir "{folder}" server-name "{name}")
"""
"""No files of its own in the project, no compiler in the background, and where the server listens."""
_SHOWN = """\
(window-buffer (or (minibuffer-selected-window) (frame-selected-window (car (last (frame-list))))))"""
_QUOTED = str.maketrans({"&": "&&", " ": "&_", "\n": "&n"})
_UNQUOTED = {"&&": "&", "&_": " ", "&n": "\n", "&-": "-"}


def _unquoted(text: str) -> str:
    rest = iter(text)
    return "".join(_UNQUOTED[each + next(rest)] if each == "&" else each for each in rest)


class Emacs(Editor):
    """`lisp` beside what every editor can."""

    without: ClassVar[Mapping[str, str]] = {"lenses": "eglot draws no code lenses"}

    def __init__(self, screen: Screen, path: Path) -> None:
        super().__init__(screen)
        self._path = path

    def answers(self) -> bool:
        """Whether its server takes connections; its socket is there a moment before."""
        with socket.socket(socket.AF_UNIX) as server:
            try:
                server.connect(str(self._path))
            except (FileNotFoundError, ConnectionRefusedError):
                return False
        return True

    def lisp(self, code: str) -> Any:
        """What an expression is, through JSON. It is evaluated in the buffer before the user."""
        answer = self._evaluated(f"(with-current-buffer {_SHOWN} (json-encode {code}))")
        return json.loads(json.loads(answer))

    def _evaluated(self, code: str) -> str:
        with socket.socket(socket.AF_UNIX) as server:
            server.settimeout(PATIENCE)
            server.connect(str(self._path))
            server.sendall(f"-eval {code.translate(_QUOTED)} \n".encode())
            answer = server.makefile(encoding="utf-8").read()
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
        self.screen.press("C-x", "C-s")

    def act(self, title: str) -> None:
        self.command("eglot-code-actions")
        self.screen.wait("[eglot] Pick an action")
        self.choose(title)

    def choose(self, title: str) -> None:
        self.screen.type(title)
        self.screen.press("Tab", "Enter")

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
        begun = Emacs(shown, listening)
        until(begun.answers, PATIENCE, "Emacs's server")
        yield begun
