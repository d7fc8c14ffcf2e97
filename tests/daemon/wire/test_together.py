"""A session that is open in a Wire program and elsewhere: who answers first, and what the others are told."""

from collections.abc import Callable
from typing import Any

from sould.agents.wire.messages import QuestionResponse
from soultest.acpclient import FULL, AcpClient, ignore
from soultest.bench import Bench, call
from soultest.bench.acp import Connect
from soultest.wireprogram import NEW, WireProgram, wire_connected

Json = dict[str, Any]
QUESTION = {"question": "Which?", "options": [{"label": "A"}, {"label": "B"}]}
EDITOR = {"name": "zed", "title": "Zed", "version": "1"}


async def in_both(program: WireProgram, editor: AcpClient, bench: Bench) -> str:
    """The session that the program has begun and the editor has opened."""
    session: str = (await program.result("initialize", **NEW))["sould"]["session_id"]
    await editor.request("initialize", {"protocolVersion": 1, "clientCapabilities": FULL, "clientInfo": EDITOR})
    await editor.request("session/load", {"sessionId": session, "cwd": str(bench.project), "mcpServers": []})
    return session


def news(program: WireProgram) -> list[tuple[str, str]]:
    """Of answers given elsewhere: the request, and what is said of it."""
    told = program.events("Notification")
    return [(each["source_id"], each["title"]) for each in told if each["type"] == "request_answered"]


async def test_an_approval_that_an_editor_gives_ends_the_programs_question_and_says_who(
    bench: Bench, connect: Connect
) -> None:
    bench.script(call("Shell", command="touch made"), "text: done")
    async with bench.running(), wire_connected(bench) as program, connect(permissions=ignore) as editor:
        await in_both(program, editor, bench)
        asked = program.ask("prompt", user_input="go")
        mine = await program.until("ApprovalRequest")
        theirs = await editor.wait_request("session/request_permission")
        editor.send({"jsonrpc": "2.0", "id": theirs["id"], "result": chosen(theirs, "allow_once")})
        await program.until("ApprovalResponse")
        program.send({"id": mine["id"], "result": {"request_id": mine["id"], "response": "reject"}})
        await program.answer(asked)
    assert [each["response"] for each in program.events("ApprovalResponse")] == ["approve"]
    assert news(program) == [(mine["id"], "Answered elsewhere, by Zed: allowed")]
    assert (bench.project / "made").exists()


async def test_an_approval_that_a_program_gives_closes_the_editors_dialog_and_says_who(
    bench: Bench, connect: Connect
) -> None:
    bench.script(call("Shell", command="touch made"), "text: done")
    async with bench.running(), wire_connected(bench) as program, connect(permissions=ignore) as editor:
        await in_both(program, editor, bench)
        asked = program.ask("prompt", user_input="go")
        mine = await program.until("ApprovalRequest")
        theirs = await editor.wait_request("session/request_permission")
        program.send({"id": mine["id"], "result": {"request_id": mine["id"], "response": "approve"}})
        withdrawn = await editor.wait_for(of("$/cancel_request"))
        await program.answer(asked)
    assert withdrawn["params"]["requestId"] == theirs["id"]
    assert withdrawn["params"]["_meta"]["sould"]["reason"] == "answered elsewhere, by t: allowed"
    assert news(program) == []


async def test_a_question_that_another_answers_ends_the_programs_and_says_who_and_how(bench: Bench) -> None:
    bench.script(call("AskUserQuestion", questions=[QUESTION]), "text: done")
    async with bench.running(), wire_connected(bench) as program:
        session = (await program.result("initialize", **NEW))["sould"]["session_id"]
        async with wire_connected(bench, "--session", session) as other:
            await other.result("initialize", **NEW | {"client": {"name": "other"}})
            asked = program.ask("prompt", user_input="go")
            mine, theirs = await program.until("QuestionRequest"), await other.until("QuestionRequest")
            other.send({"id": theirs["id"], "result": {"request_id": theirs["id"], "answers": {"Which?": "B"}}})
            await program.until("ToolResult")
            program.send({"id": mine["id"], "result": {"request_id": mine["id"], "answers": {"Which?": "A"}}})
            assert (await program.answer(asked))["result"] == {"status": "finished"}
    assert news(program) == [(mine["id"], "Answered elsewhere, by other: B")]
    assert "B" in str(program.events("ToolResult")[0]["return_value"]["output"])


async def test_an_answer_of_somebody_who_has_not_opened_the_session_is_told_as_well(bench: Bench) -> None:
    bench.script(call("AskUserQuestion", questions=[QUESTION]), "text: done")
    async with bench.running(), wire_connected(bench) as program:
        session = (await program.result("initialize", **NEW))["sould"]["session_id"]
        asked = program.ask("prompt", user_input="go")
        mine = await program.until("QuestionRequest")
        live = bench.port.live(session)
        assert live is not None
        live.clients.answer(QuestionResponse(request_id=mine["id"]), "somebody")
        await program.answer(asked)
    [(request, title)] = news(program)
    assert request == mine["id"]
    assert title.startswith("Answered elsewhere, by ")
    assert title.endswith(": dismissed")


def chosen(request: Json, kind: str) -> Json:
    [option] = [each for each in request["params"]["options"] if each["kind"] == kind]
    return {"outcome": {"outcome": "selected", "optionId": option["optionId"]}}


def of(method: str) -> Callable[[Json], bool]:
    return lambda message: message.get("method") == method
