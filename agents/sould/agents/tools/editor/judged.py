"""Paths of a call before anybody is asked about them, and answers before anybody is shown them.

What a model names is resolved and judged as for `ReadFile`. Of what comes back, a secret is left out, and of what lies outside the
project only the place is said: an editor is no way round what the user would be asked about.
"""

import asyncio
import os
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from sould.agents.base.diskfile import digest_of
from sould.agents.base.textencoding import NoTextError, decoded
from sould.agents.base.workspace import NotTextError, OutsideError, ResolvedPath, TextFile
from sould.agents.files.projects.borrowing import BorrowedProjects
from sould.agents.files.reviewing.listing import FileReview, KnownDecision, Selection
from sould.agents.permissions.callfiles import CallFiles
from sould.agents.toolapi.base import sentence
from sould.agents.tools.editor.errors import EditorToolError

LOOK: Final = "Look at {} in the editor"
LARGEST_FILE: Final = 8_000_000
"""Bytes that are read of one."""
_TEXTS: Final = ("preview", "body", "text", "message", "patch", "output", "hits", "signature", "selection")
"""Of an item of an answer: what shows something of its file."""

Json = dict[str, Any]


class QuietReader:
    """Reads what may be read unasked, and what the call has been `admitted` to. A `Reader`."""

    def __init__(self, files: CallFiles, projects: BorrowedProjects, admitted: Collection[Path] = ()) -> None:
        self._files = files
        self._projects = projects
        self._admitted = frozenset(admitted)

    async def read_text(self, path: Path) -> TextFile:
        """See `Reader`."""
        await self._require(path)
        return await self._files.pass_text(path)

    async def on_disk(self, path: Path) -> TextFile:
        """See `Reader`."""
        await self._require(path)
        data = await self._files.read_bytes(path, LARGEST_FILE)
        try:
            read = await asyncio.to_thread(decoded, data)
        except NoTextError as error:
            raise NotTextError(f"{self._files.paths.shown(path)} {error}") from error
        return TextFile(path, read.text, digest_of(data), encoding=read.encoding)

    async def base(self, path: Path) -> str | None:
        """See `Reader`."""
        await self._require(path)
        return await (await self._projects.review_of(path)).base(str(path))

    async def pending(self, paths: Sequence[Path]) -> Sequence[FileReview]:
        """See `Reader`."""
        found: list[FileReview] = []
        for review in await self._projects.open_reviews():
            await review.look_at_all()
            found += review.pending(Selection(paths=tuple(map(str, paths))))
        return found

    async def decisions(self) -> Sequence[KnownDecision]:
        """See `Reader`."""
        return [each for review in await self._projects.open_reviews() for each in review.decisions(0)]

    async def _require(self, path: Path) -> None:
        if path in self._admitted:
            return
        root = self._files.resolve(str(self._files.root))
        if not is_inside(self._files, path) or path not in await self._files.found_in(root, [path]):
            raise OutsideError(f"{path} may not be read without a question")


def is_inside(files: CallFiles, path: Path) -> bool:
    """Below the directories that the call works in, by its name."""
    return any(path.is_relative_to(directory) for directory in (files.root, *files.additional))


async def admitted(files: CallFiles, named: Iterable[str]) -> list[ResolvedPath]:
    """The files that a call names; whoever has to be asked was.

    Raises:
        RefusedError, WorkspaceError
        EditorToolError: not_found.
    """
    found: list[ResolvedPath] = []
    for name in named:
        path = files.paths.meant(name)
        kind = await files.admit(path, LOOK)
        if kind is None:
            raise EditorToolError("not_found", sentence(await files.missing(path, "a file")))
        if kind != "file":
            raise EditorToolError("not_found", f"There is no file {files.paths.shown(path.written)}.")
        found.append(path)
    return found


async def shown(data: Json, files: CallFiles) -> Json:
    """An answer as its agent may see it, with paths as agents write them."""
    named = [each["file"] for each in _with_file(data)]
    real = await asyncio.to_thread(lambda: {name: Path(os.path.realpath(name)) for name in named if "\0" not in name})
    inside = {path for path in real.values() if is_inside(files, path)}
    root = files.resolve(str(files.root))
    visible = await files.found_in(root, inside) if inside else frozenset[Path]()
    hidden = {name for name in named if name not in real or real[name] in inside - visible}
    return _shown(data, files, hidden, {name: path for name, path in real.items() if path in inside})


def _shown(value: Any, files: CallFiles, hidden: set[str], inside: dict[str, Path]) -> Any:
    """`inside`: where the files of the project really are, by the names that were given."""
    if isinstance(value, list):
        items: list[Any] = value  # pyright: ignore[reportUnknownVariableType] -- JSON
        return [_shown(each, files, hidden, inside) for each in items if not _is_of(each, hidden)]
    if not isinstance(value, dict):
        return value
    item: Json = value  # pyright: ignore[reportUnknownVariableType] -- JSON
    made = {key: _shown(each, files, hidden, inside) for key, each in item.items() if not _is_of(each, hidden)}
    if _has_file(item):
        path = inside.get(item["file"])
        if path is not None:
            made["file"] = files.paths.shown(path)
        else:
            made = {key: each for key, each in made.items() if key not in _TEXTS}
    return made


def _is_of(value: Any, hidden: set[str]) -> bool:
    return isinstance(value, dict) and _has_file(value) and value["file"] in hidden  # pyright: ignore[reportUnknownArgumentType] -- JSON


def _has_file(item: Json) -> bool:
    return isinstance(item.get("file"), str) and bool(item["file"])


def _with_file(value: Any) -> Iterator[Json]:
    """All objects of an answer that are about a file."""
    pending: list[Any] = [value]
    while pending:
        each = pending.pop()
        if isinstance(each, dict):
            item: Json = each  # pyright: ignore[reportUnknownVariableType] -- JSON
            if _has_file(item):
                yield item
            pending.extend(item.values())
        elif isinstance(each, list):
            pending.extend(each)  # pyright: ignore[reportUnknownArgumentType] -- JSON
