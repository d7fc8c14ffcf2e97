"""The user is told where their files still name a tool that this version has no more. Once for each project."""

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from msgspec import Struct

from sould.agents.base.config import Hook
from sould.agents.journal.log import SessionLog
from sould.agents.sessions.services import SessionServices
from sould.agents.sessions.settings.seen_notices import ToldOnce
from sould.agents.soul.spec import AgentSpec
from sould.agents.toolapi.loading import RETIRED_TOOLS
from sould.agents.wire.notice import notice

_NOW: Final = "UserPromptSubmit"
"""The event before which this is said."""


class RetiredTools(Struct, frozen=True):
    """Tells the user of one session."""

    services: SessionServices
    log: SessionLog

    async def tell(self, spec: AgentSpec) -> None:
        """Of the session's agent and its hooks, what was not said before."""
        lines = tuple(_lines(spec, self.services.hooks.commands(_NOW)))
        if body := "\n".join(await asyncio.to_thread(self._news, lines) if lines else ()):
            self.log.publish(notice("agent", "A tool that is named is not there any more", body, severity="warning"))

    def _news(self, lines: Sequence[str]) -> Sequence[str]:
        """Blocks."""
        told, cwd = ToldOnce(self.services.host.storage.directory / "told.json"), self.services.workplace.opening.cwd
        return [line for line in lines if told.is_news(f"retired {line}", cwd, line)]


def _lines(spec: AgentSpec, hooks: Iterable[Hook]) -> Iterator[str]:
    matchers = [each.matcher for each in hooks]
    for path, instead in RETIRED_TOOLS.items():
        name = path.rpartition(":")[2]
        if spec.retired():
            yield f"- `{spec.document.path}` names {name}, which is ignored: {instead}."
        for matcher in matchers:
            if name in matcher:
                yield f"- The matcher `{matcher}` of a hook names {name}, which is never called: {instead}."
