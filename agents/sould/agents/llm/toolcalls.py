"""Streamed tool calls into `ToolCall` and `ToolCallPart`, whichever way a server numbers and cuts them.

Ids it gives out are unique within the answer: empty and repeated ones are replaced. Arguments stay text; whether
they are JSON is not its business.
"""

from typing import Any

import orjson
from msgspec import Struct, field

from sould.agents.llm.provider import Delta
from sould.agents.llm.serverstate import HandedOut
from sould.agents.wire.content import FunctionCall
from sould.agents.wire.messages import ToolCall, ToolCallPart


class _Call(Struct):
    server_id: str
    id: str
    name: str = ""
    opened: bool = False
    pieces: list[str] = field(default_factory=list[str])
    size: int = 0
    """Characters in the pieces."""
    held: str = ""
    """Arguments `{}` at the very beginning: all of them, or what some gateways send before the real ones."""

    @property
    def arguments(self) -> str:
        """So far."""
        return "".join(self.pieces)

    @property
    def is_whole(self) -> bool:
        """Nothing more can belong to it."""
        return bool(self.held) or (self.size > 0 and _is_json(self.arguments))

    def take_name(self, name: str) -> None:
        """A name counts until one is known, or the call was opened without."""
        if not self.name and not self.opened:
            self.name = name

    def take(self, arguments: str, *, named: bool) -> str:
        """What a fragment adds. `named`: it has the name, too; servers that repeat the whole call do that."""
        if not self.opened and not self.size and arguments.strip() == "{}":
            self.held = arguments
            return ""
        self.held = ""
        if len(arguments) == self.size and self.is_whole and arguments == self.arguments:
            return ""  # a last chunk that says the whole call again
        if named and self.size and arguments.startswith(self.arguments):
            arguments = arguments[self.size :]
        self.pieces.append(arguments)
        self.size += len(arguments)
        return arguments

    def open(self, arguments: str) -> ToolCall:
        """The message that begins it, with what was held."""
        self.opened = True
        arguments, self.held = arguments or self.held, ""
        if not self.size and arguments:
            self.pieces.append(arguments)
            self.size = len(arguments)
        return ToolCall(id=self.id, function=FunctionCall(name=self.name, arguments=arguments or None))


class ToolCallReader:
    """The calls of one answer."""

    __slots__ = ("_by_index", "_calls", "_handed_out", "_ids", "_opened")

    def __init__(self, handed_out: HandedOut) -> None:
        """`handed_out` takes what servers want back with calls."""
        self._handed_out = handed_out
        self._calls: list[_Call] = []
        self._by_index: dict[int, _Call] = {}
        self._ids: set[str] = set()
        self._opened: _Call | None = None

    @property
    def any(self) -> bool:
        """Whether there was a call."""
        return bool(self._calls)

    def read(self, entries: list[dict[str, Any]], out: list[Delta]) -> None:
        """One delta's `tool_calls`."""
        for entry in entries:
            function: dict[str, Any] = entry.get("function") or {}
            name, arguments = function.get("name") or "", function.get("arguments") or ""
            if not isinstance(arguments, str):
                arguments = orjson.dumps(arguments).decode()
            call = self._call_of(entry, name, arguments)
            self._release(call, out)
            self._handed_out.read_call(call.id, entry)
            call.take_name(name)
            added = call.take(arguments, named=bool(name)) if arguments else ""
            if call.opened:
                if added:
                    self._extend(call, added, out)
            elif (call.name or added) and not call.held:
                self._open(call, added, out)

    def close(self, out: list[Delta]) -> None:
        """The answer is over: calls that never got a name or arguments are said as they are."""
        for call in self._calls:
            if not call.opened:
                self._open(call, "", out)

    def _release(self, call: _Call, out: list[Delta]) -> None:
        """Those before a call that were held are opened before it."""
        for earlier in self._calls:
            if earlier is call:
                return
            if earlier.held and not earlier.opened:
                self._open(earlier, "", out)

    def _extend(self, call: _Call, arguments: str, out: list[Delta]) -> None:
        out.append(ToolCallPart(arguments_part=arguments, tool_call_id=None if call is self._opened else call.id))

    def _open(self, call: _Call, arguments: str, out: list[Delta]) -> None:
        self._opened = call
        out.append(call.open(arguments))

    def _call_of(self, entry: dict[str, Any], name: str, arguments: str) -> _Call:
        index, server_id = entry.get("index"), str(entry.get("id") or "")
        repeated = self._repeated(server_id, name, arguments)
        if repeated is not None:
            return repeated
        known = self._by_index.get(index) if index is not None else self._known_without_index(server_id, name)
        if known is not None and not _begins_another(known, server_id, name, arguments):
            return known
        call = _Call(server_id, self._unique(server_id))
        self._calls.append(call)
        if index is not None:
            self._by_index[index] = call
        return call

    def _repeated(self, server_id: str, name: str, arguments: str) -> _Call | None:
        """A call that is said again as a whole, perhaps under another index."""
        if not server_id or not name or not arguments:
            return None
        same = (call for call in self._calls if (call.server_id, call.name) == (server_id, name))
        return next((call for call in same if call.size == len(arguments) and call.arguments == arguments), None)

    def _known_without_index(self, server_id: str, name: str) -> _Call | None:
        if server_id:
            return next((call for call in reversed(self._calls) if call.server_id == server_id), None)
        return None if name or not self._calls else self._calls[-1]

    def _unique(self, server_id: str) -> str:
        unique = server_id
        while not unique or unique in self._ids:
            unique = f"{server_id or 'call'}_{len(self._calls)}"
            server_id = unique
        self._ids.add(unique)
        return unique


def _begins_another(call: _Call, server_id: str, name: str, arguments: str) -> bool:
    """Some servers number all calls 0: a name after complete arguments begins the next one. Another id alone does not.

    lmdeploy and mlx servers give each fragment of a call an id of its own.
    """
    if not name:
        return False
    if server_id and call.server_id and server_id != call.server_id:
        return call.is_whole or (not call.size and (name != call.name or not arguments))
    return not server_id and call.is_whole


def _is_json(text: str) -> bool:
    try:
        orjson.loads(text)
    except orjson.JSONDecodeError:
        return False
    return True
