"""The table of editors, and the scene before each: an agent has changed a file, which the editor then opens."""

import json
import re
import subprocess
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from soultest.editors.driving import Editor
from soultest.editors.emacs import emacs
from soultest.editors.helix import helix
from soultest.editors.neovim import neovim
from soultest.editors.pytestlsp import pytestlsp
from soultest.editors.vscode import vscode
from soultest.world import SOULD, World, call

HOUSE = Path(__file__).parents[4]
PROGRAMS = HOUSE / ".editors" / "bin"
PAGES = HOUSE / "docs" / "editors"


def block(page: str, language: str) -> str:
    """The one block of a page in a language, as a reader copies it."""
    (found,) = re.findall(rf"^```{language}\n(.*?)^```", (PAGES / page).read_text(), re.MULTILINE | re.DOTALL)
    return found


BEFORE = """\
def area(w, h):
    return w * h


def name():
    return "area"
"""
AFTER = """\
def area(w, h):
    return abs(w * h)


def name():
    return "Area"
"""
"""Two hunks: line 2 and line 6."""

Opened = Callable[[World, Path, str, bool], AbstractContextManager[Editor]]
"""An editor with its settings from our pages. Told: the name of this one, and whether it formats when it saves."""


@dataclass(frozen=True)
class Kind:
    """One row of the table: an editor at one version."""

    name: str
    opened: Opened
    needs_npm: bool = False


def _neovim(program: str) -> Kind:
    def opened(world: World, file: Path, name: str, formats: bool) -> AbstractContextManager[Editor]:
        formatting = r"vim.cmd([[autocmd BufWritePre * silent! %s/\s\+$//e]])"
        settings = block("lsp.md", "lua") + (formatting if formats else "")
        return neovim(world, PROGRAMS / program, settings, file, name)

    return Kind(program, opened)


def _emacs(program: str) -> Kind:
    def opened(world: World, file: Path, name: str, formats: bool) -> AbstractContextManager[Editor]:
        formatting = "(add-hook 'before-save-hook #'delete-trailing-whitespace)"
        settings = block("lsp.md", "elisp") + (formatting if formats else "")
        return emacs(world, PROGRAMS / program, settings, file, name)

    return Kind(program, opened)


def _helix(world: World, file: Path, name: str, formats: bool) -> AbstractContextManager[Editor]:
    formatting = 'auto-format = true\nformatter = { command = "sed", args = ["s/ *$//"] }\n'
    return helix(world, PROGRAMS / "hx", block("helix.md", "toml") + (formatting if formats else ""), file, name)


def _vscode(world: World, file: Path, name: str, formats: bool) -> AbstractContextManager[Editor]:
    del name
    return vscode(world, file, formats)


def _pytestlsp(world: World, file: Path, name: str, formats: bool) -> AbstractContextManager[Editor]:
    del name
    return pytestlsp(world, file, formats)


LIBRARIES = [Kind("pytest-lsp", _pytestlsp), Kind("vscode-languageclient", _vscode, needs_npm=True)]
"""Clients that are no editors: they run wherever tests do."""
KINDS = [
    *map(_neovim, ("nvim-0.7", "nvim-0.10", "nvim-0.12")),
    *map(_emacs, ("emacs-28", "emacs-30")),
    Kind("hx", _helix),
]


@dataclass
class Scene:
    """A file with two hunks that wait for a review, before the user's editors."""

    kind: Kind
    world: World
    file: Path = field(init=False)

    def __post_init__(self) -> None:
        self.file = self.world.project / "area.py"

    def agent(self, *scripts: str, text: str = AFTER) -> None:
        """Let the agent change the file in the mode that asks nothing; `scripts` are of further turns."""
        self.file.write_text(BEFORE)
        write = call("WriteFile", "w", path="area.py", content=text)
        self.world.script([write, "text: Done.", *scripts])
        self.world.start()
        assert self.world.sould("run", "--mode", "review", "improve it").returncode == 0
        assert self.file.read_text() == text

    def opened(self, name: str = "editor", *, formats: bool = False) -> AbstractContextManager[Editor]:
        """An editor with the file, until the block is left."""
        return self.kind.opened(self.world, self.file, name, formats)

    @contextmanager
    def counting(self) -> Generator[None]:
        """A turn of the agent that says "Counting." and goes on, until the block has ended it."""
        command = [SOULD, "run", "--continue", "count"]
        pipe = subprocess.PIPE
        environment, project = self.world.environment, self.world.project
        with subprocess.Popen(command, env=environment, cwd=project, stdout=pipe, stderr=pipe) as running:
            assert running.stdout is not None
            assert running.stdout.read(9) == b"Counting."
            yield

    def pending(self) -> list[int]:
        """The lines at which hunks begin, counted from 1, as another client sees them."""
        return [hunk["start"] + 1 for file in self._listed() for hunk in file["hunks"]]

    def knows(self, typed: str) -> bool:
        """Whether an editor has said that all of this was typed. Most wait a moment, and may tell a part of it first."""
        asked = [
            ("initialize", {"protocolVersion": 1}),
            ("_sould/review/base", {"cwd": str(self.world.project), "path": str(self.file)}),
        ]
        lines = [
            json.dumps({"jsonrpc": "2.0", "id": n, "method": method, "params": it})
            for n, (method, it) in enumerate(asked)
        ]
        pipe, environment = subprocess.PIPE, self.world.environment
        with subprocess.Popen([SOULD, "acp"], env=environment, stdin=pipe, stdout=pipe, text=True) as client:
            assert client.stdin is not None
            assert client.stdout is not None
            client.stdin.write("\n".join(lines) + "\n")
            client.stdin.flush()
            answers = map(json.loads, client.stdout)
            base = next(each["result"]["text"] for each in answers if each.get("id") == 1)
            client.stdin.close()
        return typed in (base or "")

    def _listed(self) -> list[dict[str, Any]]:
        return json.loads(self.world.sould("review", "list", "--json").stdout)["files"]
