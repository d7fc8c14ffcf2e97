"""Tools as servers of the world have them, offered to the servers of all models."""

import pytest

from sould.agents.llm.provider import ChatMessage, ChatRequest, ModelInfo
from sould.agents.llm.requests import RequestStyle, request_body
from sould.agents.mcp.naming import tool_name
from sould.agents.wire.content import TextPart
from soultest.bench import Bench
from soultest.bench.looks import tools_of, toolset_of
from soultest.bench.mcp import asked, open_session, result_of, state_of
from soultest.families.kinds import FAMILIES
from soultest.toollists import LISTS

ASKED = (ChatMessage("user", (TextPart(text="go"),)),)


@pytest.mark.parametrize("name", LISTS)
async def test_every_models_server_takes_the_tools_and_one_works(bench: Bench, name: str) -> None:
    offered = LISTS[name]
    (bench.root / "tools.json").write_text(offered.served())
    async with bench.running():
        watcher = await open_session(bench, asked(name, str(bench.root / "tools.json")))
        await state_of(watcher, name, "connected")
        specs = toolset_of(watcher.session).specs
        body = request_body(ChatRequest("", ASKED, specs), ModelInfo("m", "m", "p", 100_000), RequestStyle())
        complaints = {
            family.name: [found.words for found in family().complaints(body) if found.kind == "fault"]
            for family in FAMILIES
        }
        assert complaints == {family.name: [] for family in FAMILIES}
        its = {each for each in tools_of(watcher.session) if each.startswith(f"{name}__")}
        assert len(its) >= (offered.usable if offered.usable >= 0 else len(offered.tools))
        result = await result_of(bench, watcher, tool_name(name, offered.call), **offered.arguments)
        assert not result.is_error
        assert offered.shows in str(result.output)
