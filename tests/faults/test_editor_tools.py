"""An editor that hangs while it is asked by an agent: the next one is asked when its time is over."""

import asyncio
import json

from sould.agents.wire.messages import ToolResult
from soultest.acpclient import FULL, AcpClient
from soultest.bench import Bench, Watcher, call, finish
from soultest.bench.acp import Connect

CALL = "_sould/editor/call"


async def serve(client: AcpClient, bench: Bench, name: str) -> None:
    await client.initialize(FULL, clientInfo={"name": name, "version": "1"})
    client.tools = lambda _: {"data": {"markdown": "a word"}}
    await client.request("_sould/editor/state", tools=["hover"], workspaceFolders=[str(bench.project)])


async def test_an_editor_that_does_not_answer_is_passed_over(bench: Bench, connect: Connect) -> None:
    bench.script(call("hover", file="a.txt", anchor={"line": 1}), "text: done")
    async with bench.running(), connect() as second, connect() as first:
        await serve(second, bench, "second")
        await serve(first, bench, "first")
        first.hang.add(CALL)
        watcher = Watcher(await bench.new("review"))
        turn = asyncio.create_task(finish(watcher.session, "go"))
        await first.wait_for(lambda message: message.get("method") == CALL)
        await turn
        [result] = watcher.of(ToolResult)
    assert isinstance(result.return_value.output, str)
    assert json.loads(result.return_value.output)["meta"]["backend"] == "second"
