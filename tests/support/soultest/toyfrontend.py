"""A frontend in a page: it lists sessions, and has what every frontend has of the inbox. JSON-RPC by lines.

How little a frontend must say for itself; `test_frontend.py` connects to it.
"""

from functools import partial
from typing import Final

from sould.agents.base.rpc.errors import INVALID_REQUEST, RpcError
from sould.agents.base.rpc.framing import ByteStream
from sould.agents.clients.connections import ConnectionRecord, ConnectionServices
from sould.agents.clients.frontend import inbox
from sould.agents.clients.frontend.connection import ClientConnection
from sould.agents.clients.frontend.resuming import answer_what_died, follow_again
from sould.agents.clients.frontend.routes import Dispatcher, Route, route
from sould.agents.clients.params import Inbound, Json

STOPPED: Final = -1


class Hello(Inbound):
    """Who the client is."""

    name: str


class Sessions(Inbound):
    """Which sessions are wanted: the first `most`."""

    most: int = 20


class ToyClient(ClientConnection):
    """One client of the toy protocol."""

    @property
    def name(self) -> str:
        return self._own_name() or "a toy"

    def _own_name(self) -> str:
        return str(self._initialize.get("name", ""))

    def require_initialized(self) -> None:
        if not self._initialize:
            raise RpcError(INVALID_REQUEST, "Say hello first.")

    def introduce(self, said: Json) -> None:
        self._initialize = said


async def hello(client: ToyClient, raw: Json) -> Json:
    client.introduce({"name": Hello.model_validate(raw).name})
    return {"version": client.services.version}


async def sessions(client: ToyClient, params: Sessions) -> Json:
    page = await (await client.host()).stored.list(None, None, params.most)
    return {"sessions": [{"id": each.id, "title": each.title, "cwd": str(each.cwd)} for each in page.items]}


ROUTES: dict[str, Route[ToyClient]] = {
    "hello": Route(hello, early=True),
    "sessions": route(Sessions, sessions),
    **inbox.METHODS,
}


async def serve_toy(stream: ByteStream, services: ConnectionServices) -> None:
    """Serve one client until it is gone."""
    client = ToyClient(services)
    await client.serve(stream, Dispatcher(client, ROUTES), go_on=partial(_go_on, client))


async def _go_on(client: ToyClient, resume: ConnectionRecord) -> None:
    client.introduce(resume.initialize)
    answer_what_died(client, ((each, STOPPED) for each in resume.unanswered))
    await follow_again(client, resume)
