"""Stored sign-ins of remote MCP servers: one private file for each address, below the state directory.

Looking for a sign-in and forgetting it needs no library; using one does (D9). A daemon never opens a browser: only
`sould mcp auth` does, in the user's terminal.
"""

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sould.agents.mcp.specs import ServerSpec


class StoredSignIns:
    """The directory of sign-ins."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def file(self, url: str) -> Path:
        """Where the sign-in of this address is kept."""
        name = hashlib.sha256(url.rstrip("/").encode()).hexdigest()[:32]
        return self._directory / f"{name}.json"

    def has(self, url: str) -> bool:
        """Somebody signed in there and did not forget it."""
        return self.file(url).exists()

    def unfinished(self, url: str) -> Path:
        """Where a sign-in is kept while the user is at it: one that is broken off, however, leaves the last as it was."""
        return self.file(url).with_suffix(".new")

    def finish(self, url: str) -> bool:
        """It is done, and takes the place of the last; False when none was begun."""
        try:
            self.unfinished(url).replace(self.file(url))
        except FileNotFoundError:
            return False
        return True

    def forget(self, url: str) -> bool:
        """Remove it; False when there was none."""
        try:
            self.file(url).unlink()
        except FileNotFoundError:
            return False
        return True

    def auth(self, spec: ServerSpec, variables: Mapping[str, str]) -> Any:
        """What authenticates requests to this server (an `httpx2.Auth`); None when nobody signed in."""
        if not self.has(spec.url):
            return None
        from sould.agents.mcp.oauth import StoredOAuth  # noqa: PLC0415 -- D9

        return StoredOAuth(spec, self.file(spec.url), variables)
