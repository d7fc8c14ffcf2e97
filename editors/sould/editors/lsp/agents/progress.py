"""A running turn as work in progress, which the editor's user can cancel. One for each turn; its token is the turn's."""

import asyncio
from typing import Final

from sould.agents.base.rpc.connection import Connection
from sould.agents.base.rpc.errors import ConnectionGoneError, RpcError
from sould.editors.lsp import types
from sould.editors.lsp.protocol import written

PREFIX: Final = "sould-"


class TurnProgress:
    """Shown from `begin` to `end`."""

    def __init__(self, connection: Connection, turn_id: str) -> None:
        self._connection = connection
        self._turn_id = turn_id
        self._said = ""
        self._over = False
        self._news = asyncio.Event()

    def begin(self, title: str) -> None:
        """Show it."""
        self._connection.spawn(self._show(title), "turn progress")

    def take_up(self) -> None:
        """It is shown: an earlier daemon began it."""
        self._connection.spawn(self._follow(), "turn progress")

    def say(self, message: str) -> None:
        """What happens now."""
        self._said = message
        self._news.set()

    def end(self, message: str) -> None:
        """The turn is over."""
        self._said, self._over = message, True
        self._news.set()

    async def _show(self, title: str) -> None:
        try:
            await self._connection.request("window/workDoneProgress/create", {"token": self._token})
        except (RpcError, ConnectionGoneError):
            return
        self._tell(types.ProgressBegin(title, cancellable=True))
        await self._follow()

    async def _follow(self) -> None:
        while not self._over:
            await self._news.wait()
            self._news.clear()
            if not self._over:
                self._tell(types.ProgressReport(self._said, cancellable=True))
        self._tell(types.ProgressEnd(self._said))

    @property
    def _token(self) -> str:
        return PREFIX + self._turn_id

    def _tell(self, value: object) -> None:
        self._connection.notify("$/progress", {"token": self._token, "value": written(value)})
