"""Remote servers that cannot be used; those that can are in the tests of the real daemon."""

import re

from sould.agents.soul.session_request import McpServer
from sould.agents.wire.messages import Notification
from soultest.bench import Bench
from soultest.bench.mcp import open_session, state_of
from soultest.mcpremote import remote


async def test_a_server_that_wants_a_sign_in_says_how(bench: Bench) -> None:
    async with remote("closed", bench.root) as url, bench.running():
        watcher = await open_session(bench, McpServer("far", "http", url=url))
        await state_of(watcher, "far", "unauthorized")
        assert "sould mcp auth far" in (await watcher.wait_for(Notification)).body


async def test_a_server_that_cannot_be_reached_is_reported_once(bench: Bench) -> None:
    async with bench.running():
        watcher = await open_session(bench, McpServer("far", "http", url="http://127.0.0.1:9/mcp"))
        await state_of(watcher, "far", "failed")
        said = (await watcher.wait_for(Notification)).body
        # Some releases of the libraries below keep what the system said, others do not.
        assert re.fullmatch(r"Server far could not be reached: (nothing answers there|connection refused)\.", said)
