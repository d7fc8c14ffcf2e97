"""D-Mail: every arrow, priorities, what is dropped and what is refused."""

import pytest

from sould.agents.sessions.session import Session
from sould.agents.soul.spec import builtin_path, load_spec
from sould.agents.wire.content import TextPart
from sould.agents.wire.messages import ApprovalRequest, ContextNote, ContextReverted, StepBegin, ToolResult
from soultest.bench import Bench, Watcher, call, finish
from soultest.summaries import summary_of


async def okabe(bench: Bench, mode: str = "full", **watching: object) -> Watcher:
    session = await bench.new(mode)
    await session.set_option("agent", "okabe", "")
    return Watcher(session, **watching)  # pyright: ignore[reportArgumentType] -- passed on


def texts(session: Session) -> list[str]:
    return [
        "".join(part.text for part in message.content if isinstance(part, TextPart))
        for message in session.log.context.messages
    ]


def results(watcher: Watcher) -> list[str]:
    return [result.return_value.message for result in watcher.of(ToolResult)]


# --- to oneself ------------------------------------------------------------------------------------------------------


async def test_a_dmail_to_oneself_turns_the_conversation_back_and_the_turn_goes_on(bench: Bench) -> None:
    bench.script(
        call("ReadFile", path="a.txt"),
        call("SendDMail", message="a.txt says hello; answer that", checkpoint_id=1),
        "text: It says hello.",
    )
    async with bench.running():
        watcher = await okabe(bench)
        end = await finish(watcher.session, "what does a.txt say?")
        said = texts(watcher.session)
    assert end.stop_reason == "finished"
    assert said[:2] == ["what does a.txt say?", "<system>CHECKPOINT 1</system>"]
    assert "a.txt says hello; answer that" in said[2]
    assert said[3:] == ["<system>CHECKPOINT 3</system>", "It says hello."]
    assert watcher.of(ContextReverted) == [ContextReverted(checkpoint_id=1)]
    assert len(watcher.of(StepBegin)) == 3
    # what was left stays readable beside the context
    kept = [path for path in bench.state.rglob("context_*.jsonl") if b"ReadFile" in path.read_bytes()]
    assert kept


async def test_only_agents_with_the_tool_see_checkpoints(bench: Bench) -> None:
    bench.script("text: hi")
    async with bench.running():
        watcher = Watcher(await bench.new())
        await finish(watcher.session, "hello")
        assert not watcher.of(ContextNote)
        missing = watcher.session.soul.tools.toolset.find("SendDMail")
    assert missing is None


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"checkpoint_id": 99}, "no checkpoint 99"),
        ({}, "Say to which checkpoint"),
        ({"to": "parent", "checkpoint_id": 0}, "you are the main agent"),
        ({"to": "nobody"}, "Nobody answers"),
    ],
)
async def test_what_cannot_be_sent_is_refused_with_a_sentence(
    bench: Bench, arguments: dict[str, object], said: str
) -> None:
    bench.script(call("SendDMail", message="m", **arguments), "text: ok")
    async with bench.running():
        watcher = await okabe(bench)
        await finish(watcher.session, "go")
    assert said.lower() in results(watcher)[0].lower()
    assert not watcher.of(ContextReverted)


async def test_a_checkpoint_from_before_the_last_compaction_is_refused(bench: Bench) -> None:
    bench.script(
        "text: one",
        "text: two",
        f"text: {summary_of('s')}",
        call("SendDMail", message="m", checkpoint_id=1),
        "text: ok",
    )
    async with bench.running():
        watcher = await okabe(bench)
        for prompt in ("first", "second", "/compact", "third"):
            await finish(watcher.session, prompt)
    assert "before the last compaction" in results(watcher)[0]
    assert not watcher.of(ContextReverted)


async def test_one_waits_at_a_time_and_a_higher_priority_replaces_it(bench: Bench) -> None:
    first = call("SendDMail", message="low", checkpoint_id=1)
    equal = call("SendDMail", message="equal", checkpoint_id=1)
    high = call("SendDMail", message="high", checkpoint_id=1, priority=2)
    bench.script(f"{first}\n{equal}\n{high}", "text: ok")
    async with bench.running():
        watcher = await okabe(bench)
        await finish(watcher.session, "go")
        said = "\n".join(texts(watcher.session))
    assert "only a higher priority" in results(watcher)[1]
    assert "high" in said
    assert "low" not in said
    assert "replaced by one of a higher priority" in said
    assert len(watcher.of(ContextReverted)) == 1


async def test_it_is_dropped_when_the_user_rejected_every_other_call_of_the_step(bench: Bench) -> None:
    write = call("WriteFile", path="b.txt", content="x")
    bench.script(f"{write}\n{call('SendDMail', message='m', checkpoint_id=1)}", "text: never")
    async with bench.running():
        watcher = await okabe(bench, "ask", answer="reject")
        end = await finish(watcher.session, "go")
    assert end.stop_reason == "tool_rejected"
    assert not watcher.of(ContextReverted)


async def test_files_are_taken_back_only_when_asked_for_and_with_approval(bench: Bench) -> None:
    write = call("WriteFile", path="a.txt", content="changed\n")
    keep, restore = (
        call("SendDMail", message="m", checkpoint_id=1, restore_filesystem=wanted) for wanted in (False, True)
    )
    for mail, expected in ((keep, "changed\n"), (restore, "hello\n")):
        (bench.project / "a.txt").write_text("hello\n")
        bench.script(write, mail, "text: done")
        async with bench.running():
            watcher = await okabe(bench, "ask")
            await finish(watcher.session, "go")
            said = "\n".join(texts(watcher.session))
        assert (bench.project / "a.txt").read_text() == expected
        assert ("are as they were at this point" in said) is (expected == "hello\n")


async def test_a_rejected_restore_sends_nothing(bench: Bench) -> None:
    write = call("WriteFile", path="a.txt", content="changed\n")
    bench.script(write, call("SendDMail", message="m", checkpoint_id=1, restore_filesystem=True), "text: done")
    async with bench.running():
        watcher = await okabe(bench, "review", answer="reject")
        await finish(watcher.session, "go")
    if not watcher.of(ContextReverted):
        assert (bench.project / "a.txt").read_text() == "changed\n"


async def test_a_restore_asks_for_the_file_that_needs_it_most(bench: Bench) -> None:
    plain, protected = (call("WriteFile", path=path, content="x\n") for path in ("b.txt", ".sould/x.toml"))
    bench.script(
        plain, protected, call("SendDMail", message="m", checkpoint_id=1, restore_filesystem=True), "text: done"
    )
    async with bench.running():
        watcher = await okabe(bench, "review")
        await finish(watcher.session, "go")
    assert [request.sender for request in watcher.of(ApprovalRequest)] == ["WriteFile", "SendDMail"]


# --- to others -------------------------------------------------------------------------------------------------------


async def test_a_message_to_another_session_arrives_at_its_next_step(bench: Bench) -> None:
    async with bench.running():
        bench.script("text: hi", "text: I read it")
        receiver = Watcher(await bench.new())
        await finish(receiver.session, "hello")
        bench.script(call("SendDMail", message="the port is 4711", to=receiver.session.id), "text: sent")
        sender = await okabe(bench)
        await finish(sender.session, "tell them")
        bench.script("text: hi", "text: I read it")
        await finish(receiver.session, "anything new?")
        said = "\n".join(texts(receiver.session))
    assert "its next step" in results(sender)[0]
    assert "the port is 4711" in said
    assert f"session {sender.session.id}" in said
    assert not receiver.of(ContextReverted)


async def test_a_child_can_send_its_parent_back_to_before_its_own_birth(bench: Bench) -> None:
    # the parent starts the child in its first step (checkpoint 1); the child sends it back there and ends
    child = call("SendDMail", message="no child is needed", to="parent", checkpoint_id=1)
    bench.script(
        call("Agent", description="d", prompt="look", subagent_type="explore"), child, "text: done without a child"
    )
    async with bench.running():
        watcher = await okabe(bench)
        end = await finish(watcher.session, "go")
        said = texts(watcher.session)
    assert end.stop_reason == "finished"
    assert watcher.of(ContextReverted) == [ContextReverted(checkpoint_id=1)]
    assert any("no child is needed" in text for text in said)
    assert said[-1] == "done without a child"


async def test_of_two_children_sending_at_once_one_is_told_to_wait(bench: Bench) -> None:
    agent = call("Agent", description="d", prompt="look", subagent_type="explore")
    child = call("SendDMail", message="from a child", to="parent", checkpoint_id=1)
    bench.script(
        f"{agent}\n{agent.replace('look', 'look again')}", child, child, "text: one", "text: two", "text: three"
    )
    async with bench.running():
        watcher = await okabe(bench)
        await finish(watcher.session, "go")
        said = "\n".join(texts(watcher.session))
    assert len(watcher.of(ContextReverted)) == 1
    assert said.count("from a child") == 1


def test_okabe_has_the_default_tools_and_the_phone_and_so_have_its_subagents() -> None:
    paths = {
        name: [entry.tool for entry in load_spec(builtin_path(name)).fields.tools] for name in ("default", "okabe")
    }
    phone = "sould.agents.tools.senddmail:SendDMail"
    assert paths["okabe"] == [*paths["default"], phone]
    subagents = load_spec(builtin_path("okabe")).fields.subagents
    for entry in subagents.values():
        assert phone in [tool.tool for tool in load_spec(entry.path).fields.tools]
