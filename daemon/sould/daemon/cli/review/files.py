"""The lines around hunks, from the user's files as they are on disk; of deleted files, from the daemon.

Reads only; what does not fit a hunk is not shown.
"""

from collections.abc import Sequence

from sould.agents.files.review.lines import split
from sould.agents.files.reviewing.shapes import ShownHunk, texts_of
from sould.daemon.cli.review.client import ReviewClient


class ReviewedFiles:
    """Each file is read once."""

    def __init__(self, client: ReviewClient) -> None:
        self._client = client
        self._texts: dict[str, Sequence[str]] = {}

    def text(self, hunk: ShownHunk) -> Sequence[str]:
        """The lines of its file, which may be deleted.

        () when they cannot be read, or others stand there: what an editor has is not saved.
        """
        if hunk.kind == "delete":
            return split(self._client.deleted(hunk.path))
        if hunk.kind != "text":
            return ()
        lines = self._texts.get(hunk.path)
        if lines is None:
            lines = self._texts[hunk.path] = _read(hunk.path)
        fits = tuple(lines[hunk.start : hunk.start + len(hunk.lines)]) == texts_of(hunk)
        return lines if fits and hunk.state not in ("absent", "stale") else ()


def _read(path: str) -> Sequence[str]:
    try:
        with open(path, "rb") as file:
            return split(file.read().decode(errors="replace"))
    except OSError:
        return ()
