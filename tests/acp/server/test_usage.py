"""What a client is told of the model's window, and of what a turn took."""

import pytest

from soultest.acpclient import FULL
from soultest.bench import Bench, call
from soultest.bench.acp import Connect


async def test_usage_is_shown(bench: Bench, connect: Connect) -> None:
    bench.script('text: hi\nusage: {"input_other": 100, "output": 20}')
    async with bench.running(), connect() as client:
        await client.initialize()
        session = await client.new_session(bench.project)
        await client.prompt(session, "hi")
        usage = client.updates("usage_update")[-1]
        assert usage["used"] > 0
        assert usage["size"] == 100_000


async def test_the_answer_to_a_prompt_counts_its_turns_tokens_with_those_of_subagents(
    bench: Bench, connect: Connect
) -> None:
    bench.script(
        call("Agent", prompt="x") + "\nusage: input_other=100 output=20 input_cache_creation=5",
        "text: ok\nusage: input_other=30 output=7 output_thought=4",
        "text: Done.\nusage: input_other=10 output=3 input_cache_read=105",
        "text: More.\nusage: input_other=9 output=1",
        "text: Uncounted.",
    )
    async with bench.running(), connect() as client:
        await client.initialize()
        session = await client.new_session(bench.project)
        first, second, third = [await client.prompt(session, "go") for _ in range(3)]
        assert first["usage"] == {
            "totalTokens": 280,
            "inputTokens": 140,
            "outputTokens": 30,
            "thoughtTokens": 4,
            "cachedReadTokens": 105,
            "cachedWriteTokens": 5,
        }
        assert second["usage"] == {"totalTokens": 10, "inputTokens": 9, "outputTokens": 1}
        assert third == {"stopReason": "end_turn"}


@pytest.mark.parametrize("command", ["/clear", "/undo", "/rewind 0"])
async def test_usage_shrinks_with_the_context(bench: Bench, connect: Connect, command: str) -> None:
    bench.script("text: hi\nusage: input_other=50000 output=2")
    async with bench.running(), connect() as client:
        await client.initialize(FULL)
        session = await client.new_session(bench.project)
        await client.prompt(session, "hello")
        await client.prompt(session, command)
        [full, less] = [update["used"] for update in client.updates("usage_update")]
        assert less < full == 50002
        if command != "/clear":
            await client.prompt(session, "/redo")
            assert client.updates("usage_update")[-1]["used"] == full
    client.check()
