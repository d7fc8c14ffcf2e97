"""What was changed in one project, and what its files held, for whoever asks. Nothing here changes anything."""

import asyncio
import stat
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from sould.agents.files.directories.nodes import is_link
from sould.agents.files.directories.refs import DIRECTORY, UNKEPT
from sould.agents.files.edits.blobs import BlobMissingError, BlobStore
from sould.agents.files.edits.droppedtext import DroppedText, dropped_texts
from sould.agents.files.edits.editlog import EditLogFile
from sould.agents.files.edits.history import PastWrite, at_path, past_writes
from sould.agents.files.edits.reviewed import ReviewedFiles
from sould.agents.files.edits.state import Edit, EditState
from sould.agents.files.edits.texts import Texts


class ProjectPast:
    """Of one project: its edits, the log that they stand in, and the contents of files before and after them."""

    def __init__(self, root: Path, file: EditLogFile, store: BlobStore, state: EditState) -> None:
        self.root = root
        self.review = ReviewedFiles(store)
        self._file = file
        self._store = store
        self._state = state

    def edits(self, session_id: str | None = None) -> Mapping[Path, Sequence[Edit]]:
        """The edits of all sessions, or those that one made or inherited, by resolved path, oldest first."""
        return self._state.edits(session_id)

    def edits_since(self, session_id: str, mark: int) -> Mapping[Path, Sequence[Edit]]:
        """The edits that a session has made since `moment` gave the mark."""
        edits = self.edits(session_id).items()
        return {path: new for path, each in edits if (new := [edit for edit in each if edit.order >= mark])}

    def edits_of(self, path: Path) -> Sequence[Edit]:
        """Those of one file, oldest first."""
        return self._state.edits_of(path)

    def was_written_in_place(self, path: Path) -> bool:
        """Whether an agent wrote the file where it is, so that all its names changed."""
        return any(edit.in_place for edit in self.edits_of(path))

    def unsettled(self, path: Path) -> Sequence[Edit]:
        """Edits of a file of which nobody knows yet if they happened."""
        return [edit for at, edit in self._state.unsettled() if at == path]

    async def content(self, digest: str) -> bytes:
        """What a file held, nothing for a directory. Raises BlobMissingError."""
        if digest == DIRECTORY:
            return b""
        if digest == UNKEPT:
            raise BlobMissingError("what it held was not saved: it was too large, or there was no time to")
        try:
            return await asyncio.to_thread(self._store.get, digest)
        except BlobMissingError:
            if self._state.is_secret(digest):
                raise BlobMissingError("it held secrets, so what it was ended with the daemon that kept it") from None
            raise

    def made_above(self, path: Path) -> Collection[Path]:
        """The directories above a path that agents made."""
        return [folder for folder in path.parents if self.is_made_directory(folder)]

    def is_made_directory(self, path: Path) -> bool:
        """Whether agents made a directory there, where none was."""
        edits = self.edits_of(path)
        return bool(edits) and edits[-1].after == DIRECTORY and edits[0].before != DIRECTORY

    def history(self, path: Path) -> dict[int, PastWrite]:
        """The writes of agents to a file under review, by number, as far as they are known. Blocks."""
        events = self._file.read(self.review.places(str(path)))
        named = [at_path(event, str(path), self._state.roots, self.root) for event in events]
        return past_writes(named, Texts(self._store))

    async def dropped(self, path: str) -> Sequence[DroppedText]:
        """The user's texts that rejects dropped there, because they chose so."""
        events = await asyncio.to_thread(self._file.read, self.review.places(path))
        return [*dropped_texts(path, events)]

    def mode_before_deletion(self, path: Path) -> int | None:
        """The permissions of a file before it was deleted last, or a link took its place, when somebody looked."""
        gone = (each for each in reversed(self.edits_of(path)) if each.after is None or is_link(each.after_mode))
        mode = next((edit.before_mode for edit in gone if not is_link(edit.before_mode)), None)
        return stat.S_IMODE(mode) if mode is not None else None
