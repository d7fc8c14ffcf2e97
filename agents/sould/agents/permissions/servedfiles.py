"""The programs of a project that its own MCP and hook files name: they are configuration as much as the files are.

Understands no more of those files than which of their words are files of the project. Starts nothing.
"""

import os
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import orjson

from sould.agents.base.regularfile import read_beginning

MCP_FILES = (".mcp.json", ".sould/mcp.json")
"""Below the workspace; the later one wins where both name a server."""
HOOKS_FILE = ".sould/hooks.toml"
LARGEST = 1024 * 1024
DEEPEST = 10
_BETWEEN = re.compile(r"[\s=:,;&|<>()'\"`]+")
"""What stands around a path in an option, a list of paths or a command line."""
WRITTEN = re.compile(r">+\|?\s*[^\s;&|<>]+")
"""A redirection: what a command writes there changes with every run, and is no program."""
MOST_WORDS = 2000


def served_files(workspace: Path, names: tuple[str, ...] = (*MCP_FILES, HOOKS_FILE)) -> tuple[Path, ...]:
    """Every file of the workspace that a string in those files names, seen from the directory the entry runs in."""
    root = Path(os.path.realpath(workspace))
    found: dict[Path, None] = {}
    for name in names:
        for number, (base, word) in enumerate(_words(_document(root / name), "", 0)):
            if number >= MOST_WORDS:
                break
            path = Path(os.path.realpath(root / base / word))
            if path.is_relative_to(root) and path.is_file():
                found[path] = None
    return tuple(found)


def _document(path: Path) -> object:
    try:
        data = read_beginning(path, LARGEST)
        return tomllib.loads(data.decode()) if path.suffix == ".toml" else orjson.loads(data)
    except (OSError, orjson.JSONDecodeError, UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError):
        return None


def pieces(text: str) -> Iterator[str]:
    """What of a text may be the name of a file it reads: all of it, what it is made of, a Python module's file (`-m`)."""
    for word in dict.fromkeys((text, *_BETWEEN.split(WRITTEN.sub(" ", text)))):
        if word and "\0" not in word and len(word) < os.pathconf("/", "PC_PATH_MAX"):
            yield word
            if word.replace(".", "").isidentifier():
                module = word.replace(".", "/")
                yield from (f"{module}.py", f"{module}/__main__.py")


def _words(node: object, base: str, depth: int) -> Iterator[tuple[str, str]]:
    """Each string, and what it is made of, with the `cwd` that holds where it stands."""
    if depth > DEEPEST:
        return
    if isinstance(node, str):
        yield from ((base, word) for word in pieces(node))
    elif isinstance(node, list):
        for each in cast("list[object]", node):
            yield from _words(each, base, depth + 1)
    elif isinstance(node, dict):
        members = cast("dict[str, object]", node)
        cwd = members.get("cwd")
        inner = cwd if isinstance(cwd, str) and "\0" not in cwd else base
        for each in members.values():
            yield from _words(each, inner, depth + 1)
