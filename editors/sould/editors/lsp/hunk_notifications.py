"""Tells the editor to ask again for what it shows of hunks, when the review of an open document changes.

What happens within a moment is told as one. An editor that cannot be told asks when it is looked at, or its user types.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

from msgspec import Struct

from sould.agents.base.errors import SouldError
from sould.agents.base.rpc.errors import ConnectionGoneError, RpcError
from sould.editors.lsp.connection import EditorConnection

if TYPE_CHECKING:
    from sould.agents.clients.review.projects import FollowedProject

logger = logging.getLogger(__name__)

TOGETHER: Final = 0.02
"""Seconds within which changes are told as one."""


ShowHints: TypeAlias = Callable[[set[Path]], Awaitable[None]]
"""Tells the editor what it shows as diagnostics of these open documents."""


class _Followed(Struct):
    """A project with open documents."""

    project: "FollowedProject"
    stack: ExitStack
    paths: set[Path]


class EditorNews:
    """Of one editor window."""

    def __init__(self, client: EditorConnection, show_hints: ShowHints) -> None:
        self._client = client
        self._show_hints = show_hints
        self._followed: dict[Path, _Followed] = {}
        """By root."""
        self._changed: set[Path] = set()
        self._chosen = False
        """The user wants other things to be shown than before."""
        self._telling: asyncio.Task[None] | None = None

    async def follow(self, path: Path) -> None:
        """The editor shows a file from now on."""
        project = await (await self._client.projects()).hold(path)
        root = project.port.review.root
        known = self._followed.get(root)
        if known is not None:
            project.end_use()
        else:
            stack = ExitStack()
            stack.callback(project.end_use)
            stack.enter_context(project.port.following(self._note))
            known = self._followed[root] = _Followed(project, stack, set())
        known.paths.add(path)
        if self._client.hints:
            self._note(str(path))

    async def forget(self, path: Path) -> None:
        """The editor shows it no more."""
        for root, known in tuple(self._followed.items()):
            known.paths.discard(path)
            if not known.paths:
                known.stack.close()
                del self._followed[root]

    def renew(self) -> None:
        """The user wants to be shown something else."""
        self._chosen = True
        for known in self._followed.values():
            for path in known.paths:
                self._note(str(path))

    def end(self) -> None:
        """The editor is gone."""
        for known in self._followed.values():
            known.stack.close()
        self._followed.clear()

    def _note(self, path: str) -> None:
        self._changed.add(Path(path))
        if (self._telling is None or self._telling.done()) and not self._client.connection.gone:
            self._telling = self._client.connection.spawn(self._tell(), "refresh hunks")

    async def _tell(self) -> None:
        """Ask for nothing twice: an editor that has not answered yet is told once, later."""
        while self._changed:
            await asyncio.sleep(TOGETHER)
            changed, self._changed = self._changed, set()
            shown = {path for known in self._followed.values() for path in known.paths} & changed
            if not shown:
                continue
            chosen, self._chosen = self._chosen, False
            if self._client.hints or chosen:
                await self._hint(shown)
            await self._refresh_lenses()

    async def _refresh_lenses(self) -> None:
        if self._client.can.refreshes_lenses:
            with suppress(RpcError, ConnectionGoneError):
                await self._client.lsp.workspace_code_lens_refresh_async(None)

    async def _hint(self, paths: set[Path]) -> None:
        try:
            await self._show_hints(paths)
        except (SouldError, OSError) as error:
            logger.warning("hunks are not told as hints: %s", error)
