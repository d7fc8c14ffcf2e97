"""One call of an editor tool, for the soul and for other agents alike: judged, routed, written through the review, bounded.

What a backend says is not believed: paths are judged again, secrets left out, answers cut.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, cast

import msgspec
import orjson
from msgspec import Struct
from msgspec.structs import replace
from pydantic import BaseModel

from sould.agents.base.shape import Shape
from sould.agents.base.workspace import TextFile, WorkspaceError
from sould.agents.files.projects.borrowing import BorrowedProjects
from sould.agents.files.reviewing.listing import FileReview, ReviewedHunk
from sould.agents.permissions.callfiles import CallFiles
from sould.agents.tools.editor import params
from sould.agents.tools.editor.anchors import AnchorPlace, Position, place, place_of_name
from sould.agents.tools.editor.backends import Arguments, EditorBackend, FileEdits, Reader, Where
from sould.agents.tools.editor.catalogue import EditorTool
from sould.agents.tools.editor.disk import asked_about, decided, state_of
from sould.agents.tools.editor.errors import EditorToolError
from sould.agents.tools.editor.judged import Json, QuietReader, admitted, shown
from sould.agents.tools.editor.newproblems import is_noted
from sould.agents.tools.editor.results import Problem, Problems, QuickFixes, ReviewState, Symbols
from sould.agents.tools.editor.routing import BackendAnswer, EditorBackends
from sould.agents.tools.editor.site import Site
from sould.agents.tools.editor.writing import EditWriter, Written
from sould.agents.wire.display import DisplayBlock
from sould.agents.wire.messages import ToolReturn

LARGEST_ANSWER: Final = 4 * 1024 * 1024
"""Bytes of what a client answers."""
CUT: Final = " [...]"
_SHORTEST: Final = 200
"""Characters that stay of a text that is cut."""
USUAL_ROOM: Final = 8_000
"""Characters of an answer, where its caller cannot say."""
OUTLINE: Final[Mapping[str, Any]] = {"depth": 10, "limit": 1_000}
MOST_PROBLEMS: Final = 1_000
"""That are looked through for those that hunks brought."""
OF_BACKEND: Final = "/"
"""Between a backend's id and the id of a quick fix that it offered."""


def bounded(data: Shape, limit: int, most: int) -> tuple[dict[str, Any], bool]:
    """As JSON, with at most `most` items in a list and about `limit` characters in all; and whether anything was left out."""
    value: dict[str, Any] = orjson.loads(msgspec.json.encode(data))
    cut = _shorten_lists(value, most)
    while (size := len(orjson.dumps(value))) > limit:
        if not _halve(value, size - limit):
            break
        cut = True
    return value, cut


def _shorten_lists(value: Any, most: int) -> bool:
    cut = False
    for each in _values(value):
        if isinstance(each, list) and len(each) > most:  # pyright: ignore[reportUnknownArgumentType] -- JSON
            del each[most:]
            cut = True
        cut |= _shorten_lists(each, most)
    return cut


def _halve(value: dict[str, Any], over: int) -> bool:
    """Take half of what is largest away, or less where less is too much; False: nothing is left to be cut."""
    place = _largest(value)
    if place is None:
        return False
    holder, key = place
    each = holder[key]
    if isinstance(each, str):
        kept = max(_SHORTEST, len(each) - max(over, len(each) // 8))
        holder[key] = each[:kept] + CUT
    else:
        del each[max(1, len(each) - max(1, len(each) // 4)) :]
    return True


def _largest(value: dict[str, Any]) -> tuple[Any, Any] | None:
    """Where the largest list or text stands that can be cut: its holder, and its name or number there."""
    found: list[tuple[int, Any, Any]] = []
    pending: list[Any] = [value]
    while pending:
        holder: Any = pending.pop()
        for key, each in _items(holder):
            if isinstance(each, str) and len(each) > _SHORTEST + len(CUT):
                found.append((len(each), holder, key))
            elif isinstance(each, list) and len(_values(each)) > 1:
                found.append((len(orjson.dumps(each)), holder, key))
            if isinstance(each, dict | list):
                pending.append(each)
    if not found:
        return None
    _, holder, key = max(found, key=lambda each: each[0])
    return holder, key


def _items(value: Any) -> list[tuple[Any, Any]]:
    if isinstance(value, dict):
        return list(value.items())  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType] -- JSON
    items: list[Any] = value
    return list(enumerate(items))


def _values(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return list(value.values())  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType] -- JSON
    return value if isinstance(value, list) else []  # pyright: ignore[reportUnknownVariableType] -- JSON


async def files_of(hunks: Collection[int], reader: Reader) -> list[Path]:
    """The files that hunks are in.

    Raises:
        EditorToolError: not_found: one of them does not wait for review.
    """
    pending = list(_hunks(await reader.pending(())))
    missing = sorted(set(hunks) - {hunk.id for hunk in pending})
    if missing:
        raise EditorToolError(
            "not_found", f"No hunk {', '.join(map(str, missing))} waits for review; it may be settled."
        )
    return list(dict.fromkeys(Path(hunk.path) for hunk in pending if hunk.id in hunks))


async def marked(problems: Problems, since: Collection[int], reader: Reader) -> Problems:
    """With those marked that hunks brought; if hunks are named in `since`, those that they brought, and no others."""
    paths = dict.fromkeys(Path(each.file) for each in problems.items if each.file)
    if not paths:
        return problems
    hunks = [hunk for hunk in _hunks(await reader.pending(list(paths))) if not since or hunk.id in since]
    new = {at for hunk in hunks for at in _brought(hunk, problems.items)}
    items = [replace(each, is_new=at in new) for at, each in enumerate(problems.items)]
    if not since:
        return replace(problems, items=tuple(items))
    kept = tuple(each for each in items if each.is_new)
    return replace(problems, items=kept, counts=dict(Counter(each.severity for each in kept)))


def _hunks(files: Sequence[FileReview]) -> Iterator[ReviewedHunk]:
    return (hunk for file in files for hunk in file.hunks if hunk.state == "pending")


def _brought(hunk: ReviewedHunk, items: Sequence[Problem]) -> set[int]:
    """The places in `items` of what one hunk brought."""
    here = {at: each for at, each in enumerate(items) if each.file == hunk.path}
    lines = {hunk.start + at for at, line in enumerate(hunk.lines) if not line.own}
    found = {at for at, each in here.items() if each.range.start.line - 1 in lines}
    for noted in hunk.problems:
        same = [at for at, each in here.items() if is_noted(each, noted)]
        if same and found.isdisjoint(same):
            found.add(min(same, key=lambda at: abs(here[at].range.start.line - 1 - hunk.start)))
    return found


class EditorCallDone(Struct, frozen=True):
    """What a call came to: `data` in the catalogue's shape. `rejected`: a person's no, which is the answer then."""

    data: Json
    meta: Json
    display: tuple[DisplayBlock, ...] = ()
    failed: bool = False
    rejected: ToolReturn | None = None


class EditorCalls:
    """For one agent's calls at one place."""

    def __init__(self, backends: EditorBackends, site: Site, projects: BorrowedProjects, call_id: str = "") -> None:
        """`call_id`: see `Where`."""
        self._backends = backends
        self._site = site
        self._projects = projects
        self._call_id = call_id

    async def make(self, tool: EditorTool, given: BaseModel, files: CallFiles, writer: EditWriter) -> EditorCallDone:
        """Do it.

        Raises:
            EditorToolError, RefusedError, WorkspaceError
        """
        arguments = await _with_paths(given, files)
        arguments, only = _of_backend(arguments) if tool.name == "apply_quick_fix" else (arguments, None)
        if isinstance(given, params.Diagnostics) and given.since_hunks:
            arguments |= await self._of_hunks(given, files)
        where = self._where(arguments, files)
        if isinstance(given, params.ReviewParams) and given.action != "list":
            pending = await where.reader.pending(list(map(Path, arguments.get("files", ()))))
            arguments["hunkIds"] = asked_about(pending, given.hunk_ids)
        anchor = getattr(given, "anchor", None)
        answered = await self._backends.call(
            tool.name,
            _Prepared(arguments, anchor.value if isinstance(anchor, params.Anchor) else None, where, files),
            where,
            repeatable=tool.does in ("read", "write"),
            only=only,
        )
        if isinstance(given, params.Diagnostics) and isinstance(problems := answered.result.data, Problems):
            known = await marked(problems, given.since_hunks, where.reader)
            answered = replace(answered, result=replace(answered.result, data=known))
        if isinstance(given, params.ReviewParams) and given.action == "request":
            state = await self._decided(arguments["hunkIds"], given.timeout_sec, where)
            answered = replace(answered, result=replace(answered.result, data=state))
        return await _finished(tool, given, answered, files, writer)

    async def _decided(self, hunks: Sequence[int], seconds: float, where: Where) -> ReviewState:
        await decided(await self._projects.open_reviews(), hunks, seconds)
        return state_of(await where.reader.pending(()), await where.reader.decisions(), hunks)

    async def _of_hunks(self, given: params.Diagnostics, files: CallFiles) -> dict[str, Any]:
        """Where what hunks brought is looked for: in their files, and among all of their problems."""
        changed = await files_of(given.since_hunks, QuietReader(files, self._projects))
        named = given.files or list(map(str, changed))
        return {"files": [str(path.path) for path in await admitted(files, named)], "limit": MOST_PROBLEMS}

    def _where(self, arguments: Arguments, files: CallFiles) -> Where:
        file = arguments.get("file")
        path = Path(file) if isinstance(file, str) and file else None
        named = [*map(Path, arguments.get("files", ())), *([path] if path is not None else [])]
        return Where(self._site, QuietReader(files, self._projects, named), path, call_id=self._call_id)


class _Prepared:
    """What is asked of each backend, of one call."""

    def __init__(self, arguments: Arguments, anchor: AnchorPlace | None, where: Where, files: CallFiles) -> None:
        self._arguments = arguments
        self._anchor = anchor
        self._where = where
        self._files = files
        self._text: TextFile | None = None

    async def __call__(self, backend: EditorBackend) -> tuple[Arguments, Where]:
        """See `Prepare`."""
        file, anchor = self._where.file, self._anchor
        if file is None or anchor is None:
            return self._arguments, self._where
        if self._text is None:
            self._text = await self._files.pass_text(file)
        where = replace(self._where, text=self._text)
        return self._arguments, replace(where, at=await self._position(backend, anchor, where, self._text.text))

    async def _position(self, backend: EditorBackend, anchor: AnchorPlace, where: Where, text: str) -> Position:
        assert where.file is not None
        name = self._files.paths.shown(where.file)
        if not anchor.name_path:
            return place(anchor, text, name)
        if "symbols" not in backend.tools(where.site):
            raise EditorToolError(
                "not_supported", f"{backend.name} knows no names of symbols; say a line, or a symbol."
            )
        found = await backend.call("symbols", {"file": str(where.file), **OUTLINE}, where)
        symbols = found.data.symbols if isinstance(found.data, Symbols) else ()
        return place_of_name(anchor.name_path, symbols, name)


async def _with_paths(given: BaseModel, files: CallFiles) -> dict[str, Any]:
    """The arguments as backends get them: paths absolute and judged."""
    arguments = given.model_dump(mode="json", by_alias=True, exclude_none=True)
    for key in ("maxChars", "anchor", "sinceHunks"):  # ours to keep to, and to resolve
        arguments.pop(key, None)
    if isinstance(given, params.DocEdit):  # judged as an edit, when it is one
        for edit in arguments["edits"]:
            edit["file"] = str(files.paths.meant(edit["file"]).path)
        return arguments
    if file := arguments.get("file"):
        [path] = await admitted(files, [file])
        arguments["file"] = str(path.path)
    if named := cast("list[str]", arguments.get("files") or []):
        arguments["files"] = [str(path.path) for path in await admitted(files, named)]
    if target := arguments.get("target"):
        arguments["target"] = str(files.paths.meant(target).path)
    if isinstance(given, params.EditorHighlight):
        paths = await admitted(files, [item.file for item in given.items])
        for item, path in zip(arguments["items"], paths, strict=True):
            item["file"] = str(path.path)
    return arguments


def _of_backend(arguments: dict[str, Any]) -> tuple[dict[str, Any], str]:
    backend, _, own = str(arguments["id"]).partition(OF_BACKEND)
    if not own:
        raise EditorToolError("not_found", "There is no quick fix with this id; ask quick_fixes for them.")
    return {**arguments, "id": own}, backend


async def _finished(
    tool: EditorTool, given: BaseModel, answered: BackendAnswer, files: CallFiles, writer: EditWriter
) -> EditorCallDone:
    result, backend = answered.result, answered.backend
    data = result.data
    if isinstance(data, QuickFixes):
        data = QuickFixes(tuple(replace(each, id=f"{backend.id}{OF_BACKEND}{each.id}") for each in data.actions))
    room, most = getattr(given, "max_chars", USUAL_ROOM), getattr(given, "limit", 1_000)
    value, cut = bounded(data, room, most)
    value = await shown(value, files)
    written = await _written(tool, given, result.edits, writer)
    meta: Json = {"backend": backend.name, "tookMs": answered.took_ms}
    if cut or result.more:
        meta |= {"truncated": True, **({"next": result.more} if result.more else {})}
    if result.version is not None:
        meta["docVersion"] = result.version
    if written is None:
        return EditorCallDone(value, meta)
    return EditorCallDone({**value, **written.data}, meta, written.display, written.failed, written.rejected)


async def _written(
    tool: EditorTool, given: BaseModel, edits: tuple[FileEdits, ...], writer: EditWriter
) -> Written | None:
    if tool.does != "write" or not edits:
        return None
    if getattr(given, "dry_run", False):
        return await writer.preview(edits)
    return await writer.write(edits)


def as_tool_error(error: Exception) -> EditorToolError:
    """A workspace's error with the catalogue's code."""
    if isinstance(error, EditorToolError):
        return error
    assert isinstance(error, WorkspaceError)
    return EditorToolError("not_found", str(error))
