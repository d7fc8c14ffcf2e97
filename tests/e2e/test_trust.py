"""Trust through the real daemon: what the agent wrote itself is marked when the user is asked about it (D23)."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from soultest.acpclient import choose
from soultest.editor import editor
from soultest.world import World, call

AGENT = "version: 1\nagent: {extend: default}\n"
HOOKS = '[[hooks]]\nevent = "Stop"\ncommand = "echo > {name}"\n'


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path)
    made.start()
    yield made
    made.close()


async def test_what_the_agent_changed_is_marked_in_the_editors_question(world: World) -> None:
    hooks = world.project / ".sould" / "hooks.toml"
    hooks.parent.mkdir()
    hooks.write_text(HOOKS.format(name="first"))
    assert "This project brings:\n- .sould/hooks.toml: there\n" in world.sould("trust").stdout
    world.script(
        [
            call("WriteFile", "1", path=".sould/hooks.toml", content=HOOKS.format(name="second")),
            "text: done",
            "text: again",
            "text: once more",
        ]
    )
    asked: list[dict[str, Any]] = []

    def trust(params: dict[str, Any]) -> dict[str, Any]:
        asked.append(params)
        return {"action": "accept", "content": {"q1": "Trust it"}}

    async with editor(world, form=trust) as (client, session):
        await client.prompt(session, "change the hook")
        assert (world.project / "first").exists() is False
        plain = world.project / ".claude" / "skills" / "plain" / "SKILL.md"
        plain.parent.mkdir(parents=True)
        plain.write_text("---\nname: plain\ndescription: Text.\n---\nText.\n")
        (world.project / ".mcp.json").write_text('{"mcpServers": {}}')
        await client.prompt(session, "again")
        notice = await client.wait_update("notice", lambda update: "changed since you trusted" in str(update))
        assert f".sould/hooks.toml: changed BY THE AGENT (session {session})" in str(notice)
        assert ".mcp.json: added\\n" in json.dumps(notice)
        assert "plain" not in str(notice)
        assert not (world.project / "second").exists()
        await client.prompt(session, "/trust")
        assert "changed BY THE AGENT" in asked[0]["message"]
        assert ".claude/skills/plain/SKILL.md: added" in asked[0]["message"]
        assert "takes effect with the next prompt" in client.text()
        await client.prompt(session, "once more")
        assert (world.project / "second").exists()
        await client.prompt(session, "/trust")
        assert client.text().endswith("its configuration has not changed since.")


async def test_the_command_line_does_not_trust_what_another_sessions_agent_wrote_unless_it_is_told_to(
    world: World,
) -> None:
    assert world.sould("trust").returncode == 0
    write = call("WriteFile", "1", path=".sould/agents/mine.yaml", content=AGENT)
    world.script([write, call("Shell", "2", command="sould trust --yes"), "text: done"])

    def careful(params: dict[str, Any]) -> dict[str, Any] | None:
        return choose("reject_once" if "may run as you" in str(params) else "allow_once")(params)

    async with editor(world, mode="full", permissions=careful) as (client, session):
        await client.prompt(session, "write an agent and use it")
        assert len(client.asked("session/request_permission")) == 2
    refused = world.sould("run", "--agent", "mine", "hi")
    assert "mine.yaml changed since you trusted this project" in refused.stderr
    shown = world.sould("trust", "--show").stdout
    assert f"- .sould/agents/mine.yaml: added BY THE AGENT (session {session})" in shown
    asked = world.sould("trust")
    assert (asked.returncode, "Nothing was trusted" in asked.stderr) == (1, True)
    with (world.project / ".sould" / "agents" / "mine.yaml").open("a") as file:
        file.write("# mine\n")
    assert "added BY THE AGENT, and by somebody since" in world.sould("trust", "--yes").stdout
    assert world.sould("agents", "explain", "mine").stdout.startswith("mine")
