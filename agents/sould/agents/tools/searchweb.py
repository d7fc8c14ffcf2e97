"""SearchWeb: a search with the service the user configured; without one the tool is not offered."""

from typing import ClassVar
from urllib.parse import urlsplit

from pydantic import Field, JsonValue

from sould.agents.base.config import Config
from sould.agents.base.environment import Environment
from sould.agents.base.importing import load
from sould.agents.base.terminaltext import PlainText
from sould.agents.base.text import plural
from sould.agents.permissions.approval import Approval
from sould.agents.permissions.policy import FetchPage
from sould.agents.toolapi.base import CallView, Tool, ToolCallContext, ToolParams, tool_error, tool_ok
from sould.agents.toolapi.result import ToolResultBuilder
from sould.agents.tools.fetchurl import WARNING
from sould.agents.tools.web.search import BACKENDS, Query, SearchError, SearchResult, address, configured, search
from sould.agents.wire.messages import ToolKind, ToolReturn


class Params(ToolParams):
    """What to search for."""

    query: str = Field(min_length=1, max_length=1000, description="What to search for.")
    limit: int = Field(default=5, ge=1, le=20, description="How many results.")
    include_content: bool = Field(
        default=False, description="Also get the text of the pages found, where the service offers it; long."
    )


class SearchWeb(Tool[Params]):
    """Search."""

    name = "SearchWeb"
    title = "Search the web"
    kind: ClassVar[ToolKind] = "fetch"
    example: ClassVar[dict[str, JsonValue]] = {"query": "python asyncio TaskGroup cancellation"}
    params = Params

    def __init__(self, config: Config, environment: Environment, approval: Approval) -> None:
        self._services = config.services
        self._environment = environment
        self._approval = approval

    def view(self, params: Params) -> CallView:
        """The query."""
        return CallView(title=f"Search the web for {params.query[:100]}")

    async def run(self, params: Params, call: ToolCallContext) -> ToolReturn:
        """Ask once for the service, then search."""
        found = configured(self._services)
        if found is None:
            return tool_error("No search service is configured.", brief="No search service")
        kind, service = found
        backend = BACKENDS[kind]
        where = address(backend, service)
        host = (urlsplit(where).hostname or where).lower()
        refused = await self._approval.request(
            call,
            FetchPage(host, where),
            sender=self.name,
            description=f"Search for `{params.query}` with {backend.name} at {host}",
        )
        if refused is not None:
            return refused
        await load("httpx2")
        query = Query(params.query, params.limit, params.include_content, call.id)
        try:
            results = await search(kind, service, query, self._environment.variables)
        except SearchError as error:
            return tool_error(str(error), brief="Search failed")
        if not results:
            return tool_ok(message="Nothing was found; try other words.")
        output, plain = ToolResultBuilder(), PlainText()
        output.write(plain.feed("\n\n".join(map(_worded, results)).encode(errors="replace")) + plain.finish())
        return output.ok(f"{plural(len(results), 'result')} from {backend.name}. {WARNING}")


def _worded(result: SearchResult) -> str:
    lines = [f"Title: {result.title}", f"URL: {result.url}"]
    lines += [f"Date: {result.date}"] if result.date else []
    lines += [f"Summary: {result.snippet}"] if result.snippet else []
    lines += ["", result.content] if result.content else []
    return "\n".join(lines)
