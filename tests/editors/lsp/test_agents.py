"""What an editor that speaks LSP asks of agents, and what agents ask in it (docs/lsp.md)."""

from typing import Any

from soultest.bench import Bench, asked, call
from soultest.bench.lsp import ConnectEditor
from soultest.lspclient import FULL

Json = dict[str, Any]


def remembered(bench: Bench, session_id: str) -> str:
    """What the model was asked."""
    session = bench.host.sessions.get(session_id)
    assert session is not None
    return "\n".join(asked(session))


def title(action: Json) -> str:
    """What stands in the menu."""
    return str(action["title"])


async def test_a_prompt_runs_as_progress_and_its_answer_is_shown(bench: Bench, connect_editor: ConnectEditor) -> None:
    bench.script("text: Forty-two.")
    async with bench.running(), connect_editor() as editor:
        await editor.initialize(FULL, bench.project)
        begun = await editor.execute("sould.prompt", {"text": "the answer?"})
        shown = await editor.wait_told("window/showMessage")
        assert shown["message"] == "Forty-two."
        ended = await editor.wait_told("$/progress", lambda params: params["value"]["kind"] == "end")
        assert ended["token"] == f"sould-{begun['turnId']}"
        assert [each["value"]["kind"] for each in editor.told("$/progress")] == ["begin", "end"]


async def test_an_approval_is_asked_with_buttons_and_the_answer_counts(
    bench: Bench, connect_editor: ConnectEditor
) -> None:
    bench.script(call("WriteFile", path="b.txt", content="new\n"), "text: done")
    async with (
        bench.running(),
        connect_editor(choose=lambda params: str(params["actions"][0]["title"])) as editor,
    ):
        await editor.initialize(FULL, bench.project)
        await editor.execute("sould.prompt", {"text": "write"})
        await editor.wait_told("window/showMessage", lambda params: params["message"] == "done")
        [question] = editor.told("window/showMessageRequest")
        assert question["actions"][0]["title"] == "Allow once"
        assert "b.txt" in question["message"]
    assert (bench.project / "b.txt").read_text() == "new\n"


async def test_a_question_that_is_dismissed_stays_pending_and_is_answered_by_a_command(
    bench: Bench, connect_editor: ConnectEditor
) -> None:
    bench.script(call("WriteFile", path="b.txt", content="new\n"), "text: not done")
    async with bench.running(), connect_editor() as editor:
        await editor.initialize({}, bench.project)
        begun = await editor.execute("sould.prompt", {"text": "write"})
        await editor.wait_told("window/showMessageRequest")
        [pending] = (await editor.execute("sould.answer", {}))["pending"]
        assert (pending["kind"], pending["sessionId"]) == ("approval", begun["sessionId"])
        await editor.execute("sould.answer", {"request": pending["request"], "response": "reject", "feedback": "no"})
        await editor.wait_told("window/showMessage", lambda params: params["message"] == "not done")
    assert not (bench.project / "b.txt").exists()


async def test_progress_is_cancelled_with_its_turn(bench: Bench, connect_editor: ConnectEditor) -> None:
    bench.script(call("WriteFile", path="b.txt", content="new\n"), "text: never said")
    async with bench.running(), connect_editor() as editor:
        editor.hang.add("window/showMessageRequest")
        await editor.initialize(FULL, bench.project)
        await editor.execute("sould.prompt", {"text": "write"})
        begun = await editor.wait_told("$/progress")
        await editor.wait_told("window/showMessageRequest")
        editor.notify("window/workDoneProgress/cancel", token=begun["token"])
        ended = await editor.wait_told("$/progress", lambda params: params["value"]["kind"] == "end")
        assert ended["value"]["message"] == "cancelled"
        await editor.wait_told("$/cancelRequest")


async def test_diagnostics_and_selections_of_the_editor_reach_the_agent(
    bench: Bench, connect_editor: ConnectEditor
) -> None:
    bench.script("text: fixed", "text: explained")
    path = bench.project / "a.py"
    path.write_text("import os\nprint(x)\n")
    problem = {
        "range": {"start": {"line": 1, "character": 6}, "end": {"line": 1, "character": 7}},
        "message": "undefined name 'x'",
        "severity": 1,
        "source": "ruff",
        "code": "F821",
    }
    async with bench.running(), connect_editor() as editor:
        await editor.initialize(FULL, bench.project)
        uri = editor.open(path)
        params: Json = {"textDocument": {"uri": uri}, "range": problem["range"], "context": {"diagnostics": [problem]}}
        fix, explain, _ = await editor.request("textDocument/codeAction", params)
        assert title(fix) == "Ask sould: fix “undefined name 'x'”"
        session = (await editor.press(fix))["sessionId"]
        await editor.wait_told("window/showMessage", lambda params: params["message"] == "fixed")
        assert "a.py:2: error: undefined name 'x' (ruff F821)" in remembered(bench, session)
        await editor.press(explain)
        await editor.wait_told("window/showMessage", lambda params: params["message"] == "explained")
        assert "print(x)" in remembered(bench, session)


async def test_an_agent_is_asked_why_in_its_own_session(bench: Bench, connect_editor: ConnectEditor) -> None:
    (bench.project / "a.txt").write_text("1\n2\n")
    bench.script(call("WriteFile", path="a.txt", content="one\n2\n"), "text: done", "text: Because.")
    async with bench.running(), connect_editor(choose=lambda params: "Allow once") as editor:
        await editor.initialize({**FULL, "experimental": {"sould": {}}}, bench.project)
        wrote = await editor.execute("sould.prompt", {"text": "write"})
        await editor.wait_told("window/showMessage", lambda params: params["message"] == "done")
        uri = editor.open(bench.project / "a.txt")
        at = {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 0}}
        actions = await editor.request(
            "textDocument/codeAction", textDocument={"uri": uri}, range=at, context={"diagnostics": []}
        )
        [why] = [each for each in actions if title(each).startswith("Ask why")]
        assert (await editor.press(why))["sessionId"] == wrote["sessionId"]
        await editor.wait_told("window/showMessage", lambda params: params["message"] == "Because.")
        assert "-1" in remembered(bench, wrote["sessionId"])


async def test_what_an_agent_is_told_of_the_editor_is_asked_about_and_shown(
    bench: Bench, connect_editor: ConnectEditor
) -> None:
    state = call("editor_state")
    bench.script(state, "text: one", state, "text: two", state, "text: three")
    async with bench.running(), connect_editor(choose=lambda params: "Allow once") as editor:
        await editor.initialize(FULL, bench.project)
        uri = editor.open(bench.project / "a.txt")
        await editor.lenses(uri)
        shared = "Shared with the agent: 1 open file"
        for prompt, said in (("look", "one"), ("/editor-context on", ""), ("look", "two")):
            await editor.execute("sould.prompt", {"text": prompt})
            if said:
                await editor.wait_told("window/showMessage", lambda params, said=said: params["message"] == said)
        [question] = editor.told("window/showMessageRequest")
        assert "Share what you have open in the editor" in question["message"]
        assert [each["message"] for each in editor.told("window/showMessage")].count(shared) == 2
        await editor.execute("sould.prompt", {"text": "/editor-context off"})
        await editor.execute("sould.prompt", {"text": "look"})
        await editor.wait_told("window/showMessage", lambda params: params["message"] == "three")
        assert [each["message"] for each in editor.told("window/showMessage")].count(shared) == 2
        assert len(editor.told("window/showMessageRequest")) == 1
