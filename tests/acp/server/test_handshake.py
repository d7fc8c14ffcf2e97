"""`initialize` and what surrounds it: versions, capabilities, sign-in, and what may not come before it."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import fields
from pydantic.alias_generators import to_camel

from sould.acp.introduction import OwnCapabilities
from sould.acp.server.dispatch import ROUTES
from soultest.acpclient import FULL, AgentError
from soultest.bench import Bench
from soultest.bench.acp import Connect, Keys
from soultest.schema import methods

Json = dict[str, Any]


def test_every_stable_method_of_the_official_schema_has_a_handler() -> None:
    """D4."""
    assert set(methods("agent")) <= set(ROUTES)


@pytest.mark.parametrize("asked", [0, 1, 2, 99])
async def test_the_version_is_one_whatever_the_client_speaks(connect: Connect, asked: int) -> None:
    """Never echoed: the client decides whether it can use it."""
    async with connect() as client:
        answer = await client.request("initialize", protocolVersion=asked)
        assert answer["protocolVersion"] == 1


async def test_initialize_says_everything_we_can_do(connect: Connect) -> None:
    async with connect(accounts=Keys("openai")) as client:
        answer = await client.initialize(FULL)
        capabilities = answer["agentCapabilities"]
        assert capabilities["loadSession"] is True
        assert capabilities["promptCapabilities"] == {"image": True, "audio": True, "embeddedContext": True}
        assert {
            *("list", "delete", "additionalDirectories", "resume", "close"),
            *("fork", "title", "archive", "status"),
        } <= set(capabilities["sessionCapabilities"])
        assert capabilities["auth"] == {"logout": {}, "status": {}}
        assert answer["_meta"]["steering"] == {"supported": True}
        assert answer["agentInfo"]["name"] == "sould"


async def test_what_is_beyond_the_protocol_is_said_in_one_place_and_written_on_one_page(connect: Connect) -> None:
    hooks: list[Any] = [{"event": "Stop"}, 3, *({"id": f"h{number}", "event": "Stop"} for number in range(101))]
    async with connect() as client:
        answer = await client.initialize({"_meta": {"sould": {"queue": 5, "hooks": hooks}}})
    own = answer["agentCapabilities"]["_meta"]["sould"]
    assert own["hooks"]["configured"] == {"Stop": 100}
    assert set(answer["_meta"]) == {"steering"}
    page = (Path(__file__).parents[3] / "docs" / "clients.md").read_text()
    said = {to_camel(each.name) for each in fields(OwnCapabilities)}
    rows = {line.split("`")[1] for line in page.splitlines() if line.startswith("| `")}
    assert rows >= {*said, *own}
    assert all(f"`{method}`" in page for method in ROUTES if method.startswith("_"))


async def test_the_terminal_method_is_offered_only_to_clients_that_have_terminals_for_it(connect: Connect) -> None:
    async with connect() as client:
        answer = await client.initialize()
        assert [method.get("type") for method in answer["authMethods"]] == [None]
    async with connect() as client:
        answer = await client.initialize(FULL)
        assert [method.get("type") for method in answer["authMethods"]] == [None, "terminal"]
        assert answer["authMethods"][1]["args"] == ["login"]


@pytest.mark.parametrize("method", sorted(set(ROUTES) - {"initialize"}))
async def test_nothing_works_before_initialize(connect: Connect, method: str) -> None:
    """D17."""
    async with connect() as client:
        with pytest.raises(AgentError) as failure:
            await client.request(method, sessionId="x", cwd="/", mcpServers=[])
        assert failure.value.code == -32600


async def test_initialize_comes_once(connect: Connect) -> None:
    async with connect() as client:
        await client.initialize()
        with pytest.raises(AgentError) as failure:
            await client.initialize()
        assert failure.value.code == -32600


@pytest.mark.parametrize(
    "params",
    [
        {"clientCapabilities": None, "clientInfo": None, "_meta": None},
        {"clientCapabilities": {"fs": 5, "terminal": "yes", "session": [], "auth": {}, "elicitation": True}},
        {"clientCapabilities": {"unknown": {}}, "clientInfo": {"title": 4}, "extra": [1]},
    ],
)
async def test_broken_optional_fields_count_as_absent(connect: Connect, params: Json) -> None:
    async with connect() as client:
        assert (await client.request("initialize", {"protocolVersion": 1, **params}))["protocolVersion"] == 1


@pytest.mark.parametrize("params", [{}, {"protocolVersion": "one"}, {"protocolVersion": None}])
async def test_a_broken_required_field_is_named(connect: Connect, params: Json) -> None:
    async with connect() as client:
        with pytest.raises(AgentError) as failure:
            await client.request("initialize", params)
        assert failure.value.code == -32602
        assert failure.value.message in ("protocolVersion is required.", "protocolVersion must be a whole number.")


async def test_meta_never_overrides_a_parameter(bench: Bench, connect: Connect) -> None:
    async with bench.running() as host, connect() as client:
        await client.initialize()
        session = await client.new_session(bench.project, _meta={"cwd": "/", "traceparent": "00-1"})
        live = host.sessions.get(session)
        assert live is not None
        assert live.parts.services.workplace.opening.cwd == bench.project


async def test_an_unknown_request_is_refused_and_an_unknown_notification_ignored(connect: Connect) -> None:
    async with connect() as client:
        await client.initialize()
        client.notify("_vendor/thing")
        client.notify("session/prompt", sessionId="x", prompt=[])
        for method in ("_vendor/thing", "session/set_model", "x" * 10_000):
            with pytest.raises(AgentError) as failure:
                await client.request(method)
            assert failure.value.code == -32601


async def test_signing_in_checks_for_a_key_and_signing_out_forgets_it(connect: Connect) -> None:
    keys = Keys("moonshot")
    async with connect(accounts=keys) as client:
        await client.initialize(FULL)
        assert await client.request("authenticate", methodId="provider-key") == {}
        status = await client.request("auth/status")
        assert status == {"state": "authenticated", "accounts": [{"label": "moonshot"}]}
        assert await client.request("logout") == {}
        assert await client.request("auth/status") == {"state": "unauthenticated"}
        with pytest.raises(AgentError) as failure:
            await client.request("authenticate", methodId="provider-key")
        assert failure.value.code == -32000
        with pytest.raises(AgentError) as wrong:
            await client.request("authenticate", methodId="sould-login")
        assert wrong.value.code == -32602


NO_MODEL: Json = {"models": {}, "providers": {}, "default_model": ""}
BARE = {"HOME": "/nowhere", "PATH": "/usr/bin:/bin"}
"""An environment without a key."""


async def test_without_a_model_a_client_that_can_sign_in_is_told_so(bench: Bench, connect: Connect) -> None:
    bench.settings.update(NO_MODEL)
    async with bench.running(), connect(environment=BARE) as client:
        await client.initialize({"auth": {"terminal": True}})
        with pytest.raises(AgentError) as failure:
            await client.new_session(bench.project)
        assert failure.value.code == -32000
        assert failure.value.data["kind"] == "no_model"
        assert (await client.request("session/list"))["sessions"] == []


async def test_without_a_model_other_clients_are_told_what_to_do_and_go_on_when_it_is_done(
    bench: Bench, connect: Connect
) -> None:
    bench.settings.update(NO_MODEL)
    scripts = bench.root / "scripts.json"
    scripts.write_text('["text: Here I am."]')
    async with bench.running(), connect(environment=BARE) as client:
        await client.initialize()
        opened = await client.request("session/new", cwd=str(bench.project), mcpServers=[])
        assert "model" not in [option["id"] for option in opened["configOptions"]]
        session = opened["sessionId"]
        answer = await client.prompt(session, "hello")
        assert (answer["stopReason"], answer["_meta"]["sould"]["kind"]) == ("end_turn", "no_model")
        assert client.text().startswith("No model is configured. Run `sould login`")
        for command in ("/help", "/status", "/review"):
            assert await client.prompt(session, command) == {"stopReason": "end_turn"}

        provider = {"type": "_scripted_echo", "env": {"KIMI_SCRIPTED_ECHO_SCRIPTS": str(scripts)}}
        model = {"provider": "p", "model": "scripted", "max_context_size": 100_000}
        configured = {"default_model": "m", "models": {"m": model}, "providers": {"p": provider}}
        (bench.root / "config.json").write_text(json.dumps(configured))
        assert await client.prompt(session, "and now?") == {"stopReason": "end_turn"}
        assert client.text().endswith("Here I am.")
        await client.request("session/load", sessionId=session, cwd=str(bench.project), mcpServers=[])
        assert client.text().count("Run `sould login`") == 2, "it was said, and stays in the conversation"


async def test_a_model_without_its_key_is_named_in_the_conversation(bench: Bench, connect: Connect) -> None:
    keyless = {"m": {"provider": "openai", "model": "gpt", "max_context_size": 100_000}}
    bench.settings.update({"models": keyless, "providers": {"openai": {"type": "openai"}}, "default_model": "m"})
    async with bench.running(), connect(environment=BARE) as client:
        await client.initialize()
        session = await client.new_session(bench.project)
        assert (await client.prompt(session, "hello"))["stopReason"] == "end_turn"
        assert "no key for provider 'openai' of model 'm' (run `sould login openai`, or set" in client.text()


async def test_the_answer_comes_also_when_the_client_has_closed_its_side(connect: Connect) -> None:
    async with connect() as client:
        answer = client.start("initialize", protocolVersion=1)
        await asyncio.sleep(0)
        assert (await answer)["protocolVersion"] == 1
