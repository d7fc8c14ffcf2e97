"""Language servers over a real guard, in this process: the scripted one (`langserver.py`) in a project of its own."""

import asyncio
import json
import os
import sys
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sould.agents.base.config import Config, LanguageServers
from sould.agents.base.liveconfig import FixedConfig
from sould.agents.base.process.guard import ProcessGuard
from sould.agents.files.directories.watching import Watches
from sould.agents.tools.languageservers.pool import LanguageServerPool
from sould.agents.tools.languageservers.programs import LANGUAGES, ServerLaunch, launch_for

SERVER = str(Path(__file__).with_name("langserver.py"))
PYTHON = next(language for language in LANGUAGES if language.name == "python")


@dataclass
class Served:
    """A project, and where the scripted server writes down what it was told."""

    root: Path
    notes: Path
    settings: dict[str, Any] = field(default_factory=dict[str, Any])

    def settled(self, mode: str) -> LanguageServers:
        """The user's settings, who has the scripted server for Python."""
        command = (sys.executable, SERVER, mode, str(self.notes))
        return LanguageServers.model_validate({"commands": {"python": command}, **self.settings})

    def launch(
        self, mode: str = "ok", *, root: Path | None = None, variables: Mapping[str, str] | None = None
    ) -> ServerLaunch:
        """How the scripted server is started here."""
        found = launch_for(PYTHON, root or self.root, variables or {"PATH": os.environ["PATH"]}, self.settled(mode))
        assert found is not None
        return found

    @asynccontextmanager
    async def pool(self) -> AsyncGenerator[LanguageServerPool, None]:
        """A daemon's, while the block lasts."""
        guard = ProcessGuard()
        config = FixedConfig(Config(languageservers=self.settled("ok")))
        try:
            async with asyncio.TaskGroup() as group:
                pool = LanguageServerPool(group, guard, config, Watches(), "1")
                try:
                    yield pool
                finally:
                    pool.close()
        finally:
            await guard.aclose()

    @property
    def told(self) -> list[dict[str, Any]]:
        """What servers were told, in order."""
        log = self.notes / "told.jsonl"
        return [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []

    def told_of(self, method: str) -> list[dict[str, Any]]:
        """The parameters of the messages of one method."""
        return [each.get("params") or {} for each in self.told if each.get("method") == method]
