"""An editor brings its own model server with `providers/set`: who is asked what with whose key, and what is left of it."""

import asyncio
import base64
import json
import os
import shutil
import signal
import tempfile
from collections.abc import AsyncGenerator, Iterator
from pathlib import Path
from typing import Any

import pytest

from soultest.acpclient import AcpClient, AgentError
from soultest.editor import client_of
from soultest.llm import ModelServer, Request
from soultest.world import World

Json = dict[str, Any]
USERS = {name: f"user-{name}-key-0123456789" for name in ("kimi", "openai", "acp-client", "server", "variable", "file")}
"""Keys of the user, by where they are: stored for a provider, in the environment, in the configuration."""
EDITORS = "editor-key-9876543210"
HEADERS = {"Authorization": f"Bearer {EDITORS}", "X-Team": "team-of-the-editor"}


@pytest.fixture
async def users() -> AsyncGenerator[ModelServer]:
    """The server that the user has configured."""
    async with ModelServer() as running:
        yield running


@pytest.fixture
async def editors() -> AsyncGenerator[ModelServer]:
    """The server that the editor brings."""
    async with ModelServer() as running:
        yield running


@pytest.fixture
def world(users: ModelServer) -> Iterator[World]:
    root = Path(tempfile.mkdtemp(prefix="sould-e2e-"))
    made = World(root)
    made.script(
        [],
        f'[models.served]\nprovider = "server"\nmodel = "users-model"\nmax_context_size = 100000\n'
        f'[providers.server]\ntype = "openai"\nbase_url = "{users.url}"\napi_key = "{USERS["file"]}"\n'
        "[sessions]\ntitles_by_model = false\n",
    )
    config = root / "config" / "sould" / "config.toml"
    config.write_text(config.read_text().replace('default_model = "scripted"', 'default_model = "served"', 1))
    state = root / "state" / "sould"
    state.mkdir(parents=True, mode=0o700)
    stored = {name: {"where": "file", "key": USERS[name]} for name in ("kimi", "openai", "acp-client", "server")}
    (state / "credentials.json").write_text(json.dumps(stored))
    (state / "credentials.json").chmod(0o600)
    made.environment |= {
        "PYTHON_KEYRING_BACKEND": "keyring.backends.null.Keyring",
        "OPENAI_API_KEY": USERS["variable"],
        "SOULD_LOG": "debug",
    }
    yield made
    made.close()
    left = [path for path in root.rglob("*") if path.is_file() and EDITORS.encode() in path.read_bytes()]
    assert not left, "what the editor's headers hold is on disk"
    shutil.rmtree(root, ignore_errors=True)


async def give(client: AcpClient, server: ModelServer, **more: Any) -> None:
    params = {"providerId": "acp-client", "apiType": "openai", "baseUrl": server.url, "headers": HEADERS}
    assert await client.request("providers/set", params | more) == {}


def keyed(requests: list[Request]) -> set[str]:
    return {request.headers.get("authorization", "") for request in requests}


async def opened(client: AcpClient, world: World, method: str = "new", session: str = "") -> Json:
    where: Json = {"cwd": str(world.project), "mcpServers": []}
    return await client.request(f"session/{method}", where | ({"sessionId": session} if session else {}))


async def test_sessions_ask_the_editors_server_with_its_headers_and_no_key_of_the_user(
    world: World, users: ModelServer, editors: ModelServer
) -> None:
    async with client_of(world) as client:
        before = (await opened(client, world))["sessionId"]
        await give(client, editors)
        answer = await opened(client, world)
        session = answer["sessionId"]
        option = next(each for each in answer["configOptions"] if each["id"] == "model")
        assert option["currentValue"] == "acp-client/test-model"
        assert {choice["value"].partition("/")[0] for choice in option["options"]} == {"acp-client"}
        await client.prompt(session, "to the editor's")
        assert not users.requests
        [asked] = editors.requests
        assert (asked.headers["authorization"], asked.headers["x-team"]) == (f"Bearer {EDITORS}", "team-of-the-editor")
        assert editors.looks[0]["authorization"] == f"Bearer {EDITORS}"
        await client.prompt(before, "to the user's")
        assert keyed(users.requests) == {f"Bearer {USERS['file']}"}
        assert await client.request("providers/disable", providerId="acp-client") == {}
        after = (await opened(client, world))["sessionId"]
        await client.prompt(after, "to the user's again")
        assert len(users.requests) == 2
        with pytest.raises(AgentError, match=r"Correct the model server in the settings of your editor\."):
            await client.prompt(session, "[[status:401]]")
        assert keyed(editors.requests) == {f"Bearer {EDITORS}"}
        heard = repr(editors.requests) + repr(editors.looks)
        assert not [name for name, key in USERS.items() if key in heard]
        assert not [line for who, line in client.log if who == "agent" and EDITORS in line]


async def test_a_session_that_is_opened_while_the_server_is_asked_for_its_models_is_refused(
    world: World, editors: ModelServer
) -> None:
    async with client_of(world) as client:
        params = {"providerId": "acp-client", "apiType": "openai", "baseUrl": editors.url, "headers": HEADERS}
        setting = client.start("providers/set", params)
        with pytest.raises(AgentError, match="Wait for the answer of providers/set"):
            await opened(client, world)
        await setting
        await client.prompt((await opened(client, world))["sessionId"], "hi")
        assert len(editors.requests) == 1


async def test_a_server_without_headers_gets_no_key_at_all(world: World, editors: ModelServer) -> None:
    async with client_of(world) as client:
        await give(client, editors, headers={})
        session = (await opened(client, world))["sessionId"]
        await client.prompt(session, "hi")
        assert keyed(editors.requests) == {""}


async def test_what_is_listed_names_no_secret_and_what_cannot_be_used_changes_nothing(
    world: World, editors: ModelServer
) -> None:
    async with client_of(world) as client:
        assert client.messages[0]["result"]["agentCapabilities"]["providers"] == {}
        provider = {"providerId": "acp-client", "supported": ["openai"], "required": False}
        listed = await client.request("providers/list")
        assert listed == {"providers": [provider | {"current": None}]}
        await give(client, editors, baseUrl=editors.url.replace("127", f"me:{EDITORS}@127"))
        current = {"current": {"apiType": "openai", "baseUrl": editors.url}}
        assert await client.request("providers/list") == {"providers": [provider | current]}
        for wrong, said in (
            ({"providerId": "kimi"}, "There is no provider 'kimi' to set; there is 'acp-client'."),
            ({"apiType": "anthropic"}, "The protocol 'anthropic' is not supported; 'openai' is."),
            ({"baseUrl": "http://127.0.0.1:9/v1"}, "cannot be reached"),
            ({"baseUrl": "nowhere"}, "must begin with http:// or https://"),
            ({"headers": {"Authorization": f"{EDITORS}\n"}}, "holds a line end"),
            ({"headers": {"Authorization": [EDITORS]}}, "headers"),
        ):
            with pytest.raises(AgentError, match=said) as refused:
                await give(client, editors, **wrong)
            assert refused.value.code == -32602
            assert EDITORS not in repr(refused.value.data) + refused.value.message
        assert await client.request("providers/list") == {"providers": [provider | current]}
        assert await client.request("providers/disable", providerId="unknown") == {}
        assert await client.request("providers/list") == {"providers": [provider | current]}
        await client.prompt((await opened(client, world))["sessionId"], "hi")
        assert keyed(editors.requests) == {f"Basic {base64.b64encode(f'me:{EDITORS}'.encode()).decode()}"}


async def test_after_a_planned_restart_its_sessions_and_new_ones_ask_it_as_before(
    world: World, users: ModelServer, editors: ModelServer
) -> None:
    async with client_of(world) as client:
        before = (await opened(client, world))["sessionId"]
        await give(client, editors)
        session = (await opened(client, world))["sessionId"]
        await client.prompt(session, "one")
        old = world.daemon()
        assert (await asyncio.to_thread(world.sould, "restart")).returncode == 0
        assert world.daemon() != old
        await client.prompt(session, "two")
        await client.prompt((await opened(client, world))["sessionId"], "three")
        assert len(editors.requests) == 3
        assert keyed(editors.requests) == {f"Bearer {EDITORS}"}
        assert not users.requests
        await client.prompt(before, "four")
        assert len(users.requests) == 1


async def test_after_a_kill_nothing_is_asked_in_its_place_until_the_user_says_so(
    world: World, users: ModelServer, editors: ModelServer
) -> None:
    async with client_of(world) as client:
        await give(client, editors)
        session = (await opened(client, world))["sessionId"]
        await client.prompt(session, "one")
        os.kill(world.daemon(), signal.SIGKILL)
        with pytest.raises(AgentError, match="is a model of the server that an editor had set") as refused:
            await client.prompt(session, "two")
        assert refused.value.data["kind"] == "config"
        with pytest.raises(AgentError, match="The model server that this editor has set is not known"):
            await opened(client, world)
        assert len(editors.requests) == 1
        assert not users.requests
        await client.request("session/set_config_option", sessionId=session, configId="model", value="served")
        await client.prompt(session, "three")
        assert keyed(users.requests) == {f"Bearer {USERS['file']}"}
        await give(client, editors)
        await client.prompt((await opened(client, world))["sessionId"], "four")
        assert len(editors.requests) == 2


async def test_another_client_that_opens_its_session_later_is_told_that_the_server_is_not_known(
    world: World, users: ModelServer, editors: ModelServer
) -> None:
    async with client_of(world) as client:
        await give(client, editors)
        session = (await opened(client, world))["sessionId"]
        await client.prompt(session, "one")
        await client.request("session/close", sessionId=session)
    async with client_of(world) as other:
        await opened(other, world, "load", session)
        with pytest.raises(AgentError, match="is a model of the server that an editor had set"):
            await other.prompt(session, "two")
        assert not users.requests
        async with client_of(world) as again:
            await give(again, editors)
            await opened(again, world, "resume", session)
            await again.wait_update("notice", lambda update: "does not ask the model server" in str(update))
            await again.request("session/close", sessionId=session)
        await other.request("session/close", sessionId=session)
        await give(other, editors)
        await opened(other, world, "load", session)
        await other.prompt(session, "three")
        assert len(editors.requests) == 2
        assert not users.requests


async def test_a_loop_of_its_session_waits_for_the_editor_after_a_kill(
    world: World, users: ModelServer, editors: ModelServer
) -> None:
    async with client_of(world) as client:
        await give(client, editors)
        session = (await opened(client, world))["sessionId"]
        client.start("session/prompt", sessionId=session, prompt=[{"type": "text", "text": "/loop 5 [[hang]] tidy up"}])
        await editors.until(lambda server: len(server.requests) == 1)
    os.kill(world.daemon(), signal.SIGKILL)
    async with client_of(world) as other:
        await other.prompt((await opened(other, world))["sessionId"], "hi")
        listed = await asyncio.to_thread(world.sould, "loop", "list")
        assert f"{session}  waiting for" in listed.stdout
        assert len(users.requests) == 1
        await give(other, editors)
        await opened(other, world, "load", session)
        await editors.until(lambda server: len(server.requests) == 2)
        assert keyed(editors.requests) == {f"Bearer {EDITORS}"}
        assert (await asyncio.to_thread(world.sould, "loop", "stop")).returncode == 0
    assert len(users.requests) == 1
