"""Contents of files of secrets: in memory, for as long as the daemon runs, and nowhere else."""

from pathlib import Path
from typing import Final, Protocol

from sould.agents.base.diskfile import digest_of

MOST: Final = 64 * 1024 * 1024
"""Bytes; what is beyond takes the place of the oldest."""


class SecretJudge(Protocol):
    """Knows which files hold secrets; a session's `Approval` is one."""

    def secret_in(self, path: Path, *contents: bytes) -> str:
        """Why a file with one of these contents is a secret, or "". Blocks."""
        ...


class SecretBlobs:
    """Shared by all sessions of a daemon, so that closing one forgets nothing."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._size = 0
        self._contents: dict[str, bytes] = {}

    def put(self, data: bytes) -> str:
        """Keep `data`; its digest."""
        digest = digest_of(data)
        if digest not in self._contents:
            self._contents[digest] = data
            self._size += len(data)
        while self._size > self._most:
            self._size -= len(self._contents.pop(next(iter(self._contents))))
        return digest

    def get(self, digest: str) -> bytes | None:
        """The content, if it is still known."""
        return self._contents.get(digest)
