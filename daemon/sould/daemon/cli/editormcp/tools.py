"""Editor tools as an MCP server: what is answered to each message, whatever carries it. Knows neither pipes nor HTTP.

The daemon does the work and judges; this only says it in MCP's words. Nothing is kept between messages.
"""

import json
from collections.abc import Callable
from typing import Any, Final, TypeAlias, cast

from sould.agents.base.rpc.errors import INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND, PARSE_ERROR
from sould.daemon.cli.conversation import DaemonConversation
from sould.daemon.cli.output import CommandError
from sould.daemon.hello import VERSION

Json: TypeAlias = dict[str, Any]

VERSIONS: Final = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
"""Of the protocol, the newest first."""
INSTRUCTIONS: Final = (
    "What the user's editor and its language servers know. Lines and columns count from 1. Edits made here can be "
    "reviewed hunk by hunk in the editor; prefer them to writing files."
)
INTERNAL: Final = -32603
NAME: Final = "sould editor-mcp"
CHANGED: Final = b'{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}\n'
_LOOKS: Final = frozenset({"read"})


Method: TypeAlias = Callable[[Json], Json]
"""Answers one method. Raises CommandError."""


class Server:
    """Of one project, `cwd`, over a conversation with the daemon that is open."""

    def __init__(self, conversation: DaemonConversation, cwd: str, *, follows: bool = False) -> None:
        """`follows`: the agent is told when there are other tools, by `CHANGED`."""
        self._follows = follows
        self._conversation = conversation
        self._cwd = cwd
        self._agent = ""
        """Who the client says it is."""
        self._methods: dict[str, Method] = {
            "initialize": self._initialize,
            "ping": _nothing,
            "tools/list": self._list,
            "tools/call": self._call,
        }

    def answer(self, line: bytes) -> bytes | None:
        """The answer to one message; None: it wants none."""
        try:
            message = json.loads(line)
        except ValueError:
            return _error(None, PARSE_ERROR, "This is not JSON.")
        if not isinstance(message, dict):
            return _error(None, INVALID_REQUEST, "A message is an object; batches are not supported.")
        said: Json = message  # pyright: ignore[reportUnknownVariableType] -- JSON
        method, identifier = said.get("method"), said.get("id")
        if not isinstance(method, str) or identifier is None or not isinstance(identifier, str | int):
            return None
        handler = self._methods.get(method)
        if handler is None:
            return _error(identifier, METHOD_NOT_FOUND, f"There is no method {method[:80]!r}.")
        params = _object(said.get("params", {}))
        if params is None:
            return _error(identifier, INVALID_PARAMS, "params must be an object.")
        try:
            return _message({"id": identifier, "result": handler(params)})
        except CommandError as error:
            return _error(identifier, INTERNAL, str(error))

    def _initialize(self, params: Json) -> Json:
        wanted, name = params.get("protocolVersion"), (_object(params.get("clientInfo")) or {}).get("name")
        self._agent = name[:100] if isinstance(name, str) else ""
        return {
            "protocolVersion": wanted if wanted in VERSIONS else VERSIONS[0],
            "capabilities": {"tools": {"listChanged": self._follows}},
            "serverInfo": {"name": "sould-editor", "title": "Editor tools", "version": VERSION},
            "instructions": INSTRUCTIONS,
        }

    def _list(self, params: Json) -> Json:
        offered = self._conversation.look_up("_sould/editor/tools", {"cwd": self._cwd})["tools"]
        return {"tools": [_tool(each) for each in offered]}

    def _call(self, params: Json) -> Json:
        asked: Json = {
            "cwd": self._cwd,
            "tool": str(params.get("name", "")),
            "arguments": _object(params.get("arguments")) or {},
            "agent": self._agent,
        }
        said = self._conversation.ask("_sould/editor/run", asked)
        if error := said.get("error"):
            structured: Json = {"ok": False, "error": error}
            return {"content": [_text(error["message"])], "structuredContent": structured, "isError": True}
        structured = {"ok": True, "data": said.get("data", {}), "meta": said.get("meta") or {}}
        text = json.dumps(structured, ensure_ascii=False, separators=(",", ":"))
        return {"content": [_text(text)], "structuredContent": structured, "isError": bool(said.get("partial"))}


def _object(value: object) -> Json | None:
    return cast("Json", value) if isinstance(value, dict) else None


def _tool(offered: Json) -> Json:
    does: str = offered["does"]
    return {
        "name": offered["name"],
        "description": offered["description"],
        "inputSchema": offered["schema"],
        "annotations": {
            "readOnlyHint": does in _LOOKS,
            "destructiveHint": does in ("write", "run"),
            "openWorldHint": False,
        },
    }


def _text(text: str) -> Json:
    return {"type": "text", "text": text}


def _nothing(params: Json) -> Json:
    return {}


def _error(identifier: str | int | None, code: int, sentence: str) -> bytes:
    return _message({"id": identifier, "error": {"code": code, "message": sentence}})


def _message(message: Json) -> bytes:
    return json.dumps({"jsonrpc": "2.0", **message}, ensure_ascii=False).encode(errors="replace") + b"\n"
