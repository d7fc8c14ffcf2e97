"""The sessions of agents that an editor window works with: which one a prompt goes to, and those it is attached to.

What a user asks of an agent in plain LSP is a command; nothing of a conversation but its end is shown here.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from sould.agents.clients.connections import AttachedSession
from sould.agents.journal.channel import Cursor
from sould.agents.sessions.port import SessionPort
from sould.agents.soul.session_request import SessionRequest
from sould.agents.wire.messages import QuestionRequest, WireRequest
from sould.editors.lsp.attachment import EditorAttachment
from sould.editors.lsp.connection import EditorConnection
from sould.editors.lsp.dialogs import listed
from sould.editors.lsp.opened import roots_of
from sould.editors.lsp.words import ask

Json = dict[str, Any]

NEW = "New session"
MOST_OFFERED = 8
"""Sessions to pick from: buttons are read one by one."""


class EditorSessions:
    """Of one editor window."""

    def __init__(self, client: EditorConnection) -> None:
        self._client = client
        self._attached: dict[str, EditorAttachment] = {}
        self._chosen: dict[Path, str] = {}
        """The session that prompts about a directory go to."""

    @property
    def remembered(self) -> dict[str, AttachedSession]:
        """What the next daemon must know of them."""
        return {key: each.remembered for key, each in self._attached.items()}

    async def of(self, about: Path, wanted: str = "") -> EditorAttachment:
        """The session `wanted`, else the one chosen for the project of a file or directory; a new one where there is none."""
        directory = await self._directory(about)
        name = wanted or self._chosen.get(directory, "")
        known = self._attached.get(name)
        if known is None or known.session.closed:
            host = await self._client.host()
            opening = self._opening(directory)
            known = self._attach(await host.open(name, opening) if name else await host.new(opening))
        self._chosen[directory] = known.session.id
        return known

    async def new(self, about: Path) -> EditorAttachment:
        """A new session, which is chosen."""
        directory = await self._directory(about)
        self._chosen.pop(directory, None)
        return await self.of(about)

    async def pick(self, about: Path) -> EditorAttachment | None:
        """The one that the user chooses of those of the project; None: none."""
        directory = await self._directory(about)
        page = await (await self._client.host()).stored.list(directory, None, MOST_OFFERED, origins="attended")
        titles = {f"{info.title or 'Untitled'} ({info.id[:6]})": info.id for info in page.items}
        chosen = await ask(self._client, "info", f"Which session of {directory.name}?", [*titles, NEW])
        if chosen is None:
            return None
        return await self.new(about) if chosen == NEW else await self.of(about, titles[chosen])

    async def go_on(self, session_id: str, remembered: AttachedSession) -> None:
        """Attach to a session as an earlier daemon left it. Raises SouldError."""
        directory = Path(remembered.cwd)
        session = await (await self._client.host()).open(session_id, self._opening(directory))
        session.attach(self._client)
        attachment = self._attached[session_id] = EditorAttachment(self._client, session)
        self._chosen[directory] = session_id
        await attachment.go_on(Cursor(remembered.seq, remembered.offset))

    async def pending(self) -> list[Json]:
        """What nobody has answered, in the live sessions of the window's roots and in those it is attached to."""
        return [each for session in await self._near() for each in listed(session)]

    async def put(self, request_id: str) -> None:
        """Ask what is pending, also where a better client shows it, and attach to its session."""
        found = await self._pending(request_id)
        if found is not None:
            self._attached_to(found[0]).dialogs.put(found[1])

    async def say(self, request_id: str, text: str) -> None:
        """Answer a question in words, and attach to its session."""
        found = await self._pending(request_id)
        if found is not None and isinstance(found[1], QuestionRequest):
            self._attached_to(found[0]).dialogs.say(found[1], text)

    async def _pending(self, request_id: str) -> tuple[SessionPort, WireRequest] | None:
        found = ((session, each) for session in await self._near() for each in session.pending if each.id == request_id)
        return next(found, None)

    def _attached_to(self, session: SessionPort) -> EditorAttachment:
        return self._attached.get(session.id) or self._attach(session)

    async def _near(self) -> Iterable[SessionPort]:
        roots = roots_of(self._client)
        live = (await self._client.host()).sessions
        return [
            session
            for key, session in live.items()
            if key in self._attached or any(session.info.cwd.is_relative_to(root) for root in roots)
        ]

    def cancel(self) -> bool:
        """Cancel the turns that run in the attached sessions. Whether there was one."""
        running = [each.session for each in self._attached.values() if each.session.turns.running]
        for session in running:
            session.turns.cancel(self._client.id)
        return bool(running)

    def cancel_turn(self, turn_id: str) -> None:
        """Cancel a turn, if it runs in an attached session."""
        for attachment in self._attached.values():
            if attachment.turn_id == turn_id and attachment.session.turns.running:
                attachment.session.turns.cancel(self._client.id)

    def end(self) -> "list[str]":
        """The editor is gone; the ids of its sessions, which are to be detached."""
        for attachment in self._attached.values():
            attachment.end()
        return list(self._attached)

    def _attach(self, session: SessionPort) -> EditorAttachment:
        before = self._attached.pop(session.id, None)
        if before is not None:
            before.end()
        session.attach(self._client)
        attachment = self._attached[session.id] = EditorAttachment(self._client, session)
        attachment.begin()
        self._client.services.memory.remember()
        return attachment

    async def _directory(self, about: Path) -> Path:
        """Where an agent works that is asked about a file: the window's root that has it, else its project, else its directory."""
        roots = [path for path in roots_of(self._client) if about.is_relative_to(path)]
        if roots:
            return max(roots, key=lambda path: len(path.parts))
        root = await (await self._client.host()).project_root(about, Path(self._client.home))
        return root if root != Path("/") else about.parent

    def _opening(self, directory: Path) -> SessionRequest:
        process, can = self._client.services.client, self._client.can
        return SessionRequest(
            cwd=directory,
            environment=process.environment,
            umask=process.umask,
            default_mode="review" if can.knows_us else "ask",
            origin="editor",
            capabilities=frozenset({"questions", *(("review",) if can.knows_us else ())}),
        )
