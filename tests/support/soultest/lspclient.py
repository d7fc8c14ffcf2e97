"""A raw LSP client over any byte stream, with buffers as an editor has them: it checks nothing it does not say it checks.

It keeps what the server said, in order, judges all of it by lsprotocol's types (`check`), applies edits to its buffers and
reports them as editors do, and answers questions by a policy. Waiting is always for something that happened.
"""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from lsprotocol import types
from lsprotocol.converters import get_converter

from soultest.acpclient import AgentError, Stream

Json = dict[str, Any]
Chooser = Callable[[Json], str | None]
"""Params of `window/showMessageRequest` to the title of the button that is pressed."""

FULL: Json = {
    "general": {"positionEncodings": ["utf-16", "utf-8", "utf-32"]},
    "workspace": {
        "applyEdit": True,
        "workspaceEdit": {"documentChanges": True, "changeAnnotationSupport": {}},
        "codeLens": {"refreshSupport": True},
        "textDocumentContent": {},
        "workspaceFolders": True,
        "configuration": True,
    },
    "textDocument": {"codeAction": {"codeActionLiteralSupport": {"codeActionKind": {"valueSet": ["quickfix"]}}}},
    "window": {"workDoneProgress": True, "showDocument": {"support": True}},
}
"""Capabilities of an editor that can do everything we use."""


class Buffer:
    """A document that is open in the editor."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.version = 1


class LspClient:
    """Use as an async context manager; leaving it closes the stream."""

    def __init__(
        self, stream: Stream, *, choose: Chooser = lambda params: None, applies: bool = True, encoding: str = "utf-16"
    ) -> None:
        """`applies`: whether it takes edits; `encoding`: the unit of its columns."""
        self.stream = stream
        self.choose = choose
        self.applies = applies
        self.encoding = encoding
        self.messages: list[Json] = []
        """What the server said, in order."""
        self.buffers: dict[str, Buffer] = {}
        """By URI."""
        self.labels: list[str] = []
        """Of the edits it applied."""
        self.ended = asyncio.Event()
        self.piecewise = False
        """Edits of several places are reported one by one: the first at once, the others when the server has taken it."""
        self._unsaid: list[tuple[str, Json]] = []
        self.blocks = False
        """As eglot: edits that it applied while a command was being done are reported when that is answered."""
        self._late: list[tuple[str, list[Json]]] = []
        self.settings: Json = {}
        """By section, for a server that asks."""
        self.hang: set[str] = set()
        """Methods of the server that get no answer."""
        self.tools: Callable[[Json], Json] | None = None
        """Answers `_sould/editor/call`."""
        self._bytes = bytearray()
        self._rest = 0
        self._ids = iter(range(1, 1_000_000))
        self._waiting: dict[int, tuple[str, asyncio.Future[Any]]] = {}
        self._asked: dict[int, str] = {}
        self._watchers: list[tuple[Callable[[Json], bool], asyncio.Future[Json]]] = []
        self._reader: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        self._reader = asyncio.create_task(self._read())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stream.aclose()
        if self._reader is not None:
            self._reader.cancel()
            await asyncio.gather(self._reader, return_exceptions=True)

    # --- saying ---

    def send(self, message: Any) -> None:
        """Any JSON value as one message."""
        body = json.dumps(message, ensure_ascii=False).encode()
        self.send_raw(b"Content-Length: %d\r\n\r\n" % len(body) + body)

    def send_raw(self, data: bytes) -> None:
        """Any bytes."""
        self.stream.write(data)

    def start(self, method: str, params: Json | None = None) -> "asyncio.Future[Any]":
        """Send a request and return its future answer."""
        identifier = next(self._ids)
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._waiting[identifier] = method, answer
        self._asked[identifier] = method
        self.send({"jsonrpc": "2.0", "id": identifier, "method": method, "params": params or {}})
        return answer

    async def request(self, method: str, params: Json | None = None, **more: Any) -> Any:
        """Send a request and wait for its result. Raises AgentError."""
        return await self.start(method, {**(params or {}), **more})

    def notify(self, method: str, **params: Any) -> None:
        """Send a notification."""
        self.send({"jsonrpc": "2.0", "method": method, "params": params})

    async def initialize(self, capabilities: Json | None = None, root: Path | None = None, **more: Any) -> Json:
        """The handshake."""
        folders = [{"uri": root.as_uri(), "name": root.name}] if root is not None else None
        given: Json = {"processId": None, "rootUri": root.as_uri() if root else None, "workspaceFolders": folders}
        said = await self.request("initialize", {**given, "capabilities": capabilities or {}, **more})
        self.encoding = said["capabilities"]["positionEncoding"]
        self.notify("initialized")
        return said

    # --- buffers ---

    def open(self, path: Path, text: str | None = None) -> str:
        """Show a file; `text`: what its buffer holds, where that is not what the disk holds. Its URI."""
        buffer = self.buffers[path.as_uri()] = Buffer(path.read_text() if text is None else text)
        document = {"uri": path.as_uri(), "languageId": "text", "version": buffer.version, "text": buffer.text}
        self.notify("textDocument/didOpen", textDocument=document)
        return path.as_uri()

    def type(self, uri: str, old: str, new: str) -> None:
        """Put a text in the place of another one that is there once."""
        buffer = self.buffers[uri]
        assert buffer.text.count(old) == 1, (old, buffer.text)
        start = buffer.text.index(old)
        self.replace(uri, start, start + len(old), new)

    def replace(self, uri: str, start: int, stop: int, new: str) -> None:
        """Put a text in the place of characters, and report that as one incremental change."""
        buffer = self.buffers[uri]
        change = {"range": {"start": self._at(uri, start), "end": self._at(uri, stop)}, "text": new}
        buffer.text = buffer.text[:start] + new + buffer.text[stop:]
        self._changed(uri, [change])

    def save(self, uri: str, path: Path) -> None:
        """Write a buffer to disk, and say so with its text, as the server wants it."""
        path.write_text(self.buffers[uri].text)
        self.notify("textDocument/didSave", textDocument={"uri": uri}, text=self.buffers[uri].text)

    def close(self, uri: str) -> None:
        """Show a file no more."""
        del self.buffers[uri]
        self.notify("textDocument/didClose", textDocument={"uri": uri})

    def _changed(self, uri: str, changes: list[Json]) -> None:
        buffer = self.buffers[uri]
        buffer.version += 1
        document = {"uri": uri, "version": buffer.version}
        self.notify("textDocument/didChange", textDocument=document, contentChanges=changes)

    def _at(self, uri: str, offset: int) -> Json:
        before = self.buffers[uri].text[:offset]
        line = before.rpartition("\n")[2]
        return {"line": before.count("\n"), "character": self._units(line)}

    def _units(self, text: str) -> int:
        if self.encoding == "utf-32":
            return len(text)
        return len(text.encode()) if self.encoding == "utf-8" else len(text.encode("utf-16-le")) // 2

    def _offset(self, uri: str, place: Json) -> int:
        lines = self.buffers[uri].text.split("\n")
        row, units = int(place["line"]), int(place["character"])
        if row >= len(lines):
            return len(self.buffers[uri].text)
        line = lines[row]
        column = next((n for n in range(len(line) + 1) if self._units(line[:n]) >= units), len(line))
        return sum(len(each) + 1 for each in lines[:row]) + column

    def _apply(self, params: Json) -> Json:
        """As editors do: nothing where the version is another one; all edits of a document are about the text before them."""
        edit: Json = params["edit"]
        documents: list[Json] = edit.get("documentChanges") or [
            {"textDocument": {"uri": uri, "version": None}, "edits": edits} for uri, edits in edit["changes"].items()
        ]
        for each in documents:
            known = self.buffers.get(each["textDocument"]["uri"])
            version = each["textDocument"]["version"]
            if not self.applies or known is None or version not in (None, known.version):
                return {"applied": False, "failureReason": "it is not taken"}
        for each in documents:
            self._edit(each["textDocument"]["uri"], each["edits"])
        self.labels.append(params.get("label", ""))
        return {"applied": True}

    def _edit(self, uri: str, edits: list[Json]) -> None:
        changes: list[Json] = []
        for each in sorted(edits, key=lambda edit: self._offset(uri, edit["range"]["start"]), reverse=True):
            start, stop = (self._offset(uri, each["range"][end]) for end in ("start", "end"))
            buffer = self.buffers[uri]
            changes.append(
                {"range": {"start": self._at(uri, start), "end": self._at(uri, stop)}, "text": each["newText"]}
            )
            buffer.text = buffer.text[:start] + each["newText"] + buffer.text[stop:]
        if self.blocks:
            self._late.append((uri, changes))
            return
        if not self.piecewise:
            self._changed(uri, changes)
            return
        self._changed(uri, changes[:1])
        self._unsaid = [(uri, change) for change in changes[1:]]

    # --- hearing ---

    async def wait_for(self, wanted: Callable[[Json], bool]) -> Json:
        """The first message of the server, past or to come, that fits."""
        for message in self.messages:
            if wanted(message):
                return message
        found: asyncio.Future[Json] = asyncio.get_running_loop().create_future()
        self._watchers.append((wanted, found))
        return await found

    async def wait_told(self, method: str, wanted: Callable[[Json], bool] = lambda params: True) -> Json:
        """The params of the first request or notification of the server for this method that fits."""
        message = await self.wait_for(lambda each: each.get("method") == method and wanted(each.get("params") or {}))
        return message.get("params") or {}

    def told(self, method: str) -> list[Json]:
        """The params of those so far."""
        return [each.get("params") or {} for each in self.messages if each.get("method") == method]

    async def lenses(self, uri: str) -> list[Json]:
        """The code lenses of a document."""
        return await self.request("textDocument/codeLens", textDocument={"uri": uri})

    async def press(self, lens: Json) -> Any:
        """Run what a lens or a code action stands for."""
        command = lens["command"]
        return await self.execute(command["command"], *command.get("arguments", []))

    async def execute(self, command: str, *arguments: Json) -> Any:
        """Run a command."""
        return await self.request("workspace/executeCommand", command=command, arguments=list(arguments))

    def expect_rest(self, size: int) -> None:
        """So many bytes are missing of a message of which it has the beginning."""
        self._rest = size

    async def _read(self) -> None:
        while data := await self.stream.read():
            self._bytes += data
            rest = min(self._rest, len(self._bytes))
            assert not bytes(self._bytes[:rest]).strip()
            del self._bytes[:rest]
            self._rest -= rest
            while (end := self._bytes.find(b"\r\n\r\n")) >= 0:
                size = int(bytes(self._bytes[:end]).rpartition(b":")[2])
                if len(self._bytes) < end + 4 + size:
                    break
                body = bytes(self._bytes[end + 4 : end + 4 + size])
                del self._bytes[: end + 4 + size]
                self._hear(json.loads(body))
        self.ended.set()

    def _hear(self, message: Json) -> None:
        self.messages.append(message)
        for wanted, found in list(self._watchers):
            if not found.done() and wanted(message):
                found.set_result(message)
        self._watchers = [each for each in self._watchers if not each[1].done()]
        if message.get("method") == "workspace/codeLens/refresh":
            unsaid, self._unsaid = self._unsaid, []
            for uri, change in unsaid:
                self._changed(uri, [change])
        if "method" in message:
            if "id" in message and message["method"] not in self.hang:
                self._answer(message)
            return
        waiting = self._waiting.pop(message.get("id") or 0, None)
        if waiting is not None and waiting[0] == "workspace/executeCommand":
            late, self._late = self._late, []
            for uri, changes in late:
                self._changed(uri, changes)
        if waiting is None or waiting[1].done():
            return
        if "error" in message:
            waiting[1].set_exception(AgentError(message["error"]))
        else:
            waiting[1].set_result(message["result"])

    def _answer(self, message: Json) -> None:
        params: Json = message.get("params") or {}
        answer: Any
        match message["method"]:
            case "workspace/applyEdit":
                answer = self._apply(params)
            case "_sould/review/write":
                answer = self._write(params)
            case "window/showMessageRequest":
                title = self.choose(params)
                answer = {"title": title} if title is not None else None
            case "_sould/editor/call" if self.tools is not None:
                answer = self.tools(params)
            case "workspace/configuration":
                answer = [self.settings.get(item["section"]) for item in params["items"]]
            case "window/showDocument":
                answer = {"success": True}
            case (
                "window/workDoneProgress/create"
                | "workspace/codeLens/refresh"
                | "workspace/textDocumentContent/refresh"
            ):
                answer = None
            case method:
                self.send({"jsonrpc": "2.0", "id": message["id"], "error": {"code": -32601, "message": method}})
                return
        self.send({"jsonrpc": "2.0", "id": message["id"], "result": answer})

    def _write(self, params: Json) -> Json:
        """As our shims do: the buffer is edited, which is reported as every edit is, and saved if that is wanted."""
        path = Path(params["path"])
        buffer = self.buffers.get(path.as_uri())
        if not self.applies or buffer is None or buffer.version != params["version"]:
            return {"outcome": "outdated"}
        self.replace(path.as_uri(), 0, len(buffer.text), params["text"])
        if params["save"]:
            self.save(path.as_uri(), path)
        return {"outcome": "written", "saved": params["save"], "version": buffer.version}

    # --- judging ---

    def check(self) -> None:
        """All that the server said is as the protocol's types have it."""
        converter = get_converter()
        for message in self.messages:
            method = message.get("method") or self._asked.get(message.get("id") or 0, "")
            if method.startswith("_") or method not in types.METHOD_TO_TYPES or "error" in message:
                continue
            asked, answered, *_ = types.METHOD_TO_TYPES[method]
            converter.structure(message, asked if "method" in message else answered)
