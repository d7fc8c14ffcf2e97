"""What is in a project's directory, but for what is git's, and how to have that again."""

import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path


def files_in(root: Path) -> Iterator[Path]:
    """The regular files of a project."""
    for path in sorted(root.rglob("*")):
        if path.relative_to(root).parts[0] != ".git" and path.is_file() and not path.is_symlink():
            yield path


def text_of(path: Path) -> str | None:
    """What a text file holds."""
    if not path.is_file() or path.is_symlink():
        return None
    data = path.read_bytes()
    return None if b"\0" in data else data.decode()


def contents(root: Path) -> dict[Path, tuple[int, bytes | str]]:
    """The modes and contents of files, and where links lead."""
    found: dict[Path, tuple[int, bytes | str]] = {
        path: (stat.S_IMODE(path.stat().st_mode), path.read_bytes()) for path in files_in(root)
    }
    return found | {path: (0, os.readlink(path)) for path in root.rglob("*") if path.is_symlink()}


def put_back(root: Path, tree: Mapping[Path, tuple[int, bytes | str]]) -> None:
    """Have the directory as it was; what is so stays untouched."""
    now = contents(root)
    for path in now:
        if path not in tree or tree[path][1] != now[path][1]:
            path.unlink()
    for path, (mode, content) in tree.items():
        if not os.path.lexists(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.symlink_to(content) if isinstance(content, str) else path.write_bytes(content)
        if not isinstance(content, str):
            path.chmod(mode)
