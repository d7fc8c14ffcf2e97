"""What sould needs in configurations that are programs: a file of its own for Neovim, a marked block for Emacs.

A block is put and removed by its marks and never rewritten inside the user's code.
"""

import json
import os
import pwd
import re
from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeAlias

from msgspec import Struct

from sould.daemon.cli.setup.format import Launch, Marks, UnfitError
from sould.daemon.cli.setup.places import Locating, Places

_MARKS: Final = Marks(
    "# sould: written by `sould setup shell`, taken back by `sould setup shell --undo`", "# sould: end"
)
_BASH: Final = """\
_sould_load() { eval "$(_SOULD_COMPLETE=bash_source sould)"; return 124; }
complete -F _sould_load sould
"""
"""124 has bash look again."""
_ZSH: Final = """\
(( $+functions[compdef] )) || { autoload -Uz compinit && compinit; }
_sould_load() { eval "$(_SOULD_COMPLETE=zsh_source sould)"; _sould_completion "$@"; }
compdef _sould_load sould
"""
_FISH: Final = "_SOULD_COMPLETE=fish_source sould | source\n"
"""fish reads the file when it first completes `sould`."""
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


class _Shell(Struct, frozen=True):
    file: Locating
    block: str
    completes: str
    """A command that succeeds where `sould` is completed."""
    path: str
    """A word with the path of `sould`."""

    def question(self, said: str) -> tuple[str, ...]:
        """Arguments with which it says, behind `said`, how it starts `sould`, if it completes that."""
        return "-ic", f"{self.completes} && printf '\\n%s[\"%s\"]\\n' '{said}' {self.path}"


SHELLS: Final = {
    "bash": _Shell(
        lambda places: places.home / ".bashrc",
        _BASH,
        "complete -p sould >/dev/null",
        '"$(type -P sould || echo sould)"',
    ),
    "zsh": _Shell(
        lambda places: Path(places.environment.get("ZDOTDIR") or places.home) / ".zshrc",
        _ZSH,
        "[[ -n $_comps[sould] ]]",
        '"$(whence -p sould || echo sould)"',
    ),
    "fish": _Shell(
        lambda places: places.config / "fish/completions/sould.fish",
        _FISH,
        "complete -C 'sould ' | string match -q 'setup*'",
        "(command -s sould; or echo sould)",
    ),
}


def shell(places: Places) -> tuple[str, _Shell]:
    """The name of the user's shell, and what is known of it.

    Raises:
        UnfitError: it is none of those that `sould` can be completed in.
    """
    name = Path(places.environment.get("SHELL") or _login_shell()).name
    if name not in SHELLS:
        named = f"your shell is {name}" if name else "it is not known which shell is yours"
        raise UnfitError(
            f"{named}; there is completion for {', '.join(SHELLS)} (for another than yours: SHELL=zsh sould …)"
        )
    return name, SHELLS[name]


def _login_shell() -> str:
    """By the system's list of users; "" for somebody who is not in it."""
    try:
        return pwd.getpwuid(os.geteuid()).pw_shell
    except KeyError:
        return ""


class ShellSetup(Struct, frozen=True):
    """The block at the end of a shell's configuration."""

    block: str
    asking: Asking

    def added(self, text: str) -> str:
        """See `Format`."""
        return _MARKS.placed(text, self.block, len(text))

    def taken(self, before: str | None, after: str, text: str) -> str:
        """See `Format`."""
        del after
        return _MARKS.taken(before, text)

    def meaning(self, text: str) -> object:
        """See `Format`."""
        return text.split()

    def launch(self, text: str) -> Launch | None:
        """See `Format`: as the shell says, with its whole configuration."""
        return self.asking() if _MARKS.span(text) else None

    def manual(self) -> str:
        """See `Format`."""
        return self.block
