"""Where an agent's further tools come from: MCP servers, clients. They come and go while the session lives.

A session has its sources in a fixed order, so that the same tools are always offered in the same order. A source knows
what it offers; which agent may have which of it is decided here. Nothing here calls a tool.
"""

import asyncio
from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Any, Protocol, TypeAlias

from sould.agents.toolapi.base import Tool
from sould.agents.wire.messages import ToolReturn

Offer: TypeAlias = Mapping[str, Tool[Any]]
"""Tools by the names the model uses."""


class ToolSource(Protocol):
    """Tools that come and go."""

    @property
    def tools(self) -> Offer:
        """Those there are now, in a stable order; the same object until they change."""
        ...

    async def arrived(self, name: str) -> None:
        """Return when a tool of this name is there, or cannot come any more, or takes longer than it may."""
        ...

    def missing(self, name: str) -> ToolReturn | None:
        """Why it is not there; None where this source does not know."""
        ...


class ToolSources:
    """The sources of one session, for all its agents. Of two tools with one name the earlier source's is meant."""

    def __init__(self) -> None:
        self._sources: tuple[ToolSource, ...] = ()
        self._offers: dict[tuple[str, ...] | None, tuple[tuple[Offer, ...], Offer]] = {}

    def add(self, source: ToolSource) -> None:
        """One more source, after those there are."""
        self._sources = (*self._sources, source)
        self._offers.clear()

    def offer(self, patterns: tuple[str, ...] | None) -> Offer:
        """The tools whose names fit one of an agent's patterns, of which None is all; the same object until they change."""
        parts = tuple(source.tools for source in self._sources)
        known = self._offers.get(patterns)
        if known is None or not _same(known[0], parts):
            known = self._offers[patterns] = (parts, _fitting(parts, patterns))
        return known[1]

    async def arrived(self, name: str) -> None:
        """Wait until every source has the tool or cannot have it."""
        await asyncio.gather(*(source.arrived(name) for source in self._sources))

    def missing(self, name: str) -> ToolReturn | None:
        """Why no source has the tool; None where none knows."""
        return next(filter(None, (source.missing(name) for source in self._sources)), None)


def _same(before: tuple[Offer, ...], now: tuple[Offer, ...]) -> bool:
    return len(before) == len(now) and all(one is other for one, other in zip(before, now, strict=True))


def _fitting(parts: tuple[Offer, ...], patterns: tuple[str, ...] | None) -> Offer:
    found: dict[str, Tool[Any]] = {}
    for part in parts:
        for name, tool in part.items():
            if patterns is None or any(fnmatchcase(name, pattern) for pattern in patterns):
                found.setdefault(name, tool)
    return found
