"""What clients offer in a session, kept as the files have it while nobody prompts: the commands of skills, agents, models.

A turn takes up by itself whatever changed before it, and only there is the model told and a project's file judged. Here
clients are told that their lists are others, within seconds, and by nothing else than those lists. While a turn runs
it waits for the turn's end.
"""

import asyncio
import os
from collections.abc import AsyncGenerator, Iterable
from contextlib import asynccontextmanager, suppress

from sould.agents.base.errors import ConfigError
from sould.agents.base.tasks import Behind
from sould.agents.sessions.commands.slash import CommandRegistry
from sould.agents.sessions.services import HostServices
from sould.agents.sessions.session_builder import Parts
from sould.agents.sessions.sessionturns import SessionTurns
from sould.agents.soul.catalog import PROJECT_FOLDERS
from sould.agents.soul.session_request import SessionRequest
from sould.agents.soul.skills.discovery import MAX_DEPTH, MAX_DIRECTORIES, candidates
from sould.agents.wire.messages import SessionChanged


class Menus:
    """Of one session. A `FolderListener`."""

    def __init__(self, parts: Parts, commands: CommandRegistry, turns: SessionTurns) -> None:
        self._log, self._commands, self._turns = parts.log, commands, turns
        self._options, self._models = parts.choices.options, parts.services.model.models
        self._skills, self._opening = parts.services.workplace.skills, parts.services.workplace.opening
        self._host = parts.services.host
        self._config = self._host.configuration.live.now
        self._places: tuple[str, ...] = ()
        self._due = False
        self._behind = Behind("looking at what can be chosen")

    @asynccontextmanager
    async def serving(self) -> AsyncGenerator[None]:
        """Keep them so until the block is left. Nothing is looked at before the watcher is there."""
        self._host.files.rare.listen(self, (str(self._opening.cwd),))
        try:
            yield
        finally:
            self._host.files.rare.listen(self, ())
            await self._behind.aclose()

    def happened(self, folder: str, name: str) -> None:
        """See `FolderListener`."""
        path = os.path.join(folder, name)
        self._due = self._due or not name or any(_concerns(path, place) for place in self._places)

    def lost(self) -> None:
        """See `FolderListener`."""
        self._due = True

    def burst_over(self) -> None:
        """See `FolderListener`."""
        if self._due and not self._behind.busy and not self._turns.busy:
            self._behind.begin(self._look())

    async def _look(self) -> None:
        while self._due and not self._turns.busy:
            self._due = False
            files, trees = _places(self._host, self._opening)
            self._places = (*files, *trees)
            self._host.files.rare.listen(self, await asyncio.to_thread(_folders, files, trees))
            await self._take_up()

    async def _take_up(self) -> None:
        before = self._commands.all()
        with suppress(ConfigError):
            config = self._host.configuration.live.look()
            if config is not self._config:
                await self._models.refresh()
                self._config = config
        if not self._skills.unchanged:
            await asyncio.to_thread(self._skills.look)
        if self._commands.all() != before:
            self._log.publish(SessionChanged(commands=True))
        self._options.show_others()


def _concerns(path: str, place: str) -> bool:
    return path == place or path.startswith(f"{place}/") or place.startswith(f"{path}/")


def _places(host: HostServices, opening: SessionRequest) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The files, and the directories with all that is below them, which say what there is to choose."""
    cwd, user = opening.cwd, host.configuration
    files = [*user.files, *host.policy.trust.files(cwd)]
    trees = [user.directory / "agents", *(cwd / folder for folder in PROJECT_FOLDERS)]
    trees += candidates(cwd, opening.environment, user.live.now.extra_skill_dirs)
    led_to = map(os.path.realpath, files)
    return tuple({*map(str, files), *led_to}), tuple(dict.fromkeys(map(str, trees)))


def _folders(files: Iterable[str], trees: Iterable[str]) -> set[str]:
    """Where something happens when one of these changes, comes or goes. Blocks."""
    found = {_nearest(os.path.dirname(path)) for path in (*files, *trees)}
    for tree in trees:
        for count, (folder, below, _) in enumerate(os.walk(tree, followlinks=True)):
            found.add(folder)
            if count >= MAX_DIRECTORIES:
                break
            if folder[len(tree) :].count("/") >= MAX_DEPTH:
                below.clear()
    return found


def _nearest(folder: str) -> str:
    """The folder, or the lowest one above it that is there."""
    while not os.path.isdir(folder) and folder != "/":
        folder = os.path.dirname(folder)
    return folder
