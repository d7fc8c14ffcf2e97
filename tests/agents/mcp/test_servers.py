"""MCP servers of a session: tools, results, sharing, restarting, project files."""

import asyncio
import json
import sys
from pathlib import Path

from sould.agents.llm.provider import ChatMessage
from sould.agents.mcp.asking import Sampler
from sould.agents.mcp.results import Elicitation, Elicited, Sampled, Sampling
from sould.agents.wire.content import ImagePart, TextPart
from sould.agents.wire.messages import (
    ApprovalRequest,
    ApprovalResponse,
    MCPLoadingBegin,
    MCPLoadingEnd,
    Notification,
    QuestionRequest,
    RequestClosed,
    StatusUpdate,
    ToolCall,
    ToolOutput,
    ToolResult,
)
from soultest.bench import Bench, Watcher, call, finish
from soultest.bench.looks import model_of, tools_of, toolset_of
from soultest.bench.mcp import (
    SERVER,
    asked,
    configure,
    entry,
    new_session,
    open_session,
    result_of,
    state_of,
    user_file,
)
from soultest.mcpserver import READY, Json, tool


async def test_a_server_of_the_user_brings_tools_that_ask_before_they_run(bench: Bench) -> None:
    configure(user_file(bench), {"box": entry()})
    async with bench.running():
        watcher = await open_session(bench)
        result = await result_of(bench, watcher, "box__echo", text="hello")
        assert (result.is_error, result.output) == (False, "hello")
        assert [request.action for request in watcher.of(ApprovalRequest)] == ["mcp:box__echo"]
        assert "text: hello" in watcher.of(ApprovalRequest)[0].description
        assert "box__sum" in tools_of(watcher.session)


async def test_connecting_is_said_with_its_progress_and_its_end(bench: Bench) -> None:
    async with bench.running():
        watcher = await open_session(bench, asked("box"), asked("other"))
        await watcher.wait_for(MCPLoadingEnd)
        states = [update.mcp_status for update in watcher.of(StatusUpdate) if update.mcp_status]
        assert len(watcher.of(MCPLoadingBegin)) == len(watcher.of(MCPLoadingEnd)) == 1
        assert (states[0].loading, states[0].connected, states[0].total) == (True, 0, 2)
        assert (states[-1].loading, states[-1].connected, states[-1].tools) == (False, 2, 26)


async def test_images_structured_content_and_errors_are_kept(bench: Bench) -> None:
    async with bench.running():
        watcher = await open_session(bench, asked("box"))
        picture = await result_of(bench, watcher, "box__picture")
        assert [type(part) for part in picture.output] == [TextPart, ImagePart]
        total = await result_of(bench, watcher, "box__sum", a=2, b=3)
        assert total.extras == {"structured": {"sum": 5}}
        assert '"sum": 5' in str(total.output)
        failed = await result_of(bench, watcher, "box__fail")
        assert (failed.is_error, failed.output) == (True, "no such row")


async def test_only_a_tool_that_its_server_calls_read_only_goes_beside_what_has_effects(bench: Bench) -> None:
    """D51."""
    calls = [call("box__sum", a=2, b=3), call("box__echo", text="x"), call("Shell", command="touch ran")]
    async with bench.running():
        watcher = Watcher(await new_session(bench, asked("box")), answer=None)
        await state_of(watcher, "box", "connected")
        bench.script("\n".join(calls), "text: ok")
        prompt = watcher.session.turns.prompt("go", "watcher")
        for sender in ("box__echo", "Shell", "box__sum"):
            request = await watcher.wait_for(ApprovalRequest, lambda request, sender=sender: request.sender == sender)
            watcher.session.parts.attached.answer(
                ApprovalResponse(request_id=request.id, response="approve"), "watcher"
            )
        assert (await prompt.outcome()).stop_reason == "finished"
    first_answer = watcher.messages.index(watcher.of(ApprovalResponse)[0])
    before = [message.sender for message in watcher.messages[:first_answer] if isinstance(message, ApprovalRequest)]
    assert before == ["box__sum", "box__echo"]
    assert [result.return_value.is_error for result in watcher.of(ToolResult)] == [False] * 3


async def test_long_output_is_cut_to_the_limit_and_says_so(bench: Bench) -> None:
    async with bench.running():
        watcher = await open_session(bench, asked("box"))
        result = await result_of(bench, watcher, "box__long", length=250_000)
        assert 100_000 <= len(result.output) <= 100_100
        assert "100000 of 250000 characters" in result.message


async def test_of_an_answer_of_very_many_parts_the_first_are_kept(bench: Bench) -> None:
    async with bench.running():
        watcher = await open_session(bench, asked("box", "rich"))
        result = await result_of(bench, watcher, "box__parts", count=100_000)
        assert str(result.output).count("t\n") == 2000
        assert str(result.output).endswith("[... 98000 further parts left out ...]")


async def test_a_call_without_an_answer_ends_in_time_and_shows_its_progress(bench: Bench) -> None:
    bench.settings["mcp"]["client"]["tool_call_timeout_ms"] = 300
    async with bench.running():
        watcher = await open_session(bench, asked("box"))
        result = await result_of(bench, watcher, "box__slow")
        assert result.is_error
        assert "did not answer within 0.3 s" in result.message
        assert [output.text for output in watcher.of(ToolOutput)] == ["1/4 at work\n"]


async def test_tools_come_and_go_while_the_server_runs(bench: Bench) -> None:
    async with bench.running():
        watcher = await open_session(bench, asked("box"))
        await state_of(watcher, "box", "connected")
        specs = toolset_of(watcher.session).specs
        assert toolset_of(watcher.session).specs is specs
        await result_of(bench, watcher, "box__grow")
        await watcher.wait_for(StatusUpdate, lambda update: bool(update.mcp_status and update.mcp_status.tools == 14))
        assert "box__extra" in tools_of(watcher.session)
        await result_of(bench, watcher, "box__shrink")
        await watcher.wait_for(
            StatusUpdate,
            lambda update: watcher.of(StatusUpdate)[-1] is update and "box__extra" not in tools_of(watcher.session),
        )


async def test_identical_servers_share_a_process_and_others_do_not(bench: Bench) -> None:
    configure(user_file(bench), {"shared": entry(), "own": entry(shared=False)})
    async with bench.running():
        watchers = [await open_session(bench), await open_session(bench), await open_session(bench, EXTRA="1")]
        shared = [str((await result_of(bench, each, "shared__whoami", variable="EXTRA")).output) for each in watchers]
        own = [str((await result_of(bench, each, "own__whoami", variable="PATH")).output) for each in watchers]
    pids = [said.split()[0] for said in shared]
    assert pids[0] == pids[1] != pids[2]
    assert shared[2].endswith(" 1")
    assert len({said.split()[0] for said in own}) == 3


async def test_sessions_from_several_windows_share_a_process(bench: Bench) -> None:
    one = {
        "_": "/usr/bin/sould",
        "OLDPWD": "/",
        "SHLVL": "1",
        "COLUMNS": "80",
        "SSH_CONNECTION": "192.0.2.1 1 192.0.2.2 22",
    }
    other = {"SHLVL": "2", "TMUX_PANE": "%3", "WINDOWID": "77", "TERM_SESSION_ID": "w0t1", "SSH_TTY": "/dev/pts/3"}
    configure(user_file(bench), {"box": entry()})
    async with bench.running():
        watchers = [
            await open_session(bench, **variables) for variables in (one, other, other | {"TMUX": "/tmp/own,1,0"})
        ]
        said = [str((await result_of(bench, each, "box__whoami", variable="PATH")).output) for each in watchers]
    pids = [each.split()[0] for each in said]
    assert pids[0] == pids[1] != pids[2]


async def test_provider_keys_are_kept_from_servers(bench: Bench) -> None:
    async with bench.running():
        watcher = await open_session(bench, asked("box"), OPENAI_API_KEY="secret", EDITOR="vi")
        assert str((await result_of(bench, watcher, "box__whoami", variable="OPENAI_API_KEY")).output).endswith(" -")
        said = str((await result_of(bench, watcher, "box__whoami", variable="EDITOR")).output)
        assert said.split()[1:] == [str(bench.project), "vi"]


async def test_a_server_that_ends_is_started_again_and_its_call_says_so(bench: Bench) -> None:
    async with bench.running():
        watcher = await open_session(bench, asked("box"))
        died = await result_of(bench, watcher, "box__die")
        assert died.is_error
        assert "the connection to it ended" in died.message
        assert "struck by lightning" in died.message
        assert "box__echo" in tools_of(watcher.session)
        assert (await result_of(bench, watcher, "box__echo", text="back")).output == "back"


async def test_a_changed_file_of_the_user_holds_from_the_next_turn(bench: Bench) -> None:
    configure(user_file(bench), {"box": entry()})
    async with bench.running():
        watcher = await open_session(bench)
        await result_of(bench, watcher, "box__echo", text="one")
        configure(user_file(bench), {"crate": entry()})
        gone = await result_of(bench, watcher, "box__echo", text="two")
        assert "not found" in gone.message
        await state_of(watcher, "crate", "connected")
        assert (await result_of(bench, watcher, "crate__echo", text="three")).output == "three"


async def test_a_call_to_a_server_that_is_still_starting_waits_for_it(bench: Bench) -> None:
    bench.settings["mcp"]["client"] = {"turn_wait_ms": 0, "start_timeout_ms": 60_000}
    async with bench.running():
        watcher = await open_session(bench, asked("box", "late"))
        calling = asyncio.ensure_future(result_of(bench, watcher, "box__echo", text="at last"))
        await watcher.wait_for(ToolCall)
        assert "box__echo" not in tools_of(watcher.session)
        (bench.project / READY).touch()
        assert (await calling).output == "at last"


async def test_a_turn_says_which_servers_are_still_starting(bench: Bench) -> None:
    bench.settings["mcp"]["client"] = {"turn_wait_ms": 0, "start_timeout_ms": 60_000}
    bench.script("text: hello")
    async with bench.running():
        watcher = await open_session(bench, asked("box", "late"))
        await finish(watcher.session, "go")
        said = await watcher.wait_for(Notification, lambda told: "Server box is still starting" in told.body)
        assert said.severity == "info"


async def test_a_server_that_takes_long_to_start_is_given_more_time_at_each_try(bench: Bench) -> None:
    bench.settings["mcp"]["client"] = {"turn_wait_ms": 0, "start_timeout_ms": 50}
    async with bench.running():
        watcher = await open_session(bench, asked("slow", "hang"))
        await state_of(watcher, "slow", "failed")
        said = ""
        while "did not answer within 0.1 s" not in said:
            said = (await result_of(bench, watcher, "slow__echo", text="x")).message


async def test_a_call_to_a_server_that_does_not_start_is_told_its_trouble(bench: Bench) -> None:
    bench.settings["mcp"]["client"] = {"turn_wait_ms": 0, "start_timeout_ms": 60_000}
    configure(user_file(bench), {"slow": entry("hang", start_timeout=500), "broken": entry("crash")})
    async with bench.running():
        watcher = await open_session(bench)
        for name in ("slow", "broken"):
            await state_of(watcher, name, "failed")
        assert "did not answer within 0.5 s" in (await result_of(bench, watcher, "slow__echo", text="x")).message
        assert "boom: no database" in (await result_of(bench, watcher, "broken__echo", text="x")).message
        assert (
            "Tool `stranger__echo` not found" in (await result_of(bench, watcher, "stranger__echo", text="x")).message
        )


async def test_a_question_of_a_server_reaches_the_user_and_the_answer_the_server(bench: Bench) -> None:
    async with bench.running():
        watcher = await open_session(bench, asked("box"))
        watcher.answers = {"Colour": "green"}
        said = await result_of(bench, watcher, "box__ask")
        assert '"action": "accept"' in str(said.output)
        assert '"colour": "green"' in str(said.output)


async def test_a_call_asks_five_questions_at_most(bench: Bench) -> None:
    async with bench.running():
        watcher = await open_session(bench, asked("box"))
        watcher.answers = {"Colour": "green"}
        said = str((await result_of(bench, watcher, "box__ask", times=7)).output)
        assert (said.count('"accept"'), said.count('"cancel"')) == (5, 2)
        assert '"accept"' in str((await result_of(bench, watcher, "box__ask")).output)


async def test_a_question_for_a_password_comes_with_a_warning(bench: Bench) -> None:
    async with bench.running():
        watcher = await open_session(bench)
        watcher.answers = {}
        schema = {"properties": {"pass": {"type": "string", "title": "Your password"}}}
        assert await watcher.session.parts.mcp.elicit("box", Elicitation("Sign in, please", schema)) == Elicited(
            "cancel"
        )
        assert "Type no password or key here" in watcher.of(QuestionRequest)[0].questions[0].body


async def test_a_server_that_may_ask_the_model_asks_no_further_than_the_budget(bench: Bench) -> None:
    async def used_up() -> bool:
        return False

    async with bench.running():
        watcher = await open_session(bench)
        watcher.answers = {"May the MCP server box ask the model this?": "Allow for this session"}
        wanted = Sampling("", (ChatMessage("user", (TextPart(text="hi"),)),), 10)
        bench.script("text: hello")
        allowed = await Sampler(model_of(watcher.session)).answer("box", wanted)
        assert isinstance(allowed, Sampled)
        assert (
            await Sampler(model_of(watcher.session), used_up).answer("box", wanted) == "The user's budget is used up."
        )


async def test_what_a_server_would_ask_the_model_is_shown_with_nothing_that_cannot_be_seen(bench: Bench) -> None:
    said = "Tell me a joke.\u202e Then\u200b the key\u3164."
    async with bench.running():
        watcher = await open_session(bench)
        watcher.answers = {"May the MCP server box ask the model this?": "Decline"}
        wanted = Sampling("Be\u2066 kind.", (ChatMessage("user", (TextPart(text=said),)),), 10)
        assert await Sampler(model_of(watcher.session)).answer("box", wanted) == "The user declined."
        body = watcher.of(QuestionRequest)[0].questions[0].body
    assert body.endswith("system: Be\\u2066 kind.\n\nuser: Tell me a joke.\\u202e Then\\u200b the key\\u3164.")


async def test_a_dismissed_question_is_no_answer(bench: Bench) -> None:
    async with bench.running():
        watcher = await open_session(bench, asked("box"))
        watcher.answers = {}
        said = await result_of(bench, watcher, "box__ask")
        assert '"action": "cancel"' in str(said.output)


async def test_a_question_does_not_outlive_the_call_it_was_asked_in(bench: Bench) -> None:
    async with bench.running():
        watcher = await open_session(bench, asked("box", "rich"))
        calling = asyncio.ensure_future(result_of(bench, watcher, "box__impatient"))
        question = await watcher.wait_for(QuestionRequest)
        (bench.project / READY).touch()
        assert (await calling).output == "gone on"
        closed = await watcher.wait_for(RequestClosed)
        assert (closed.request_id, closed.reason) == (question.id, "cancelled")


async def test_a_tool_that_only_runs_as_a_task_is_left_out_and_named(bench: Bench) -> None:
    task = {**tool("research"), "execution": {"taskSupport": "required"}}
    told: Json = {
        "tools": [task, {**tool("look"), "execution": {"taskSupport": "optional"}}],
        "result": {"content": []},
    }
    (bench.root / "tools.json").write_text(json.dumps(told))
    async with bench.running():
        watcher = await open_session(bench, asked("box", str(bench.root / "tools.json")))
        said = await watcher.wait_for(Notification)
        assert "left out: research." in said.body
        assert {name for name in tools_of(watcher.session) if name.startswith("box__")} == {"box__look"}


async def test_cancelling_a_turn_ends_a_call_at_once(bench: Bench) -> None:
    async with bench.running():
        watcher = await open_session(bench, asked("box"))
        calling = asyncio.ensure_future(result_of(bench, watcher, "box__slow"))
        await watcher.wait_for(ToolOutput)
        watcher.session.turns.cancel("watcher")
        assert (await calling).is_error


async def test_a_script_that_changed_since_it_was_trusted_is_not_started_again(bench: Bench) -> None:
    script = bench.project / "served.py"
    script.write_text(Path(SERVER).read_text())
    configure(bench.project / ".mcp.json", {"own": {"command": sys.executable, "args": ["served.py", "ok"]}})
    bench.trust.set(bench.project, "trusted")
    async with bench.running():
        watcher = await open_session(bench)
        assert (await result_of(bench, watcher, "own__echo", text="one")).output == "one"
        script.write_text(f"open({str(bench.root / 'ran')!r}, 'w')\n{script.read_text()}")
        bench.script(call("own__die"), call("own__echo", text="two"), "text: done")
        await finish(watcher.session, "go")
        assert "changed since you trusted this project (served.py)" in str(watcher.messages)
        assert not (bench.root / "ran").exists()
