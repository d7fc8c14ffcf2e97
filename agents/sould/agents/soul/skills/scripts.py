"""Skills that bring programs: which do, and which version of one the user has trusted.

Trust is given to a workspace and the programs in it as they are at that moment. A new or changed one waits until the
user trusts the workspace anew (D23).
"""

import os
import stat
from pathlib import Path

from sould.agents.base.regularfile import read_beginning
from sould.agents.permissions.trust import TrustStore

_SUFFIXES = frozenset(
    {
        *(".sh", ".bash", ".zsh", ".fish", ".py", ".pyz", ".rb", ".pl", ".php", ".lua"),
        *(".js", ".mjs", ".cjs", ".ts", ".ps1", ".bat", ".cmd", ".exe", ".jar", ".so", ".dylib", ".wasm"),
    }
)
MAX_FILES = 500
WAITS = "it is used once you trust this project (`sould trust`)."


def has_scripts(directory: Path) -> bool:
    """Whether anything in a skill's directory could be run; one too large to be looked through could."""
    for count, path in enumerate(_files(directory)):
        if count >= MAX_FILES or path.suffix.lower() in _SUFFIXES:
            return True
        try:
            mode = path.stat().st_mode
            if mode & 0o111 or not stat.S_ISREG(mode) or read_beginning(path, 2) == b"#!":
                return True
        except OSError:
            continue
    return False


class TrustedScripts:
    """Which skills of a workspace that wait for trust may be used: those the user trusted, as they were."""

    def __init__(self, trust: TrustStore, workspace: Path) -> None:
        self._trust = trust
        self._workspace = workspace

    def refusal(self, skill: Path) -> str:
        """Why the skill in this directory, or of this file, may not be used now; "" when it may."""
        if self._trust.state(self._workspace) != "trusted":
            return WAITS
        if self._trust.changed(self._workspace, _files(skill) if skill.is_dir() else (skill,)):
            return "it has changed since you trusted this project; review it and run `sould trust` again."
        return ""


def _files(directory: Path) -> list[Path]:
    found: list[Path] = []
    for root, directories, names in os.walk(directory):
        directories.sort()
        found += [Path(root, name) for name in sorted(names)]
        if len(found) > MAX_FILES:
            break
    return found
