"""The environment of a session's commands: the editor's variables, never the daemon's (D14).

Provider keys and variables that make programs load code are taken out; a list in the configuration gives them back.
Environments are never written to disk and never logged.
"""

import os
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

_DROPPED = frozenset(
    {
        "BASH_ENV",
        "BASHOPTS",
        "CDPATH",
        "ENV",
        "GCONV_PATH",
        "GLOBIGNORE",
        "GREP_OPTIONS",
        "IFS",
        "LOCPATH",
        "MAGIC",
        "NODE_OPTIONS",
        "PERL5OPT",
        "POSIXLY_CORRECT",
        "PROMPT_COMMAND",
        "PS4",
        "RIPGREP_CONFIG_PATH",
        "RUBYOPT",
        "SHELLOPTS",
    }
)
_DROPPED_PREFIXES = ("BASH_FUNC_", "DYLD_", "GIT_", "LD_", "PYTHON", "SOULD_")
_DEFAULT_PATH = "/usr/local/bin:/usr/bin:/bin"

USUAL_UMASK = 0o022
"""The umask of a session whose client did not say its own."""


class Environment:
    """What commands and servers of one session see. Immutable; injectable into tools."""

    def __init__(
        self,
        session: Mapping[str, str],
        *,
        provider_keys: Iterable[str],
        pass_keys: Iterable[str] = (),
        outside: Iterable[Path] = (),
        umask: int = USUAL_UMASK,
    ) -> None:
        """`session`: the client's variables. `provider_keys` are taken out; `pass_keys` are kept whatever they are (D14).

        `outside`: the session's directories. What sould runs by itself is never one of their programs.
        `umask`: the client's own, for what the agent and its commands make.
        """
        self.umask = umask
        kept = frozenset(pass_keys)
        withheld = frozenset(provider_keys) | _DROPPED
        self.variables = {
            name: value
            for name, value in session.items()
            if name in kept or not (name in withheld or name.startswith(_DROPPED_PREFIXES) or _unusable(name, value))
        }
        """The variables a command gets, all of them."""
        self.variables.setdefault("PATH", _DEFAULT_PATH)
        self._outside = tuple(outside)

    @property
    def path(self) -> tuple[Path, ...]:
        """The absolute directories of the session's PATH, in order; relative ones name nothing we trust."""
        return tuple(Path(part) for part in self.variables["PATH"].split(os.pathsep) if os.path.isabs(part))

    @property
    def home(self) -> Path:
        """The user's home directory as the session sees it."""
        return Path(self.variables.get("HOME") or Path.home())

    @property
    def os_name(self) -> str:
        """`Linux` or `macOS`, for prompts."""
        return "macOS" if sys.platform == "darwin" else "Linux"

    @property
    def shell(self) -> str:
        """The bash that runs commands, as an absolute path."""
        return self.which("bash") or "/bin/bash"

    def which(self, program: str) -> str | None:
        """The file that sould itself runs for `program`, see `find_program`; None when there is none."""
        return find_program(program, self.variables["PATH"], self._outside)


def find_program(program: str, path: str, outside: Iterable[Path] = ()) -> str | None:
    """The file of that name on a PATH, for a program that nobody is asked about; None when there is none.

    An entry that is not absolute means the directory of whoever runs it, and a project's directory on the PATH is
    often the project's own: what lies there is run by commands, which are asked about, never unasked.
    """
    projects = [os.path.realpath(directory) for directory in outside]
    for part in path.split(os.pathsep):
        file = os.path.join(part, program)
        if os.path.isabs(part) and os.path.isfile(file) and os.access(file, os.X_OK):
            real = Path(os.path.realpath(file))
            if not any(real.is_relative_to(project) for project in projects):
                return file
    return None


def _unusable(name: str, value: str) -> bool:
    return not name or "=" in name or "\0" in name or "\0" in value
