"""What a turn goes by: whatever the user changed before it, also after turns that found nothing changed."""

import json
from pathlib import Path

from sould.agents.wire.messages import Notification
from soultest.bench import Bench, Watcher, finish
from soultest.bench.looks import choose, prompt_of


def told(watcher: Watcher) -> str:
    return "\n".join(notice.body for notice in watcher.of(Notification))


def write_agent(folder: Path, prompt: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "own.md").write_text(prompt)
    (folder / "own.yaml").write_text("version: 1\nagent:\n  extend: default\n  system_prompt_path: own.md\n")


async def test_a_turn_sees_what_was_changed_after_turns_in_which_nothing_was(bench: Bench) -> None:
    write_agent(bench.config / "agents", "You are short.")
    bench.script(*["text: yes"] * 7)
    async with bench.running():
        watcher = Watcher(await bench.new())
        await choose(watcher.session, "agent", "own")
        for _ in range(3):
            await finish(watcher.session, "hello")
        assert told(watcher) == ""
        skill = bench.project / ".agents" / "skills" / "knit.md"
        skill.parent.mkdir(parents=True)
        skill.write_text("---\ndescription: knits\n---\nKnit.\n")
        await finish(watcher.session, "hello")
        assert "new: knit" in told(watcher)
        servers = {"mcpServers": {"gone": {"command": "/nowhere/at/all"}}}
        (bench.config / "mcp.json").write_text(json.dumps(servers))
        await finish(watcher.session, "hello")
        assert f"these changed: {bench.config / 'mcp.json'}" in told(watcher)
        write_agent(bench.config / "agents", "You are long.")
        await finish(watcher.session, "hello")
        assert prompt_of(watcher.session) == "You are long."
        await choose(watcher.session, "agent", "default")
        await finish(watcher.session, "hello")
        assert prompt_of(watcher.session) != "You are long."


async def test_a_server_of_the_project_is_named_in_the_turn_after_its_file_came(bench: Bench) -> None:
    bench.script(*["text: yes"] * 3)
    async with bench.running():
        watcher = Watcher(await bench.new())
        for _ in range(2):
            await finish(watcher.session, "hello")
        bench.trust.set(bench.project, "restricted")
        (bench.project / ".mcp.json").write_text(json.dumps({"mcpServers": {"own": {"command": "true"}}}))
        await finish(watcher.session, "hello")
        assert "The MCP servers of .mcp.json are not started: you restricted this project." in told(watcher)
