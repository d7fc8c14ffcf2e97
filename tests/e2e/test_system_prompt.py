"""What a model server is sent of an editor's `systemPrompt`: the same bytes in every call, over a restart and in a fork."""

import os
import shutil
import signal
import tempfile
from collections.abc import AsyncGenerator, Iterator
from pathlib import Path
from typing import Any

import pytest

from soultest.editor import client_of
from soultest.llm import ModelServer
from soultest.world import World

VERSE = {"mode": "append", "content": [{"type": "text", "text": "Answer in verse."}]}
PROSE = {"mode": "override", "content": [{"type": "text", "text": "Answer in prose."}]}


@pytest.fixture
async def server() -> AsyncGenerator[ModelServer]:
    async with ModelServer() as running:
        yield running


@pytest.fixture
def world(server: ModelServer) -> Iterator[World]:
    root = Path(tempfile.mkdtemp(prefix="sould-e2e-"))
    made = World(root)
    made.script(
        [],
        f'[models.served]\nprovider = "server"\nmodel = "test-model"\nmax_context_size = 100000\n'
        f'[providers.server]\ntype = "openai_legacy"\nbase_url = "{server.url}"\napi_key = "x"\n'
        "[sessions]\ntitles_by_model = false\n",
    )
    yield made
    made.close()
    shutil.rmtree(root, ignore_errors=True)


async def test_every_call_begins_with_the_same_bytes_until_the_editor_gives_another_text(
    server: ModelServer, world: World
) -> None:
    def heard() -> str:
        first = server.requests[-1].body["messages"][0]
        assert first["role"] == "system"
        return str(first["content"])

    async with client_of(world) as client:
        session = await client.new_session(world.project, systemPrompt=VERSE)
        where: dict[str, Any] = {"sessionId": session, "cwd": str(world.project), "mcpServers": []}
        await client.request("session/set_config_option", sessionId=session, configId="model", value="served")
        answer = await client.prompt(session, "hi")
        assert answer["usage"]["totalTokens"] == 15
        verse = heard()
        assert verse.startswith("You are sould")
        assert verse.endswith("\n\nAnswer in verse.")
    os.kill(world.daemon(), signal.SIGKILL)
    async with client_of(world) as client:
        assert (await client.request("session/status", sessionId=session))["status"] == "saved"
        await client.request("session/load", where)
        assert (await client.request("session/status", sessionId=session))["status"] == "open"
        await client.prompt(session, "and again")
        assert heard() == verse
        fork = (await client.request("session/fork", where))["sessionId"]
        await client.request("session/set_config_option", sessionId=fork, configId="model", value="served")
        await client.prompt(fork, "and there")
        assert heard().endswith("\n\nAnswer in verse.")
        await client.request("session/resume", where | {"systemPrompt": PROSE})
        await client.prompt(session, "in prose")
        prose = heard()
        assert prose.startswith("Answer in prose.\n\n# Where you are\n")
        await client.prompt(session, "still in prose")
        assert heard() == prose
