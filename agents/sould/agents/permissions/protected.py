"""Paths that are never changed or read unasked, in any mode (F70); secrets are `secretnames`.

A file is protected when it can run or configure something later without anybody looking, or belongs to sould. Names
are compared case-folded, NFC-normalised and without invisible characters, on every component of the resolved path.
"""

import os
import stat
import unicodedata
from collections.abc import Iterable
from fnmatch import fnmatchcase
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Final

from sould.agents.permissions.policycontext import PolicyContext
from sould.agents.permissions.shelltext import Argv


def _set(text: str) -> frozenset[str]:
    return frozenset(text.split())


_TREES: Final = _set(
    """.hg .svn .jj .vscode .idea .zed .cursor .windsurf .helix .fleet .nova .vim .sould .agents .claude .codex .gemini
    .opencode .qwen .roo .continue .husky .githooks .circleci .buildkite .devcontainer .direnv .ssh .gnupg .aws"""
)
_TREE_PATTERNS: Final = ("*.git", ".kimi*")
_PAIRS: Final = frozenset(
    {
        *((forge, "workflows") for forge in (".github", ".gitea", ".forgejo")),
        *((".github", name) for name in ("actions", "copilot-instructions.md")),
        *((".cargo", name) for name in ("config", "config.toml")),
    }
)
_INSTALLED: Final = _set(".venv venv node_modules site-packages")
"""What is installed there is run unasked, as by language servers."""
_FILES: Final = _set(
    """.gitmodules .gitattributes .nvim.lua .nvimrc .vimrc .exrc .dir-locals.el .dir-locals-2.el .editorconfig agents.md
    claude.md gemini.md .mcp.json mcp.json .cursorrules .windsurfrules .clinerules .gitlab-ci.yml .travis.yml .drone.yml
    azure-pipelines.yml bitbucket-pipelines.yml jenkinsfile .pre-commit-config.yaml .devcontainer.json .tool-versions
    .npmrc .pnpmfile.cjs bunfig.toml pip.conf .gdbinit .lldbinit .pylintrc .bazelrc conftest.py sitecustomize.py
    usercustomize.py"""
)
_FILE_PATTERNS: Final = (
    *("*.code-workspace", "*.sublime-project", "opencode.json*", ".yarnrc*", ".pnp.*", "*.pth", ".envrc*"),
    *("lefthook*.y*ml", ".lefthook*.y*ml", "mise*.toml", ".mise*.toml"),
)
_HOME: Final = _set(
    """.bashrc .bash_profile .bash_login .bash_logout .bash_aliases .profile .zshrc .zshenv .zprofile .zlogin .zlogout
    .bash_completion .zsh .oh-my-zsh .kshrc .cshrc .tcshrc .login .inputrc .pam_environment .xinitrc .xprofile .xsession
    .xsessionrc .emacs .emacs.d .config .local/bin .local/share/systemd .local/share/applications .local/share/dbus-1
    library/launchagents .netrc .curlrc .wgetrc .gitconfig .hgrc .tmux.conf .screenrc .docker/config.json .kube .pypirc
    .condarc .cargo/bin .m2/settings.xml .gradle/init.gradle .gradle/init.d"""
)
_SYSTEM: Final = ("/etc", "/var/spool/cron", "/usr/lib/systemd", "/lib/systemd")
_PROC_FILES: Final = frozenset({"environ", "mem"})


def normalised(name: str) -> str:
    """A name as the laxest file system compares it."""
    if name.isascii():
        return name.lower().rstrip(". ") or name.lower()
    visible = "".join(char for char in name if unicodedata.category(char) != "Cf")
    folded = unicodedata.normalize("NFC", unicodedata.normalize("NFD", visible).casefold())
    return folded.rstrip(". ") or folded


def change_is_protected(path: Path, where: PolicyContext, *, named: bool = False) -> str:
    """Why changing `path` must be asked about; empty when it need not. `named`: only a word that looks like this path."""
    parts = _parts(path)
    for name in parts:
        if name in _TREES or any(fnmatchcase(name, pattern) for pattern in _TREE_PATTERNS):
            return f"{path} is in {name}, which configures or runs things by itself"
    if not named and (name := next((name for name in parts if name in _INSTALLED), "")):
        return f"{path} is in {name}, from which programs are run"
    for pair in pairwise(parts):
        if pair in _PAIRS:
            return f"{path} is in {'/'.join(pair)}, which runs by itself"
    last = parts[-1] if parts else ""
    if last in _FILES or any(fnmatchcase(last, pattern) for pattern in _FILE_PATTERNS):
        return f"{path} configures or runs things by itself"
    if _below_any(parts, _home_entries(where.home)):
        return f"{path} is part of your account's own set-up"
    if _below_any(parts, (_parts(place) for place in where.account)):
        return f"{path} is part of your account's own set-up, which has a link to it"
    if not named and _below_any(parts, (_parts(directory) for directory in where.path)):
        return f"{path} is in a directory that programs are run from"
    if not named and _below_any(parts, (_parts(Path(place)) for place in _SYSTEM)):
        return f"{path} is part of the system's own set-up"
    if _below_any(parts, (_parts(directory) for directory in where.own)):
        return f"{path} belongs to sould itself"
    return ""


def read_is_protected(path: Path, where: PolicyContext) -> str:
    """Why reading `path` must be asked about, secrets aside; empty when it need not."""
    parts = _parts(path)
    if parts[:2] == ("/", "proc") and parts[-1] in _PROC_FILES:
        return f"{path} shows another process's secrets"
    if _below_any(parts, (_parts(directory) for directory in where.own)):
        return f"{path} belongs to sould itself"
    return ""


def account_places(home: Path) -> tuple[Path, ...]:
    """Where the account's own files really are, as far as links lead elsewhere: many keep them in a project of theirs."""
    real_home = os.path.realpath(home)
    linked = [f"{real_home}/{entry}" for entry in sorted(_HOME) if _is_reached_by_link(real_home, entry)]
    return tuple(Path(real) for entry in linked if (real := os.path.realpath(entry)) != entry)


def _is_reached_by_link(home: str, entry: str) -> bool:
    """Most of the places are not there, or are no links: one look each, before links are followed for milliseconds."""
    place = home
    for part in entry.split("/"):
        place = f"{place}/{part}"
        try:
            if stat.S_ISLNK(os.lstat(place).st_mode):
                return True
        except OSError:
            return False
    return False


@lru_cache(maxsize=2048)  # of what it is given alone; a session's own directories are compared at every decision
def _parts(path: Path) -> tuple[str, ...]:
    return tuple(normalised(part) for part in path.parts)


@lru_cache(maxsize=16)
def _home_entries(home: Path) -> tuple[tuple[str, ...], ...]:
    return tuple((*_parts(home), *entry.split("/")) for entry in _HOME)


def _below_any(parts: tuple[str, ...], directories: Iterable[tuple[str, ...]]) -> bool:
    return any(parts[: len(directory)] == directory for directory in directories)


_DECIDES: Final = {
    "trust": "whether this project's configuration may run as you",
    "mcp": "which MCP servers run as you",
    "rules": "what is not asked about",
    "login": "which key models are asked with",
    "logout": "which key models are asked with",
}
"""Commands of our own that the agent may not use on itself, and what each decides."""


def decides_for_the_user(commands: Iterable[Argv]) -> str:
    """Why a line is the user's own to run: the agent may not take its own changes of configuration into use (D23)."""
    for argv in commands:
        words = [word.rpartition("/")[2] for word in argv]
        for command, decides in _DECIDES.items():
            if ("sould", command) in pairwise(words):
                return f"it decides {decides}"
    return ""
