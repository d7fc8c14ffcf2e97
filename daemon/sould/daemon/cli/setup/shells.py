"""Completion in the user's shell: a block in its configuration, which loads what completes `sould` when that is first asked for.

The shell is the one that $SHELL names, else the user's login shell. What completes comes from click: `_SOULD_COMPLETE=bash_source sould`
prints it.
"""

import os
import pwd
from pathlib import Path
from typing import Final

from msgspec import Struct

from sould.daemon.cli.setup.format import Launch, Marks, UnfitError
from sould.daemon.cli.setup.places import Locating, Places
from sould.daemon.cli.setup.programs import Asking

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


class ShellBlock(Struct, frozen=True):
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
