"""Paths that are never changed or read unasked, in any mode (F70).

A file is protected when it can run or configure something later without anybody looking, or when it holds a secret.
Names are compared case-folded, NFC-normalised and without invisible characters, on every component of the resolved path.
"""

import unicodedata
from fnmatch import fnmatchcase
from itertools import pairwise
from pathlib import Path
from typing import Final

from sould.agents.permissions.surroundings import Surroundings


def _set(text: str) -> frozenset[str]:
    return frozenset(text.split())


_TREES: Final = _set(
    """.git .hg .svn .jj .vscode .idea .zed .cursor .windsurf .sould .claude .codex .gemini .opencode .husky .circleci
    .devcontainer .ssh .gnupg .aws"""
)
_TREE_PATTERNS: Final = (".kimi*",)
_PAIRS: Final = frozenset({(".github", "workflows"), (".github", "copilot-instructions.md")})
_FILES: Final = _set(
    """.gitmodules .gitattributes .nvim.lua .exrc .dir-locals.el .editorconfig agents.md claude.md gemini.md .mcp.json
    mcp.json .cursorrules .gitlab-ci.yml jenkinsfile .pre-commit-config.yaml lefthook.yml .envrc .tool-versions mise.toml
    .npmrc pip.conf conftest.py sitecustomize.py usercustomize.py"""
)
_FILE_PATTERNS: Final = ("*.code-workspace", "opencode.json*", ".yarnrc*", ".pnp.*", "*.pth")
_HOME: Final = _set(
    """.bashrc .bash_profile .bash_login .bash_logout .bash_aliases .profile .zshrc .zshenv .zprofile .zlogin .zlogout
    .kshrc .cshrc .tcshrc .login .inputrc .xinitrc .xprofile .xsession .vimrc .emacs .emacs.d .vim .config .local/bin
    .local/share/systemd library/launchagents .netrc .gitconfig .docker/config.json .pypirc .cargo/config.toml
    .cargo/bin"""
)
_SECRET_TREES: Final = frozenset({".ssh", ".gnupg", ".aws"})
_SECRET_FILES: Final = frozenset({".netrc", ".pypirc", ".git-credentials"})
_SECRET_PATTERNS: Final = ("*.pem", "*.kdbx")
_EXAMPLES: Final = frozenset({".example", ".sample", ".template", ".dist"})
_PROC_FILES: Final = frozenset({"environ", "mem"})


def normalised(name: str) -> str:
    """A name as the laxest file system compares it."""
    visible = "".join(char for char in name if unicodedata.category(char) != "Cf")
    folded = unicodedata.normalize("NFC", unicodedata.normalize("NFD", visible).casefold())
    return folded.rstrip(". ") or folded


def change_is_protected(path: Path, where: Surroundings, *, named: bool = False) -> str:
    """Why changing `path` must be asked about; empty when it need not. `named`: only a word that looks like this path."""
    parts = _parts(path)
    for name in parts:
        if name in _TREES or any(fnmatchcase(name, pattern) for pattern in _TREE_PATTERNS):
            return f"{path} is in {name}, which configures or runs things by itself"
    for pair in pairwise(parts):
        if pair in _PAIRS:
            return f"{path} is in {'/'.join(pair)}, which runs by itself"
    last = parts[-1] if parts else ""
    if last in _FILES or any(fnmatchcase(last, pattern) for pattern in _FILE_PATTERNS):
        return f"{path} configures or runs things by itself"
    if _below_any(parts, _home_entries(where)):
        return f"{path} is part of your account's own set-up"
    if not named and _below_any(parts, [_parts(directory) for directory in where.path]):
        return f"{path} is in a directory that programs are run from"
    if _below_any(parts, [_parts(directory) for directory in where.own]):
        return f"{path} belongs to sould itself"
    return ""


def read_is_protected(path: Path, where: Surroundings) -> str:
    """Why reading `path` must be asked about; empty when it need not."""
    parts = _parts(path)
    last = parts[-1] if parts else ""
    if any(name in _SECRET_TREES for name in parts) or last in _SECRET_FILES:
        return f"{path} may hold credentials"
    if last.startswith(".env") and not any(last.endswith(ending) for ending in _EXAMPLES):
        return f"{path} may hold secrets"
    if any(fnmatchcase(last, pattern) for pattern in _SECRET_PATTERNS) or (last.startswith("id_") and "." not in last):
        return f"{path} may hold a key"
    if parts[-2:] == [".docker", "config.json"]:
        return f"{path} may hold credentials"
    if parts[:2] == ["/", "proc"] and last in _PROC_FILES:
        return f"{path} shows another process's secrets"
    if _below_any(parts, [_parts(directory) for directory in where.own]):
        return f"{path} belongs to sould itself"
    return ""


def _parts(path: Path) -> list[str]:
    return [normalised(part) for part in path.parts]


def _home_entries(where: Surroundings) -> list[list[str]]:
    home = _parts(where.home)
    return [[*home, *entry.split("/")] for entry in _HOME]


def _below_any(parts: list[str], directories: list[list[str]]) -> bool:
    return any(parts[: len(directory)] == directory for directory in directories)
