"""Streamed tool calls into `ToolCall` and `ToolCallPart`, whichever way a server numbers and cuts them.

Ids it gives out are unique within the answer: empty and repeated ones are replaced (F43). Arguments stay text; whether
they are JSON is not its business.
"""

from typing import Any

import orjson
from msgspec import Struct, field

from sould.agents.llm.provider import Delta
from sould.agents.wire.content import FunctionCall
from sould.agents.wire.messages import ToolCall, ToolCallPart


class _Call(Struct):
    server_id: str
    id: str
    name: str = ""
    opened: bool = False
    arguments: list[str] = field(default_factory=list[str])

    def take_name(self, name: str) -> None:
        """A name counts until one is known, or the call was opened without."""
        if not self.name and not self.opened:
            self.name = name

    def open(self, arguments: str | None) -> ToolCall:
        """The message that begins it."""
        self.opened = True
        return ToolCall(id=self.id, function=FunctionCall(name=self.name, arguments=arguments))


class ToolCallReader:
    """The calls of one answer."""

    __slots__ = ("_by_index", "_calls", "_ids", "_opened")

    def __init__(self) -> None:
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
            call = self._call_of(entry, function)
            call.take_name(function.get("name") or "")
            arguments = function.get("arguments")
            if arguments and not isinstance(arguments, str):
                arguments = orjson.dumps(arguments).decode()
            if not call.opened:
                if call.name or arguments:
                    self._open(call, arguments or None, out)
            elif arguments:
                out.append(
                    ToolCallPart(arguments_part=arguments, tool_call_id=None if call is self._opened else call.id)
                )
            if arguments:
                call.arguments.append(arguments)

    def close(self, out: list[Delta]) -> None:
        """The answer is over: calls that never got a name or arguments are said as they are."""
        for call in self._calls:
            if not call.opened:
                self._open(call, None, out)

    def _open(self, call: _Call, arguments: str | None, out: list[Delta]) -> None:
        self._opened = call
        out.append(call.open(arguments))

    def _call_of(self, entry: dict[str, Any], function: dict[str, Any]) -> _Call:
        index = entry.get("index")
        server_id = str(entry.get("id") or "")
        known = self._by_index.get(index) if index is not None else self._known_without_index(server_id, function)
        if known is not None and not _begins_another(known, server_id, function):
            return known
        call = _Call(server_id, self._unique(server_id))
        self._calls.append(call)
        if index is not None:
            self._by_index[index] = call
        return call

    def _known_without_index(self, server_id: str, function: dict[str, Any]) -> _Call | None:
        if server_id:
            return next((call for call in reversed(self._calls) if call.server_id == server_id), None)
        return None if function.get("name") or not self._calls else self._calls[-1]

    def _unique(self, server_id: str) -> str:
        unique = server_id
        while not unique or unique in self._ids:
            unique = f"{server_id or 'call'}_{len(self._calls)}"
            server_id = unique
        self._ids.add(unique)
        return unique


def _begins_another(call: _Call, server_id: str, function: dict[str, Any]) -> bool:
    """Some servers number all calls 0: another id, or a name after complete arguments, begins the next one."""
    if server_id:
        return bool(call.server_id) and server_id != call.server_id
    return bool(function.get("name")) and bool(call.arguments) and _is_json("".join(call.arguments))


def _is_json(text: str) -> bool:
    try:
        orjson.loads(text)
    except orjson.JSONDecodeError:
        return False
    return True
