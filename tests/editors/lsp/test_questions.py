"""What agents ask in an editor that speaks LSP: nothing is lost, nothing is denied by silence, and who sees it better is asked instead."""

import asyncio
from typing import Any

import pytest

from sould.agents.wire.messages import ApprovalResponse, QuestionItem, QuestionOption, QuestionRequest, QuestionResponse
from soultest.acpclient import AgentError, ignore
from soultest.bench import Bench, call
from soultest.bench.acp import Connect
from soultest.bench.lsp import ConnectEditor
from soultest.lspclient import FULL, LspClient

Json = dict[str, Any]
WRITE = call("WriteFile", path="b.txt", content="new\n")
COLOUR = QuestionItem(
    question="Which colour?",
    body="For the gate.",
    options=(QuestionOption(label="red", description="warm"), QuestionOption(label="blue")),
    other_label="Another",
)
TOOLS = QuestionItem(
    question="Which tools?",
    options=(QuestionOption(label="saw"), QuestionOption(label="axe"), QuestionOption(label="file")),
    multi_select=True,
)
NAME = QuestionItem(question="What name?")
REQUEST = QuestionRequest(id="q1", tool_call_id="c1", questions=(COLOUR, TOOLS, NAME))
ASK = "window/showMessageRequest"


def titles(question: Json) -> list[str]:
    """The buttons."""
    return [each["title"] for each in question["actions"]]


def allow(_: Json) -> str:
    """Allow what is asked."""
    return "Allow once"


def asked_of(bench: Bench, session: str, request: QuestionRequest = REQUEST) -> "asyncio.Task[Any]":
    """The soul asks; done when somebody has answered."""
    live = bench.host.sessions.get(session)
    assert live is not None
    return asyncio.create_task(live.log.channel.request(request))


async def with_session(bench: Bench, editor: LspClient) -> str:
    """The editor works with a new session."""
    await editor.initialize(FULL, bench.project)
    return (await editor.execute("sould.session", {"new": True}))["sessionId"]


async def test_an_approval_is_asked_here_when_the_better_client_leaves_and_not_before(
    bench: Bench, connect_editor: ConnectEditor, connect: Connect
) -> None:
    bench.script(WRITE, "text: done")
    async with bench.running(), connect_editor(choose=lambda params: "Allow once") as editor:
        session = await with_session(bench, editor)
        async with connect(permissions=ignore) as panel:
            await panel.initialize({})
            await panel.request("session/load", sessionId=session, cwd=str(bench.project), mcpServers=[])
            await editor.execute("sould.prompt", {"text": "write"})
            await panel.wait_request("session/request_permission")
            await editor.lenses((bench.project / "a.txt").as_uri())
            assert editor.told(ASK) == []
        await editor.wait_told("window/showMessage", lambda params: params["message"] == "done")
        assert len(editor.told(ASK)) == 1
    assert (bench.project / "b.txt").read_text() == "new\n"


async def test_a_client_whose_library_tells_it_no_ids_is_told_which_question_is_withdrawn(
    bench: Bench, connect_editor: ConnectEditor
) -> None:
    bench.script(call("Shell", command="touch b.txt"), "text: done")
    async with bench.running(), connect_editor() as editor:
        editor.hang.add(ASK)
        await editor.initialize({**FULL, "experimental": {"sould": {"withdraws": True}}}, bench.project)
        session = (await editor.execute("sould.session", {"new": True}))["sessionId"]
        await editor.execute("sould.prompt", {"text": "touch"})
        asked = await editor.wait_told(ASK)
        live = bench.host.sessions.get(session)
        assert live is not None
        [request] = live.log.channel.pending
        live.parts.attached.answer(ApprovalResponse(request_id=request.id, response="approve"), "somebody")
        assert await editor.wait_told("_sould/message/withdrawn") == {"token": asked["token"]}
        await editor.wait_told("window/showMessage", lambda params: params["message"] == "done")


async def test_a_client_that_follows_the_inbox_is_asked_there_alone(
    bench: Bench, connect_editor: ConnectEditor
) -> None:
    bench.script(call("Shell", command="touch b.txt"), "text: done")
    async with bench.running(), connect_editor() as editor:
        await editor.initialize({**FULL, "experimental": {"sould": {"inbox": True}}}, bench.project)
        await editor.request("_sould/inbox/subscribe")
        await editor.execute("sould.session", {"new": True})
        await editor.execute("sould.prompt", {"text": "touch"})
        news = await editor.wait_told("_sould/inbox/changed")
        await editor.request("_sould/inbox/answer", id=news["items"][0]["id"], decision="approve", scope="once")
        await editor.wait_told("window/showMessage", lambda params: params["message"] == "done")
        assert editor.told(ASK) == []


async def test_a_question_is_withdrawn_here_when_a_better_client_comes_unless_the_user_wanted_it(
    bench: Bench, connect_editor: ConnectEditor, connect: Connect
) -> None:
    bench.script(WRITE, "text: done")
    async with bench.running(), connect_editor() as editor:
        editor.hang.add(ASK)
        session = await with_session(bench, editor)
        await editor.execute("sould.prompt", {"text": "write"})
        first = await editor.wait_for(lambda message: message.get("method") == ASK)
        async with connect(permissions=ignore) as panel:
            await panel.initialize({})
            await panel.request("session/load", sessionId=session, cwd=str(bench.project), mcpServers=[])
            assert (await editor.wait_told("$/cancelRequest"))["id"] == first["id"]
            await panel.wait_request("session/request_permission")
            editor.hang.clear()
            editor.choose = allow
            await editor.execute("sould.answer", {})
            await editor.wait_told("window/showMessage", lambda params: params["message"] == "done")
    assert (bench.project / "b.txt").read_text() == "new\n"


async def test_several_choices_are_messages_one_after_another_and_words_are_a_selection(
    bench: Bench, connect_editor: ConnectEditor
) -> None:
    presses = iter(["red", "file", "saw", "Done: saw, file"])
    notes = bench.project / "notes.txt"
    notes.write_text("I would say: 😀 Tor, of course\n")
    async with bench.running(), connect_editor(choose=lambda params: next(presses)) as editor:
        answering = asked_of(bench, await with_session(bench, editor))
        told = await editor.wait_told("window/showMessage")
        assert told["message"].startswith("What name?\nTo answer in words")
        colour, *tools = editor.told(ASK)
        assert colour["message"] == "Which colour?\nFor the gate.\nred: warm"
        assert [titles(each) for each in (colour, *tools)] == [
            ["red", "blue", "Another"],
            ["saw", "axe", "file", "Done: none of these"],
            ["saw", "axe", "Done: file"],
            ["axe", "Done: saw, file"],
        ]
        uri = editor.open(notes)
        at = {"start": {"line": 0, "character": 13}, "end": {"line": 0, "character": 18}}
        params: Json = {"textDocument": {"uri": uri}, "range": at, "context": {"diagnostics": []}}
        [action] = [
            each for each in await editor.request("textDocument/codeAction", params) if "Answer" in each["title"]
        ]
        assert action["title"].startswith("Answer sould with the selection: “Which colour?")
        await editor.press(action)
        response = await answering
        assert isinstance(response, QuestionResponse)
        assert response.answers == {"Which colour?": "red", "Which tools?": "saw, file", "What name?": "😀 Tor"}


async def test_what_is_dismissed_or_a_slip_stays_open_and_goes_on_where_it_was(
    bench: Bench, connect_editor: ConnectEditor
) -> None:
    presses = iter(["blue", None])
    async with bench.running(), connect_editor(choose=lambda params: next(presses)) as editor:
        answering = asked_of(bench, await with_session(bench, editor))
        await editor.wait_told(ASK, lambda params: params["message"] == "Which tools?")
        [pending] = (await editor.execute("sould.answer", {"text": "7"}))["pending"]
        assert pending["kind"] == "question"
        slip = await editor.wait_told("window/showMessage")
        assert slip["message"].startswith("7 is not one of the answers.")
        await editor.execute("sould.answer", {"text": "1, axe"})
        await editor.wait_told("window/showMessage", lambda params: "What name?" in params["message"])
        await editor.execute("sould.answer", {"request": "q1", "text": "Tor"})
        assert (await answering).answers == {"Which colour?": "blue", "Which tools?": "saw, axe", "What name?": "Tor"}


async def test_own_words_beside_choices_are_asked_for_in_words(bench: Bench, connect_editor: ConnectEditor) -> None:
    async with bench.running(), connect_editor(choose=lambda params: "Another") as editor:
        request = QuestionRequest(id="q2", tool_call_id="c1", questions=(COLOUR,))
        answering = asked_of(bench, await with_session(bench, editor), request)
        await editor.wait_told("window/showMessage", lambda params: "To answer in words" in params["message"])
        await editor.execute("sould.answer", {"text": "a dark green"})
        assert (await answering).answers == {"Which colour?": "a dark green"}


async def test_an_answer_of_the_wrong_kind_answers_nothing(bench: Bench, connect_editor: ConnectEditor) -> None:
    bench.script(WRITE, "text: done")
    async with bench.running(), connect_editor() as editor:
        session = await with_session(bench, editor)
        answering = asked_of(bench, session)
        await editor.wait_told(ASK)
        for wrong in ({"response": "approve"}, {"response": "reject", "text": "no"}):
            with pytest.raises(AgentError) as refused:
                await editor.execute("sould.answer", {"request": "q1", **wrong})
            assert refused.value.code == -32602
        await editor.execute("sould.prompt", {"text": "write"})
        await editor.wait_told(ASK, lambda params: "b.txt" in params["message"])
        pending = (await editor.execute("sould.answer", {}))["pending"]
        [approval] = [each["request"] for each in pending if each["kind"] == "approval"]
        with pytest.raises(AgentError):
            await editor.execute("sould.answer", {"request": approval, "answers": {"x": "y"}})
        assert len((await editor.execute("sould.answer", {}))["pending"]) == 2
        await editor.execute("sould.answer", {"request": "q1", "answers": {"Which colour?": "red"}})
        assert (await answering).answers == {"Which colour?": "red"}
