"""D16 for subagents: what one of them waits to be allowed is asked again after the daemon's end, and all above it goes on."""

import asyncio
import json
import os
import shutil
import signal
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from soultest.acpclient import ALLOW_ONCE, AcpClient, ignore
from soultest.daemon import until
from soultest.editor import calls, editor, titled
from soultest.world import World, call, running

Json = dict[str, Any]
Scripts = Mapping[str, list[str]]

STAGES = [
    {"agent": "explore", "prompt": "find"},
    {"agent": "coder", "prompt": "write"},
    {"agent": "coder", "prompt": "sum up <{previous}>"},
]
QUESTION = {"question": "Which database?", "options": [{"label": "SQLite"}, {"label": "PostgreSQL"}]}


def agent(identifier: str, model: str = "", **more: object) -> str:
    """A call of Agent; with `model` its subagent has a script of its own."""
    chosen = {"model": model} if model else {}
    return call("Agent", identifier, prompt="do it", description=f"Task {identifier}", **chosen, **more)


def writes(name: str) -> list[str]:
    return [call("WriteFile", "w", path=f"{name}.txt", content=name)]


BEFORE: Scripts = {
    "one": [agent("1", "one-child")],
    "one-child": writes("one"),
    "nested": [agent("1", "nested-child", subagent_type="foreman")],
    "nested-child": [agent("2", "nested-grandchild")],
    "nested-grandchild": writes("nested"),
    "parallel": ["\n".join([agent("1", "left"), agent("2", "right"), agent("3", "busy")])],
    "left": writes("left"),
    "right": writes("right"),
    "busy": [call("Shell", "s", command="cat fifo")],
    "changed": [agent("1", "changed-child")],
    "changed-child": [call("StrReplaceFile", "e", path="a.txt", edit={"old": "hi", "new": "ho"})],
    "pipeline": [call("Agent", "1", pipeline=STAGES, description="Stages"), "text: first", *writes("stage")],
    "background": [agent("1", "background-child", run_in_background=True), "text: begun"],
    "background-child": writes("background"),
    "asking": [agent("1", "asking-child", subagent_type="asker", run_in_background=True), "text: begun"],
    "asking-child": [call("AskUserQuestion", "q", questions=[QUESTION])],
}
AFTER: Scripts = {
    "one": ["text: one is done"],
    "one-child": ["text: one is written"],
    "nested": ["text: nested is done"],
    "nested-child": ["text: the foreman has heard"],
    "nested-grandchild": ["text: nested is written"],
    "parallel": ["text: parallel is done"],
    "left": ["text: left is written"],
    "right": ["text: right is written"],
    "changed": ["text: changed is done"],
    "changed-child": ["text: I shall look again"],
    "pipeline": ["text: second", "text: third", "text: pipeline is done"],
    "background": ["text: background is known"],
    "background-child": ["text: background is written"],
    "asking": ["text: asking is known"],
    "asking-child": ["text: asking is answered"],
}
MODELS = sorted({*BEFORE, *AFTER})


@pytest.fixture
def world() -> Iterator[World]:
    root = Path(tempfile.mkdtemp(prefix="sould-wait-"))
    made = World(root)
    made.script([], "\n".join(_model(root, name) for name in MODELS))
    write(made, BEFORE)
    agents = root / "config" / "sould" / "agents"
    agents.mkdir(parents=True)
    head = "version: 1\nagent:\n  extend: default\n  subagents:\n"
    kinds = {"coder": "coder", "explore": "explore", "foreman": "foreman.yaml", "asker": "asker.yaml"}
    (agents / "boss.yaml").write_text(head + "".join(f"    {name}: {path}\n" for name, path in kinds.items()))
    (agents / "asker.yaml").write_text("version: 1\nagent:\n  extend: default\n")
    (agents / "foreman.yaml").write_text(
        f"{head}    coder: coder\n".replace("subagents", "tools: ['sould.agents.tools.agent:Agent']\n  subagents")
    )
    (made.project / "a.txt").write_text("hi")
    os.mkfifo(made.project / "fifo")
    made.start()
    yield made
    made.close()
    shutil.rmtree(root, ignore_errors=True)


def _model(root: Path, name: str) -> str:
    path = root / f"{name}.json"
    return (
        f'[models.{name}]\nprovider = "{name}"\nmodel = "scripted"\nmax_context_size = 100000\n'
        f'[providers.{name}]\ntype = "_scripted_echo"\nenv = {{ KIMI_SCRIPTED_ECHO_SCRIPTS = "{path}" }}\n'
    )


def write(world: World, scripts: Scripts) -> None:
    """What the models say from the next daemon on."""
    for name in MODELS:
        (world.root / f"{name}.json").write_text(json.dumps(scripts.get(name, [])))


async def begin(client: AcpClient, world: World, scenario: str) -> tuple[str, "asyncio.Future[Any]"]:
    """A session that works on a scenario, and its prompt."""
    session = await client.new_session(world.project)
    for option, value in (("mode", "ask"), ("model", scenario), ("agent", "boss")):
        await client.request("session/set_config_option", sessionId=session, configId=option, value=value)
    return session, client.prompt(session, "go")


def journal(world: World, session: str) -> str:
    (path,) = (world.root / "state").glob(f"**/sessions/{session}/wire.jsonl")
    return path.read_text()


def asked(client: AcpClient) -> list[Json]:
    return [request["params"]["toolCall"] for request in client.asked("session/request_permission")]


async def ready(wanted: Any) -> None:
    await asyncio.to_thread(until, wanted)


async def test_after_a_kill_every_subagent_asks_again_and_the_turns_above_go_on(world: World) -> None:
    async with editor(world, permissions=ignore) as (client, _):
        scenarios = ("one", "nested", "parallel", "pipeline", "changed", "background")
        begun = {name: await begin(client, world, name) for name in scenarios}
        await ready(lambda: len(asked(client)) == 7 and "cat fifo" in str(calls(client)))
        before = asked(client)
        await begun["background"][1]
        write(world, AFTER)
        (world.project / "a.txt").write_text("bye")
        client.permissions = ALLOW_ONCE
        os.kill(world.daemon(), signal.SIGKILL)
        ends = [await begun[name][1] for name in scenarios]
        assert [end["stopReason"] for end in ends] == ["end_turn"] * 6
        again = asked(client)[7:]
        assert {each["toolCallId"] for each in again} == {
            each["toolCallId"] for each in before if "a.txt" not in str(each)
        }
        assert {"The coder subagent" in str(each["content"]) for each in again} == {True}
        await client.wait_update("notice", lambda update: "background task completed" in str(update).lower())
        for name in ("one", "nested", "left", "right", "stage", "background"):
            assert (world.project / f"{name}.txt").read_text() == name
        for name in ("one", "nested", "parallel", "pipeline", "changed"):
            assert client.text(begun[name][0]).endswith(f"{name} is done")
        assert "the foreman has heard" in str(titled(client, "Task 1 (foreman)")["content"])
        assert "third" in str(titled(client, "Stages (explore → coder → coder)")["content"])
        assert "Interrupted" in str([each["content"] for each in calls(client) if each["title"] == "Task 3 (coder)"])
        told = journal(world, begun["parallel"][0])
        assert "may or may not have run" in told
        assert "remembers what it did" in told
        assert '"reason":"expired"' in journal(world, begun["changed"][0])
        assert (world.project / "a.txt").read_text() == "bye"
        await client.prompt(begun["background"][0], "and?")
        assert "agent_1 (Task 1): completed" in journal(world, begun["background"][0])


async def test_a_stopped_daemon_leaves_what_waits_to_the_next_one(world: World) -> None:
    async with editor(world, permissions=ignore) as (client, _):
        client.hang.add("elicitation/create")
        begun = {name: await begin(client, world, name) for name in ("nested", "background", "asking")}
        await ready(lambda: len(asked(client)) == 2)
        await client.wait_request("elicitation/create")
        await begun["background"][1]
        await begun["asking"][1]
        daemon = world.daemon()
        os.kill(daemon, signal.SIGTERM)
        await client.ended.wait()
        await ready(lambda: not running(daemon))
    assert not (world.project / "nested.txt").exists()
    write(world, AFTER)
    async with editor(world) as (client, _):
        for name, (session, _) in begun.items():
            await client.request("session/load", sessionId=session, cwd=str(world.project), mcpServers=[])
            if name == "asking":
                await ready(lambda session=session: "asking is answered" in journal(world, session))
                continue
            await ready(lambda name=name: (world.project / f"{name}.txt").exists())
        await client.wait_update("agent_message_chunk", lambda update: "nested is done" in str(update))
        await client.wait_update("notice", lambda update: "background task completed" in str(update).lower())


async def test_a_forced_restart_only_asks_again(world: World) -> None:
    async with editor(world, permissions=ignore) as (client, _):
        _, prompt = await begin(client, world, "nested")
        await ready(lambda: len(asked(client)) == 1)
        write(world, AFTER)
        client.permissions = ALLOW_ONCE
        done = await asyncio.to_thread(world.sould, "restart", "--force")
        assert done.returncode == 0, done.stderr
        assert (await prompt)["stopReason"] == "end_turn"
        assert client.text().endswith("nested is done")
        assert not client.updates("notice")


async def test_closing_the_session_ends_what_waits(world: World) -> None:
    async with editor(world, permissions=ignore) as (client, _):
        session, prompt = await begin(client, world, "background")
        await ready(lambda: len(asked(client)) == 1)
        await prompt
        await client.request("session/close", sessionId=session)
        write(world, AFTER)
        await client.request("session/load", sessionId=session, cwd=str(world.project), mcpServers=[])
        await client.prompt(session, "and?")
        assert len(asked(client)) == 1
        assert "agent_1 (Task 1): stopped. The session was closed." in journal(world, session)
