"""Everything a face may do with a project: say what its client has open, see what agents changed, take edits back.

No session and no model is needed for it, and none is started. A face imports nothing else of this package.
"""

from collections.abc import AsyncGenerator, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from sould.agents.localworkspace import LocalWorkspace
from sould.agents.projects.clientfiles import ClientFiles
from sould.agents.projects.projects import Projects
from sould.agents.projects.restore import FileOutcome, take_back
from sould.agents.projects.sessionfiles import Author, SessionFiles
from sould.agents.projects.state import Edit, EditKey
from sould.agents.workspace import Command, RunningCommand, WorkspaceError


class ProjectPort:
    """One client's view of one project, as long as `opened` lasts. Paths are resolved."""

    def __init__(self, projects: Projects, files: SessionFiles, client_id: str) -> None:
        self._buffers = projects.buffers
        self._files = files
        self._client_id = client_id

    @classmethod
    @asynccontextmanager
    async def opened(
        cls, projects: Projects, directory: Path, home: Path, client_id: str
    ) -> AsyncGenerator["ProjectPort", None]:
        """The project of a resolved directory, for a client, which has nothing open when the block is left.

        Raises:
            OSError: its log cannot be opened.
            ProjectOpenElsewhereError: another process holds it.
        """
        disk = LocalWorkspace(directory, (), _no_commands, home)
        files = await SessionFiles.open(ClientFiles(disk, projects.buffers), projects, Author("", None, home))
        try:
            yield cls(projects, files, client_id)
        finally:
            projects.buffers.left(client_id, directory)
            await files.aclose()

    # --- what the client has open: its buffers serve the agents' reads and writes first ---------------------------------

    def open_file(self, path: Path) -> None:
        """The client shows the file as it is on disk."""
        self._buffers.opened(self._client_id, path)

    def change_file(self, path: Path) -> None:
        """The client's text is not what the disk holds."""
        self._buffers.changed(self._client_id, path)

    def save_file(self, path: Path) -> None:
        """The client's text is what the disk holds."""
        self._buffers.saved(self._client_id, path)

    def close_file(self, path: Path) -> None:
        """The client has the file open no more."""
        self._buffers.closed(self._client_id, path)

    def focus(self) -> None:
        """The user looks at this client."""
        self._buffers.focused(self._client_id)

    # --- what agents changed ----------------------------------------------------------------------------------------------

    def edits(self) -> Mapping[Path, Sequence[Edit]]:
        """The edits of all sessions by file, oldest first."""
        return self._files.edits

    async def content(self, digest: str) -> bytes:
        """What a file held before or after an edit. Raises BlobMissingError."""
        return await self._files.content(digest)

    async def restore(self, keys: Collection[EditKey], restore_id: str) -> Sequence[FileOutcome]:
        """Take these edits back, which is an edit itself; what somebody else wrote since stays, or is a conflict."""
        return await take_back(self._files, lambda edit: edit.key in keys, restore_id, "")


async def _no_commands(command: Command) -> RunningCommand:
    raise WorkspaceError(f"a project runs no commands: {command.line}")
