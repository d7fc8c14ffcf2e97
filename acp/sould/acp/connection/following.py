"""A client whose user may have it go where the agent is: a place to look at is said at the tool call. An `EditorClient`.

Nobody answers that, so nothing is claimed of it; and where the focus was asked for, somebody else is asked.
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection
from pathlib import Path
from typing import ClassVar, Final, TypeAlias

from sould.agents.tools.editor.backends import Arguments, EditorResult, Where
from sould.agents.tools.editor.errors import EditorToolError
from sould.agents.tools.editor.results import Opened
from sould.agents.tools.editor.site import Site

TOOLS: Final = frozenset({"editor_open"})
PATIENCE: Final = 5.0
"""Seconds in which a client takes what it was sent before."""


Point: TypeAlias = Callable[[str, str, int], Awaitable[bool]]
"""Says where an open call is, by its id, path and line; False: the client knows no such call."""
Shown: TypeAlias = Callable[[str], Point | None]
"""What points in the session with this id, if the client shows it."""


class FollowingClient:
    """Of one client, with its first session."""

    only_points: ClassVar[bool] = True
    """See `EditorClient`."""

    def __init__(self, client_id: str, name: str, shown: Shown) -> None:
        self.id = client_id
        self.name = name
        self._shown: Shown = shown

    def tools(self, site: Site) -> Collection[str]:
        """See `EditorBackend`."""
        return TOOLS if self._shown(site.session_id) is not None else frozenset[str]()

    def has_open(self, path: Path) -> bool:
        """See `EditorClient`: it does not say."""
        return False

    async def call(self, tool: str, given: Arguments, where: Where) -> EditorResult:
        """See `EditorBackend`."""
        if given.get("focus"):
            raise EditorToolError("not_supported", f"{self.name} goes there only if its user follows the agent.")
        if not await self._pointed(where):
            raise EditorToolError("not_supported", f"{self.name} does not show this tool call.")
        return EditorResult(Opened(opened=False, by=self.name, pointed=True))

    async def _pointed(self, where: Where) -> bool:
        point, line = self._shown(where.site.session_id), where.at.line if where.at is not None else 1
        if point is None or where.file is None:
            return False
        try:
            async with asyncio.timeout(PATIENCE):
                return await point(where.call_id, str(where.file), line)
        except TimeoutError:
            return False
