"""Hooks through the real daemon: editors that decide, commands of the configuration and of a trusted project."""

import asyncio
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from sould.agents.soul.hooks.events import EVENTS
from soultest.acpclient import FULL, AcpClient, AgentError, Json, ProcessStream
from soultest.editor import calls, client_of, editor, said, titled
from soultest.scenarios import journal, run, scenarios
from soultest.world import SOULD, World, call, running

GLOB = call("Glob", "g", pattern="*")
SCRIPTS: Mapping[str, list[str]] = {
    "hooked": [call("WriteFile", "1", path="no.txt", content="x"), "text: stopping", "text: stopping again"],
    "failing-hook": [GLOB, "text: went on", GLOB, "text: went on"],
    "thirteen": [
        GLOB,
        call("ReadFile", "1", path="missing.txt"),
        call("Agent", "2", prompt="look", subagent_type="explore", description="Look"),
        "text: nothing to see " + "here " * 200,
        "text: done",
        *["text: <current_focus>all is done</current_focus>"] * 2,
    ],
    "configured": [GLOB, "text: I see"],
    "together": [call("Grep", "g", pattern="hello"), "text: I see"],
    "plain": ["text: hello"],
}
MORE = """
[[hooks]]
event = "PreToolUse"
matcher = "^Glob$"
command = 'if test -e noglobs; then echo "No globs here." >&2; exit 2; fi'

[[hooks]]
event = "PreToolUse"
matcher = "Glob"
command = 'if test -e noglobs; then echo "No globs here." >&2; exit 2; fi'

[[hooks]]
event = "PreToolUse"
matcher = "^Grep$"
command = 'echo hi > pipe'

[[hooks]]
event = "PreToolUse"
matcher = "^Grep$"
command = 'cat pipe > met'

[[hooks]]
event = "PreToolUse"
matcher = "^Grep$"
command = 'echo $$ > slow; sleep 1000; exit 2'
timeout = 1
"""


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    with scenarios(SCRIPTS, MORE) as made:
        yield made


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A directory of the test's own."""
    (tmp_path / "a.txt").write_text("hello\n")
    return tmp_path


def hook(identity: str, event: str, **more: Any) -> Json:
    return {"id": identity, "event": event, **more}


class Hooked(AcpClient):
    """A client that answers for its hooks."""

    answers: Mapping[str, Json] = {}

    def _result(self, method: str, params: Json) -> Json | None:
        if method == "_sould/hook":
            return self.answers.get(params["subscription_id"], {"action": "allow"})
        return super()._result(method, params)


async def test_an_editor_decides_as_a_hook(world: World, project: Path) -> None:
    hooks = [hook("write", "PreToolUse", matcher="^Write"), hook("stop", "Stop"), hook("end", "SessionEnd")]
    hooks += [hook("begin", "SessionStart"), hook("none", "NoSuchEvent"), {"event": "Stop"}]
    stream = await ProcessStream.start(str(SOULD), "acp", cwd=world.project, environment=world.environment)
    async with Hooked(stream) as client:
        client.answers = {
            "write": {"action": "block", "reason": "not this file"},
            "stop": {"action": "block", "reason": "look once more"},
        }
        answer = await client.initialize(FULL | {"_meta": {"sould": {"hooks": hooks}}})
        known = answer["agentCapabilities"]["_meta"]["sould"]["hooks"]
        assert len(known["supported_events"]) == 13
        assert known["configured"] == {"PreToolUse": 1, "Stop": 1, "SessionStart": 1, "SessionEnd": 1}
        session = await client.new_session(project)
        await client.request("session/set_config_option", sessionId=session, configId="model", value="hooked")
        assert await client.prompt(session, "go") == {"stopReason": "end_turn"}
        assert titled(client, "Write no.txt")["status"] == "failed"
        await client.wait_update("notice", lambda notice: notice.get("description") == "not this file")
        assert not (project / "no.txt").exists()
        assert client.text() == "stoppingstopping again", "a stop hook sends the model back once"
        await client.request("session/close", sessionId=session)
        asked = [message["params"]["subscription_id"] for message in client.asked("_sould/hook")]
        assert asked == ["begin", "write", "stop", "end"]
        request = client.asked("_sould/hook")[1]["params"]
        assert request["input_data"]["tool_input"] == {"path": "no.txt", "content": "x"}
    client.check()


async def test_an_editor_is_asked_about_all_thirteen_events(world: World, project: Path) -> None:
    stream = await ProcessStream.start(str(SOULD), "acp", cwd=world.project, environment=world.environment)
    async with Hooked(stream) as client:
        hooks = [hook(event, event) for event in EVENTS]
        await client.initialize(FULL | {"_meta": {"sould": {"hooks": hooks}}})
        session = await client.new_session(project)
        await client.request("session/set_config_option", sessionId=session, configId="model", value="thirteen")
        await client.prompt(session, "go " * 1000)  # worth a summary
        assert "compacted" in await said(client, session, "/compact")
        await client.prompt(session, "/queue")
        with pytest.raises(AgentError):  # the script is used up
            await client.prompt(session, "again")
        await client.wait_for(lambda _: "Notification" in hooked(client))
        await client.request("session/close", sessionId=session)
        assert set(hooked(client)) == set(EVENTS)
    client.check()


def hooked(client: AcpClient) -> list[str]:
    """The events a client was asked about."""
    return [message["params"]["event"] for message in client.asked("_sould/hook")]


async def test_an_editor_that_fails_at_its_hook_or_leaves_forbids_nothing(world: World, project: Path) -> None:
    meta = {"hooks": [hook("g", "PreToolUse", matcher="^Glob$", timeout=1)]}
    async with editor(world, project, model="failing-hook", meta=meta) as (client, session):
        assert await client.prompt(session, "go") == {"stopReason": "end_turn"}  # it answers with an error
        assert client.text() == "went on"
        async with client_of(world) as other:
            await other.request("session/resume", sessionId=session, cwd=str(project), mcpServers=[])
            client.hang.add("_sould/hook")
            asked = len(client.asked("_sould/hook"))
            running = other.prompt(session, "again")
            await client.wait_for(lambda _: len(client.asked("_sould/hook")) > asked)
            await client.request("session/close", sessionId=session)
            assert await running == {"stopReason": "end_turn"}
            assert other.text() == "went on"


async def test_a_configured_hook_forbids_and_runs_once_however_often_it_is_named(world: World, project: Path) -> None:
    (project / "noglobs").touch()
    async with editor(world, project, model="configured") as (client, session):
        await client.prompt(session, "go")
        notice = await client.wait_update("notice", lambda notice: notice["title"] == "A hook blocked Glob")
        assert notice["description"] == "No globs here."
    (fired,) = [each["payload"] for each in journal(world, session) if each["type"] == "HookTriggered"]
    assert fired["hook_count"] == 1


async def test_hooks_of_an_event_run_at_once_and_one_that_is_too_slow_is_ended_told_and_forbids_nothing(
    world: World, project: Path
) -> None:
    os.mkfifo(project / "pipe")
    async with editor(world, project, model="together") as (client, session):
        await client.prompt(session, "go")
        assert (project / "met").read_text() == "hi\n"
        (searched,) = calls(client)
        assert searched["status"] == "completed"
        failed = "A hook for PreToolUse failed and decided nothing"
        notice = await client.wait_update("notice", lambda notice: notice["title"] == failed)
        assert notice["description"] == "It was stopped because it took longer than 1 s."
    assert not running(int((project / "slow").read_text()))
    (fired,) = [each["payload"] for each in journal(world, session) if each["type"] == "HookTriggered"]
    assert fired["hook_count"] == 3


async def test_a_project_s_hooks_run_only_when_it_is_trusted(world: World, project: Path) -> None:
    (project / ".sould").mkdir()
    rule = '[[hooks]]\nevent = "UserPromptSubmit"\ncommand = "echo nothing today >&2; exit 2"\n'
    (project / ".sould" / "hooks.toml").write_text(rule)
    async with editor(world, project, model="plain") as (client, session):
        await client.prompt(session, "hi")
        await client.wait_update(
            "notice", lambda notice: "the hooks of .sould/hooks.toml" in notice.get("description", "")
        )
    assert not [each for each in journal(world, session) if each["type"] == "HookTriggered"]
    assert (await asyncio.to_thread(run, world, project, "trust", "--yes")).returncode == 0
    async with editor(world, project, model="plain") as (client, session):
        await client.prompt(session, "hi")
        notice = await client.wait_update("notice", lambda notice: notice["title"].startswith("A hook blocked"))
        assert notice["description"] == "nothing today"
        assert not client.text()
