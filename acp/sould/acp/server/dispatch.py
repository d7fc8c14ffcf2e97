"""The one table from method name to handler. Handlers see typed parameters; names, kinds and codes stay here.

Loaded when the first client has its answer to `initialize`, which `server` therefore finds without this table (D9).
"""

from sould.acp.connection.client import NOT_FOUND, AcpClient
from sould.acp.schema import (
    ApplyParams,
    ArchiveParams,
    AuthenticateParams,
    BreakdownParams,
    CommitMessageParams,
    EmptyParams,
    ExportParams,
    FindFilesParams,
    ImportParams,
    ImportsParams,
    ListSessionsParams,
    McpMessageParams,
    ModeParams,
    OpeningParams,
    OptionParams,
    PromptParams,
    ProviderParams,
    RegisterToolsParams,
    ResourcesParams,
    RewindParams,
    SearchParams,
    SessionParams,
    SetProviderParams,
    StoredOpeningParams,
    TaskParams,
    TasksParams,
    TimelineParams,
    TitleParams,
    TranscriptParams,
    UndoTurnParams,
    WaitingEditParams,
    WaitingMoveParams,
    WaitingParams,
)
from sould.acp.server import finding, handshake, providers, sessions, turns
from sould.agents.base.errors import (
    NoModelError,
    OptionError,
    SessionNotFoundError,
    SouldError,
    WorkspaceGoneError,
)
from sould.agents.base.rpc.connection import described
from sould.agents.base.rpc.errors import INVALID_PARAMS, RpcError
from sould.agents.clients.frontend import editor, inbox, review
from sould.agents.clients.frontend.routes import Dispatcher, Route, route

CODES: tuple[tuple[type[SouldError], int], ...] = (
    (NoModelError, handshake.AUTH_REQUIRED),
    (SessionNotFoundError, NOT_FOUND),
    (OptionError, INVALID_PARAMS),
    (WorkspaceGoneError, INVALID_PARAMS),
)
"""Failures whose code is not -32603 (D17)."""


ROUTES: dict[str, Route[AcpClient]] = {
    "initialize": Route(handshake.initialize, early=True),
    "authenticate": route(AuthenticateParams, handshake.authenticate),
    "logout": route(EmptyParams, handshake.logout),
    "auth/status": route(EmptyParams, handshake.auth_status),
    "providers/list": route(EmptyParams, providers.list_providers),
    "providers/set": route(SetProviderParams, providers.set_provider),
    "providers/disable": route(ProviderParams, providers.disable_provider),
    "session/new": route(OpeningParams, sessions.new),
    "session/load": route(StoredOpeningParams, sessions.load),
    "session/resume": route(StoredOpeningParams, sessions.resume),
    "session/fork": route(StoredOpeningParams, sessions.fork),
    "session/list": route(ListSessionsParams, sessions.list_sessions),
    "session/delete": route(SessionParams, sessions.delete),
    "session/close": route(SessionParams, sessions.close),
    "session/set_title": route(TitleParams, sessions.set_title),
    "session/archive": route(SessionParams, sessions.archive),
    "session/unarchive": route(SessionParams, sessions.unarchive),
    "session/status": route(SessionParams, sessions.status),
    "session/set_mode": route(ModeParams, turns.set_mode),
    "session/set_config_option": route(OptionParams, turns.set_option),
    "session/prompt": route(PromptParams, turns.prompt),
    "session/cancel": route(SessionParams, turns.cancel, notification=True),
    "_session/steering": route(PromptParams, turns.steer),
    "_sould/session/archive": route(ArchiveParams, sessions.set_archived),
    "_sould/session/transcript": route(TranscriptParams, sessions.transcript),
    "_sould/session/apply": route(ApplyParams, finding.apply),
    "_sould/session/commit_message": route(CommitMessageParams, finding.commit_message),
    "_sould/session/search": route(SearchParams, finding.find_sessions),
    "_sould/session/resources": route(ResourcesParams, finding.resources),
    "_sould/session/context": route(BreakdownParams, finding.context),
    "_sould/session/export": route(ExportParams, sessions.export),
    "_sould/session/imports": route(ImportsParams, sessions.imports),
    "_sould/session/import": route(ImportParams, sessions.import_session),
    "_sould/session/tasks": route(TasksParams, turns.show_tasks),
    "_sould/session/tasks/stop": route(TaskParams, turns.stop_task),
    "_sould/session/tasks/output": route(TaskParams, turns.task_output),
    "_sould/files/search": route(FindFilesParams, finding.find_files),
    "_sould/queue": route(SessionParams, turns.show_queue),
    "_sould/queue/remove": route(WaitingParams, turns.remove_waiting),
    "_sould/queue/edit": route(WaitingEditParams, turns.edit_waiting),
    "_sould/queue/move": route(WaitingMoveParams, turns.move_waiting),
    "_sould/tools/register": route(RegisterToolsParams, turns.register_tools),
    "_sould/timeline": route(TimelineParams, turns.timeline),
    "_sould/rewind": route(RewindParams, turns.rewind),
    "_sould/undo": route(UndoTurnParams, turns.undo),
    "_sould/redo": route(SessionParams, turns.redo),
    **review.METHODS,
    **inbox.METHODS,
    **editor.METHODS,
    "mcp/message": route(McpMessageParams, turns.mcp_message, notification=True),
}


def dispatcher(client: AcpClient) -> Dispatcher[AcpClient]:
    """The connection's handler."""
    return Dispatcher(client, ROUTES, _refusal)


def _refusal(error: SouldError) -> RpcError:
    for kind, code in CODES:
        if isinstance(error, kind):
            return RpcError(code, error.message, {"kind": error.kind, "details": error.message})
    return described(error)
