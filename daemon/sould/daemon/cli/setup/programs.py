"""What sould needs in configurations that are programs: a file of its own for Neovim, a marked block for Emacs.

A block is put and removed by its marks and never rewritten inside the user's code.
"""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

from msgspec import Struct

from sould.daemon.cli.setup.format import Launch, Marks, UnfitError

Asking: TypeAlias = Callable[[], Launch | None]
"""Asks the editor itself how it starts sould."""

_LUA_MARK = "-- sould: written by `sould setup neovim`, taken back by `sould setup neovim --undo`"
_LISP = Marks(
    ";; sould: written by `sould setup emacs', taken back by `sould setup emacs --undo'",
    ";; sould: end",
)
_LAST_LINE = re.compile(r"\(provide '[^()\s]+\)|;;; .* ends here|")
_LOCAL = re.compile(r"^;+ *Local Variables:", re.MULTILINE)
_LISP_TOKEN = re.compile(r'"(?:\\.|[^"\\])*"|;[^\n]*|\?\\?.|\\.|[()\[\]]|"', re.DOTALL)


class LuaFile(Struct, frozen=True):
    """A file below `plugin/`, which Neovim reads behind its init file, whatever plugin manager there is."""

    plugin: Path
    program: str
    asking: Asking

    def added(self, text: str) -> str:
        """See `Format`."""
        if text.strip() and not text.startswith(_LUA_MARK):
            raise UnfitError("there is a file of that name already, which setup did not write")
        return f"{_LUA_MARK}\n{self.manual()}"

    def taken(self, before: str | None, after: str, text: str) -> str:
        """See `Format`. The file is all ours."""
        del after
        return before or "" if text.startswith(_LUA_MARK) else text

    def meaning(self, text: str) -> object:
        """See `Format`."""
        return text.split()

    def launch(self, text: str) -> Launch | None:
        """See `Format`: as Neovim says, which runs its whole configuration for that."""
        return self.asking() if text.startswith(_LUA_MARK) else None

    def manual(self) -> str:
        """See `Format`."""
        where, command = json.dumps(str(self.plugin)), json.dumps(self.program)
        return (
            f"if vim.fn.isdirectory({where}) == 1 then\n"
            f"  vim.opt.runtimepath:prepend({where})\n"
            '  vim.cmd("runtime plugin/sould.lua")\n'
            f'  require("sould").setup({{ keys = true, command = {{ {command} }} }})\n'
            "end\n"
        )


class LispBlock(Struct, frozen=True):
    """A block at the end of Emacs' init file, before what must come last there."""

    plugin: Path
    program: str
    asking: Asking

    def added(self, text: str) -> str:
        """See `Format`."""
        _refuse_unbalanced(text)
        return _LISP.placed(text, self.manual(), _code_end(text))

    def taken(self, before: str | None, after: str, text: str) -> str:
        """See `Format`."""
        del after
        return _LISP.taken(before, text)

    def meaning(self, text: str) -> object:
        """See `Format`."""
        return text.split()

    def launch(self, text: str) -> Launch | None:
        """See `Format`: as Emacs says, which runs its whole configuration for that."""
        return self.asking() if _LISP.span(text) else None

    def manual(self) -> str:
        """See `Format`."""
        return (
            f"(add-to-list 'load-path {json.dumps(str(self.plugin), ensure_ascii=False)})\n"
            "(when (require 'sould nil t)\n"
            f"  (setq sould-command '({json.dumps(self.program, ensure_ascii=False)}))\n"
            "  (global-sould-mode 1)\n"
            "  (sould-setup-keys))\n"
        )


def _code_end(text: str) -> int:
    """Before the lines that end a library, and before the variables of the file, which Emacs looks for at its end."""
    local = _LOCAL.search(text, max(0, len(text) - 3000))
    end = at = local.start() if local else len(text)
    for line in reversed(text[:end].splitlines(keepends=True)):
        if not _LAST_LINE.fullmatch(line.strip()):
            break
        at -= len(line)
    return at if text[at:].strip() else end


def _refuse_unbalanced(text: str) -> None:
    """Behind an open parenthesis or string a block would be part of it."""
    unclosed = list[str]()
    for found in _LISP_TOKEN.finditer(text):
        bracket = found[0]
        if bracket in ("(", "["):
            unclosed.append(bracket)
        elif bracket in (")", "]", '"') and (not unclosed or unclosed.pop() + bracket not in ("()", "[]")):
            line = text.count("\n", 0, found.start()) + 1
            raise UnfitError(f"the init file is no Emacs Lisp: line {line} has a {bracket} without its counterpart")
    if unclosed:
        raise UnfitError(f"the init file is no Emacs Lisp: {len(unclosed)} brackets are not closed")
