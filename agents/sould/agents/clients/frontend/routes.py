"""The table from method name to handler, as every frontend has one. Handlers see a client and typed parameters; names stay here."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Generic, TypeAlias, TypeVar

from msgspec import Struct

from sould.agents.base.errors import SouldError
from sould.agents.base.rpc.connection import described
from sould.agents.base.rpc.errors import INVALID_PARAMS, METHOD_NOT_FOUND, RpcError
from sould.agents.clients.frontend.connection import ClientConnection
from sould.agents.clients.params import Inbound, Json, parsed

ClientT = TypeVar("ClientT", bound=ClientConnection)
CallerT = TypeVar("CallerT", bound=ClientConnection, contravariant=True)
ParamsT = TypeVar("ParamsT", bound=Inbound)

Call: TypeAlias = Callable[[ClientT, Json], Awaitable[Any]]
"""Serves one method for one client: the answer, JSON or a `Reply`. Raises RpcError."""
Refusal: TypeAlias = Callable[[SouldError], RpcError]
"""The error answer for a failure of ours, as a protocol has it."""


class Route(Struct, Generic[CallerT], frozen=True):
    """How one method is served. `request`, `notification`: as what it may be sent; `early`: before the handshake, too."""

    call: Call[CallerT]
    request: bool = True
    notification: bool = False
    early: bool = False


def route(
    params: type[ParamsT], handler: Callable[[ClientT, ParamsT], Awaitable[Any]], *, notification: bool = False
) -> Route[ClientT]:
    """A handler with its parameters' type. `notification`: it may also be sent as one."""

    def call(client: ClientT, raw: Json) -> Awaitable[Any]:
        return handler(client, parsed(params, raw))

    return Route(call, notification=notification)


class Dispatcher(Generic[ClientT]):
    """A connection's handler: looks a method up and runs it for one client."""

    def __init__(self, client: ClientT, routes: Mapping[str, Route[ClientT]], refusal: Refusal = described) -> None:
        self._client = client
        self._routes = routes
        self._refusal = refusal

    async def request(self, method: str, params: Json) -> Any:
        """The result. Raises RpcError."""
        found = self._routes.get(method)
        if found is None or not found.request:
            raise RpcError(METHOD_NOT_FOUND, f"There is no method {method[:80]!r}.")
        if not found.early:
            self._client.require_initialized()
        try:
            return await found.call(self._client, params)
        except SouldError as error:
            raise self._refusal(error) from error

    async def notification(self, method: str, params: Json) -> None:
        """Act on what is a notification; everything else is ignored."""
        found = self._routes.get(method)
        if found is not None and found.notification:
            self._client.require_initialized()
            await found.call(self._client, params)


def wrong(field: str, sentence: str) -> RpcError:
    """That a parameter does not fit, for whatever reason its type does not know."""
    return RpcError(INVALID_PARAMS, sentence, {"kind": "invalid_params", "field": field})
