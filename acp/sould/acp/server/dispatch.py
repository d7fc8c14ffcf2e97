"""The one table from method name to handler. Handlers see typed parameters; names, kinds and codes stay here.

Loaded when the first client has its answer to `initialize`, which `server` therefore finds without this table (D9).
"""

from collections.abc import Awaitable, Callable
from typing import Any, Protocol, TypeVar

from msgspec import Struct

from sould.acp.connection.peer import NOT_FOUND, Peer
from sould.acp.handlers import (
    accounts,
    applying,
    finding,
    handshake,
    importing,
    queue,
    sessions,
    tasks,
    tools,
    transcript,
    travel,
    turns,
)
from sould.acp.outbound import Json
from sould.acp.schema import (
    ApplyParams,
    ArchiveParams,
    AuthenticateParams,
    BreakdownParams,
    CommitMessageParams,
    ExportParams,
    FindFilesParams,
    ImportParams,
    ImportsParams,
    ListParams,
    McpMessageParams,
    ModeParams,
    NoParams,
    OpeningParams,
    OptionParams,
    PromptParams,
    ResourcesParams,
    RewindParams,
    SearchParams,
    SessionParams,
    StoredOpeningParams,
    TaskParams,
    TasksParams,
    TimelineParams,
    TitleParams,
    ToolsParams,
    TranscriptParams,
    UndoTurnParams,
    WaitingEditParams,
    WaitingMoveParams,
    WaitingParams,
)
from sould.agents.base.errors import (
    NoModelError,
    OptionError,
    SessionNotFoundError,
    SouldError,
    WorkspaceGoneError,
)
from sould.agents.base.rpc.connection import Reply
from sould.agents.base.rpc.errors import INVALID_PARAMS, METHOD_NOT_FOUND, RpcError
from sould.agents.clients.editor.requests import METHODS as EDITOR
from sould.agents.clients.editor.requests import STATE
from sould.agents.clients.inbox.requests import METHODS as INBOX
from sould.agents.clients.params import Inbound, parsed
from sould.agents.clients.review.methods import ClientCall
from sould.agents.clients.review.requests import METHODS, REPORT

ParamsT = TypeVar("ParamsT", bound=Inbound)

CODES: tuple[tuple[type[SouldError], int], ...] = (
    (NoModelError, accounts.AUTH_REQUIRED),
    (SessionNotFoundError, NOT_FOUND),
    (OptionError, INVALID_PARAMS),
    (WorkspaceGoneError, INVALID_PARAMS),
)
"""Failures whose code is not -32603 (D17)."""


TOLD = frozenset({REPORT, STATE})
"""What clients of every protocol may also send as notifications."""


class Call(Protocol):
    """Serves one method for one client."""

    def __call__(self, peer: Peer, raw: Json, /) -> Awaitable[Json | Reply]:
        """The answer to `raw`."""
        ...


class Route(Struct, frozen=True):
    """How one method is served. `notification`: it is also, or only, sent as one."""

    call: Call
    notification: bool = False


def route(
    params: type[ParamsT],
    handler: Callable[[Peer, ParamsT], Awaitable[Json | Reply]],
    *,
    notification: bool = False,
) -> Route:
    """A handler with its parameters' type."""

    def call(peer: Peer, raw: Json) -> Awaitable[Json | Reply]:
        peer.require_initialized()
        return handler(peer, parsed(params, raw))

    return Route(call, notification)


def _shared(name: str, shared_call: ClientCall[Peer]) -> Route:
    """A method that clients of every protocol have."""

    def call(peer: Peer, raw: Json) -> Awaitable[Json | Reply]:
        peer.require_initialized()
        return shared_call(peer, raw)

    return Route(call, name in TOLD)


ROUTES: dict[str, Route] = {
    "initialize": Route(handshake.initialize),
    "authenticate": route(AuthenticateParams, accounts.authenticate),
    "logout": route(NoParams, accounts.logout),
    "auth/status": route(NoParams, accounts.auth_status),
    "session/new": route(OpeningParams, sessions.new),
    "session/load": route(StoredOpeningParams, sessions.load),
    "session/resume": route(StoredOpeningParams, sessions.resume),
    "session/fork": route(StoredOpeningParams, sessions.fork),
    "session/list": route(ListParams, sessions.list_sessions),
    "session/delete": route(SessionParams, sessions.delete),
    "session/close": route(SessionParams, sessions.close),
    "session/set_title": route(TitleParams, sessions.set_title),
    "session/set_mode": route(ModeParams, turns.set_mode),
    "session/set_config_option": route(OptionParams, turns.set_option),
    "session/prompt": route(PromptParams, turns.prompt),
    "session/cancel": route(SessionParams, turns.cancel, notification=True),
    "_session/steering": route(PromptParams, turns.steer),
    "_sould/session/archive": route(ArchiveParams, sessions.archive),
    "_sould/session/transcript": route(TranscriptParams, transcript.transcript),
    "_sould/session/apply": route(ApplyParams, applying.apply),
    "_sould/session/commit_message": route(CommitMessageParams, applying.commit_message),
    "_sould/session/search": route(SearchParams, finding.find_sessions),
    "_sould/session/resources": route(ResourcesParams, finding.resources),
    "_sould/session/context": route(BreakdownParams, finding.context),
    "_sould/session/export": route(ExportParams, sessions.export),
    "_sould/session/imports": route(ImportsParams, importing.imports),
    "_sould/session/import": route(ImportParams, importing.import_session),
    "_sould/session/tasks": route(TasksParams, tasks.show),
    "_sould/session/tasks/stop": route(TaskParams, tasks.stop),
    "_sould/session/tasks/output": route(TaskParams, tasks.output),
    "_sould/files/search": route(FindFilesParams, finding.find_files),
    "_sould/queue": route(SessionParams, queue.show),
    "_sould/queue/remove": route(WaitingParams, queue.remove),
    "_sould/queue/edit": route(WaitingEditParams, queue.edit),
    "_sould/queue/move": route(WaitingMoveParams, queue.move),
    "_sould/tools/register": route(ToolsParams, tools.register),
    "_sould/timeline": route(TimelineParams, travel.show),
    "_sould/rewind": route(RewindParams, travel.rewind),
    "_sould/undo": route(UndoTurnParams, travel.undo),
    "_sould/redo": route(SessionParams, travel.redo),
    **{name: _shared(name, call) for name, call in METHODS.items()},
    **{name: _shared(name, call) for name, call in INBOX.items()},
    **{name: _shared(name, call) for name, call in EDITOR.items()},
    "mcp/message": route(McpMessageParams, turns.mcp_message, notification=True),
}


class Dispatcher:
    """The connection's handler: looks a method up and runs it for one client."""

    def __init__(self, peer: Peer) -> None:
        self._peer = peer

    async def request(self, method: str, params: Json) -> Any:
        """The result. Raises RpcError."""
        found = ROUTES.get(method)
        if found is None:
            raise RpcError(METHOD_NOT_FOUND, f"There is no method {method[:80]!r}.")
        try:
            return await found.call(self._peer, params)
        except SouldError as error:
            for kind, code in CODES:
                if isinstance(error, kind):
                    data = {"kind": error.kind, "details": error.message}
                    raise RpcError(code, error.message, data) from error
            raise

    async def notification(self, method: str, params: Json) -> None:
        """Act on what is a notification; everything else is ignored."""
        found = ROUTES.get(method)
        if found is not None and found.notification:
            await found.call(self._peer, params)
