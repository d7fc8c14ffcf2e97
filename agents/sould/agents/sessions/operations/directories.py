"""Working in further directories: at once for every tool and rule, for the model from its next step on, and for good."""

from collections.abc import Iterable
from pathlib import Path

from msgspec import Struct

from sould.agents.journal.log import SessionLog
from sould.agents.mcp.session import SessionServers
from sould.agents.sessions.operations.context import ModelContext
from sould.agents.sessions.settings.workspace_info import Directories
from sould.agents.sessions.store.entry import SessionEntry
from sould.agents.soul.soul import Soul
from sould.agents.wire.messages import DirectoryAdded


class AddedDirectories(Struct, frozen=True):
    """Of one session. `home`: the user's, for paths that begin with `~`."""

    log: SessionLog
    entry: SessionEntry
    directories: Directories
    home: Path
    soul: Soul
    servers: SessionServers
    context: ModelContext

    @property
    def all(self) -> tuple[Path, ...]:
        """Where the session works, its own directory first."""
        return (self.entry.info.cwd, *self.directories)

    def add(self, directories: Iterable[Path]) -> None:
        """Work there, too; those that are known stay as they are."""
        added = [directory for directory in directories if self.directories.add(directory)]
        for directory in added:
            self.log.publish(DirectoryAdded(path=str(directory)))
        if added:
            self.entry.work_in(self.directories)
            self.soul.tell_anew()
            self.servers.work_in(self.directories)

    def add_named(self, named: str) -> Path:
        """Work in a directory that the user names, and tell the model.

        Raises:
            OptionError: it is none.
        """
        path = self.directories.find(named, self.home)
        self.add((path,))
        cwd = self.entry.info.cwd
        self.context.tell(f"The user added the directory {path} to the workspace: you may work there as in {cwd}.")
        return path
