"""What an editor is shown beside the answers: nothing that the user did not ask for, and nothing between turns."""

import json
from typing import Any

from sould.acp.features import Features
from sould.agents.clients.connections import ConnectionRecord
from sould.agents.wire import messages as wire
from sould.agents.wire.notice import answer_to
from soultest.acpscreen import Screen
from soultest.bench import Bench, Watcher, call
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


BEGIN = wire.TurnBegin(user_input="go", turn_id="t", client_id="me")
END = wire.TurnEnd(turn_id="t")
TASK = wire.Notification(id="n", title="Background task completed: build")


def test_what_happens_between_turns_comes_with_the_next_one() -> None:
    """agent-shell and pi show words of no turn as a mistake of the agent's."""
    screen = Screen(Features())
    assert screen.show(BEGIN, END, TASK, wire.CompactionBegin(compaction_id="k")) == []
    foreign = BEGIN.model_copy(update={"client_id": "another"})
    asked, task, compacting = screen.show(foreign)
    assert asked["sessionUpdate"] == "user_message_chunk"
    assert "[info] Background task completed: build" in said([task])[0]
    assert "Compacting" in said([compacting])[0]
    assert screen.show(END, BEGIN) == [], "once"


def test_clients_that_show_what_comes_between_turns_are_told_at_once() -> None:
    for features in (Features(notices=True, between_turns=True), Features(between_turns=True)):
        (told,) = Screen(features).show(BEGIN, END, TASK)
        assert "Background task completed" in json.dumps(told)


def test_what_was_asked_for_between_turns_is_answered_at_once() -> None:
    (answer,) = Screen(Features()).show(BEGIN, END, answer_to("/queue", "No prompts are queued", "me", ""))
    assert said([answer]) == ["No prompts are queued\n"]


def test_a_history_has_what_came_between_turns_where_it_was_and_not_once_more() -> None:
    screen = Screen(Features())
    shown = screen.show(BEGIN, END, TASK, history=True)
    assert [update["sessionUpdate"] for update in shown] == ["user_message_chunk", "agent_thought_chunk"]
    assert screen.show(BEGIN) == []


async def test_a_task_that_ends_between_turns_is_told_with_the_next_turn_also_after_a_restart(
    bench: Bench, connect: Connect
) -> None:
    records: list[ConnectionRecord] = []
    waits = "until [ -e over ]; do sleep 0.02; done"
    bench.script(call("Shell", command=waits, description="build", run_in_background=True), "text: One.", "text: Two.")
    async with bench.running() as host, connect(remember=records.append) as client:
        await client.initialize()
        session = await client.new_session(bench.project)
        await client.request("session/set_mode", sessionId=session, modeId="full")
        await client.prompt(session, "go")
        (bench.project / "over").touch()
        live = host.sessions.get(session)
        assert live is not None
        await Watcher(live).wait_for(wire.Notification, lambda each: "build" in each.title)
        await client.request("_sould/queue", sessionId=session)  # what was sent before it has come
        assert not [each for each in client.updates("agent_thought_chunk") if "build" in each["content"]["text"]]
    async with bench.running(), connect(resume=records[-1], check=False) as client:
        await client.prompt(session, "next")
        told = [update for update in client.updates() if update["sessionUpdate"].startswith("agent_")]
        assert ["build" in text for text in said(told)] == [True, False]
