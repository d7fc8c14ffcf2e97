"""Whether a project's MCP servers may be started: its workspace is trusted and they are the ones the user trusted.

What counts is the content at that moment: the project's `mcp.json` files and every file of the workspace that they
name. One changed byte and nothing is started until the user trusts the workspace anew (D23).
"""

import os
from pathlib import Path

from sould.agents.permissions.projectfiles import MCP_FILES, served_files
from sould.agents.permissions.trust import TrustStore


class TrustedServers:
    """The MCP files of one workspace, and the user's decision about them."""

    def __init__(self, trust: TrustStore, workspace: Path) -> None:
        self._trust = trust
        self._workspace = Path(os.path.realpath(workspace))

    @property
    def places(self) -> tuple[Path, ...]:
        """Where the project's files may be."""
        return tuple(self._workspace / name for name in MCP_FILES)

    def files(self) -> tuple[Path, ...]:
        """The project's files that exist."""
        return tuple(path for path in self.places if path.is_file())

    @property
    def undecided(self) -> bool:
        """The user has not said whether they trust the project, and is told what waits for that by others (D1)."""
        return self._trust.state(self._workspace) == "unknown"

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
        changed = self._trust.changed(self._workspace, (*self.files(), *served_files(self._workspace, MCP_FILES)))
        if not changed:
            return ""
        which = ", ".join(str(self._shown(path)) for path in changed[:5])
        return (
            f"The MCP servers of {names} changed since you trusted this project ({which}), so none of them is started: "
            "review the change, then run `sould trust` again."
        )

    def _shown(self, path: Path) -> Path:
        return path.relative_to(self._workspace) if path.is_relative_to(self._workspace) else path
