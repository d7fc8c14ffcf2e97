"""Instructions that a client gives a session's agent with `systemPrompt`: what they do, and how long they hold."""

from typing import Any

import pytest

from sould.agents.sessions.settings.workspace_info import PLACE
from sould.agents.wire.messages import SystemPrompt
from soultest.acpclient import AcpClient, AgentError
from soultest.bench import Bench, Watcher, call
from soultest.bench.acp import Connect
from soultest.bench.looks import choose, prompt_of

Json = dict[str, Any]
BUILTIN = "You are sould, a coding agent"
NOT_FILLED_IN = "Answer in verse about ${SOULD_NOW}."


def given(text: str, mode: str = "append") -> Json:
    return {"systemPrompt": {"mode": mode, "content": [{"type": "text", "text": text}]}}


async def opened(client: AcpClient, bench: Bench, method: str, session: str, **more: Any) -> str:
    """The session that a way to open one gives."""
    params: Json = {"sessionId": session, "cwd": str(bench.project), "mcpServers": [], **more}
    answer = await client.request(f"session/{method}", params)
    return str(answer.get("sessionId", session))


async def test_what_a_client_appends_is_the_end_of_the_agents_prompt_as_it_is(bench: Bench, connect: Connect) -> None:
    async with bench.running() as host, connect() as client:
        answer = await client.initialize()
        assert answer["agentCapabilities"]["sessionCapabilities"]["systemPrompt"] == {"mode": {"override": {}}}
        session = await client.new_session(bench.project, **given(NOT_FILLED_IN))
        prompt = prompt_of(host.sessions[session])
        assert prompt.startswith(BUILTIN)
        assert prompt.endswith("\n\n" + NOT_FILLED_IN)
        plain = await client.new_session(bench.project, systemPrompt=None)
        assert "verse" not in prompt_of(host.sessions[plain])


async def test_what_overrides_the_agents_prompt_is_followed_by_what_the_place_says(
    bench: Bench, connect: Connect
) -> None:
    (bench.project / "AGENTS.md").write_text("Use tabs.")
    async with bench.running() as host, connect() as client:
        await client.initialize()
        plain = await client.new_session(bench.project)
        session = await client.new_session(bench.project, **given(NOT_FILLED_IN, "override"))
        prompt = prompt_of(host.sessions[session])
        assert BUILTIN not in prompt
        assert prompt.startswith(f"{NOT_FILLED_IN}\n\n{PLACE.read_text().splitlines()[0]}\n")
        assert f"`{bench.project}`" in prompt
        assert "Use tabs." in prompt
        heading = PLACE.read_text().splitlines()[0]
        spoken = [
            text.partition(heading)[2].partition("The system")[2] for text in (prompt, prompt_of(host.sessions[plain]))
        ]
        assert spoken[0] == spoken[1] != ""


async def test_instructions_of_several_blocks_are_one_text(bench: Bench, connect: Connect) -> None:
    blocks = [{"type": "text", "text": each} for each in ("Be brief.", "Be kind.")]
    async with bench.running() as host, connect() as client:
        await client.initialize()
        session = await client.new_session(bench.project, systemPrompt={"mode": "append", "content": blocks})
        assert prompt_of(host.sessions[session]).endswith("\n\nBe brief.\n\nBe kind.")


@pytest.mark.parametrize("method", ["new", "load", "resume", "fork"])
@pytest.mark.parametrize(
    "prompt",
    [
        {"mode": "_prepend", "content": [{"type": "text", "text": "x"}]},
        {"content": [{"type": "text", "text": "x"}]},
        {"mode": "append"},
        {"mode": "append", "content": []},
        {"mode": "append", "content": [{"type": "text", "text": " \n"}]},
        {
            "mode": "append",
            "content": [{"type": "text", "text": "x"}, {"type": "image", "data": "", "mimeType": "a/b"}],
        },
        {"mode": "override", "content": [{"type": "text", "text": "x" * 100_001}]},
        "Be brief.",
    ],
)
async def test_instructions_that_cannot_be_followed_open_nothing(
    bench: Bench, connect: Connect, method: str, prompt: Any
) -> None:
    async with bench.running() as host, connect() as client:
        await client.initialize()
        session = await client.new_session(bench.project)
        before = prompt_of(host.sessions[session])
        with pytest.raises(AgentError) as failure:
            await opened(client, bench, method, session, systemPrompt=prompt)
        assert failure.value.code == -32602
        assert failure.value.data["field"].startswith("systemPrompt")
        assert set(host.sessions) == {session}
        assert prompt_of(host.sessions[session]) == before


@pytest.mark.parametrize("method", ["load", "resume", "fork"])
@pytest.mark.parametrize("live", [True, False], ids=["in memory", "on disk"])
async def test_instructions_hold_until_another_text_comes(
    bench: Bench, connect: Connect, method: str, live: bool
) -> None:
    bench.script("text: one")
    async with bench.running() as host, connect() as client:
        await client.initialize()
        session = await client.new_session(bench.project, **given("Be brief."))
        await client.prompt(session, "hi")
        prompt = prompt_of(host.sessions[session])
        for more, end in (
            ({}, "Be brief."),
            (given("Be brief."), "Be brief."),
            (given("Be kind."), "Be kind."),
            ({}, "Be kind."),
        ):
            if not live:
                await client.request("session/close", sessionId=session)
            session = await opened(client, bench, method, session, **more)
            now = prompt_of(host.sessions[session])
            assert now.startswith(BUILTIN)
            assert now.endswith(f"\n\n{end}")
            if method != "fork" and end == "Be brief.":
                assert now == prompt, "the same text is the same prompt, to the byte"
        said = [record.message for record in host.sessions[session].log.replay()]
        assert sum(isinstance(message, SystemPrompt) for message in said) == 2


async def test_another_agent_and_another_directory_keep_the_instructions(bench: Bench, connect: Connect) -> None:
    bench.script("text: one", "text: two")
    async with bench.running() as host, connect() as client:
        await client.initialize()
        session = await client.new_session(bench.project, **given("Be brief."))
        await choose(host.sessions[session], "agent", "okabe")
        await client.prompt(session, "hi")
        await opened(client, bench, "resume", session, additionalDirectories=[str(bench.root)])
        prompt = prompt_of(host.sessions[session])
        assert str(bench.root) in prompt
        assert prompt.endswith("\n\nBe brief.")


async def test_subagents_keep_their_own_instructions_and_the_status_tells_of_the_clients(
    bench: Bench, connect: Connect
) -> None:
    bench.script(call("Agent", prompt="x"), "text: ok", "text: Done.")
    async with bench.running() as host, connect() as client:
        await client.initialize()
        session = await client.new_session(bench.project, **given("Answer only with OK.", "override"))
        watcher = Watcher(host.sessions[session])
        await client.prompt(session, "go")
        directory = host.sessions[session].parts.services.directory
        (journal,) = directory.glob("subagents/*/wire.jsonl")
        assert "SystemPrompt" in journal.read_text()
        assert "Answer only with OK." not in journal.read_text()
        await client.prompt(session, "/status")
        assert "- instructions from the client: 20 characters, instead of the agent's" in client.text()
        assert len(watcher.of(SystemPrompt)) == 0, "it was said before"
