"""The review inside a turn: whose a change is, what waits for the step, what the model and the user are told of it."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from sould.agents.files.projects.port import ProjectPort
from sould.agents.files.reviewing.answers import Outcome
from sould.agents.files.reviewing.listing import EVERYTHING, FileReview, ReviewedHunk, Selection
from sould.agents.files.reviewing.orders import Order
from sould.agents.sessions.session import Session
from sould.agents.wire.messages import (
    ApprovalRequest,
    ApprovalResponse,
    CommandBegin,
    Notification,
    StepBegin,
    SubagentEvent,
    ToolCallDetail,
    ToolResult,
    TurnEnd,
)
from sould.agents.wire.notice import TO_REVIEW
from soultest.bench import Bench, Watcher, asked, call, finish
from soultest.bench.acp import connected

DELEGATE = call("Agent", description="Change", prompt="Change it.", subagent_type="coder")


@asynccontextmanager
async def reviewing(bench: Bench) -> AsyncGenerator[ProjectPort]:
    """A client of the project, beside the sessions."""
    async with ProjectPort.opened(bench.host.projects, bench.project, bench.root, "reviewer") as port:
        yield port


def hunks(reviews: Sequence[FileReview]) -> list[ReviewedHunk]:
    return [hunk for each in reviews for hunk in each.hunks]


def calls(*lines: str) -> str:
    """One step with several calls, each with an id of its own."""
    return "\n".join(line.replace('"id": "1"', f'"id": "{number}"') for number, line in enumerate(lines, 1))


def replace(path: Path | str, old: str, new: str) -> str:
    return call("StrReplaceFile", path=str(path), edit={"old": old, "new": new})


async def test_a_hunk_knows_the_model_that_wrote_it(bench: Bench) -> None:
    bench.script(replace("a.txt", "hello", "bye"), "text: done")
    async with bench.running():
        await finish(Watcher(await bench.new("review")).session, "go")
        async with reviewing(bench) as port:
            [hunk] = hunks(await port.pending_now())
    assert [(agent.subagent, agent.model) for agent in hunk.agents] == [("", "scripted")]


async def test_a_hunk_knows_the_subagent_that_wrote_it_also_by_a_command(bench: Bench) -> None:
    bench.script(
        DELEGATE,
        replace("a.txt", "hello", "bye"),
        call("Shell", command="echo new > b.txt"),
        "text: I did.",
        "text: done",
    )
    async with bench.running():
        await finish(Watcher(await bench.new("full")).session, "go")
        async with reviewing(bench) as port:
            found = {Path(hunk.path).name: hunk.agents for hunk in hunks(await port.pending_now())}
    assert set(found) == {"a.txt", "b.txt"}
    for agents in found.values():
        assert all(agent.subagent.startswith("agent_") and agent.model == "scripted" for agent in agents)


async def test_an_edit_that_a_person_allowed_is_not_pending_and_one_allowed_for_the_session_is(bench: Bench) -> None:
    bench.script(replace("a.txt", "hello", "bye"), replace("b.txt", "one", "two"), "text: done")
    (bench.project / "b.txt").write_text("one\n")
    async with bench.running():
        watcher = Watcher(await bench.new("ask"), answer="approve_for_session")
        await finish(watcher.session, "go")
        async with reviewing(bench) as port:
            pending = hunks(await port.pending_now())
    assert (bench.project / "a.txt").read_text() == "bye\n"
    assert [Path(each.path).name for each in pending] == ["b.txt"], "nobody saw that difference before it was written"


# --- rejects while the agent works ---------------------------------------------------------------------------------------


class Gate:
    """Holds a file, so that a call that edits it does not end before the gate is opened."""

    def __init__(self, bench: Bench, name: str) -> None:
        self._held = bench.host.projects.locks.editing(bench.project / name)
        self._open = asyncio.Event()
        self._closed = asyncio.Event()

    async def _hold(self) -> None:
        async with self._held:
            self._closed.set()
            await self._open.wait()

    @asynccontextmanager
    async def closed(self) -> AsyncGenerator["Gate"]:
        async with asyncio.TaskGroup() as group:
            group.create_task(self._hold())
            await self._closed.wait()
            try:
                yield self
            finally:
                self.open()

    def open(self) -> None:
        self._open.set()


async def rejected(port: ProjectPort, reason: str = "") -> Outcome:
    """The user rejects everything."""
    return await port.review.decide(Order("reject", EVERYTHING, "reviewer", reason))


@asynccontextmanager
async def turn_of(session: Session) -> AsyncGenerator["asyncio.Task[TurnEnd]"]:
    async with asyncio.TaskGroup() as group:
        yield group.create_task(finish(session, "go"))


async def approve(watcher: Watcher, action: str) -> None:
    """Answer the question about it."""
    request = await watcher.wait_for(ApprovalRequest, lambda request: request.action == action)
    watcher.session.parts.attached.answer(ApprovalResponse(request_id=request.id, response="approve"), "watcher")


async def test_a_reject_waits_until_the_calls_of_the_step_have_ended(bench: Bench) -> None:
    (bench.project / "b.txt").write_text("one\n")
    bench.script(replace("a.txt", "hello", "bye"), replace("b.txt", "one", "two"), "text: done")
    async with bench.running(), reviewing(bench) as port:
        watcher = Watcher(await bench.new("review"))
        async with Gate(bench, "b.txt").closed() as gate, turn_of(watcher.session):
            await watcher.wait_for(StepBegin, lambda step: step.n == 2)
            outcome = await rejected(port)
            assert [each.waits for each in outcome.done] == [True]
            await watcher.wait_for(ToolCallDetail, lambda detail: detail.title.endswith("b.txt"))
            assert (bench.project / "a.txt").read_text() == "bye\n"
            assert [hunk.state for hunk in hunks(await port.pending_now())] == ["rejecting"]
            gate.open()
        assert (bench.project / "a.txt").read_text() == "hello\n"
        assert [Path(hunk.path).name for hunk in hunks(await port.pending_now())] == ["b.txt"]


async def test_a_command_holds_up_no_reject(bench: Bench) -> None:
    ended = bench.project / "ended"
    bench.script(
        replace("a.txt", "hello", "bye"),
        call("Shell", command="while [ ! -e ended ]; do sleep 0.05; done"),
        "text: done",
    )
    async with bench.running(), reviewing(bench) as port:
        watcher = Watcher(await bench.new("full"))
        async with turn_of(watcher.session):
            await watcher.wait_for(CommandBegin)
            outcome = await rejected(port)
            text = (bench.project / "a.txt").read_text()
            ended.touch()
        left = hunks(await port.pending_now())
        changed = watcher.of(ToolResult)[-1].return_value.extras
        [note] = told(watcher.session)
    assert [each.waits for each in outcome.done] == [False]
    assert text == "hello\n"
    assert [Path(hunk.path).name for hunk in left] == ["ended"], "the reject is not taken for the command's doing"
    assert changed is not None
    assert changed["changed"] == [str(ended)]
    assert "Since you last looked" not in note


async def test_a_question_to_the_user_holds_up_no_reject(bench: Bench) -> None:
    (bench.project / "b.txt").write_text("one\n")
    bench.script(call("Shell", command="echo bye > a.txt"), replace("b.txt", "one", "two"), "text: done")
    async with bench.running(), reviewing(bench) as port:
        watcher = Watcher(await bench.new("ask"), answer=None)
        async with turn_of(watcher.session):
            await approve(watcher, "run command")
            await watcher.wait_for(ApprovalRequest, lambda request: request.action == "edit file")
            outcome = await rejected(port)
            text = (bench.project / "a.txt").read_text()
            await approve(watcher, "edit file")
    assert [each.waits for each in outcome.done] == [False]
    assert (text, (bench.project / "b.txt").read_text()) == ("hello\n", "two\n")


async def test_a_cancelled_turn_lets_what_waits_be_done(bench: Bench) -> None:
    (bench.project / "b.txt").write_text("one\n")
    bench.script(replace("a.txt", "hello", "bye"), replace("b.txt", "one", "two"), "text: done")
    async with bench.running(), reviewing(bench) as port:
        watcher = Watcher(await bench.new("review"))
        async with Gate(bench, "b.txt").closed(), turn_of(watcher.session) as turn:
            await watcher.wait_for(ToolCallDetail, lambda detail: detail.title.endswith("b.txt"))
            outcome = await rejected(port)
            watcher.session.turns.cancel(None)
            await turn
            text = (bench.project / "a.txt").read_text()
    assert [each.waits for each in outcome.done] == [True]
    assert (text, (bench.project / "b.txt").read_text()) == ("hello\n", "one\n")


async def test_a_reject_waits_for_a_subagent_of_the_session_too(bench: Bench) -> None:
    (bench.project / "b.txt").write_text("one\n")
    bench.script(
        replace("a.txt", "hello", "bye"),
        DELEGATE,
        replace("b.txt", "one", "two"),
        "text: I did.",
        "text: done",
    )
    async with bench.running(), reviewing(bench) as port:
        watcher = Watcher(await bench.new("review"))
        async with Gate(bench, "b.txt").closed() as gate, turn_of(watcher.session):
            await watcher.wait_for(SubagentEvent, lambda event: isinstance(event.event, ToolCallDetail))
            outcome = await rejected(port)
            gate.open()
    assert [each.waits for each in outcome.done] == [True]
    assert (bench.project / "a.txt").read_text() == "hello\n"


# --- what the model is told ----------------------------------------------------------------------------------------------


def told(session: Session) -> list[str]:
    """What the model was told of files, beside what the user asked it."""
    return [text for text in asked(session) if "rejected changes of yours" in text or "Since you last looked" in text]


async def test_a_reject_is_told_to_the_model_once_with_the_next_request(bench: Bench) -> None:
    bench.script(replace("a.txt", "hello", "bye"), "text: done", "text: I see.", "text: And so on.")
    async with bench.running(), reviewing(bench) as port:
        watcher = Watcher(await bench.new("review"))
        await finish(watcher.session, "go")
        await rejected(port, "keep the name")
        assert not told(watcher.session), "nothing is sent for it"
        await finish(watcher.session, "what now?")
        await finish(watcher.session, "and now?")
        [note] = told(watcher.session)
    assert "a.txt" in note
    assert "-hello\n+bye" in note
    assert "keep the name" in note


async def test_a_reject_while_the_session_was_closed_is_told_when_it_goes_on_and_not_again(bench: Bench) -> None:
    bench.script(replace("a.txt", "hello", "bye"), "text: done")
    async with bench.running():
        session = await bench.new("review")
        await finish(Watcher(session).session, "go")
    async with bench.running(), reviewing(bench) as port:
        await rejected(port, "keep the name")
    bench.script("text: I see.")
    for _ in range(2):
        async with bench.running():
            again = Watcher(await bench.open(session.id)).session
            await finish(again, "what now?")
            assert ["keep the name" in note for note in told(again)] == [True]


async def test_a_reject_that_was_taken_back_is_not_told(bench: Bench) -> None:
    bench.script(replace("a.txt", "hello", "bye"), "text: done", "text: I see.")
    async with bench.running(), reviewing(bench) as port:
        watcher = Watcher(await bench.new("review"))
        await finish(watcher.session, "go")
        [done] = (await rejected(port)).done
        await port.review.decide(Order("undo", Selection((done.id,)), "reviewer"))
        await finish(watcher.session, "what now?")
        assert not told(watcher.session)
    assert (bench.project / "a.txt").read_text() == "bye\n"


def told_to_subagents(bench: Bench) -> list[str]:
    """The same, of subagents, of which each has a journal of its own."""
    journals = bench.state.rglob("agent_*/wire.jsonl")
    return [line for path in journals for line in path.read_text().splitlines() if "rejected changes of yours" in line]


async def test_a_reject_of_what_a_subagent_wrote_is_told_to_that_as_long_as_it_works(bench: Bench) -> None:
    bench.script(
        DELEGATE,
        replace("a.txt", "hello", "bye"),
        call("Shell", command="until [ -e go ]; do sleep 0.01; done; rm go"),
        "text: I did.",
        "text: done",
        "text: I see.",
    )
    async with bench.running(), reviewing(bench) as port:
        watcher = Watcher(await bench.new("full"))
        async with turn_of(watcher.session):
            await watcher.wait_for(SubagentEvent, lambda event: isinstance(event.event, CommandBegin))
            await rejected(port, "keep the name")
            (bench.project / "go").touch()
        await finish(watcher.session, "what now?")
        [note] = told_to_subagents(bench)
        assert "keep the name" in note
        assert not told(watcher.session)


async def test_a_reject_of_what_a_subagent_wrote_that_has_ended_is_told_to_the_agent_above_it(bench: Bench) -> None:
    bench.script(
        DELEGATE,
        replace("a.txt", "hello", "bye"),
        "text: I did.",
        "text: done",
        "text: I see.",
        "text: And so on.",
    )
    async with bench.running(), reviewing(bench) as port:
        watcher = Watcher(await bench.new("review"))
        await finish(watcher.session, "go")
        await rejected(port, "keep the name")
        await finish(watcher.session, "what now?")
        await finish(watcher.session, "and now?")
        [note] = told(watcher.session)
        assert "keep the name" in note
        assert "Your subagent wrote it (agent_" in note
        assert not told_to_subagents(bench)


async def test_the_subagent_that_wrote_a_hunk_is_named_by_the_next_daemon_too(bench: Bench) -> None:
    bench.script(
        DELEGATE,
        replace("a.txt", "hello", "bye"),
        call("Shell", command="echo new > b.txt"),
        "text: I did.",
        "text: done",
        "text: I see.",
    )
    async with bench.running():
        watcher = Watcher(await bench.new("full"))
        await finish(watcher.session, "go")
        async with reviewing(bench) as port:
            before = hunks(await port.pending_now())
    bench.script("text: I see.", "text: I see.")
    async with bench.running(), reviewing(bench) as port:
        now = hunks(await port.pending_now())
        assert [each.agents for each in now] == [each.agents for each in before]
        assert all(agent.subagent.startswith("agent_") for each in now for agent in each.agents)
        await rejected(port, "keep the name")
        session = await bench.open(watcher.session.id)
        await finish(session, "what now?")
        assert "Your subagent wrote it (agent_" in "".join(told(session))


async def test_what_the_user_wrote_into_a_file_the_model_read_is_told_once_as_a_patch(bench: Bench) -> None:
    bench.script(call("ReadFile", path="a.txt"), "text: hello", "text: I see.", "text: And so on.")
    async with bench.running():
        session = Watcher(await bench.new("review")).session
        await finish(session, "go")
        (bench.project / "a.txt").write_text("hello\nyou\n")
        await finish(session, "what now?")
        await finish(session, "and now?")
        [note] = told(session)
    assert " hello\n+you" in note


async def test_what_the_user_wrote_into_a_file_the_model_wrote_is_told_without_the_models_own_lines(
    bench: Bench,
) -> None:
    (bench.project / "a.txt").write_text("1\n2\n3\n4\n5\n6\n7\n8\n9\n")
    bench.script(
        replace("a.txt", "2\n", "two\n"), "text: done", replace("a.txt", "4\n", "four\n"), "text: done", "text: I see."
    )
    async with bench.running():
        session = Watcher(await bench.new("review")).session
        await finish(session, "go")
        (bench.project / "a.txt").write_text("1\ntwo\n3\n4\n5\n6\n7\n8\nnine\n")
        await finish(session, "go on")
        await finish(session, "what now?")
        [note] = told(session)
    assert "-9\n+nine" in note
    assert "two" not in note
    assert "four" not in note


async def test_what_a_command_of_the_agent_wrote_is_not_told_as_the_users(bench: Bench) -> None:
    bench.script(
        call("ReadFile", path="a.txt"),
        replace("a.txt", "hello", "bye"),
        call("Shell", command="sed -i s/bye/ciao/ a.txt"),
        "text: done",
        "text: I see.",
    )
    async with bench.running():
        session = Watcher(await bench.new("full")).session
        await finish(session, "go")
        await finish(session, "what now?")
        assert not told(session)
    assert (bench.project / "a.txt").read_text() == "ciao\n"


async def test_a_reject_is_not_told_as_an_edit_of_the_user_too(bench: Bench) -> None:
    bench.script(call("ReadFile", path="a.txt"), replace("a.txt", "hello", "bye"), "text: done", "text: I see.")
    async with bench.running(), reviewing(bench) as port:
        session = Watcher(await bench.new("review")).session
        await finish(session, "go")
        await rejected(port)
        await finish(session, "what now?")
        [note] = told(session)
    assert "Since you last looked" not in note


async def test_of_secrets_nothing_is_told(bench: Bench) -> None:
    secret = bench.project / ".env"
    secret.write_text("A=1\n")
    bench.script(call("ReadFile", path=".env"), "text: done", "text: I see.")
    async with bench.running():
        session = Watcher(await bench.new("review")).session
        await finish(session, "go")
        secret.write_text("A=1\nTOKEN=hunter2\n")
        await finish(session, "what now?")
        assert not told(session)
    secret.write_text("A=1\nTOKEN=hunter3\n")
    async with bench.running():
        again = Watcher(await bench.open(session.id)).session
        await finish(again, "and now?")
        assert not any("hunter" in text for text in asked(again))
    assert not any("A=1" in path.read_text() for path in bench.state.rglob("known.jsonl"))


async def test_what_is_told_is_bounded(bench: Bench) -> None:
    bench.script(call("ReadFile", path="a.txt"), "text: done", "text: I see.")
    async with bench.running():
        session = Watcher(await bench.new("review")).session
        await finish(session, "go")
        (bench.project / "a.txt").write_text("".join(f"line {n}\n" for n in range(10_000)))
        await finish(session, "what now?")
        [note] = told(session)
    assert len(note) < 5_000
    assert "the patch is longer; read the file" in note


# --- what the user is told at the end of a turn --------------------------------------------------------------------------


def ends(watcher: Watcher) -> list[str]:
    """The titles of the notices that count what is to be reviewed."""
    return [each.title for each in watcher.of(Notification) if each.type == TO_REVIEW]


async def test_a_turn_that_leaves_something_to_review_says_how_much_in_its_last_line(bench: Bench) -> None:
    bench.script(
        calls(replace("a.txt", "hello", "bye"), call("WriteFile", path="b.txt", content="new\n")),
        "text: done",
        "text: Nothing to do.",
    )
    async with bench.running():
        watcher = Watcher(await bench.new("review"))
        await finish(watcher.session, "go")
        last = [type(message) for message in watcher.messages if isinstance(message, Notification | TurnEnd)]
        assert last == [Notification, TurnEnd]
        await finish(watcher.session, "and now?")
    assert ends(watcher) == ["2 files changed, 2 hunks to review"]


async def test_a_turn_whose_edits_a_person_allowed_says_nothing_of_a_review(bench: Bench) -> None:
    bench.script(replace("a.txt", "hello", "bye"), "text: done")
    async with bench.running():
        watcher = Watcher(await bench.new("ask"))
        await finish(watcher.session, "go")
    assert not ends(watcher)


async def test_a_cancelled_turn_says_what_it_left_to_review_too(bench: Bench) -> None:
    bench.script(replace("a.txt", "hello", "bye"), call("Shell", command="sleep 100"))
    async with bench.running():
        watcher = Watcher(await bench.new("full"))
        async with turn_of(watcher.session):
            await watcher.wait_for(CommandBegin)
            watcher.session.turns.cancel(None)
    assert ends(watcher) == ["1 file changed, 1 hunk to review"]


@pytest.mark.parametrize("capabilities", [{}, {"session": {"notices": {}}}])
async def test_a_client_is_shown_what_opens_the_review_in_it(bench: Bench, capabilities: dict[str, object]) -> None:
    (bench.project / "b.txt").write_text("one\n")
    bench.script(calls(replace("a.txt", "hello", "bye"), replace("b.txt", "one", "two")), "text: done")
    async with bench.running(), connected(bench) as client:
        await client.initialize(capabilities)
        session_id = await client.new_session(bench.project)
        await client.request("session/set_mode", {"sessionId": session_id, "modeId": "review"})
        await client.prompt(session_id, "go")
        if capabilities:
            notice = await client.wait_update("notice")
            assert (notice["title"], notice["description"]) == ("2 files changed, 2 hunks to review", "/review")
            assert notice["_meta"] == {"sould": {"review": {"files": 2, "hunks": 2}}}
        else:
            assert client.text().endswith("2 files changed, 2 hunks to review: /review\n")
