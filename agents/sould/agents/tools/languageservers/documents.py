"""What a language server is shown and what it tells by itself: files as their user sees them, each with a version; problems.

A file is shown when it is asked about and stays so, for its server to be quick, until others are. The whole text is sent each
time: servers compare, and pieces that went wrong once would be wrong for ever.
"""

import asyncio
import os
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypeAlias, cast

from msgspec import Struct

from sould.agents.base.lsp import path_of
from sould.agents.base.rpc.errors import METHOD_NOT_FOUND, RpcError
from sould.agents.base.tasks import in_time
from sould.agents.base.workspace import TextFile
from sould.agents.tools.languageservers.programs import ServerLaunch, language_id, told
from sould.agents.tools.languageservers.shapes import (
    Json,
    LsDiagnostic,
    Published,
    each,
    members,
    read,
    text_of,
)

MOST_MESSAGES: Final = 20_000
"""Within `WINDOW` seconds; then it is given up."""
WINDOW: Final = 10.0
MOST_WORKS: Final = 100
_NOTHING: Final = frozenset(
    {
        *("client/registerCapability", "client/unregisterCapability", "window/workDoneProgress/create"),
        *("window/showMessageRequest", "workspace/codeLens/refresh", "workspace/semanticTokens/refresh"),
        *("workspace/inlayHint/refresh", "workspace/inlineValue/refresh", "workspace/diagnostic/refresh"),
        "workspace/foldingRange/refresh",
    }
)
"""Requests that are answered, and with nothing."""
GiveUp: TypeAlias = Callable[[str], None]
"""Ends the server. `why` completes the sentence "It was stopped because …"."""
MOST_FILES: Final = 2000
MOST_IN_A_FILE: Final = 500
SETTLING: Final = 0.5
"""Seconds without news of a file, after which no more is expected: many tell errors of syntax first, others a moment later."""
MOST_SHOWN: Final = 64
"""Files at once."""
Notify: TypeAlias = Callable[[str, Mapping[str, Any]], None]
"""Tells the server something. Must not block."""


class ToldState(Struct, frozen=True):
    """Of one file. `count`: how often something was told before this; `at`: when (seconds of the loop)."""

    items: tuple[LsDiagnostic, ...]
    version: int | None
    count: int
    at: float


class ToldProblems:
    """What one server told."""

    def __init__(self) -> None:
        self._files: dict[Path, ToldState] = {}
        self._shown: dict[Path, tuple[int, int]] = {}
        """The version of each file that is shown, and how often something had been told by then."""
        self._count = 0
        self._versions = False
        """It says which version it means, so that what comes without is of another text."""
        self._news = asyncio.Event()

    def shown(self, path: Path, version: int) -> None:
        """The server is shown this version from now on."""
        self._shown[path] = (version, self._count)

    def hidden(self, path: Path) -> None:
        """The file is not shown any more."""
        self._shown.pop(path, None)
        self._files.pop(path, None)

    def take(self, params: dict[str, Any]) -> None:
        """The server tells of a file."""
        said = read(Published, params)
        path = path_of(said.uri) if said is not None else None
        if said is None or path is None:
            return
        version = said.version if isinstance(said.version, int) and not isinstance(said.version, bool) else None
        newest, _ = self._shown.get(path, (None, 0))
        self._versions = self._versions or version is not None
        if version is not None and newest is not None and version != newest:
            return  # of a text that is not this one, or that nobody showed it
        self._count += 1
        self._files.pop(path, None)
        items = tuple(each(LsDiagnostic, said.diagnostics, MOST_IN_A_FILE))
        self._files[path] = ToldState(items, version, self._count, asyncio.get_running_loop().time())
        if len(self._files) > MOST_FILES:
            del self._files[next(iter(self._files))]
        self._news.set()

    async def of(self, path: Path, seconds: float) -> tuple[tuple[LsDiagnostic, ...], bool]:
        """Of the text of a file that is shown now, waiting at most so long; and whether they are of that text."""
        until = asyncio.get_running_loop().time() + seconds
        while (told := self._fresh(path)) is None:
            if not await self._heard(until):
                last = self._files.get(path)
                return (last.items if last is not None else ()), False
        while await self._heard(min(until, told.at + SETTLING)):
            told = self._fresh(path) or told
        return told.items, True

    def _fresh(self, path: Path) -> ToldState | None:
        told = self._files.get(path)
        version, before = self._shown.get(path, (None, 0))
        if told is None or (told.version is None and (self._versions or told.count <= before)):
            return None
        return told if told.version in (None, version) else None

    async def _heard(self, until: float) -> bool:
        """Whether something is told before then."""
        left = until - asyncio.get_running_loop().time()
        self._news.clear()
        return left > 0 and await in_time(left, self._news.wait())


class _Shown(Struct, frozen=True):
    version: int
    digest: str
    unsaved: bool


class ShownDocuments:
    """Those of one server."""

    def __init__(self, notify: Notify, problems: ToldProblems) -> None:
        self._notify = notify
        self._problems = problems
        self._saves = False
        """It wants to be told of files that were saved."""
        self._keeps = False
        """It takes changes of what it is shown."""
        self._shown: dict[Path, _Shown] = {}
        """The one that was asked about last is the last one."""
        self._versions = 0

    def agree(self, sync: object) -> None:
        """`textDocumentSync`, as the server said it: how it wants to be shown files."""
        self._saves = bool(members(sync).get("save"))
        self._keeps = (sync if isinstance(sync, int) else members(sync).get("change")) in (1, 2)

    def show(self, file: TextFile) -> None:
        """Show a file as it is now."""
        before = self._shown.pop(file.path, None)
        if before is not None and before.digest == file.digest:
            now = _Shown(before.version, file.digest, file.unsaved)
        else:
            self._versions += 1
            now = _Shown(self._versions, file.digest, file.unsaved)
            self._problems.shown(file.path, now.version)
            self._send(file, now.version, known=before is not None)
        self._shown[file.path] = now
        if self._saves and not now.unsaved and before is not None and (before.unsaved or before.version != now.version):
            self._notify("textDocument/didSave", {"textDocument": {"uri": file.path.as_uri()}, "text": file.text})
        if len(self._shown) > MOST_SHOWN:
            self.hide(next(iter(self._shown)))

    def hide(self, path: Path) -> None:
        """Show it no longer, if it is."""
        if self._shown.pop(path, None) is not None:
            self._notify("textDocument/didClose", {"textDocument": {"uri": path.as_uri()}})
            self._problems.hidden(path)

    def outdated(self, changed: Collection[Path], unsaved: Collection[Path]) -> Sequence[Path]:
        """The files that are shown otherwise than they are: the disk has another text, or nobody holds that one unsaved any more."""
        shown = self._shown.items()
        return [path for path, each in shown if path in changed or (each.unsaved and path not in unsaved)]

    def has(self, file: TextFile) -> bool:
        """This very text is shown."""
        shown = self._shown.get(file.path)
        return shown is not None and shown.digest == file.digest

    def _send(self, file: TextFile, version: int, *, known: bool) -> None:
        uri = file.path.as_uri()
        if known and self._keeps:
            named = {"uri": uri, "version": version}
            self._notify("textDocument/didChange", {"textDocument": named, "contentChanges": [{"text": file.text}]})
            return
        if known:
            self._notify("textDocument/didClose", {"textDocument": {"uri": uri}})
        item = {"uri": uri, "languageId": language_id(file.path), "version": version, "text": file.text}
        self._notify("textDocument/didOpen", {"textDocument": item})


class ServerMessages:
    """A `Handler` of the connection to one server."""

    def __init__(self, launch: ServerLaunch, problems: ToldProblems, give_up: GiveUp) -> None:
        self._launch = launch
        self._problems = problems
        self._give_up = give_up
        self._works: dict[str, str] = {}
        self._since = 0.0
        self._heard_since = 0
        self.heard = 0
        """How many messages came by themselves."""

    @property
    def working(self) -> str:
        """What the server says that it is at work on; "": nothing."""
        return next(iter(self._works.values()), "")

    async def request(self, method: str, params: Json) -> Any:
        """See `Handler`."""
        self._count()
        if method == "workspace/configuration":
            items = params.get("items")
            return [self._setting(item) for item in (cast("list[Any]", items) if isinstance(items, list) else [])[:100]]
        if method == "workspace/workspaceFolders":
            return folders(self._launch)
        if method == "workspace/applyEdit":
            return {"applied": False, "failureReason": "Nothing is changed that nobody asked for."}
        if method == "window/showDocument":
            return {"success": False}
        if method in _NOTHING:
            return None
        raise RpcError(METHOD_NOT_FOUND, f"There is no method {method[:60]}.")

    async def notification(self, method: str, params: Json) -> None:
        """See `Handler`."""
        self._count()
        if method == "textDocument/publishDiagnostics":
            self._problems.take(params)
        elif method == "$/progress":
            self._progress(text_of(params.get("token"), 200), members(params.get("value")))

    def _setting(self, item: object) -> Any:
        return told(self._launch.known.settings, text_of(members(item).get("section")))

    def _progress(self, token: str, value: Mapping[str, Any]) -> None:
        if value.get("kind") == "end":
            self._works.pop(token, None)
        elif value.get("kind") == "begin" and len(self._works) < MOST_WORKS:
            self._works[token] = text_of(value.get("title"), 100) or "something"

    def _count(self) -> None:
        now = time.monotonic()
        self.heard += 1
        self._heard_since += 1
        if now - self._since > WINDOW:
            self._since, self._heard_since = now, 0
        elif self._heard_since > MOST_MESSAGES:
            self._give_up(f"it sent more than {MOST_MESSAGES} messages within {WINDOW:g} s")


def folders(launch: ServerLaunch) -> list[Mapping[str, str]]:
    """The project, as the protocol has it."""
    name = os.fsencode(launch.root.name).decode("utf-8", "replace")
    return [{"uri": launch.root.as_uri(), "name": name}]
