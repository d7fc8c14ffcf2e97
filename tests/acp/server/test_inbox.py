"""`_sould/inbox/*`: what waits for a person in all projects, told to clients without a session and answered by any of them."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import pytest
from msgspec.structs import replace

from sould.agents.clients.connections import ConnectionRecord
from sould.agents.sessions.session import Session
from sould.agents.wire.messages import ApprovalRequest, ApprovalResponse, QuestionResponse, ToolResult
from soultest.acpclient import FULL, AcpClient, AgentError, ignore
from soultest.bench import Bench, Watcher, call
from soultest.bench.acp import Connect
from soultest.bench.lsp import editor_connected
from soultest.bench.mcp import configure, entry
from soultest.reviewschema import judge

Json = dict[str, Any]

CHANGED = "_sould/inbox/changed"
HOSTILE = "printf 'ok\x1b[2J\x1b]0;owned\x07'\necho \u202egnp.exe"


@asynccontextmanager
async def looking(
    connect: Connect, name: str = "desk", able: Json | None = None, **more: Any
) -> AsyncGenerator[AcpClient, None]:
    """A client; what was said is judged by the schemas of docs/schemas/inbox."""
    async with connect(**more) as client:
        await client.initialize(able, clientInfo={"name": name, "version": "1"})
        yield client
    judge(client.log)


async def asks(bench: Bench, *scripts: str, mode: str = "ask") -> tuple[Session, ApprovalRequest]:
    """A session without any client that waits for an approval."""
    bench.script(*scripts)
    session = await bench.new(mode)
    session.turns.prompt("go", "nobody")
    return session, await approval(session)


async def approval(session: Session) -> ApprovalRequest:
    asked: asyncio.Future[ApprovalRequest] = asyncio.get_running_loop().create_future()

    def take(record: Any) -> None:
        if not asked.done():
            asked.set_result(record.message)

    listening = session.log.channel.listen([ApprovalRequest], take)
    pending = [each for each in session.log.channel.pending if isinstance(each, ApprovalRequest)]
    found = pending[0] if pending else await asked
    listening.close()
    return found


async def items(client: Any) -> list[Json]:
    return (await client.request("_sould/inbox/list"))["items"]


async def told(client: Any, request_id: str) -> Json:
    """How a client was told that a request waits no more."""

    def ends(message: Json) -> bool:
        ended: list[Json] = message.get("params", {}).get("ended", []) if message.get("method") == CHANGED else []
        return any(each["id"] == request_id for each in ended)

    message = await client.wait_for(ends)
    return next(each for each in message["params"]["ended"] if each["id"] == request_id)


async def test_a_session_without_any_client_is_listed_with_what_it_would_run_and_where(
    bench: Bench, connect: Connect
) -> None:
    async with bench.running(), looking(connect) as client:
        session, asked = await asks(bench, call("Shell", command="echo hello > new.txt"), "text: done")
        [item] = await items(client)
        assert (item["id"], item["kind"]) == (asked.id, "approval")
        assert item["session"] == {
            "id": session.id,
            "title": "go",
            "cwd": str(bench.project),
            "project": str(bench.project),
        }
        assert item["commands"] == [{"command": "echo hello > new.txt", "directory": str(bench.project)}]
        assert [scope["scope"] for scope in item["scopes"]] == ["once", "session", "project"]
        assert "runs this command in" in item["scopes"][1]["remembers"]
        assert "$ echo hello > new.txt" in item["lines"]
        assert item["since"].endswith("Z")
        assert await client.request("_sould/inbox/show", id=asked.id) == item


async def test_an_edit_has_the_texts_before_and_after_and_a_long_one_only_when_it_is_shown_alone(
    bench: Bench, connect: Connect
) -> None:
    long = "x\n" * 150_000
    async with bench.running(), looking(connect) as client:
        _, asked = await asks(bench, call("WriteFile", path="a.txt", content=long))
        [item] = await items(client)
        [edit] = item["edits"]
        assert (edit["path"], edit["before"], edit["after"], edit["cut"]) == (
            str(bench.project / "a.txt"),
            "",
            "",
            True,
        )
        assert item["more"] > 100_000
        whole = await client.request("_sould/inbox/show", id=asked.id)
        assert [(each["before"], each["after"]) for each in whole["edits"]] == [("hello\n", long)]
        assert "more" not in whole


async def test_what_one_client_approves_is_gone_in_every_other_one_whatever_protocol_it_speaks(
    bench: Bench, connect: Connect
) -> None:
    connect_editor = partial(editor_connected, bench)
    async with (
        bench.running(),
        looking(connect, "desk") as one,
        looking(connect, "shelf") as other,
        connect_editor() as editor,
    ):
        said = await editor.initialize({}, bench.project)
        assert said["capabilities"]["experimental"]["sould"]["inbox"] == 1
        for client in (one, other, editor):
            assert (await client.request("_sould/inbox/subscribe"))["items"] == []
        session, asked = await asks(bench, call("Shell", command="echo hello > new.txt"), "text: done")
        watcher = Watcher(session, answer=None)
        for client in (one, other, editor):
            news = await client.wait_for(lambda message: message.get("method") == CHANGED)
            assert [item["id"] for item in news["params"]["items"]] == [asked.id]
        answered = await one.request("_sould/inbox/answer", id=asked.id, decision="approve")
        assert (answered["outcome"], answered["message"]) == ("taken", "You approved it.")
        for client in (one, other, editor):
            ended = await told(client, asked.id)
            assert (ended["outcome"], ended["by"], ended["sessionId"]) == ("approved", "desk", session.id)
            assert await items(client) == []
        late = await editor.request("_sould/inbox/answer", id=asked.id, decision="reject")
        assert (late["outcome"], late["message"]) == ("already_answered", "desk approved it.")
        assert late["ended"] == ended
        await watcher.wait_for(ApprovalResponse)
        await session.turns.prompt("and?", "nobody").outcome()
        assert (bench.project / "new.txt").read_text() == "hello\n"


async def test_the_dialog_of_a_client_that_shows_the_session_closes(bench: Bench, connect: Connect) -> None:
    bench.script(call("Shell", command="echo hello > new.txt"), "text: as you say")
    async with (
        bench.running(),
        looking(connect, "editor", permissions=ignore) as editor,
        looking(connect, "desk") as desk,
    ):
        turn = editor.prompt(await editor.new_session(bench.project), "go")
        dialog = await editor.wait_request("session/request_permission")
        [item] = await items(desk)
        await desk.request("_sould/inbox/answer", id=item["id"], decision="reject", words="not here")
        withdrawn = await editor.wait_for(lambda message: message.get("method") == "$/cancel_request")
        assert withdrawn["params"]["requestId"] == dialog["id"]
        assert (await turn)["stopReason"] == "end_turn"
        assert not (bench.project / "new.txt").exists()


async def test_what_an_approval_may_cover_is_what_is_offered(bench: Bench, connect: Connect) -> None:
    async with bench.running(), looking(connect) as client:
        command = call("Shell", command="echo again >> new.txt")
        session, asked = await asks(bench, command, command, "text: done")
        with pytest.raises(AgentError, match="changed"):
            await client.request("_sould/inbox/answer", id=asked.id, decision="approve", scope="session_also_changed")
        with pytest.raises(AgentError, match="approve it or reject it"):
            await client.request("_sould/inbox/answer", id=asked.id, decision="answer", answers=[])
        [item] = await items(client)
        assert item["id"] == asked.id, "what does not fit answers nothing"
        answered = await client.request("_sould/inbox/answer", id=asked.id, decision="approve", scope="session")
        assert answered["ended"]["outcome"] == "approved_for_session"
        await session.turns.prompt("and?", "nobody").outcome()
        assert (bench.project / "new.txt").read_text() == "again\nagain\n"


async def test_an_edit_is_allowed_with_another_text_and_the_agent_learns_what_its_user_changed(
    bench: Bench, connect: Connect
) -> None:
    (bench.project / "a.txt").write_text("one\ntwo\n")
    mine = "one\ntwo\n3 (mine)\n"
    async with bench.running(), looking(connect) as client:
        session, asked = await asks(bench, call("WriteFile", path="a.txt", content="one\ntwo\nthree\n"), "text: done")
        with pytest.raises(AgentError, match="once only"):
            await client.request("_sould/inbox/answer", id=asked.id, decision="approve", scope="session", text="x")
        watcher = Watcher(session, answer=None)
        await client.request("_sould/inbox/answer", id=asked.id, decision="approve", text=mine)
        told = (await watcher.wait_for(ToolResult)).return_value.message
        assert (bench.project / "a.txt").read_text() == mine
        assert "the user changed it before allowing it" in told
        assert "-three\n+3 (mine)" in told


async def test_an_edit_whose_user_takes_it_all_out_writes_nothing(bench: Bench, connect: Connect) -> None:
    (bench.project / "a.txt").write_text("one\n")
    async with bench.running(), looking(connect) as client:
        session, asked = await asks(bench, call("WriteFile", path="a.txt", content="none\n"), "text: done")
        watcher = Watcher(session, answer=None)
        await client.request("_sould/inbox/answer", id=asked.id, decision="approve", text="one\n")
        told = (await watcher.wait_for(ToolResult)).return_value
        assert "nothing was written" in told.message
        assert (bench.project / "a.txt").read_text() == "one\n"


async def test_a_command_is_run_as_its_user_wrote_it_and_the_agent_is_told(bench: Bench, connect: Connect) -> None:
    async with bench.running(), looking(connect) as client:
        session, asked = await asks(bench, call("Shell", command="echo yours > new.txt"), "text: done")
        for scope, text in (("session", "echo mine > new.txt"), ("once", " "), ("once", "a\0b")):
            with pytest.raises(AgentError, match=r"once only|no command"):
                await client.request("_sould/inbox/answer", id=asked.id, decision="approve", scope=scope, text=text)
        watcher = Watcher(session, answer=None)
        await client.request("_sould/inbox/answer", id=asked.id, decision="approve", text="echo mine > new.txt")
        told = (await watcher.wait_for(ToolResult)).return_value.message
        assert "The user changed the command to `echo mine > new.txt`." in told
        assert (bench.project / "new.txt").read_text() == "mine\n"


async def test_words_with_an_approval_reach_the_agent_with_the_result(bench: Bench, connect: Connect) -> None:
    async with bench.running(), looking(connect) as client:
        session, asked = await asks(bench, call("Shell", command="echo yours > new.txt"), "text: done")
        watcher = Watcher(session, answer=None)
        answered = await client.request("_sould/inbox/answer", id=asked.id, decision="approve", words="now read it")
        assert answered["ended"]["words"] == "now read it"
        assert (await watcher.wait_for(ToolResult)).return_value.message.endswith("said: now read it")


async def test_what_a_call_brought_is_read_whole_and_passed_on_from_anywhere(bench: Bench, connect: Connect) -> None:
    configure(bench.config / "mcp.json", {"box": entry()})
    (bench.config / "rules.toml").write_text('[[rule]]\ndecision = "allow"\noutput = "ask"\ntool = "mcp:box__echo"\n')
    lines = "\n".join(f"line {number}" for number in range(900))
    async with bench.running(), looking(connect) as client:
        session, asked = await asks(bench, call("box__echo", text=lines), "text: done")
        watcher = Watcher(session, answer=None)
        [item] = await items(client)
        whole = await client.request("_sould/inbox/show", id=asked.id)
        assert (item["action"], item["title"]) == (
            "pass on output",
            "`box__echo` has run. May the model see its output?",
        )
        assert item["more"] > 0
        assert whole["lines"] == lines.split("\n")
        assert [each["label"] for each in whole["scopes"]] == ["Pass on", "Pass on from “box__echo” this session"]
        await client.request("_sould/inbox/answer", id=asked.id, decision="approve")
        assert (await watcher.wait_for(ToolResult)).return_value.output == lines


async def test_a_command_as_its_user_wrote_it_is_judged_as_any(bench: Bench, connect: Connect) -> None:
    """What nothing may do is refused; what reads a secret is asked about, and what was first asked about is not remembered."""
    (bench.project / ".env").write_text("TOKEN=very-secret-value-1234567890\n")
    bench.config.mkdir(parents=True, exist_ok=True)
    (bench.config / "rules.toml").write_text('[[rule]]\ndecision = "deny"\ntool = "shell"\nargv = ["shred", "**"]\n')
    async with bench.running(), looking(connect) as client:
        session, asked = await asks(
            bench, call("Shell", command="echo a > new.txt"), call("Shell", command="echo b > new.txt"), "text: done"
        )
        watcher = Watcher(session, answer=None)
        await client.request("_sould/inbox/answer", id=asked.id, decision="approve", text="shred new.txt")
        assert "not run" in (await watcher.wait_for(ToolResult)).return_value.message
        second = await watcher.wait_for(ApprovalRequest, lambda each: each.id != asked.id)
        await client.request("_sould/inbox/answer", id=second.id, decision="approve", text="cat .env > new.txt")
        third = await watcher.wait_for(ApprovalRequest, lambda each: each.id not in (asked.id, second.id))
        assert ".env" in third.description
        assert "cat .env > new.txt" in str(third.display)
        await client.request("_sould/inbox/answer", id=third.id, decision="reject", words="no")
        assert not (bench.project / "new.txt").exists()


async def test_questions_are_answered_by_labels_and_by_words_and_what_is_neither_is_refused(
    bench: Bench, connect: Connect
) -> None:
    options = [{"label": "SQLite", "description": "one file"}, {"label": "PostgreSQL"}]
    questions = [
        {"question": "Which database?", "header": "db", "options": options},
        {"question": "Which tables?", "header": "tables", "options": options, "multi_select": True},
        {"question": "Which port?", "header": "port", "options": options},
    ]
    bench.script(call("AskUserQuestion", questions=questions), "text: done")
    async with bench.running(), looking(connect, "editor", FULL) as editor, looking(connect) as client:
        editor.hang.add("elicitation/create")
        editor.prompt(await editor.new_session(bench.project), "go")
        await editor.wait_request("elicitation/create")
        [session] = bench.host.sessions.values()
        watcher = Watcher(session)
        [item] = await items(client)
        assert (item["kind"], item["title"]) == ("question", "Which database?")
        assert [len(each["options"]) for each in item["questions"]] == [2, 2, 2]
        assert item["questions"][0]["options"][0] == {"label": "SQLite", "description": "one file"}
        assert item["questions"][1]["several"] is True
        assert item["questions"][0]["words"]

        async def answer(*given: Json) -> Json:
            return await client.request("_sould/inbox/answer", id=item["id"], decision="answer", answers=list(given))

        several, words = {"chosen": ["SQLite", "PostgreSQL"]}, {"words": "5433, please"}
        for wrong in ({"chosen": ["Oracle"]}, {"chosen": ["SQLite", "PostgreSQL"]}):
            with pytest.raises(AgentError):
                await answer(wrong, several, words)
        with pytest.raises(AgentError, match="give one for each"):
            await answer({"chosen": ["SQLite"]})
        assert (await answer({"chosen": ["SQLite"]}, several, words))["outcome"] == "taken"
        response = await watcher.wait_for(QuestionResponse)
        assert response.answers == {
            "Which database?": "SQLite",
            "Which tables?": "SQLite, PostgreSQL",
            "Which port?": "5433, please",
        }
        assert response.answered_by == "desk"


async def test_a_turn_that_is_cancelled_takes_its_question_with_it(bench: Bench, connect: Connect) -> None:
    async with bench.running(), looking(connect) as client:
        await client.request("_sould/inbox/subscribe")
        session, asked = await asks(bench, call("Shell", command="echo hello > new.txt"), "text: done")
        session.turns.cancel(None)
        ended = await told(client, asked.id)
        assert (ended["outcome"], ended["by"]) == ("cancelled", "")
        late = await client.request("_sould/inbox/answer", id=asked.id, decision="approve")
        assert late["outcome"] == "ended"
        unknown = await client.request("_sould/inbox/answer", id="0123456789abcdef", decision="approve")
        assert unknown["outcome"] == "unknown"
        with pytest.raises(AgentError, match="waits"):
            await client.request("_sould/inbox/show", id=asked.id)


async def test_nothing_is_told_after_unsubscribing(bench: Bench, connect: Connect) -> None:
    async with bench.running(), looking(connect) as client:
        await client.request("_sould/inbox/subscribe")
        await client.request("_sould/inbox/unsubscribe")
        await asks(bench, call("Shell", command="echo hello > new.txt"), "text: done")
        assert len(await items(client)) == 1
        assert not [message for message in client.messages if message.get("method") == CHANGED]


async def test_a_command_that_would_drive_a_terminal_is_listed_with_marks(bench: Bench, connect: Connect) -> None:
    async with bench.running(), looking(connect) as client:
        await asks(bench, call("Shell", command=HOSTILE), "text: done")
        [item] = await items(client)
        text = "\n".join((item["title"], *item["lines"], item["commands"][0]["command"]))
        assert all(char.isprintable() or char == "\n" for char in text)
        assert "\\u001b[2J" in text
        assert "\\u202e" in text


async def test_what_a_subagent_asks_says_who_asks(bench: Bench, connect: Connect) -> None:
    async with bench.running(), looking(connect) as client:
        child = call("Agent", prompt="write it", description="Write it", subagent_type="coder")
        await asks(bench, child, call("Shell", command="echo hello > new.txt"), "text: written", "text: done")
        [item] = await items(client)
        assert item["asker"] == "the coder subagent"
        assert item["commands"][0]["command"] == "echo hello > new.txt"


# --- restarts -------------------------------------------------------------------------------------------------------------


async def test_what_waited_when_the_daemon_ended_is_listed_by_the_next_one_and_answered_without_a_client(
    bench: Bench, connect: Connect
) -> None:
    async with bench.running():
        session, asked = await asks(bench, call("Shell", command="echo hello > new.txt"))
        key = session.id
    bench.script("text: done")
    async with bench.running(), looking(connect) as client:
        assert not bench.port.sessions
        [item] = (await client.request("_sould/inbox/subscribe"))["items"]
        assert (item["id"], item["session"]["id"], item["session"]["open"]) == (asked.id, key, False)
        assert not bench.port.sessions, "looking opens nothing"
        answered = await client.request("_sould/inbox/answer", id=asked.id, decision="approve")
        assert answered["outcome"] == "taken"
        assert (await told(client, asked.id))["outcome"] == "approved"
        reopened = await bench.open(key)
        await reopened.turns.prompt("and?", "nobody").outcome()
        assert (bench.project / "new.txt").read_text() == "hello\n"
        assert await items(client) == []
    async with bench.running(), looking(connect) as client:
        assert await items(client) == []


async def test_what_changed_meanwhile_expires_and_nobody_has_refused_it(bench: Bench, connect: Connect) -> None:
    edit = call("StrReplaceFile", path="a.txt", edit={"old": "hello", "new": "bye"})
    async with bench.running():
        _, asked = await asks(bench, edit)
    bench.script("text: I shall look again")
    (bench.project / "a.txt").write_text("hello world\n")
    async with bench.running(), looking(connect) as client:
        assert [item["id"] for item in await items(client)] == [asked.id]
        answered = await client.request("_sould/inbox/answer", id=asked.id, decision="approve")
        assert (answered["outcome"], answered["ended"]["outcome"]) == ("ended", "expired")
        assert (bench.project / "a.txt").read_text() == "hello world\n"


async def test_a_session_that_is_deleted_waits_for_nobody(bench: Bench, connect: Connect) -> None:
    async with bench.running():
        session, asked = await asks(bench, call("Shell", command="echo hello > new.txt"))
    async with bench.running(), looking(connect) as client:
        await client.request("_sould/inbox/subscribe")
        await client.request("session/delete", sessionId=session.id)
        assert (await told(client, asked.id))["outcome"] == "cancelled"
        assert await items(client) == []


async def test_a_client_that_goes_on_with_the_next_daemon_is_told_to_ask_again(bench: Bench, connect: Connect) -> None:
    records: list[ConnectionRecord] = []
    async with bench.running(), connect(remember=records.append) as client:
        await client.initialize(clientInfo={"name": "desk", "version": "1"})
        await client.request("_sould/inbox/subscribe")
        await items(client)
        record = records[-1]
    resumed = ConnectionRecord.load(replace(record, unanswered=(), asked=()).dump())
    async with bench.running(), connect(resume=resumed) as client:
        news = await client.wait_for(lambda message: message.get("method") == CHANGED)
        assert news["params"] == {"everything": True}
        _, asked = await asks(bench, call("Shell", command="echo hello > new.txt"))
        await client.wait_for(lambda message: asked.id in str(message.get("params", {}).get("items")))
