"""D-Mail through the real daemon: every arrow, what is refused, replaced and dropped, and what becomes of the unborn."""

import asyncio
import json
import os
import signal
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from soultest.acpclient import Json, choose
from soultest.daemon import until
from soultest.editor import calls, client_of, editor, said
from soultest.scenarios import journal, run, scenarios
from soultest.summaries import summary_of
from soultest.world import World, call, running

PAUSE = "sleep 0.01"


def mail(message: str, identifier: str = "m", /, **more: object) -> str:
    return call("SendDMail", identifier, message=message, **more)


def agent(model: str, **more: object) -> str:
    return call("Agent", f"a-{model}", prompt="work", description=f"The {model}", model=model, **more)


def write(path: str) -> str:
    return call("WriteFile", f"w-{path}", path=path, content="agent\n")


def wait_for(*paths: str) -> str:
    """A step that waits until these files are there."""
    there = " && ".join(f"test -e {path}" for path in paths)
    return call("Shell", "s", command=f"until {there}; do {PAUSE}; done")


def wait_until_held(message: str, first: str = ":") -> str:
    """A step that does something first and then waits until a D-Mail waits at its receiver. The pattern does not fit the command itself."""
    journals = "~/state/sould/sessions/*/wire.jsonl"
    return call("Shell", "s", command=f"{first}; until grep -q 'DMailHel[d].*{message}' {journals}; do {PAUSE}; done")


def step(*calls: str) -> str:
    return "\n".join(calls)


BACK = {"restore_filesystem": True}
SCRIPTS: Mapping[str, list[str]] = {
    "self": [
        call("ReadFile", "r", path="a.txt"),
        mail("a.txt says hello; answer that", checkpoint_id=1),
        "text: It says hello.",
        step(
            mail("m", "1", checkpoint_id=99),
            mail("m", "2"),
            mail("m", "3", to="parent", checkpoint_id=0),
            mail("m", "4", to="nobody"),
            mail("the low one", "5", checkpoint_id=5, priority=1),
            mail("an equal one", "6", checkpoint_id=5, priority=1),
            mail("a lower one", "7", checkpoint_id=5),
            mail("the high one", "8", checkpoint_id=5, priority=2),
        ),
        "text: chosen",
    ],
    "compacted": [
        write("one.txt"),
        "text: one",
        write("two.txt"),
        "text: two",
        f"text: {summary_of('the summary')}",
        mail("m", checkpoint_id=1),
        "text: three",
    ],
    "asking": [
        write("a.txt"),
        mail("try again", checkpoint_id=1, **BACK),
        "text: back",
        step(write("b.txt"), write("out/outside.txt")),
        mail("and again", checkpoint_id=5, **BACK),
        "text: back",
        step(write("b.txt"), write(".sould/x.toml")),
        mail("never sent", checkpoint_id=9, **BACK),
        mail("not while planning", checkpoint_id=9, **BACK),
        "text: stayed",
        step(mail("the user said no", checkpoint_id=15), write("c.txt")),
        write("a.txt"),
        step(mail("nobody asked about d.txt", checkpoint_id=17, **BACK), write("d.txt")),
        "text: back",
    ],
    "parent": [
        agent("elder", run_in_background=True),
        step(agent("late", run_in_background=True), agent("sender"), agent("sibling")),
        call("Shell", "s", command="touch elder-may-end"),
        call("TaskOutput", "t", task_id="agent_1", block=True),
        "text: done alone",
        agent("keeper"),
        "text: kept",
    ],
    "elder": [wait_for("elder-may-end"), "text: I was there before"],
    "late": [write("late.txt"), call("Shell", "s", command="touch late-began; sleep 600")],
    "sibling": [write("sibling.txt"), wait_until_held("nobody was needed", "touch sibling-wrote"), "text: never said"],
    "sender": [
        wait_for("late-began", "sibling-wrote"),
        mail("nobody was needed", to="parent", checkpoint_id=2, **BACK),
    ],
    "keeper": [write("kept.txt"), mail("the file is there", to="parent")],
    "family": [
        step(agent("patient", run_in_background=True), agent("urgent", run_in_background=True)),
        step(call("Shell", "t", command="touch second-step"), wait_until_held("the urgent one")),
        "text: begun",
        agent("talker"),
        "text: talked",
        "text: I go on",
        agent("late-talker"),
        "text: too late",
    ],
    "patient": [
        wait_for("second-step"),
        mail("the patient one", to="parent", checkpoint_id=2),
        wait_for("talked"),
        wait_for("idle"),
        mail("the late one", to="parent", checkpoint_id=2),
        "text: sent",
    ],
    "urgent": [
        wait_until_held("the patient one"),
        mail("an equal one", to="parent", checkpoint_id=2),
        mail("the urgent one", to="parent", checkpoint_id=2, priority=1),
        "text: sent",
    ],
    "company": [
        step(agent("left"), agent("right")),
        agent("quiet", run_in_background=True),
        step(mail("you may end", to="agent_1"), call("Shell", "s", command="touch told")),
        call("TaskOutput", "t", task_id="agent_1", block=True),
        "text: all have gone",
    ],
    "left": [
        wait_for("right-began"),
        call("ListAgents", "l"),
        mail("from beside you", to="siblings"),
        call("Shell", "s", command="touch sent"),
        "text: sent",
    ],
    "right": [call("Shell", "s", command="touch right-began"), wait_for("sent"), "text: heard"],
    "quiet": [wait_for("told"), mail("alone", to="siblings"), "text: ended"],
    "own": [
        agent("runner", run_in_background=True),
        "text: begun",
        mail("do it yourself", checkpoint_id=1, **BACK),
        "text: fresh",
    ],
    "runner": [call("Shell", "s", command="echo x > half-done.txt; touch ran; sleep 600")],
    "cancelled": [
        agent("survivor", run_in_background=True),
        call("Shell", "s", command="touch busy; sleep 600"),
        "text: I go on",
    ],
    "survivor": [wait_for("cancelled"), mail("go back", to="parent", checkpoint_id=2), "text: sent"],
    "receiver": ["text: hi", "text: I read it"],
    **{name: [] for name in ("talker", "late-talker", "other")},
}
"""What the models say. Checkpoints count turns and steps from 0."""


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    with scenarios(SCRIPTS) as made:
        yield made


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A directory of the test's own, in another one."""
    made = tmp_path / "project"
    made.mkdir()
    (made / "a.txt").write_text("hello\n")
    return made


def script(world: World, model: str, *said: str) -> None:
    """What a model says that has not been asked yet."""
    (world.root / f"{model}.json").write_text(json.dumps(said))


def remembered(world: World, session: str) -> str:
    """What the main agent's model is told next."""
    (path,) = (world.root / "state").glob(f"**/sessions/{session}/context.jsonl")
    return path.read_text()


def child(world: World, session: str, model: str) -> Path:
    """The directory of the subagent that ran with this model."""
    records = (world.root / "state").glob(f"**/sessions/{session}/subagents/agent_*/agent.json")
    (found,) = [path.parent for path in records if json.loads(path.read_text())["model"] == model]
    return found


def reverts(world: World, session: str) -> list[int]:
    return [each["payload"]["checkpoint_id"] for each in journal(world, session) if each["type"] == "ContextReverted"]


def results(world: World, session: str) -> list[str]:
    """The main agent's, as its model reads them."""
    return [
        each["payload"]["return_value"]["message"] for each in journal(world, session) if each["type"] == "ToolResult"
    ]


async def test_a_dmail_to_oneself_takes_the_conversation_back_and_the_strongest_of_a_step_counts(
    world: World, project: Path
) -> None:
    async with editor(world, project, model="self", mode="full", agent="okabe") as (client, session):
        assert await client.prompt(session, "what does a.txt say?") == {"stopReason": "end_turn"}
        now = remembered(world, session)
        assert "a.txt says hello; answer that" in now
        assert "It says hello." in now
        assert "ReadFile" not in now
        left = (world.root / "state").glob(f"**/sessions/{session}/context_*.jsonl")
        assert any("ReadFile" in path.read_text() for path in left), "what was left stays readable"
        await client.prompt(session, "choose")
        assert reverts(world, session) == [1, 5]
        refused = results(world, session)[-8:]
        for message, said in zip(
            refused,
            (
                "There is no checkpoint 99",
                "time was not turned back: the D-Mail was dropped, or another",
                "You are the main agent",
                "Nobody answers to 'nobody'",
                "time was not turned back: the D-Mail was dropped, or another",
                "only a higher priority",
                "only a higher priority",
                "time was not turned back",
            ),
            strict=True,
        ):
            assert said in message
        now = remembered(world, session)
        assert "the high one" in now
        assert "Your D-Mail was replaced by one of a higher priority" in now
        assert "the low one" not in now


async def test_beyond_a_compaction_only_the_user_goes_back_also_in_the_next_daemon(world: World, project: Path) -> None:
    async with editor(world, project, model="compacted", mode="full", agent="okabe") as (client, session):
        for prompt in ("first " * 1000, "second", "/compact", "third"):
            await client.prompt(session, prompt)
        assert "before the last compaction" in results(world, session)[-1]
        assert "only the user's /rewind goes there" in results(world, session)[-1]
        assert not reverts(world, session)
        assert "the summary" in remembered(world, session)
    assert (await asyncio.to_thread(run, world, project, "stop")).returncode == 0
    async with client_of(world) as client:
        await client.request("session/load", sessionId=session, cwd=str(project), mcpServers=[])
        assert "Back at checkpoint 3. 1 file restored." in await said(client, session, "/rewind 3")
        now = remembered(world, session)
        assert "one.txt" in now
        assert "the summary" not in now
        assert (project / "one.txt").exists()
        assert not (project / "two.txt").exists()
        assert "Returned. 1 file restored." in await said(client, session, "/redo")
        assert "the summary" in remembered(world, session)
        assert (project / "two.txt").exists()


async def test_taking_files_back_needs_what_the_strictest_of_them_needs(world: World, project: Path) -> None:
    answers = iter([*["allow_once"] * 4, *["reject_once"] * 2, *["allow_once"] * 3])

    def answer(params: Json) -> Json:
        return choose(next(answers))(params) or {}

    outside = project.parent / "outside.txt"
    (project / "out").symlink_to("..")
    async with editor(world, project, model="asking", mode="review", agent="okabe", permissions=answer) as (
        client,
        session,
    ):
        asked = client.asked
        await client.prompt(session, "inside")
        assert (project / "a.txt").read_text() == "hello\n"
        assert not asked("session/request_permission"), "edits inside need no approval in this mode"
        assert "files that were changed since are as they were" in remembered(world, session)

        await client.prompt(session, "outside")
        assert f"Read file `{outside}`" in str(asked("session/request_permission")[0]["params"]["toolCall"])
        question = asked("session/request_permission")[2]["params"]["toolCall"]
        assert "Take back the edits since checkpoint 5 to b.txt" in str(question)
        assert str(outside) in str(question)
        assert f"{outside} is outside the workspace" in str(question)
        assert not outside.exists()
        assert not (project / "b.txt").exists()

        await client.prompt(session, "protected, and rejected")
        assert "Take back" in str(asked("session/request_permission")[4]["params"]["toolCall"])
        assert (project / "b.txt").exists()
        assert (project / ".sould" / "x.toml").exists()

        await client.request("session/set_config_option", sessionId=session, configId="mode", value="plan")
        await client.prompt(session, "while planning")
        assert "no file is changed" in str(calls(client)[-1])
        assert (project / "b.txt").exists()

        await client.request("session/set_config_option", sessionId=session, configId="mode", value="ask")
        await client.prompt(session, "everything is rejected")
        assert not (project / "c.txt").exists()
        assert "time was not turned back: the D-Mail was dropped" in results(world, session)[-2]
        assert reverts(world, session) == [1, 5]

        await client.prompt(session, "a file that is written meanwhile")
        assert (project / "a.txt").read_text() == "hello\n"
        assert (project / "d.txt").exists()
        now = remembered(world, session)
        assert f"except {project / 'd.txt'}, which changed when the user had been asked already" in now
        assert next(answers, None) is None


async def test_a_child_sends_its_parent_to_before_its_birth_and_siblings_and_edits_go_with_it(
    world: World, project: Path
) -> None:
    async with editor(world, project, model="parent", mode="full", agent="okabe") as (client, session):
        await client.prompt(session, "go")
        assert client.text(session) == "done alone"
        assert reverts(world, session) == [2]
        assert "sent by agent agent_" in remembered(world, session)
        assert "nobody was needed" in remembered(world, session)
        for name in ("late.txt", "sibling.txt"):
            assert not (project / name).exists(), "what the unborn wrote is gone"
        for name in ("late", "sibling", "sender"):
            told = (child(world, session, name) / "wire.jsonl").read_text()
            assert "goes back to its checkpoint 2, before this one began" in told
            assert '"stop_reason":"cancelled"' in told
        assert "never said" not in told
        elder = (child(world, session, "elder") / "wire.jsonl").read_text()
        assert "before this one began" not in elder
        assert "I was there before" in elder

        await client.prompt(session, "keep the files")
        assert reverts(world, session) == [2, 7]
        assert "as your future self left them" in remembered(world, session)
        assert (project / "kept.txt").exists()


async def test_going_back_ends_what_was_started_since_and_takes_back_what_its_running_command_did(
    world: World, project: Path
) -> None:
    async with editor(world, project, model="own", mode="full", agent="okabe") as (client, session):
        await client.prompt(session, "go")
        await asyncio.to_thread(until, (project / "ran").exists)
        await client.prompt(session, "once more")
        assert reverts(world, session) == [1]
        assert not (project / "half-done.txt").exists()
        notice = await client.wait_update("notice", lambda notice: "Background task stopped" in notice["title"])
        assert "goes back to its checkpoint 1, before this one began" in notice["description"]
        assert client.text(session).endswith("fresh")


async def test_children_send_at_once_to_their_parent_and_to_each_other(world: World, project: Path) -> None:
    async with editor(world, project, model="family", mode="full", agent="okabe") as (client, session):
        await client.prompt(session, "go")
        assert reverts(world, session) == [2]
        assert "the urgent one" in remembered(world, session)
        assert "the patient one" not in remembered(world, session)
        patient, urgent = (child(world, session, name) for name in ("patient", "urgent"))
        assert "only a higher priority replaces it" in (urgent / "wire.jsonl").read_text()
        assert "Your parent's newest checkpoint, when you were started: 1" in (patient / "context.jsonl").read_text()

        await client.wait_update("notice", lambda notice: "The urgent" in str(notice))
        hear = mail("look at b.txt", to=patient.name)
        script(world, "talker", mail("m", to="nobody"), hear, call("Shell", "s", command="touch talked"), "text: told")
        await client.prompt(session, "talk")
        talker = child(world, session, "talker")
        assert (
            f"an agent at work in this session ({', '.join(sorted((patient.name, talker.name)))})"
            in (talker / "wire.jsonl").read_text()
        )

        (project / "idle").touch()
        await client.wait_update("notice", lambda notice: "The patient" in str(notice))
        heard = (patient / "wire.jsonl").read_text()
        assert "Your D-Mail was replaced by one of a higher priority" in heard
        assert f"A D-Mail from agent {talker.name} has arrived:\\n\\nlook at b.txt" in heard

        assert "Its turn has ended, so time is not turned back." in heard
        await client.prompt(session, "a new prompt")
        assert reverts(world, session) == [2], "a D-Mail that came after the turn does not take the next prompt away"
        now = remembered(world, session)
        assert "a new prompt" in now
        assert f"A D-Mail from agent {patient.name} has arrived:\\n\\nthe late one" in now

        script(world, "late-talker", hear, "text: gone")
        await client.prompt(session, "talk again")
        assert (
            f"Nobody answers to '{patient.name}'" in (child(world, session, "late-talker") / "wire.jsonl").read_text()
        )


async def test_agents_learn_who_works_beside_them_and_reach_each_other_by_every_name_they_are_told(
    world: World, project: Path
) -> None:
    async with editor(world, project, model="company", mode="full", agent="okabe") as (client, session):
        await client.prompt(session, "go")
        assert client.text(session) == "all have gone"
        left, right, quiet = (child(world, session, name) for name in ("left", "right", "quiet"))
        met, heard, told = ((each / "context.jsonl").read_text() for each in (left, right, quiet))
    assert f"At work beside you: {right.name} (coder: The right)." in met
    assert f"- {right.name}: coder: The right, beside you" in met
    assert f"on its way to {right.name}" in met
    assert f"A D-Mail from agent {left.name} has arrived:\\n\\nfrom beside you" in heard
    assert f"A D-Mail from session {session} has arrived:\\n\\nyou may end" in told
    assert "No agent works beside you." in told
    assert f"The agent {quiet.name} works in the background as agent_1." in "".join(results(world, session))


async def test_a_dmail_to_a_turn_that_was_cancelled_does_not_take_the_next_prompt_away(
    world: World, project: Path
) -> None:
    async with editor(world, project, model="cancelled", mode="full", agent="okabe") as (client, session):
        turn = client.prompt(session, "go")
        await asyncio.to_thread(until, (project / "busy").exists)
        client.notify("session/cancel", sessionId=session)
        assert await turn == {"stopReason": "cancelled"}
        (project / "cancelled").touch()
        await client.wait_update("notice", lambda notice: "completed: The survivor" in notice["title"])
        await client.prompt(session, "the next prompt")
        assert client.text(session) == "I go on"
        assert not reverts(world, session)
        assert "arrived when your turn had ended, so time was not turned back" in remembered(world, session)
        assert "the next prompt" in remembered(world, session)


async def test_a_message_to_another_session_arrives_at_its_next_step_also_in_the_next_daemon(
    world: World, project: Path
) -> None:
    async with editor(world, project, model="receiver") as (client, session):
        await client.prompt(session, "hello")
        script(world, "other", mail("the port is 4711", to=session), "text: sent")
        sender = await client.new_session(project)
        for option, value in (("agent", "okabe"), ("model", "other"), ("mode", "full")):
            await client.request("session/set_config_option", sessionId=sender, configId=option, value=value)
        await client.prompt(sender, "tell them")
        assert "the receiver reads it at its next step" in results(world, sender)[-1]
    pid = world.daemon()
    os.kill(pid, signal.SIGKILL)
    await asyncio.to_thread(until, lambda: not running(pid))
    async with client_of(world) as again:
        await again.request("session/load", sessionId=session, cwd=str(project), mcpServers=[])
        await again.prompt(session, "anything new?")
    assert "the port is 4711" in remembered(world, session)
    assert not reverts(world, session)
