"""Everything a frontend may do with a project: say what its client has open, see what agents changed, take edits back.

No session and no model is needed for it, and none is started. A frontend imports nothing else of `files.projects`.
"""

from collections.abc import AsyncGenerator, Collection, Generator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

from sould.agents.base.localworkspace import LocalWorkspace
from sould.agents.base.workspace import Command, RunningCommand, TextFiles, WorkspaceError
from sould.agents.files.edits.ownership import ALONE, never_projects
from sould.agents.files.edits.reviewed import Follower
from sould.agents.files.edits.state import EditKey, LoggedEdit
from sould.agents.files.projects.clientfiles import ClientFiles
from sould.agents.files.projects.projects import Projects
from sould.agents.files.projects.restore import FileOutcome, take_back
from sould.agents.files.projects.sessionfiles import Author, SessionFiles
from sould.agents.files.reviewing.buffers import Buffers
from sould.agents.files.reviewing.listing import EVERYTHING, FileReview, Selection
from sould.agents.files.reviewing.looking import LeftBuffer
from sould.agents.files.reviewing.review import Review


class ClientDocuments:
    """What one client has open of a project, as it says. Paths are resolved.

    Its buffers serve the agents' reads and writes first, and the review is of their texts.
    """

    def __init__(self, buffers: Buffers, review: Review, client_id: str) -> None:
        self._buffers = buffers
        self._review = review
        self._client_id = client_id

    def serve(self, workspace: TextFiles | None, name: str = "") -> None:
        """The client reads and writes the files it has open through this, None: it does not. `name` is what people call it."""
        self._buffers.serve(self._client_id, workspace, name)

    def open(self, path: Path) -> None:
        """The client shows the file as it is on disk."""
        self._buffers.opened(self._client_id, path)
        self._review.look_soon(str(path))

    def change(self, path: Path, text: str | None = None) -> None:
        """The client's text is not what the disk holds; `text`: it is this."""
        self._buffers.changed(self._client_id, path, text)
        self._review.typed(str(path))

    def save(self, path: Path, text: str | None = None) -> None:
        """The client's text is what the disk holds; `text`: it is this."""
        self._review.saved(str(path), self._buffers.saved(self._client_id, path, text))

    def close(self, path: Path) -> None:
        """The client has the file open no more; what it had not saved is gone."""
        discarded = path in self._buffers.unsaved_of(self._client_id)
        self._buffers.closed(self._client_id, path)
        if discarded:  # so the client said what the file holds now
            self._review.typed(str(path))
        else:
            self._review.look_soon(str(path))

    def leave(self) -> None:
        """The client has nothing open any more."""
        for path in self._buffers.unsaved_of(self._client_id):
            if path.is_relative_to(self._review.root):
                left = self._buffers.left_by(self._client_id, path)
                if left is not None:
                    self._review.editor_left(str(path), LeftBuffer(*left))
                self.close(path)
        self._buffers.left(self._client_id, self._review.root)

    def focus(self) -> None:
        """The user looks at this client."""
        self._buffers.focused(self._client_id)


class ProjectPort:
    """One client's view of one project, as long as `opened` lasts. Parts that frontends use as they are, are public."""

    def __init__(self, projects: Projects, files: SessionFiles, client_id: str) -> None:
        [self.review] = files.projects.reviews()
        """Decisions and comments, and what is known of the hunks without a look at their files."""
        self.documents = ClientDocuments(projects.buffers, self.review, client_id)
        """What the client has open."""
        self._unforeseen = projects.unforeseen
        self._files = files

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
        disk = LocalWorkspace(directory, (), no_commands, home)
        clients = ClientFiles(disk, projects.buffers)
        files = await SessionFiles.open(disk, projects, Author("", None, home), clients)
        port = cls(projects, files, client_id)
        try:
            with port.review.watcher.attended():
                yield port
        finally:
            port.documents.leave()
            await files.aclose()

    @staticmethod
    def root_of(projects: Projects, path: Path, home: Path) -> Path:
        """The root of the project of a resolved file or directory.

        One that belongs to none is a project itself when it is a directory that may be one; else it stands alone (`/`). Blocks.
        """
        never = never_projects(home)
        is_directory = path.is_dir()
        root = projects.place_of(path / "any" if is_directory else path, (), never).root
        return path if root == ALONE and is_directory and path not in never else root

    def files(self, paths: Collection[str]) -> Sequence[FileReview]:
        """These files as they are known, by path; also those of which nothing is pending."""
        selection = Selection(paths=tuple(paths))
        return self.review.upcoming.beside(self.review.now(paths), selection) if paths else ()

    async def pending_now(self, selection: Selection = EVERYTHING, *, absent: bool = False) -> Sequence[FileReview]:
        """What is pending, by path, in the files as they are now. `absent`: also hunks whose text is not in its file."""
        await self.review.look_at_all()
        await self.review.carry_out_waiting()  # of an earlier daemon: whoever opened the project may still be at it
        return self.review.upcoming.beside(self.review.pending(selection, absent=absent), selection)

    @contextmanager
    def following(self, follower: Follower) -> Generator[None]:
        """Tell it of each file whose review changes, as long as the block lasts; first of what calls are about to write already."""
        with self.review.following(follower):
            for call in tuple(self._unforeseen.values()):
                call.begin()
            yield

    async def foresee(self) -> None:
        """Have what calls are about to write shown in lists, also when nobody follows."""
        for call in tuple(self._unforeseen.values()):
            await call.find()

    def edits(self) -> Mapping[Path, Sequence[LoggedEdit]]:
        """The edits of all sessions by file, oldest first."""
        return self._files.projects.edits

    async def content(self, digest: str) -> bytes:
        """What a file held before or after an edit. Raises BlobMissingError."""
        return await self._files.projects.content(digest)

    async def restore(self, keys: Collection[EditKey], restore_id: str, *, kept: bool = False) -> Sequence[FileOutcome]:
        """Take these edits back, which is an edit itself; what the user kept of them stays, unless `kept`.

        What somebody else wrote since stays, or is a conflict.
        """
        return await take_back(self._files, lambda edit: edit.key in keys, restore_id, "", kept=kept)


async def no_commands(command: Command) -> RunningCommand:
    """What a workspace of files alone runs commands with. Raises WorkspaceError."""
    raise WorkspaceError(f"a project runs no commands: {command.line}")
