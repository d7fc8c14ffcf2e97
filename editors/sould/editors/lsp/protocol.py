"""The language server protocol by pygls: where features are registered, what serves a message, and what is said to an editor.

pygls has no owner for its tasks, numbers requests so that they mean nothing to the next daemon, and ends the process with a
connection. So bytes, ids, tasks and the end are `Connection`'s here, and messages run in its tasks. Slow to import (D9).
"""

import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, TypeAlias, TypeVar, cast

from cattrs import BaseValidationError, Converter, transform_error
from lsprotocol import converters, types
from pygls.exceptions import JsonRpcException
from pygls.lsp.server import LanguageServer
from pygls.protocol import JsonRPCNotification, JsonRPCRequestMessage, LanguageServerProtocol
from pygls.protocol.json_rpc import RPCMessage, RPCNotification, RPCRequest

from sould.agents.base.errors import SouldError
from sould.agents.base.rpc.connection import described
from sould.agents.base.rpc.errors import INVALID_PARAMS, METHOD_NOT_FOUND, RpcError
from sould.agents.clients.frontend import editor, review
from sould.agents.clients.frontend.connection import ClientConnection

Feature: TypeAlias = Callable[[ClientConnection, Any], Awaitable[Any]]
"""Serves one method for one window, whose `LspClient` it gets. Raises RpcError."""
Json: TypeAlias = dict[str, Any]
T = TypeVar("T")
REQUEST_FAILED: Final = -32803
"""What failed, though it was asked for as it should be (D17)."""
MOST_SAID: Final = 3
"""Of what is wrong with parameters."""
OURS_TOLD: Final = frozenset({editor.STATE, review.REPORT})
"""Methods of our own that may be notifications, too."""

# it logs what documents hold; what is wrong with a message is answered
logging.getLogger("pygls").setLevel(logging.CRITICAL)


def _make_converter() -> Converter:
    """As lsprotocol has it, but that nothing is made a text, a number or a truth that is none; what is ours stays as it is."""
    made = converters.get_converter()
    for kind in (str, int, bool):
        made.register_structure_hook(kind, _exactly(kind))
    made.register_structure_hook(_Change, _change)
    for ours in (JsonRPCRequestMessage, JsonRPCNotification):
        made.register_structure_hook(ours, lambda raw, kind: kind(**raw))
    return made


_Change: TypeAlias = types.TextDocumentContentChangePartial | types.TextDocumentContentChangeWholeDocument


def _exactly(kind: type[T]) -> Callable[[Any, type[T]], T]:
    def structure(value: Any, wanted: type[T]) -> T:
        if type(value) is not kind:
            raise TypeError(f"expected {kind.__name__}")
        return value if wanted is kind else cast("Callable[[T], T]", wanted)(value)  # an enumeration

    return structure


def _change(raw: Any, _: object) -> _Change:
    """`range` may be null, too."""
    part = raw.get("range") is not None
    return CONVERTER.structure(
        raw, types.TextDocumentContentChangePartial if part else types.TextDocumentContentChangeWholeDocument
    )


CONVERTER: Final = _make_converter()
"""One for all windows: it makes code for each type that it meets."""
server: Final = LanguageServer("sould", "", converter_factory=lambda: CONVERTER)
"""Where features and commands are registered, once for all windows. Each is called with the window's `LspClient`."""


def written(value: object) -> Any:
    """As it is sent."""
    return CONVERTER.unstructure(value)


def range_of(start: int, start_character: int, stop: int, stop_character: int) -> types.Range:
    """From one place to another, which is not included."""
    return types.Range(types.Position(start, start_character), types.Position(stop, stop_character))


class EditorProtocol(LanguageServerProtocol):
    """The handler of one window's connection, and its voice."""

    def __init__(self, window: "EditorServer", converter: Converter) -> None:
        super().__init__(window, converter)
        self._client = window.client
        self.fm = server.protocol.fm

    # --- what is asked and told ---------------------------------------------------------------------------------------

    async def request(self, method: str, params: Json) -> Any:
        """See `Handler`."""
        unknown = RpcError(METHOD_NOT_FOUND, f"There is no method {method[:80]!r}.")
        if method not in self._features:
            raise unknown
        # the connection answers, so only it has to know the id
        message = self._understood({"jsonrpc": self.VERSION, "id": 0, "method": method, "params": params})
        if not isinstance(message, RPCRequest):
            raise unknown
        try:
            result = await self.handle_message(message)
        except SouldError as error:
            failed = described(error)
            raise RpcError(REQUEST_FAILED, failed.message, failed.data) from error
        return written(result) if method in types.METHOD_TO_TYPES else result

    async def notification(self, method: str, params: Json) -> None:
        """See `Handler`."""
        if method in self._features:
            await self.handle_message(self._understood({"jsonrpc": self.VERSION, "method": method, "params": params}))

    def handle_message(self, message: RPCMessage) -> Any:
        """What serves a request or a notification, for a task of the connection to await."""
        assert isinstance(message, RPCNotification)
        return self._features[message.method](self._client, message.params)

    @property
    def _features(self) -> Mapping[str, Feature]:
        return cast("Mapping[str, Feature]", self.fm.features)  # pyright: ignore[reportUnknownMemberType] -- a bare Dict

    def _understood(self, raw: Json) -> RPCMessage:
        try:
            return cast("RPCMessage", self.structure_message(raw))
        except JsonRpcException as error:
            cause = error.__cause__
            wrong = transform_error(cause, "$") if isinstance(cause, BaseValidationError) else [str(cause)]
            sentence = f"These are no parameters as the protocol has them: {'; '.join(wrong[:MOST_SAID])[:1000]}."
            raise RpcError(INVALID_PARAMS, sentence, {"kind": "invalid_params"}) from error

    def get_message_type(self, method: str) -> type[Any] | None:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The base remembers each answer with the connection that asked, which keeps dead ones."""
        known = types.METHOD_TO_TYPES.get(method)
        if known is not None:
            return known[0]
        return None if method in OURS_TOLD else JsonRPCRequestMessage

    def get_result_type(self, method: str) -> type[Any] | None:  # pyright: ignore[reportIncompatibleVariableOverride]
        """As above."""
        return types.METHOD_TO_TYPES[method][1]

    # --- what the editor is told and asked ----------------------------------------------------------------------------

    def notify(self, method: str, params: Any = None) -> None:
        """Tell the editor something."""
        self._client.connection.notify(method, written(params))

    def send_request_async(self, method: str, params: Any = None, msg_id: str | int | None = None) -> Any:
        """Ask the editor, by an id that no daemon gives twice. Raises RpcError (an answer that is none, too), ConnectionGoneError."""
        return self._asked(method, params)

    async def _asked(self, method: str, params: Any) -> Any:
        result = await self._client.connection.request(method, written(params))
        answer = {"jsonrpc": self.VERSION, "id": 0, "result": result}
        try:
            return CONVERTER.structure(answer, cast("type[Any]", self.get_result_type(method))).result
        except BaseValidationError as error:
            raise RpcError(INVALID_PARAMS, f"The answer to {method} is none as the protocol has it.") from error


class EditorServer(LanguageServer):
    """One window's: what is said to its editor in the words of the protocol."""

    def __init__(self, client: ClientConnection) -> None:
        self.client = client
        super().__init__(  # pyright: ignore[reportUnknownMemberType] -- it takes *args
            "sould", client.services.version, protocol_cls=EditorProtocol, converter_factory=lambda: CONVERTER
        )
