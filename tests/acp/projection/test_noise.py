"""What a first prompt in an editor shows beside the answer: nothing that the user did not ask for."""

import json
from typing import Any

from soultest.bench import Bench
from soultest.bench.acp import Connect

UNSEEN = {
    "available_commands_update",
    "session_info_update",
    "usage_update",
    "config_option_update",
    "current_mode_update",
}
"""What editors use and do not print."""


def furnish(bench: Bench) -> None:
    """A project as people have them, with all the configuration it can bring."""
    project = bench.project
    for name, text in {
        "AGENTS.md": "Use tabs.\n",
        ".mcp.json": json.dumps({"mcpServers": {"box": {"command": "true"}}}),
        ".sould/hooks.toml": '[[hooks]]\nevent = "Stop"\ncommand = "true"\n',
        ".sould/agents/critic.yaml": "version: 1\nagent:\n  extend: default\n",
        ".agents/skills/notes/SKILL.md": "---\nname: notes\ndescription: Takes notes.\n---\nTake notes.\n",
        ".agents/skills/run/SKILL.md": "---\nname: run\ndescription: Runs.\n---\nRun it.\n",
        ".agents/skills/run/run.sh": "true\n",
    }.items():
        path = project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


async def shown(bench: Bench, connect: Connect) -> list[dict[str, Any]]:
    """What a first prompt shows to an editor that knows no more than the protocol's core."""
    async with connect() as client:
        await client.initialize()
        await client.prompt(await client.new_session(bench.project), "hi")
        return [update for update in client.updates() if update["sessionUpdate"] not in UNSEEN]


def said(updates: list[dict[str, Any]]) -> list[str]:
    return [update["content"]["text"] for update in updates]


async def test_a_first_prompt_shows_its_answer_and_once_a_project_one_line_of_what_waits_for_trust(
    bench: Bench, connect: Connect
) -> None:
    furnish(bench)
    bench.script("text: hello", "text: hello")
    async with bench.running():
        line, answer = await shown(bench, connect)
        assert line["sessionUpdate"] == "agent_thought_chunk"
        (words,) = line["content"]["text"].splitlines()
        for name in (".mcp.json", ".sould/hooks.toml", "agent critic", "skill run", "/trust"):
            assert name in words
        assert "notes" not in words
        assert answer["content"]["text"] == "hello"
        assert said(await shown(bench, connect)) == ["hello"]
    async with bench.running():
        assert said(await shown(bench, connect)) == ["hello"]


async def test_in_a_project_that_brings_nothing_there_is_only_the_answer(bench: Bench, connect: Connect) -> None:
    bench.script("text: hello")
    async with bench.running():
        assert said(await shown(bench, connect)) == ["hello"]
