"""A raw ACP client over any byte stream: it checks nothing it does not say it checks, so that it can misbehave.

It keeps the whole wire log in order, judges every line of the agent by the official schema (`transcript`), answers
permission requests by a policy and serves `fs/*` from its buffers. Waiting is always for something that happened.
"""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Protocol, Self

from soultest.schema import Transcript

Json = dict[str, Any]
Policy = Callable[[Json], Json | None]
"""Params of `session/request_permission` to the outcome; None leaves the request unanswered."""

FULL: Json = {
    "fs": {"readTextFile": True, "writeTextFile": True},
    "terminal": True,
    "session": {"compaction": {}, "notices": {}, "configOptions": {"boolean": {}}},
    "auth": {"terminal": True},
    "elicitation": {"form": {}, "url": {}},
    "_meta": {"terminal_output": True},
}
"""Capabilities of a client that can do everything we use."""


class Stream(Protocol):
    """What the client needs of a transport."""

    async def read(self) -> bytes:
        """b"" at the end."""
        ...

    def write(self, data: bytes) -> None:
        """Send."""
        ...

    async def aclose(self) -> None:
        """Close."""
        ...


class AgentError(Exception):
    """The agent answered with an error."""

    def __init__(self, error: Json) -> None:
        super().__init__(f"{error.get('code')}: {error.get('message')}")
        self.code: int = error["code"]
        self.message: str = error["message"]
        self.data: Any = error.get("data")


def choose(kind: str) -> Policy:
    """Pick the option of this kind; `cancelled` when it is not offered."""

    def policy(params: Json) -> Json:
        chosen = [option for option in params["options"] if option["kind"] == kind]
        return {"outcome": "selected", "optionId": chosen[0]["optionId"]} if chosen else {"outcome": "cancelled"}

    return policy


ALLOW_ONCE = choose("allow_once")


def ignore(_: Json) -> None:
    """Leave every permission request unanswered."""


class AcpClient:
    """Use as an async context manager; leaving it closes the stream."""

    def __init__(
        self,
        stream: Stream,
        *,
        permissions: Policy = ALLOW_ONCE,
        buffers: dict[str, str] | None = None,
        save: bool = True,
        form: Callable[[Json], Json] = lambda params: {"action": "cancel"},
    ) -> None:
        """`buffers` are unsaved texts by path; with `save` a write also reaches the disk, as in most editors."""
        self.stream = stream
        self.permissions = permissions
        self.buffers = buffers if buffers is not None else {}
        self.save = save
        self.form = form
        self.log: list[tuple[Literal["agent", "client"], str]] = []
        self.messages: list[Json] = []
        """What the agent said, in order."""
        self.transcript = Transcript()
        self.ended = asyncio.Event()
        self.reading = asyncio.Event()
        """Clear it and nothing more is read."""
        self.reading.set()
        self.tools: Callable[[Json], Json] | None = None
        """Answers `_sould/editor/call`."""
        self.mcp: Callable[[Json], None] | None = None
        """Answers `mcp/message`."""
        self.hang: set[str] = set()
        """Methods of the agent that get no answer."""
        self._ids = iter(range(1, 1_000_000))
        self._waiting: dict[str, asyncio.Future[Any]] = {}
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
        """Any JSON value as one line."""
        self.send_raw(json.dumps(message, ensure_ascii=False).encode())

    def send_raw(self, line: bytes) -> None:
        """Any bytes as one line."""
        self.log.append(("client", line.decode("utf-8", "replace")))
        self.transcript.client_said(line)
        self.stream.write(line + b"\n")

    def start(self, method: str, params: Json | None = None, **more: Any) -> "asyncio.Future[Any]":
        """Send a request and return its future answer."""
        identifier = next(self._ids)
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._waiting[json.dumps(identifier)] = answer
        given: Json = {**(params or {}), **more}
        self.send({"jsonrpc": "2.0", "id": identifier, "method": method, "params": given})
        return answer

    async def request(self, method: str, params: Json | None = None, **more: Any) -> Any:
        """Send a request and wait for its result. Raises AgentError."""
        return await self.start(method, params, **more)

    def notify(self, method: str, **params: Any) -> None:
        """Send a notification."""
        self.send({"jsonrpc": "2.0", "method": method, "params": params})

    async def initialize(self, capabilities: Json | None = None, **more: Any) -> Json:
        """The handshake. The client has a name, unless it is given `clientInfo` None."""
        said = {"clientInfo": {"name": "an ACP client", "version": "1"}, **more}
        if said["clientInfo"] is None:
            del said["clientInfo"]
        return await self.request("initialize", protocolVersion=1, clientCapabilities=capabilities or {}, **said)

    async def new_session(self, cwd: Path, **more: Any) -> str:
        """A session's id."""
        result = await self.request("session/new", cwd=str(cwd), mcpServers=[], **more)
        return str(result["sessionId"])

    def prompt(self, session: str, *content: str | Json) -> "asyncio.Future[Any]":
        """Start a turn; strings become text blocks."""
        blocks = [{"type": "text", "text": item} if isinstance(item, str) else item for item in content]
        return self.start("session/prompt", sessionId=session, prompt=blocks)

    # --- hearing ---

    async def wait_for(self, wanted: Callable[[Json], bool]) -> Json:
        """The first message of the agent, past or to come, that fits."""
        for message in self.messages:
            if wanted(message):
                return message
        found: asyncio.Future[Json] = asyncio.get_running_loop().create_future()
        self._watchers.append((wanted, found))
        return await found

    async def heard(self) -> Json:
        """The next message of the agent."""
        found: asyncio.Future[Json] = asyncio.get_running_loop().create_future()
        self._watchers.append((lambda _: True, found))
        return await found

    async def wait_update(self, kind: str, wanted: Callable[[Json], bool] = lambda update: True) -> Json:
        """The first `session/update` of this kind that fits."""

        def fits(message: Json) -> bool:
            if message.get("method") != "session/update":
                return False
            update: Json = message["params"]["update"]
            return update["sessionUpdate"] == kind and wanted(update)

        return (await self.wait_for(fits))["params"]["update"]

    async def wait_request(self, method: str) -> Json:
        """The first request of the agent for this method."""
        return await self.wait_for(lambda message: message.get("method") == method and "id" in message)

    def updates(self, kind: str | None = None, session: str | None = None) -> list[Json]:
        """All updates so far."""
        found = [message["params"] for message in self.messages if message.get("method") == "session/update"]
        return [
            params["update"]
            for params in found
            if kind in (None, params["update"]["sessionUpdate"]) and session in (None, params["sessionId"])
        ]

    def text(self, session: str | None = None) -> str:
        """What the agent said aloud."""
        chunks = self.updates("agent_message_chunk", session)
        return "".join(chunk["content"].get("text", "") for chunk in chunks)

    def asked(self, method: str) -> list[Json]:
        """All requests of the agent for this method."""
        return [message for message in self.messages if message.get("method") == method and "id" in message]

    def answer(self, request: Json, result: Any) -> None:
        """Answer a request that the policy left open."""
        self.send({"jsonrpc": "2.0", "id": request["id"], "result": result})

    def check(self) -> None:
        """Fail with everything the agent said that the official schema or the order of the protocol forbids."""
        self.transcript.check()

    # --- the reader ---

    async def _read(self) -> None:
        held = b""
        while data := await self._next():
            *lines, held = (held + data).split(b"\n") if b"\n" in data else [held + data]
            for line in lines:
                if line:
                    self._heard(line)
        self.ended.set()
        for answer in self._waiting.values():
            if not answer.done():
                answer.set_exception(ConnectionResetError("the agent hung up"))
                answer.exception()

    async def _next(self) -> bytes:
        await self.reading.wait()
        return await self.stream.read()

    def _heard(self, line: bytes) -> None:
        self.log.append(("agent", line.decode()))
        self.transcript.agent_said(line)
        message: Json = json.loads(line)
        self.messages.append(message)
        for watcher in list(self._watchers):
            if watcher[0](message) and not watcher[1].done():
                watcher[1].set_result(message)
                self._watchers.remove(watcher)
        if "method" in message and "id" in message:
            self._serve(message)
        elif "method" not in message:
            self._settle(message)

    def _settle(self, message: Json) -> None:
        answer = self._waiting.pop(json.dumps(message["id"]), None)
        if answer is None or answer.done():
            return
        if "error" in message:
            answer.set_exception(AgentError(message["error"]))
            answer.exception()
        else:
            answer.set_result(message["result"])

    def _serve(self, message: Json) -> None:
        if message["method"] in self.hang:
            return
        if message["method"] == "mcp/message" and self.mcp is not None:
            self.mcp(message)
            return
        try:
            result = self._result(message["method"], message["params"])
        except OSError as error:
            refusal = {"code": -32603, "message": str(error)}
            self.send({"jsonrpc": "2.0", "id": message["id"], "error": refusal})
            return
        if result is not None:
            self.answer(message, result)

    def _result(self, method: str, params: Json) -> Json | None:
        match method:
            case "session/request_permission":
                outcome = self.permissions(params)
                return None if outcome is None else {"outcome": outcome}
            case "fs/read_text_file":
                path = params["path"]
                return {"content": self.buffers.get(path) or Path(path).read_text()}
            case "fs/write_text_file":
                self.buffers[params["path"]] = params["content"]
                if self.save:
                    Path(params["path"]).write_text(params["content"])
                return {}
            case "_sould/editor/call" if self.tools is not None:
                return self.tools(params)
            case "elicitation/create":
                return self.form(params)
            case _:
                raise OSError(f"no such method: {method}")


class ProcessStream:
    """The pipes of a child process as a stream. `pid` is what a test ends when the child does not end itself."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self.pid = process.pid

    @classmethod
    async def start(cls, *command: str, cwd: Path, environment: dict[str, str]) -> "ProcessStream":
        """Run a command; its standard error is ours."""
        pipe = asyncio.subprocess.PIPE
        return cls(await asyncio.create_subprocess_exec(*command, cwd=cwd, env=environment, stdin=pipe, stdout=pipe))

    async def read(self) -> bytes:
        """What the child wrote; b"" at its end."""
        assert self._process.stdout is not None
        return await self._process.stdout.read(256 * 1024)

    def write(self, data: bytes) -> None:
        """To the child's standard input."""
        assert self._process.stdin is not None
        self._process.stdin.write(data)

    async def aclose(self) -> None:
        """Close the child's input and wait for its end; one that does not end is killed."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            await asyncio.wait_for(self._process.wait(), 10)
        except TimeoutError:
            self._process.kill()
            await self._process.wait()
