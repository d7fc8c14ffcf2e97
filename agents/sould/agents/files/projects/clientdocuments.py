"""What one client has open of a project. Its buffers serve the agents' reads and writes first, and the review is of their texts."""

from pathlib import Path

from sould.agents.base.workspace import TextFiles
from sould.agents.files.reviewing.buffers import Buffers
from sould.agents.files.reviewing.looking import LeftBuffer
from sould.agents.files.reviewing.review import Review


class ClientDocuments:
    """Of one client, as it says. Paths are resolved."""

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
