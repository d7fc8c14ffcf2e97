"""Opening a file in an editor that is no client of ours: "open in IDE" by the program that the editor itself offers for that.

Which editor is said by the environment of the session, never guessed; no shell has a part in it. A program that cannot open a file
without taking the focus is run only when the user asked for that.
"""

import asyncio
import os
import shlex
import subprocess
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Final, Protocol, TypeAlias

from msgspec import Struct

from sould.agents.base.environment import find_program
from sould.agents.tools.editor.backends import Arguments, EditorResult, Where
from sould.agents.tools.editor.errors import EditorToolError
from sould.agents.tools.editor.results import Opened
from sould.agents.tools.editor.site import Site

TOOLS: Final = frozenset({"editor_open"})
PATIENCE: Final = 15.0
"""Seconds a launcher has to hand the file over."""
FOCUS: Final = (
    "{} cannot open a file without taking the focus. Call it again with focus: true if the user asked to see the file "
    "in the editor; else name the file and line in your answer."
)


class Target(Struct, frozen=True):
    """What is to be opened; lines and columns count from 1."""

    file: str
    line: int
    column: int

    @property
    def place(self) -> str:
        """As most editors take it."""
        return f"{self.file}:{self.line}:{self.column}"


Wording: TypeAlias = Callable[[str, Target], Sequence[str]]
"""The command, from a program and what it is to open."""


def _goto(program: str, target: Target) -> Sequence[str]:
    return (program, "--goto", target.place)


def _place(program: str, target: Target) -> Sequence[str]:
    return (program, target.place)


def _jetbrains(program: str, target: Target) -> Sequence[str]:
    return (program, "--line", str(target.line), "--column", str(target.column), target.file)


def _emacs(program: str, target: Target) -> Sequence[str]:
    return (program, "--no-wait", f"+{target.line}:{target.column}", target.file)


def _plus(program: str, target: Target) -> Sequence[str]:
    return (program, f"+{target.line}", target.file)


def _file(program: str, target: Target) -> Sequence[str]:
    return (program, target.file)


WINDOWS: Final[Mapping[str, Wording]] = {
    **dict.fromkeys(("code", "code-insiders", "codium", "cursor", "windsurf"), _goto),
    **dict.fromkeys(("zed", "zeditor", "subl"), _place),
    **dict.fromkeys(
        ("idea", "pycharm", "webstorm", "goland", "clion", "rider", "rubymine", "phpstorm", "rustrover"), _jetbrains
    ),
    "emacsclient": _emacs,
}
"""Editors with windows of their own: all of them come to the front."""
IN_TERMINALS: Final[Mapping[str, Wording]] = {
    **dict.fromkeys(("hx", "helix", "micro"), _place),
    **dict.fromkeys(("vi", "vim", "nvim", "nano", "kak", "emacs"), _plus),
}
"""Editors that need a terminal, which tmux has."""
_HINTS: Final[tuple[tuple[str, str, tuple[str, ...]], ...]] = (
    ("CURSOR_TRACE_ID", "", ("cursor",)),
    ("VSCODE_IPC_HOOK_CLI", "", ("code", "codium", "cursor")),
    ("TERM_PROGRAM", "vscode", ("code", "codium", "cursor")),
    ("ZED_TERM", "", ("zed", "zeditor")),
    ("TERM_PROGRAM", "zed", ("zed", "zeditor")),
    ("INSIDE_EMACS", "", ("emacsclient",)),
    ("TERMINAL_EMULATOR", "JetBrains-JediTerm", ("idea", "pycharm", "webstorm", "goland", "clion", "rider")),
)
"""Variables of an editor's own terminal, their value where it counts, and the programs that open a file there."""


_ASKED: Final = ("PATH", "NVIM", "TMUX", "VISUAL", "EDITOR", *dict.fromkeys(variable for variable, _, _ in _HINTS))
MOST_KNOWN: Final = 100
"""Environments of which it is known what they name."""


class Command(Protocol):
    """What is run to open something."""

    def __call__(self, target: Target, *, focus: bool) -> Sequence[str]:
        """`focus`: the editor may come to the front."""
        ...


class Launcher(Struct, frozen=True):
    """A way to open a file. `quiet`: without taking the focus."""

    name: str
    command: Command
    quiet: bool = False


def launcher_of(site: Site) -> Launcher | None:
    """The editor that the session's environment names; None: it names none. Blocks."""
    variables = site.environment

    def found(program: str) -> str | None:
        return find_program(program, variables.get("PATH", ""), site.directories)

    server = variables.get("NVIM", "")
    if os.path.isabs(server) and (nvim := found("nvim")):
        return Launcher("Neovim", partial(_remote, nvim, server), quiet=True)
    for variable, value, programs in _HINTS:
        if variables.get(variable, "") and value in ("", variables[variable]):
            for program in programs:
                if path := found(program):
                    return _window(program, path)
    return _chosen(variables, found)


def _chosen(variables: Mapping[str, str], found: Callable[[str], str | None]) -> Launcher | None:
    """What the user chose in $VISUAL or $EDITOR: an editor with a window, or one that tmux has a terminal for."""
    for variable in ("VISUAL", "EDITOR"):
        words = _words(variables.get(variable, ""))
        name = os.path.basename(words[0]) if words else ""
        program = found(name) if name else None
        if program is None:
            continue
        if name in WINDOWS:
            return _window(name, program)
        if variables.get("TMUX") and (tmux := found("tmux")):
            return _in_tmux(tmux, name, program, words[1:])
    return None


def _words(command: str) -> list[str]:
    try:
        return shlex.split(command)
    except ValueError:
        return []


def _window(name: str, program: str) -> Launcher:
    def command(target: Target, *, focus: bool) -> Sequence[str]:
        return WINDOWS[name](program, target)

    return Launcher(name, command)


def _in_tmux(tmux: str, name: str, program: str, options: Sequence[str]) -> Launcher:
    wording = IN_TERMINALS.get(name, _file)

    def command(target: Target, *, focus: bool) -> Sequence[str]:
        _, *rest = wording(program, target)
        return (tmux, "new-window", *(() if focus else ("-d",)), "--", program, *options, *rest)

    return Launcher(f"{name} in tmux", command, quiet=True)


def _remote(nvim: str, server: str, target: Target, *, focus: bool) -> Sequence[str]:
    quoted = target.file.replace("'", "''")
    edit = f"execute(['drop ' . fnameescape('{quoted}'), 'call cursor({target.line}, {target.column})'])"
    return (nvim, "--server", server, "--remote-expr", edit)


class Launchers:
    """An `EditorBackend` for sessions whose environment names an editor. What was found is looked for once for each environment."""

    id = "launcher"
    name = "a launcher"

    def __init__(self) -> None:
        self._known: dict[tuple[object, ...], Launcher | None] = {}

    def tools(self, site: Site) -> Collection[str]:
        """See `EditorBackend`."""
        return TOOLS if self._launcher(site) is not None else frozenset[str]()

    def _launcher(self, site: Site) -> Launcher | None:
        about = (site.directories, *map(site.environment.get, _ASKED))
        if about not in self._known:
            if len(self._known) >= MOST_KNOWN:
                self._known.clear()
            self._known[about] = launcher_of(site)
        return self._known[about]

    async def call(self, tool: str, given: Arguments, where: Where) -> EditorResult:
        """See `EditorBackend`."""
        launcher, focus = self._launcher(where.site), bool(given.get("focus"))
        if launcher is None or where.file is None:
            raise EditorToolError("not_supported", "The environment of this session names no editor.")
        if not (launcher.quiet or focus):
            raise EditorToolError("denied", FOCUS.format(launcher.name))
        line, column = (where.at.line, where.at.column) if where.at is not None else (1, 1)
        command = launcher.command(Target(str(where.file), line, column), focus=focus)
        await asyncio.to_thread(_run, command, where.site.root, where.site.environment, launcher.name)
        return EditorResult(Opened(opened=True, by=launcher.name))


def _run(command: Sequence[str], cwd: Path, environment: Mapping[str, str], name: str) -> None:
    """Raises EditorToolError."""
    try:
        done = subprocess.run(
            command,
            cwd=cwd,
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=PATIENCE,
            check=False,
            start_new_session=True,
        )
    except subprocess.TimeoutExpired as error:
        raise EditorToolError("timeout", f"{name} did not open it in time.") from error
    except OSError as error:
        raise EditorToolError("failed", f"{name} cannot be run: {error.strerror}.") from error
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip()[:300]
        raise EditorToolError("failed", f"{name} could not open it (exit code {done.returncode}): {said}")
