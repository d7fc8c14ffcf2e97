"""One client that serves editor tools: an `EditorClient` over its connection, whatever protocol that is.

What it says is not believed: it is asked about projects it has open only, its answers are parsed by the tool's own shape, bounded,
and waited for with a limit.
"""

import asyncio
import os
from collections.abc import Collection
from pathlib import Path
from typing import Any, ClassVar, Final, cast

import msgspec
import orjson
from msgspec import to_builtins
from pydantic import ValidationError

from sould.agents.base.rpc.connection import Connection
from sould.agents.base.rpc.errors import METHOD_NOT_FOUND, ConnectionGoneError, RpcError
from sould.agents.clients.editor.shapes import (
    LONGEST_SELECTION,
    MOST_FOLDERS,
    MOST_OPEN,
    MOST_TOOLS,
    ActiveParams,
    CallAnswer,
    CallErrorParams,
    EditorCall,
    FileEditsParams,
    PlaceParams,
    SpanParams,
    StateParams,
)
from sould.agents.tools.editor import results
from sould.agents.tools.editor.anchors import Position
from sould.agents.tools.editor.backends import Arguments, BackendEdit, EditorResult, FileEdits, Where
from sould.agents.tools.editor.calls import LARGEST_ANSWER
from sould.agents.tools.editor.catalogue import CATALOGUE, EditorTool
from sould.agents.tools.editor.errors import CODES, Candidate, EditorToolError, ErrorCode
from sould.agents.tools.editor.site import Site

CALL: Final = "_sould/editor/call"
STATE_TOOL: Final = "editor_state"
"""Answered from what the client said last."""
PATIENCE: Final = 15.0
"""Seconds a client has for a call that runs nothing."""
FOR_PEOPLE: Final = 3_600.0
"""Seconds it has where a person is asked."""
MOST_AT_ONCE: Final = 32
"""Calls that wait for one client."""


class ConnectedEditor:
    """Of one connection. `tell` with what it says of itself; until then it serves nothing."""

    only_points: ClassVar[bool] = False
    """See `EditorClient`."""

    def __init__(self, client_id: str, name: str, connection: Connection) -> None:
        self.id = client_id
        self._name = name
        self._connection = connection
        self._state = StateParams()
        self._tools = frozenset[str]()
        self._folders: tuple[Path, ...] = ()
        self._open = frozenset[Path]()
        self._calls = 0

    @property
    def name(self) -> str:
        """See `EditorBackend`."""
        return self._state.app[:100] or self._name

    @property
    def focused(self) -> bool:
        """The user looks at it, as it says."""
        return self._state.focused

    async def tell(self, state: StateParams) -> None:
        """The client said how it stands now."""
        folders, files = await asyncio.to_thread(_resolved, state)
        self._state, self._folders, self._open = state, folders, files
        known = [tool for tool in state.tools[:MOST_TOOLS] if tool in CATALOGUE]
        own = [STATE_TOOL] if state.active is not None or state.open else []
        self._tools = frozenset((*known, *own))

    def tools(self, site: Site) -> Collection[str]:
        """See `EditorBackend`: nothing where it has another project."""
        return self._tools if self._has(site.root) else frozenset[str]()

    def _has(self, root: Path) -> bool:
        return any(root.is_relative_to(folder) or folder.is_relative_to(root) for folder in self._folders)

    def has_open(self, path: Path) -> bool:
        """See `EditorClient`."""
        return path in self._open

    async def call(self, tool: str, given: Arguments, where: Where) -> EditorResult:
        """See `EditorBackend`."""
        if tool == STATE_TOOL and STATE_TOOL not in self._state.tools:
            return EditorResult(self._shown_state(given))
        if self._calls >= MOST_AT_ONCE:
            raise EditorToolError("busy", f"{self.name} has {self._calls} calls to answer.")
        self._calls += 1
        try:
            return _result(CATALOGUE[tool], await self._answer(tool, given, where), self.name)
        finally:
            self._calls -= 1

    async def _answer(self, tool: str, given: Arguments, where: Where) -> object:
        site, text = where.site, where.text
        asked = EditorCall(
            tool,
            dict(given),
            str(site.root),
            tuple(map(str, site.additional)),
            where.at,
            text.digest if text is not None else "",
            site.session_id,
        )
        try:
            async with asyncio.timeout(_patience(tool, given)):
                return await self._connection.request(CALL, to_builtins(asked))
        except TimeoutError as error:
            raise EditorToolError("timeout", f"{self.name} did not answer in time.") from error
        except ConnectionGoneError as error:
            raise EditorToolError("no_editor", f"{self.name} disconnected while it was asked.") from error
        except RpcError as error:
            code: ErrorCode = "not_supported" if error.code == METHOD_NOT_FOUND else "failed"
            raise EditorToolError(code, f"{self.name} failed: {error.message[:500]}") from error

    def _shown_state(self, given: Arguments) -> results.State:
        state, wanted = self._state, set(cast("list[str]", given.get("include", [])))
        app = results.Editor(self.id, self.name, tuple(map(str, self._folders)), state.focused)
        active = _active(state.active, wanted) if state.active is not None and "active" in wanted else None
        opened = tuple(results.OpenFile(each.file, each.dirty) for each in state.open[:MOST_OPEN])
        terminals = tuple(results.Terminal(each.terminal_id, each.title) for each in state.terminals[:MOST_OPEN])
        return results.State(
            shared=True,
            editors=(app,),
            active=active,
            open=opened if "open" in wanted else (),
            terminals=terminals if "terminals" in wanted else (),
        )


def _patience(tool: str, given: Arguments) -> float:
    if tool == "editor_ask":
        return FOR_PEOPLE
    seconds = given.get("timeoutSec", given.get("waitMs", 0) / 1000)
    return PATIENCE + float(seconds)


def _resolved(state: StateParams) -> tuple[tuple[Path, ...], frozenset[Path]]:
    """Folders and open files as they are on disk. Blocks."""
    folders = [each for each in state.workspace_folders[:MOST_FOLDERS] if os.path.isabs(each) and "\0" not in each]
    files = [each.file for each in state.open[:MOST_OPEN] if os.path.isabs(each.file) and "\0" not in each.file]
    active = state.active.file if state.active is not None else ""
    files += [active] if os.path.isabs(active) and "\0" not in active else []
    return tuple(Path(os.path.realpath(each)) for each in folders), frozenset(
        Path(os.path.realpath(each)) for each in files
    )


def _active(active: ActiveParams, wanted: set[str]) -> results.ActiveFile:
    selection = active.selection
    return results.ActiveFile(
        active.file,
        active.language_id,
        _place(active.cursor) if active.cursor is not None else None,
        results.Selection(_span(selection.range), selection.text[:LONGEST_SELECTION])
        if selection is not None and "selection" in wanted
        else None,
        _span(active.visible) if active.visible is not None and "visible" in wanted else None,
    )


def _place(place: PlaceParams) -> Position:
    return Position(place.line, place.column)


def _span(span: SpanParams) -> results.Span:
    return results.Span(_place(span.start), _place(span.end))


def _result(tool: EditorTool, raw: object, name: str) -> EditorResult:
    """What a client answered, as the tool's own shape.

    Raises:
        EditorToolError: it said so, or what it said is none.
    """
    if len(orjson.dumps(raw)) > LARGEST_ANSWER:
        raise EditorToolError("failed", f"{name} answered with more than {LARGEST_ANSWER // 1024 // 1024} MiB.")
    try:
        answer = CallAnswer.model_validate(raw)
        if answer.error is not None:
            raise _error(answer.error, name)
        data: Any = msgspec.convert(answer.data or {}, tool.result)
    except (ValidationError, msgspec.ValidationError) as error:
        raise EditorToolError("failed", f"{name} answered {tool.name} with what is no answer to it.") from error
    return EditorResult(data, tuple(map(_edits, answer.edits)), answer.more[:500], answer.version)


def _error(error: CallErrorParams, name: str) -> EditorToolError:
    code = cast("ErrorCode", error.code) if error.code in CODES else "failed"
    candidates = [Candidate(each.file, each.line, each.text, each.name_path) for each in error.candidates[:20]]
    return EditorToolError(code, error.message[:2_000] or f"{name} failed.", candidates)


def _edits(given: FileEditsParams) -> FileEdits:
    edits = tuple(BackendEdit(_span(each.range), each.new_text) for each in given.edits)
    return FileEdits(Path(given.file), edits, given.new_text, given.digest)
