"""Content-addressed store of contents, outside the project. What `put` has returned for is on disk, whole.

BlobMissingError   no such blob, or its bytes are not what its name says
"""

import os
from pathlib import Path
from secrets import token_hex

from sould.agents.base.diskfile import digest_of
from sould.agents.files.directories.secretblobs import SecretBlobs


class BlobMissingError(Exception):
    """No such blob, or its bytes are not what its name says."""


class BlobStore:
    """Blobs by sha256 hex below one directory (0700, files 0600); a content is stored once. Blocks: use it in a thread.

    What is put as a secret goes to `secrets`, and never to disk.
    """

    def __init__(self, directory: Path, secrets: SecretBlobs | None = None) -> None:
        self._directory = directory
        self._secrets = secrets or SecretBlobs()
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)

    def put(self, data: bytes, *, sync: bool = True, secret: bool = False) -> str:
        """Store `data`; its digest. With `sync` it survives a power cut. Raises OSError when the disk refuses it."""
        if secret:
            return self._secrets.put(data)
        digest = digest_of(data)
        path = self._path(digest)
        try:
            if path.read_bytes() == data:
                os.utime(path)  # in use again: see `BlobSweep`; gone by now, it is written anew
                return digest
        except FileNotFoundError:
            path.parent.mkdir(mode=0o700, exist_ok=True)
            if sync:
                sync_directory(self._directory)
        temp = path.with_name(f".{token_hex(8)}.tmp")
        fd = os.open(temp, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            with open(fd, "wb") as file:
                file.write(data)
                file.flush()
                if sync:
                    os.fsync(fd)
            temp.replace(path)
        except OSError:
            temp.unlink(missing_ok=True)
            raise
        if sync:
            sync_directory(path.parent)
        return digest

    def get(self, digest: str) -> bytes:
        """The content. Raises BlobMissingError, also when the bytes are damaged."""
        if (held := self._secrets.get(digest)) is not None:
            return held
        try:
            data = self._path(digest).read_bytes()
        except FileNotFoundError:
            raise BlobMissingError(f"the saved text {digest[:12]} is missing") from None
        if digest_of(data) != digest:
            raise BlobMissingError(f"the saved text {digest[:12]} is damaged")
        return data

    def size(self, digest: str) -> int | None:
        """How many bytes it has; None: nobody knows any more."""
        if (held := self._secrets.get(digest)) is not None:
            return len(held)
        try:
            return os.stat(self._path(digest)).st_size
        except OSError:
            return None

    def _path(self, digest: str) -> Path:
        return self._directory / digest[:2] / digest[2:]


def sync_directory(directory: Path) -> None:
    """What was renamed or made in it is there after a power cut, too. Raises OSError."""
    fd = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
