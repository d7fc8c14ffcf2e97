"""Whether a project's MCP servers may be started: its workspace is trusted and they are the ones the user trusted.

What counts is the content: the project's `mcp.json` files and every file of the workspace that a command line in them
names. One changed byte and nothing is started until the user trusts the workspace anew (D23, F74).
"""

import hashlib
import os
from pathlib import Path

from pydantic import BaseModel, Field, ValidationError

from sould.agents.mcp.specs import PROJECT_FILES, read_entries
from sould.agents.permissions.trust import TrustStore
from sould.agents.sessions.projects import write_private

LARGEST_SCRIPT = 8 * 1024 * 1024


class _Accepted(BaseModel):
    digest: str
    since: float
    """Of the trust they were accepted under."""


class _Record(BaseModel):
    workspaces: dict[str, _Accepted] = Field(default_factory=dict)


class TrustedServers:
    """The file `mcp-trust.json` of the state directory: which servers of each workspace were accepted."""

    def __init__(self, path: Path, trust: TrustStore, workspace: Path) -> None:
        self._path = path
        self._trust = trust
        self._workspace = Path(os.path.realpath(workspace))

    def files(self) -> tuple[Path, ...]:
        """The project's files that exist."""
        return tuple(path for name in PROJECT_FILES if (path := self._workspace / name).is_file())

    def refusal(self) -> str:
        """Why the project's servers are not started; "" when they may be. Looks into no file of an untrusted project."""
        names = " and ".join(str(path.relative_to(self._workspace)) for path in self.files())
        if not names:
            return ""
        state = self._trust.state(self._workspace)
        if state == "restricted":
            return f"The MCP servers of {names} are not started: you restricted this project."
        if state != "trusted":
            return f"The MCP servers of {names} are not started until you trust this project: run `sould trust`."
        since, digest = self._trust.since(self._workspace), self._digest()
        record = self._read()
        accepted = record.workspaces.get(str(self._workspace))
        if accepted is not None and accepted.since == since:
            if accepted.digest == digest:
                return ""
            return (
                f"The MCP servers of {names} changed since you trusted this project, so none of them is started: "
                "look at the change, then run `sould trust` again."
            )
        record.workspaces[str(self._workspace)] = _Accepted(digest=digest, since=since)
        write_private(self._path, record.model_dump_json(indent=1).encode())
        return ""

    def _digest(self) -> str:
        content = hashlib.sha256()
        for path in (*self.files(), *self._programs()):
            content.update(f"{path.relative_to(self._workspace)}\0".encode())
            content.update(_hashed(path))
        return content.hexdigest()

    def _programs(self) -> tuple[Path, ...]:
        """The files of the workspace that the command lines name."""
        found: dict[Path, None] = {}
        for file in self.files():
            for entry in read_entries(file)[0].values():
                base = self._workspace / entry.cwd
                for word in (entry.command, *entry.args):
                    path = Path(os.path.realpath(base / word)) if "\0" not in word else base
                    if path.is_relative_to(self._workspace) and path.is_file():
                        found[path] = None
        return tuple(found)

    def _read(self) -> _Record:
        try:
            return _Record.model_validate_json(self._path.read_bytes())
        except (OSError, ValidationError):
            return _Record()


def _hashed(path: Path) -> bytes:
    content = hashlib.sha256()
    try:
        with path.open("rb") as file:
            content.update(file.read(LARGEST_SCRIPT))
            content.update(str(os.fstat(file.fileno()).st_size).encode())
    except OSError as error:
        content.update(f"unreadable {error.errno}".encode())
    return content.digest()
