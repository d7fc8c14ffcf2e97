"""An editor window with what it has open and works with: its documents, its sessions, what it is told of hunks.

Handlers get this object and typed parameters; ids, bytes and error codes stay in the connection below. Each part is made with
its first use: `initialize` is answered without sessions (D9).
"""

from typing import TYPE_CHECKING

from sould.agents.clients.connections import AttachedSession, ConnectionServices
from sould.editors.lsp.connection import CountedStream, EditorConnection

if TYPE_CHECKING:
    from pathlib import Path

    from sould.agents.clients.review.projects import OpenProjects
    from sould.agents.clients.review.reports import Reports
    from sould.agents.sessions.hostport import HostPort
    from sould.editors.lsp.accepted import AcceptedTexts
    from sould.editors.lsp.hunk_notifications import EditorNews
    from sould.editors.lsp.opened import Documents
    from sould.editors.lsp.protocol import EditorServer
    from sould.editors.lsp.sessions import EditorSessions


class LspClient(EditorConnection):
    """One editor window, whole."""

    def __init__(self, services: ConnectionServices, stream: CountedStream) -> None:
        super().__init__(services, stream)
        self._joined = False
        """It stands among the editors that agents may ask."""
        self._lsp: EditorServer | None = None
        self._documents: Documents | None = None
        self._news: EditorNews | None = None
        self._sessions: EditorSessions | None = None
        self._accepted: AcceptedTexts | None = None

    @property
    def lsp(self) -> "EditorServer":
        """See `EditorConnection`."""
        if self._lsp is None:
            from sould.editors.lsp.protocol import EditorServer  # noqa: PLC0415 -- initialize is answered without it

            self._lsp = EditorServer(self)
        return self._lsp

    async def host(self) -> "HostPort":
        """All sessions; with the first call agents may ask the editor."""
        host = await super().host()
        if not self._joined:
            from sould.editors.lsp.plaineditor import PlainEditor  # noqa: PLC0415 -- as in `projects`

            self._joined = True
            host.editors.add(PlainEditor(self, self.documents))
        return host

    def _make_reports(self, projects: "OpenProjects") -> "Reports":
        from sould.agents.clients.review.reports import Reports  # noqa: PLC0415 -- as above
        from sould.editors.lsp.edits import EditorEdits  # noqa: PLC0415 -- as above

        return Reports(projects, EditorEdits(self, self.documents), self.name, self.can.encoding)

    async def reports_taken(self) -> None:
        """What it said by now of the files it has open is known when this returns."""
        await self.documents.all_taken()

    @property
    def sessions(self) -> "EditorSessions":
        """The sessions it works with."""
        if self._sessions is None:
            from sould.editors.lsp.sessions import EditorSessions  # noqa: PLC0415 -- as above

            self._sessions = EditorSessions(self)
        return self._sessions

    @property
    def documents(self) -> "Documents":
        """The documents it has open."""
        if self._documents is None:
            from sould.editors.lsp.opened import Documents  # noqa: PLC0415 -- as above

            self._documents = Documents(self, self.news)
        return self._documents

    @property
    def news(self) -> "EditorNews":
        """What tells it of changes in its documents' hunks."""
        if self._news is None:
            from sould.editors.lsp.hunk_notifications import EditorNews  # noqa: PLC0415 -- as above

            self._news = EditorNews(self, self._show_hints)
        return self._news

    async def _show_hints(self, paths: "set[Path]") -> None:
        from sould.editors.lsp.hunks import show_hints  # noqa: PLC0415 -- as above

        await show_hints(self, [self.documents.uri(path) for path in paths])

    @property
    def accepted(self) -> "AcceptedTexts":
        """The files as they were accepted that it was given."""
        if self._accepted is None:
            from sould.editors.lsp.accepted import AcceptedTexts  # noqa: PLC0415 -- as above

            self._accepted = AcceptedTexts(self, self.documents)
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
        await super().leave()

    def private(self) -> bytes:
        """See `Resumable`."""
        return self._documents.pack() if self._documents is not None else b""

    def _shown(self) -> dict[str, AttachedSession]:
        return self._sessions.remembered if self._sessions is not None else {}
