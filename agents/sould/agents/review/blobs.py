"""Content-addressed store of file texts, outside the project. What `put` returned for is on disk, whole."""

from pathlib import Path


class BlobStore:
    """Blobs by sha256 hex below one directory (0700, files 0600); a content is stored once."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def put(self, data: bytes) -> str:
        """Store `data`, fsynced before this returns; its digest. Blocks: call it in a thread."""
        raise NotImplementedError(data)

    def get(self, digest: str) -> bytes:
        """The content, verified. Raises BlobMissingError."""
        raise NotImplementedError(digest)
