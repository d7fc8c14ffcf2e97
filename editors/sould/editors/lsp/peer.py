"""The state of one LSP connection: who the editor is, what it can do, which projects it reviews, what it has open.

Handlers get this object and typed parameters; ids, bytes and error codes stay in the connection below.
"""

import os
from typing import TYPE_CHECKING

from msgspec import to_builtins
from msgspec.structs import replace

from sould.agents.base.rpc.connection import Connection
from sould.agents.base.rpc.errors import RpcError
from sould.agents.clients.connections import ConnectionRecord, ConnectionServices, Unanswered
from sould.editors.lsp.connection.introduction import MOST_FOLDERS, EditorCapabilities, Introduction, Json, Settings
from sould.editors.lsp.connection.outlet import CountedStream

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from sould.agents.base.workspace import Workspace
    from sould.agents.clients.editor.client import ConnectedEditor
    from sould.agents.clients.inbox.feed import FollowedInbox
    from sould.agents.clients.review.projects import OpenProjects
    from sould.agents.clients.review.reports import Reports
    from sould.agents.sessions.hostport import HostPort
    from sould.agents.wire.stream import Cursor
    from sould.editors.lsp.agents.sessions import EditorSessions
    from sould.editors.lsp.documents.accepted import AcceptedTexts
    from sould.editors.lsp.documents.opened import Documents
    from sould.editors.lsp.review.hunk_notifications import EditorNews

NOT_INITIALIZED = -32002
REQUEST_FAILED = -32803
"""What failed, though it was asked for as it should be (D17)."""
MOST_SIGNED = 100
"""Characters of an editor's name that others are shown."""


class Peer:
    """One editor window; also the `ReviewClient` of its requests."""

    def __init__(self, services: ConnectionServices, stream: CountedStream) -> None:
        self.services = services
        self._stream = stream
        resume = services.memory.resume
        self.id = resume.client_id if resume else os.urandom(8).hex()
        self.editor: Introduction | None = None
        self._initialize: Json = {}
        self.leaving = False
        """It said that it will end."""
        self._connection: Connection | None = None
        self._host: HostPort | None = None
        self._projects: OpenProjects | None = None
        self._inbox: FollowedInbox | None = None
        self._editor_tools: ConnectedEditor | None = None
        self._reports: Reports | None = None
        self._documents: Documents | None = None
        self._news: EditorNews | None = None
        self._sessions: EditorSessions | None = None
        self._accepted: AcceptedTexts | None = None

    # --- the connection ---------------------------------------------------------------------------------------------

    @property
    def connection(self) -> Connection:
        """The connection below; set once, before it serves."""
        assert self._connection is not None
        return self._connection

    def connect(self, connection: Connection) -> None:
        """Set the connection below."""
        self._connection = connection

    def introduce(self, editor: Introduction, params: Json) -> None:
        """The editor said who it is and what it can do; `params` are its words."""
        self.editor = editor
        self._initialize = params

    def require_initialized(self) -> None:
        """Refuse work before the handshake, and after the end was announced."""
        if self.editor is None:
            raise RpcError(NOT_INITIALIZED, "The connection is not initialised: send `initialize` first.")

    def choose(self, settings: Settings) -> None:
        """The user chose other settings."""
        if self.editor is not None:
            self.editor = replace(self.editor, settings=settings)
            self._initialize = {**self._initialize, "initializationOptions": to_builtins(settings)}
            self.remember()

    def change_folders(self, gone: "Collection[str]", come: "Collection[str]") -> None:
        """The window has other roots."""
        if self.editor is not None:
            folders = dict.fromkeys((*(each for each in self.editor.folders if each not in gone), *come))
            self.editor = replace(self.editor, folders=tuple(folders)[:MOST_FOLDERS])
            named = [{"uri": uri, "name": ""} for uri in self.editor.folders]
            self._initialize = {**self._initialize, "workspaceFolders": named}
            self.remember()

    def announce_end(self) -> None:
        """The editor will end the connection; it asks for nothing any more."""
        self.leaving = True

    async def end(self) -> None:
        """The editor ends the connection."""
        await self._stream.aclose()

    @property
    def hints(self) -> bool:
        """Hunks are told as diagnostics, too."""
        return self.editor is not None and self.editor.settings.hints

    @property
    def can(self) -> EditorCapabilities:
        """What the editor can do; nothing before `initialize`."""
        return self.editor.can if self.editor else EditorCapabilities()

    @property
    def name(self) -> str:
        """What people call this editor."""
        return (self.editor.name if self.editor else "")[:MOST_SIGNED] or "an LSP client"

    @property
    def signature(self) -> str:
        """Who decides, as others are told."""
        return self.name

    @property
    def home(self) -> str:
        """Of its user: no project."""
        return self.services.client.environment.get("HOME") or os.path.expanduser("~")

    # --- as the `Client` that its sessions know -----------------------------------------------------------------------

    @property
    def speaks_for_user(self) -> bool:
        """See `Client`."""
        return True

    @property
    def chooses_for_project(self) -> bool:
        """See `Client`."""
        return True

    def workspace(self, inner: "Workspace", session_id: str) -> None:
        """See `Client`: its buffers are the project's, with a session or without."""

    @property
    def sessions(self) -> "EditorSessions":
        """The sessions it works with."""
        if self._sessions is None:
            from sould.editors.lsp.agents.sessions import EditorSessions  # noqa: PLC0415 -- as above

            self._sessions = EditorSessions(self)
        return self._sessions

    # --- projects and documents -------------------------------------------------------------------------------------

    async def host(self) -> "HostPort":
        """All sessions; the first call may import much."""
        if self._host is not None:
            return self._host
        host = await self.services.host()
        if self._host is None:  # nor did another request come here while sessions were loaded
            from sould.editors.lsp.documents.plaineditor import PlainEditor  # noqa: PLC0415 -- as above

            self._host = host
            host.editors.add(PlainEditor(self))
        return host

    async def projects(self) -> "OpenProjects":
        """The projects it reviews."""
        host = await self.host()
        if self._projects is None:
            from sould.agents.clients.review.projects import OpenProjects  # noqa: PLC0415 -- initialize is answered without sessions

            self._projects = OpenProjects(host, self.connection, self.id, self.home)
        return self._projects

    async def inbox(self) -> "FollowedInbox":
        """The inbox as it is shown this client."""
        host = await self.host()
        if self._inbox is None:
            from sould.agents.clients.inbox.feed import FollowedInbox  # noqa: PLC0415 -- as above

            self._inbox = FollowedInbox(host, self.connection, self.home)
        return self._inbox

    async def editor_tools(self) -> "ConnectedEditor":
        """How it is asked for what editor tools want."""
        if self._editor_tools is None:
            from sould.agents.clients.editor.client import ConnectedEditor  # noqa: PLC0415 -- as above

            self._editor_tools = ConnectedEditor(self.id, self.name, self.connection)
            self.remember()
        return self._editor_tools

    async def reports(self) -> "Reports":
        """What it says of the files it has open."""
        projects = await self.projects()
        if self._reports is None:
            from sould.agents.clients.review.reports import Reports  # noqa: PLC0415 -- as above
            from sould.editors.lsp.documents.edits import EditorEdits  # noqa: PLC0415 -- as above

            self._reports = Reports(projects, EditorEdits(self), self.name, self.can.encoding)
        return self._reports

    @property
    def known_reports(self) -> "Reports | None":
        """`reports`, once it has said something."""
        return self._reports

    async def reports_taken(self) -> None:
        """What it said by now of the files it has open is known when this returns."""
        await self.documents.all_taken()

    @property
    def documents(self) -> "Documents":
        """The documents it has open."""
        if self._documents is None:
            from sould.editors.lsp.documents.opened import Documents  # noqa: PLC0415 -- as above

            self._documents = Documents(self)
        return self._documents

    @property
    def news(self) -> "EditorNews":
        """What tells it of changes in its documents' hunks."""
        if self._news is None:
            from sould.editors.lsp.review.hints import show_hints  # noqa: PLC0415 -- as above
            from sould.editors.lsp.review.hunk_notifications import EditorNews  # noqa: PLC0415 -- as above

            self._news = EditorNews(self, show_hints)
        return self._news

    @property
    def accepted(self) -> "AcceptedTexts":
        """The files as they were accepted that it was given."""
        if self._accepted is None:
            from sould.editors.lsp.documents.accepted import AcceptedTexts  # noqa: PLC0415 -- as above

            self._accepted = AcceptedTexts(self)
        return self._accepted

    async def leave(self) -> None:
        """The editor is gone."""
        if self._accepted is not None:
            self._accepted.end()
        if self._news is not None:
            self._news.end()
        if self._sessions is not None and self._host is not None:
            for session_id in self._sessions.end():
                await self._host.detach(session_id, self.id)
        if self._inbox is not None:
            self._inbox.end()
        if self._host is not None:
            self._host.editors.remove(self.id)
        if self._projects is not None:
            await self._projects.aclose()

    # --- what must outlive the daemon (D11) -------------------------------------------------------------------------

    def remember(self) -> None:
        """Hand the daemon what the next one would need."""
        self.services.memory.remember()

    def private(self) -> bytes:
        """See `Resumable`."""
        return self._documents.pack() if self._documents is not None else b""

    def moved(self) -> "Mapping[str, Cursor] | None":
        """See `Resumable`."""
        return None

    def snapshot(self) -> ConnectionRecord:
        """See `Resumable`."""
        return ConnectionRecord(
            client_id=self.id,
            client_name=self.editor.name if self.editor else "",
            initialize=self._initialize,
            sessions=self._sessions.remembered if self._sessions is not None else {},
            unanswered=tuple(Unanswered(each.id, each.method[:60]) for each in self.connection.unanswered.values()),
            asked=tuple(self.connection.asked),
            followed=self._projects.followed if self._projects is not None else (),
            reported=self._reports is not None,
            inbox=self._inbox is not None and self._inbox.is_followed,
            serves_tools=self._editor_tools is not None,
            owed=self._stream.owed,
            unsure=self.connection.is_noting,
        )
