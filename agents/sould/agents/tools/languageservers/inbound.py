"""What a language server tells and asks by itself. It is told its settings, and gets nothing done: no edit, no window, no command.

Much of it is dropped unread; one that tells without end is given up.
"""

import os
import time
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias, cast

from sould.agents.base.rpc.errors import METHOD_NOT_FOUND, RpcError
from sould.agents.tools.languageservers.problems import ToldProblems
from sould.agents.tools.languageservers.programs import Launch, told
from sould.agents.tools.languageservers.shapes import Json, members, text_of

MOST_MESSAGES: Final = 20_000
"""Within `WINDOW` seconds; then it is given up."""
WINDOW: Final = 10.0
MOST_WORKS: Final = 100
_NOTHING: Final = frozenset(
    {
        *("client/registerCapability", "client/unregisterCapability", "window/workDoneProgress/create"),
        *("window/showMessageRequest", "workspace/codeLens/refresh", "workspace/semanticTokens/refresh"),
        *("workspace/inlayHint/refresh", "workspace/inlineValue/refresh", "workspace/diagnostic/refresh"),
        "workspace/foldingRange/refresh",
    }
)
"""Requests that are answered, and with nothing."""


GiveUp: TypeAlias = Callable[[str], None]
"""Ends the server. `why` completes the sentence "It was stopped because …"."""


class ServerMessages:
    """A `Handler` of the connection to one server."""

    def __init__(self, launch: Launch, problems: ToldProblems, give_up: GiveUp) -> None:
        self._launch = launch
        self._problems = problems
        self._give_up = give_up
        self._works: dict[str, str] = {}
        self._since = 0.0
        self._heard_since = 0
        self.heard = 0
        """How many messages came by themselves."""

    @property
    def working(self) -> str:
        """What the server says that it is at work on; "": nothing."""
        return next(iter(self._works.values()), "")

    async def request(self, method: str, params: Json) -> Any:
        """See `Handler`."""
        self._count()
        if method == "workspace/configuration":
            items = params.get("items")
            return [self._setting(item) for item in (cast("list[Any]", items) if isinstance(items, list) else [])[:100]]
        if method == "workspace/workspaceFolders":
            return folders(self._launch)
        if method == "workspace/applyEdit":
            return {"applied": False, "failureReason": "Nothing is changed that nobody asked for."}
        if method == "window/showDocument":
            return {"success": False}
        if method in _NOTHING:
            return None
        raise RpcError(METHOD_NOT_FOUND, f"There is no method {method[:60]}.")

    async def notification(self, method: str, params: Json) -> None:
        """See `Handler`."""
        self._count()
        if method == "textDocument/publishDiagnostics":
            self._problems.take(params)
        elif method == "$/progress":
            self._progress(text_of(params.get("token"), 200), members(params.get("value")))

    def _setting(self, item: object) -> Any:
        return told(self._launch.known.settings, text_of(members(item).get("section")))

    def _progress(self, token: str, value: Mapping[str, Any]) -> None:
        if value.get("kind") == "end":
            self._works.pop(token, None)
        elif value.get("kind") == "begin" and len(self._works) < MOST_WORKS:
            self._works[token] = text_of(value.get("title"), 100) or "something"

    def _count(self) -> None:
        now = time.monotonic()
        self.heard += 1
        self._heard_since += 1
        if now - self._since > WINDOW:
            self._since, self._heard_since = now, 0
        elif self._heard_since > MOST_MESSAGES:
            self._give_up(f"it sent more than {MOST_MESSAGES} messages within {WINDOW:g} s")


def folders(launch: Launch) -> list[Mapping[str, str]]:
    """The project, as the protocol has it."""
    name = os.fsencode(launch.root.name).decode("utf-8", "replace")
    return [{"uri": launch.root.as_uri(), "name": name}]
