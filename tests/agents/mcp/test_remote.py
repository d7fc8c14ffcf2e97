"""Servers over HTTP and SSE."""

import pytest

from sould.agents.sessions.opening import McpServer
from sould.agents.wire.messages import Notification
from soultest.bench import Bench
from soultest.mcpbench import open_session, result_of, state_of
from soultest.mcpremote import remote


@pytest.mark.parametrize("kind", ["http", "sse"])
async def test_a_remote_server_is_called_with_its_headers_and_may_ask(bench: Bench, kind: str) -> None:
    bench.settings["mcp"]["client"]["start_timeout_ms"] = 30_000
    async with remote(kind, bench.root) as url, bench.running():
        transport = "sse" if kind == "sse" else "http"
        watcher = await open_session(bench, McpServer("far", transport, url=url, headers={"X-Token": "t0"}))
        watcher.answers = {"Value": "yes", "value": "yes"}
        await state_of(watcher, "far", "connected")
        assert (await result_of(bench, watcher, "far__greet", name="Ada")).output == "hello Ada with t0"
        assert "accept" in str((await result_of(bench, watcher, "far__confirm")).output)


async def test_a_server_that_wants_a_sign_in_says_how(bench: Bench) -> None:
    async with remote("closed", bench.root) as url, bench.running():
        watcher = await open_session(bench, McpServer("far", "http", url=url))
        await state_of(watcher, "far", "unauthorized")
        assert "sould mcp auth far" in (await watcher.wait_for(Notification)).body


async def test_a_server_that_cannot_be_reached_is_reported_once(bench: Bench) -> None:
    async with bench.running():
        watcher = await open_session(bench, McpServer("far", "http", url="http://127.0.0.1:9/mcp"))
        await state_of(watcher, "far", "failed")
        assert "far is not available" in (await watcher.wait_for(Notification)).body
