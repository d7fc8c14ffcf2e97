"""A session's files: the `Workspace` it works in, with what is known of its changes.

Nothing here decides what is kept or rejected.
"""

from collections.abc import Collection, Sequence
from pathlib import Path

from msgspec import Struct

from sould.agents.base.environment import USUAL_UMASK
from sould.agents.base.workspace import Command, Expected, ResolvedPath, RunningCommand, TextFile, TextFiles, Workspace
from sould.agents.files.directories.secretblobs import SecretJudge
from sould.agents.files.edits.ownership import never_projects
from sould.agents.files.projects.borrowing import BorrowedProjects
from sould.agents.files.projects.capture import Capture
from sould.agents.files.projects.commands import SessionCommands
from sould.agents.files.projects.foreseen import ForeseenWrites
from sould.agents.files.projects.foundchanges import FoundChanges
from sould.agents.files.projects.knowntexts import KnownTexts
from sould.agents.files.projects.projects import Projects
from sould.agents.files.projects.recording import CallChanges, RecordedWrites, Writing
from sould.agents.files.projects.steps import AgentsAtWork
from sould.agents.files.projects.untold import Untold
from sould.agents.files.review.hunk import AgentCall
from sould.agents.toolapi.base import ToolCallContext


class Author(Struct, frozen=True):
    """Who writes, with the `umask` for what it makes: a session, or ("" and None) the user, who sees all sessions' edits."""

    session_id: str
    directory: Path | None
    """The session's own."""
    home: Path
    secrets: SecretJudge | None = None
    umask: int = USUAL_UMASK
    temporary: str = ""
    """TMPDIR as the session sees it."""


class SessionFiles:
    """A `Workspace` that remembers what the agent changed; a `PerCall`: a tool's writes carry the call that made them."""

    def __init__(self, disk: Workspace, projects: Projects, author: Author, clients: TextFiles | None = None) -> None:
        """`clients`: the files as the user sees them in editors; None: as they are on disk."""
        self._disk = disk
        self._texts: TextFiles = clients or disk
        self._author = author
        self.capture: Capture | None = None
        never = never_projects(author.home, author.temporary)
        self.projects = BorrowedProjects(projects, disk, self._texts, author.directory, never, author.session_id)
        """Those it works in, with its edits and what is to be decided there."""
        self.commands = SessionCommands(author.session_id, projects, self.projects)
        self.found = FoundChanges(author.session_id, self.projects, projects)
        self.work = AgentsAtWork(self.projects)
        self.foreseen = ForeseenWrites(author.session_id, projects, self._texts, self.projects, author.secrets)
        self.writes = RecordedWrites(self._texts, projects, self.found, self.foreseen, author.secrets, author.umask)
        self.untold = Untold(
            author.session_id, self.projects, self._texts, author.secrets, KnownTexts(author.directory)
        )
        if author.session_id:
            self.projects.tell_edits(self.untold.others_changed)

    @classmethod
    async def open(
        cls, disk: Workspace, projects: Projects, author: Author, clients: TextFiles | None = None
    ) -> "SessionFiles":
        """Those of a session that goes on, or of the user. Raises as `resume`."""
        files = cls(disk, projects, author, clients)
        try:
            await files.resume()
        except BaseException:
            await files.aclose()
            raise
        return files

    async def resume(self) -> None:
        """Open the logs that hold edits of the session, for the user the project's. A new session has none.

        One that earlier versions kept for the session alone is taken over.
        Raises OSError: a log cannot be opened; ProjectOpenElsewhereError: another process holds it.
        """
        await self.projects.open()
        await self.untold.restore()

    def watch(self, capture: Capture) -> None:
        """From now on what commands do is known, too. Said once, before anything runs."""
        self.capture = capture

    async def aclose(self) -> None:
        """Give the projects back; no write may follow."""
        if self.capture is not None:
            await self.capture.aclose()
        await self.untold.keep()
        await self.projects.aclose()

    # --- the workspace -----------------------------------------------------------------------------------------------

    def for_call(self, call: ToolCallContext) -> CallChanges:
        """What one tool call does to the files."""
        agent_id = call.source.agent_id if call.source is not None else ""
        made_by = AgentCall(self._author.session_id, call.turn_id, call.id, agent_id, call.model)
        writing = Writing(made_by, call.allowed, call.all_names)
        return CallChanges(self.writes, self._disk, self.capture, writing)

    @property
    def root(self) -> Path:
        """The session's working directory."""
        return self._disk.root

    @property
    def additional(self) -> Sequence[Path]:
        """Further directories that count as inside."""
        return self._disk.additional

    def resolve(self, path: str) -> ResolvedPath:
        """See `Workspace`."""
        return self._disk.resolve(path)

    async def read_text(self, path: Path) -> TextFile:
        """See `Workspace`."""
        return await self._texts.read_text(path)

    async def known_text(self, path: Path) -> TextFile:
        """See `Workspace`."""
        return await self._texts.known_text(path)

    async def write_text(self, path: Path, text: str, *, expected: Expected) -> TextFile:
        """Write for no tool call in particular (a command of the user's)."""
        return await self.writes.write(path, text, expected=expected, writing=self._no_call)

    async def delete(self, path: Path, *, expected: str) -> None:
        """Delete for no tool call in particular."""
        await self.writes.remove(path, expected=expected, writing=self._no_call)

    async def read_bytes(self, path: Path, limit: int) -> bytes:
        """See `Workspace`."""
        return await self._disk.read_bytes(path, limit)

    async def unsaved(self) -> Collection[Path]:
        """See `Workspace`."""
        return await self._texts.unsaved()

    async def run(self, command: Command) -> RunningCommand:
        """See `Workspace`."""
        return await self._disk.run(command)

    @property
    def _no_call(self) -> Writing:
        return Writing(AgentCall(self._author.session_id, "", ""))
