"""How a method is served that clients of every protocol have: read its parameters, call its handler. Knows no method."""

from collections.abc import Awaitable, Callable
from typing import Protocol, TypeVar

from sould.agents.base.rpc.connection import Reply
from sould.agents.base.rpc.errors import INVALID_PARAMS, RpcError
from sould.agents.clients.params import Inbound, Json, parsed

ClientT = TypeVar("ClientT")
CallerT = TypeVar("CallerT", contravariant=True)
ParamsT = TypeVar("ParamsT", bound=Inbound)


class ClientCall(Protocol[CallerT]):
    """Serves one method for one client."""

    def __call__(self, client: CallerT, raw: Json, /) -> Awaitable[Json | Reply]:
        """The answer to `raw`. Raises RpcError."""
        ...


def method(
    params: type[ParamsT], handler: Callable[[ClientT, ParamsT], Awaitable[Json | Reply]]
) -> ClientCall[ClientT]:
    """A handler with its parameters' type."""

    def call(client: ClientT, raw: Json) -> Awaitable[Json | Reply]:
        return handler(client, parsed(params, raw))

    return call


def wrong(field: str, sentence: str) -> RpcError:
    """That a parameter does not fit, for whatever reason its type does not know."""
    return RpcError(INVALID_PARAMS, sentence, {"kind": "invalid_params", "field": field})
