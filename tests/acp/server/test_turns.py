"""Turns through a real connection: what the client is sent, in which order, and what it is asked."""

import asyncio
from typing import Any

import pytest

from sould.agents.wire.content import TextPart
from soultest.acpclient import FULL, AcpClient, AgentError, choose, ignore
from soultest.bench import Bench, call
from soultest.bench.acp import Connect
from soultest.bench.looks import messages_of
from soultest.pictures import encoded, png

Json = dict[str, Any]

DEPLOYING = """\
from sould.agents.tools import Command, ToolCallContext, Workspace, tool

@tool(kind="execute", title="Deploy somewhere")
async def deploy(target: str, workspace: Workspace, call: ToolCallContext) -> str:
    "Deploy."
    if target == "nowhere":
        return "There is nothing to do."
    running = await workspace.run(Command(f"echo {target} is up", workspace.root, 60))
    printed = b"".join([data async for data in running.output()]).decode()
    await running.wait()
    call.stream(printed)
    return printed
"""


async def test_a_prompt_streams_text_and_ends_the_turn(bench: Bench, connect: Connect) -> None:
    bench.script("think: hmm\ntext: Hello,\ntext: world!")
    async with bench.running(), connect() as client:
        await client.initialize()
        session = await client.new_session(bench.project)
        assert await client.prompt(session, "hi") == {"stopReason": "end_turn"}
        assert client.text() == "Hello,world!"
        assert client.updates("agent_thought_chunk")[0]["content"]["text"] == "hmm"
        ids = {chunk["messageId"] for chunk in client.updates("agent_message_chunk")}
        assert len(ids) == 1
        assert not client.updates("user_message_chunk"), "the client shows its own words itself"


async def test_updates_follow_the_answer_that_introduces_the_session(bench: Bench, connect: Connect) -> None:
    async with bench.running(), connect() as client:
        await client.initialize()
        await client.new_session(bench.project)
        await client.wait_update("available_commands_update")
        first = next(index for index, message in enumerate(client.messages) if message.get("method"))
        assert all("result" in message for message in client.messages[:first])
        names = [command["name"] for command in client.updates("available_commands_update")[0]["availableCommands"]]
        assert "compact" in names


async def test_an_edit_is_asked_about_with_the_whole_diff_and_then_made(bench: Bench, connect: Connect) -> None:
    path = bench.project / "a.txt"
    bench.script(
        "text: I shall.\n" + call("StrReplaceFile", path=str(path), edit={"old": "hello", "new": "goodbye"}),
        "text: Done.",
    )
    async with bench.running(), connect() as client:
        await client.initialize()
        session = await client.new_session(bench.project)
        assert (await client.prompt(session, "edit"))["stopReason"] == "end_turn"
        request = client.asked("session/request_permission")[0]["params"]
        shown = request["toolCall"]
        announced = client.updates("tool_call")[0]
        assert shown["toolCallId"] == announced["toolCallId"]
        assert shown["kind"] == "edit"
        assert shown["title"]
        assert shown["rawInput"]["path"] == str(path)
        assert shown["locations"][0]["path"] == str(path)
        diff = next(item for item in shown["content"] if item["type"] == "diff")
        assert diff == {"type": "diff", "path": str(path), "oldText": "hello\n", "newText": "goodbye\n"}
        assert request["options"][0]["kind"] == "allow_once"
        last = client.updates("tool_call_update")[-1]
        assert last["status"] == "completed"
        assert path.read_text() == "goodbye\n"


async def test_a_rejected_edit_changes_nothing_and_ends_the_turn(bench: Bench, connect: Connect) -> None:
    path = bench.project / "a.txt"
    bench.script(call("WriteFile", path=str(path), content="x"), "text: never")
    async with bench.running(), connect(permissions=choose("reject_once")) as client:
        await client.initialize()
        session = await client.new_session(bench.project)
        assert (await client.prompt(session, "edit"))["stopReason"] == "end_turn"
        assert client.updates("tool_call_update")[-1]["status"] == "failed"
        assert path.read_text() == "hello\n"


async def test_a_command_feeds_a_display_terminal_where_the_client_has_them(bench: Bench, connect: Connect) -> None:
    bench.script(call("Shell", command="echo one; exit 3"), "text: Done.")
    async with bench.running(), connect() as client:
        await client.initialize(FULL)
        session = await client.new_session(bench.project)
        await client.prompt(session, "run")
        announced = client.updates("tool_call")[0]
        assert announced["content"] == [{"type": "terminal", "terminalId": announced["toolCallId"]}]
        assert announced["_meta"]["terminal_info"]["terminal_id"] == announced["toolCallId"]
        metas = [update.get("_meta", {}) for update in client.updates("tool_call_update")]
        assert "one" in "".join(meta["terminal_output"]["data"] for meta in metas if "terminal_output" in meta)
        ended = next(meta["terminal_exit"] for meta in metas if "terminal_exit" in meta)
        assert ended["exit_code"] == 3


async def test_a_tool_of_the_user_s_has_a_display_terminal_when_it_runs_a_command(
    bench: Bench, connect: Connect
) -> None:
    agents = bench.config / "agents"
    agents.mkdir(parents=True)
    (agents / "deploying.py").write_text(DEPLOYING)
    (agents / "builder.yaml").write_text("version: 1\nagent: {extend: default, tools: ['./deploying.py:deploy']}\n")
    bench.script(call("Deploy", target="staging"), call("Deploy", target="nowhere"), "text: Done.")
    async with bench.running(), connect() as client:
        await client.initialize(FULL, clientInfo={"name": "zed", "version": "1"})  # it is shown calls early
        session = await client.new_session(bench.project)
        await client.request("session/set_config_option", sessionId=session, configId="agent", value="builder")
        await client.prompt(session, "deploy")
        updates = [update for update in client.updates() if update["sessionUpdate"].startswith("tool_call")]
        assert (updates[0]["title"], updates[0]["kind"]) == ("Deploy somewhere", "execute")
        first, second = dict.fromkeys(update["toolCallId"] for update in updates)
        metas = [update.get("_meta", {}) for update in updates if update["toolCallId"] == first]
        assert [key for meta in metas for key in meta] == ["terminal_info", "terminal_output", "terminal_exit"]
        assert next(meta["terminal_output"]["data"] for meta in metas if "terminal_output" in meta) == "staging is up\n"
        assert not [update for update in updates if update["toolCallId"] == second and "_meta" in update]
    async with bench.running(), connect() as client:
        await client.initialize(FULL)
        await client.request("session/load", sessionId=session, cwd=str(bench.project), mcpServers=[])
        shown = [update["_meta"] for update in client.updates() if "terminal" in str(update.get("_meta"))]
        assert [key for meta in shown for key in meta] == ["terminal_info", "terminal_output", "terminal_exit"]


async def test_a_command_s_output_is_text_for_other_clients(bench: Bench, connect: Connect) -> None:
    bench.script(call("Shell", command="echo one"), "text: Done.")
    async with bench.running(), connect() as client:
        await client.initialize()
        session = await client.new_session(bench.project)
        await client.prompt(session, "run")
        last = client.updates("tool_call_update")[-1]
        assert "one" in last["content"][0]["content"]["text"]
        assert last["status"] == "completed"


async def test_the_todo_list_is_a_plan(bench: Bench, connect: Connect) -> None:
    todos = [{"title": "a", "status": "done"}, {"title": "b", "status": "in_progress"}]
    bench.script(call("SetTodoList", todos=todos), "text: Done.")
    async with bench.running(), connect() as client:
        await client.initialize()
        session = await client.new_session(bench.project)
        await client.prompt(session, "plan")
        assert client.updates("plan")[-1]["entries"] == [
            {"content": "a", "priority": "medium", "status": "completed"},
            {"content": "b", "priority": "medium", "status": "in_progress"},
        ]


async def test_a_provider_s_error_reaches_the_user_with_its_kind_and_status(bench: Bench, connect: Connect) -> None:
    """D17."""
    bench.script("error: 401 bad key")
    async with bench.running(), connect() as client:
        await client.initialize()
        session = await client.new_session(bench.project)
        with pytest.raises(AgentError) as failure:
            await client.prompt(session, "hi")
        assert failure.value.code == -32603
        assert failure.value.data["kind"]
        assert failure.value.data["details"]


async def test_a_turn_is_cancelled_in_the_middle_of_a_command(bench: Bench, connect: Connect) -> None:
    """The answer is `cancelled`, after the tool call was closed."""
    bench.script(call("Shell", command="echo started; sleep 100"), "text: never")
    async with bench.running(), connect() as client:
        await client.initialize(FULL)
        session = await client.new_session(bench.project)
        turn = client.prompt(session, "run")
        await client.wait_update("tool_call_update", lambda update: "terminal_output" in update.get("_meta", {}))
        client.notify("session/cancel", sessionId=session)
        assert await turn == {"stopReason": "cancelled"}
        assert client.updates("tool_call_update")[-1]["status"] == "failed"
        assert (await client.request("session/list"))["sessions"]
        assert client.messages[-2].get("result") == {"stopReason": "cancelled"}, "no update follows"


async def test_a_cancel_right_behind_the_prompt_finds_it(bench: Bench, connect: Connect) -> None:
    """At 0 ms; and an idle cancel is nothing."""
    bench.script("text: one", "text: two")
    async with bench.running(), connect() as client:
        await client.initialize()
        session = await client.new_session(bench.project)
        client.notify("session/cancel", sessionId=session)
        client.notify("session/cancel", sessionId="unknown")
        turn = client.prompt(session, "hi")
        client.notify("session/cancel", sessionId=session)
        assert await turn == {"stopReason": "cancelled"}
        assert (await client.prompt(session, "again"))["stopReason"] == "end_turn"


async def test_words_with_a_permission_reach_the_model_and_whoever_was_asked_too(
    bench: Bench, connect: Connect
) -> None:
    bench.script(call("WriteFile", path="b.txt", content="x"), "text: ok")
    async with bench.running(), connect(permissions=ignore) as client, connect(permissions=ignore) as other:
        await client.initialize()
        await other.initialize()
        session = await client.new_session(bench.project)
        await other.request("session/resume", sessionId=session, cwd=str(bench.project), mcpServers=[])
        turn = client.prompt(session, "edit")
        await other.wait_request("session/request_permission")
        request = await client.wait_request("session/request_permission")
        words = {"sould": {"feedback": "then add a test"}}
        client.answer(request, {"outcome": {"outcome": "selected", "optionId": "allow_once"}, "_meta": words})
        assert (await turn)["stopReason"] == "end_turn"
        withdrawn = await other.wait_for(lambda message: message.get("method") == "$/cancel_request")
        assert withdrawn["params"]["_meta"]["sould"]["reason"].endswith(": allowed: then add a test")
        assert "said: then add a test" in client.updates("tool_call_update")[-1]["rawOutput"]["message"]
        assert (bench.project / "b.txt").read_text() == "x"


async def test_cancelling_withdraws_the_open_permission_request(bench: Bench, connect: Connect) -> None:
    """Also when the client never answers it."""
    bench.script(call("WriteFile", path="b.txt", content="x"), "text: never")
    async with bench.running(), connect(permissions=ignore) as client:
        await client.initialize()
        session = await client.new_session(bench.project)
        turn = client.prompt(session, "edit")
        request = await client.wait_request("session/request_permission")
        client.notify("session/cancel", sessionId=session)
        assert await turn == {"stopReason": "cancelled"}
        withdrawn = await client.wait_for(lambda message: message.get("method") == "$/cancel_request")
        assert withdrawn["params"]["requestId"] == request["id"]
        assert client.updates("tool_call_update")[-1]["status"] == "failed"
        assert not (bench.project / "b.txt").exists()


async def test_the_outcome_cancelled_cancels_the_asker_s_turn(bench: Bench, connect: Connect) -> None:
    bench.script(call("WriteFile", path="b.txt", content="x"), "text: never")
    async with bench.running(), connect(permissions=lambda params: {"outcome": "cancelled"}) as client:
        await client.initialize()
        session = await client.new_session(bench.project)
        assert await client.prompt(session, "edit") == {"stopReason": "cancelled"}
        assert not (bench.project / "b.txt").exists()


@pytest.mark.parametrize(
    "outcome",
    [{"outcome": "selected", "optionId": "everything"}, {"outcome": "selected"}, {"outcome": "yes"}],
)
async def test_an_answer_that_was_not_offered_is_no_permission(bench: Bench, connect: Connect, outcome: Json) -> None:
    bench.script(call("WriteFile", path="b.txt", content="x"), "text: I see.")
    async with bench.running(), connect(permissions=lambda params: outcome) as client:
        await client.initialize()
        session = await client.new_session(bench.project)
        await client.prompt(session, "edit")
        assert not (bench.project / "b.txt").exists()


async def test_what_the_model_refused_is_not_put_to_it_again(bench: Bench, connect: Connect) -> None:
    """The protocol: neither the prompt nor what follows it is in the next context; a person still sees it."""
    bench.script("text: one", "text: I cannot.\nfinish: refusal", "text: two")
    async with bench.running() as host, connect() as client:
        await client.initialize()
        session = await client.new_session(bench.project)
        await client.prompt(session, "first")
        assert await client.prompt(session, "something bad") == {"stopReason": "refusal"}
        await client.prompt(session, "second")
        context = host.sessions[session].log.context
        said = [part.text for message in context.messages for part in message.content if isinstance(part, TextPart)]
        assert said == ["first", "one", "second", "two"]
        assert client.text() == "oneI cannot.two"
    async with bench.running():
        again = await bench.open(session)
        assert messages_of(again) == context.messages


async def test_a_request_is_withdrawn_by_cancel_request(bench: Bench, connect: Connect) -> None:
    bench.script(call("Shell", command="echo started; sleep 100"), "text: never")
    async with bench.running(), connect() as client:
        await client.initialize(FULL)
        session = await client.new_session(bench.project)
        turn = client.prompt(session, "run")
        await client.wait_update("tool_call_update", lambda update: "terminal_output" in update.get("_meta", {}))
        identifier = next(key for key, (method, _) in client.transcript.of_client.items() if method == "session/prompt")
        client.notify("$/cancel_request", requestId=int(identifier))
        with pytest.raises(AgentError) as failure:
            await turn
        assert failure.value.code == -32800
        await client.wait_update("tool_call_update", lambda update: update.get("status") == "failed")


async def test_text_media_resources_and_links_reach_the_model(bench: Bench, connect: Connect) -> None:
    bench.script("text: seen")
    blocks: list[Json] = [
        {"type": "text", "text": "look"},
        {"type": "image", "data": encoded(png()), "mimeType": "image/png"},
        {"type": "audio", "data": "aGk=", "mimeType": "audio/mpeg"},
        {"type": "resource", "resource": {"uri": "file:///x/a.py", "text": "print()"}},
        {"type": "resource_link", "uri": "file:///x/b%20c.py", "name": "b c.py"},
    ]
    bench.settings["model"] = {"capabilities": ["image_in", "audio_in"]}
    async with bench.running() as host, connect() as client:
        await client.initialize(FULL)
        session = await client.new_session(bench.project)
        assert (await client.prompt(session, *blocks))["stopReason"] == "end_turn"
        live = host.sessions.get(session)
        assert live is not None
        said = next(message for message in messages_of(live) if message.role == "user")
        texts = [part.text for part in said.content if part.type == "text"]
        assert any("print()" in text and "/x/a.py" in text for text in texts)
        assert any('path="/x/b c.py"' in text for text in texts)
        assert [part.audio_url.url for part in said.content if part.type == "audio_url"] == [
            "data:audio/mpeg;base64,aGk="
        ]
        assert not [each for each in client.updates("notice") if "takes no" in each["title"]]
        await again(client, session, bench)


async def again(client: AcpClient, session: str, bench: Bench) -> None:
    """What was heard is shown again as what it was."""
    await client.request("session/load", sessionId=session, cwd=str(bench.project), mcpServers=[])
    shown = [update["content"]["type"] for update in client.updates("user_message_chunk")]
    assert shown == ["text", "image", "audio", "resource", "resource_link"]


@pytest.mark.parametrize(
    ("address", "told"),
    [
        ("#L10:20", 'path="/x/a b.py" lines="10-20"'),  # Zed
        ("#L10-L20", 'path="/x/a b.py" lines="10-20"'),  # VS Code, GitHub
        ("#L7", 'path="/x/a b.py" lines="7"'),
        ("?symbol=greet#L3:5", 'path="/x/a b.py" lines="3-5" symbol="greet"'),
        ("?symbol=operator%3C#L3:5", 'path="/x/a b.py" lines="3-5" symbol="operator&lt;"'),
        ("#usage", 'path="/x/a b.py" uri="file:///x/a%20b.py#usage"'),
        ("", 'path="/x/a b.py" name='),
    ],
)
async def test_the_model_is_told_which_lines_and_which_symbol_of_a_file_are_meant(
    bench: Bench, connect: Connect, address: str, told: str
) -> None:
    bench.script("text: seen")
    uri = f"file:///x/a%20b.py{address}"
    link: Json = {"type": "resource_link", "uri": uri, "name": "a b.py"}
    selection: Json = {"type": "resource", "resource": {"uri": uri, "text": "def greet():\n"}}
    async with bench.running() as host, connect() as client:
        await client.initialize()
        session = await client.new_session(bench.project)
        await client.prompt(session, "explain", link, selection)
        live = host.sessions.get(session)
        assert live is not None
        said = messages_of(live)[0].content
        _, named, embedded = [part.text for part in said if part.type == "text"]
        assert told in named
        assert told.removesuffix(" name=") in embedded.partition("\n")[0]
        await client.request("session/load", sessionId=session, cwd=str(bench.project), mcpServers=[])
        assert [update["content"] for update in client.updates("user_message_chunk")][1:] == [link, selection]


@pytest.mark.parametrize("kind", ["image", "audio"])
async def test_media_that_the_model_does_not_take_are_named_to_the_user(
    bench: Bench, connect: Connect, kind: str
) -> None:
    bench.script("text: I cannot hear it.", "text: fine")
    async with bench.running(), connect() as client:
        await client.initialize(FULL)
        session = await client.new_session(bench.project)
        block: Json = {"type": kind, "data": "aGk=", "mimeType": f"{kind}/x"}
        assert (await client.prompt(session, "well?", block))["stopReason"] == "end_turn"
        told = [each["title"] for each in client.updates("notice")]
        assert [title for title in told if "takes no" in title] == [
            f"scripted takes no {kind.replace('image', 'images')}"
        ]
        await client.prompt(session, "words only")
        assert [each["title"] for each in client.updates("notice")] == told


async def test_steering_is_injected_into_a_running_turn_only(bench: Bench, connect: Connect) -> None:
    bench.script(call("WriteFile", path="b.txt", content="x"), "text: ok")
    async with bench.running(), connect(permissions=ignore) as client:
        await client.initialize()
        session = await client.new_session(bench.project)
        words = [{"type": "text", "text": "and be quick"}]
        idle = await client.request("_session/steering", sessionId=session, prompt=words)
        assert idle == {"outcome": "promptRequired"}
        turn = client.prompt(session, "edit")
        request = await client.wait_request("session/request_permission")
        steered = await client.request("_session/steering", sessionId=session, prompt=words)
        assert steered == {"outcome": "injected"}
        client.answer(request, {"outcome": {"outcome": "selected", "optionId": "allow_once"}})
        assert (await turn)["stopReason"] == "end_turn"
        assert not client.updates("user_message_chunk"), "the client shows its own words itself"


async def test_options_and_modes_stay_the_same_thing(bench: Bench, connect: Connect) -> None:
    async with bench.running(), connect() as client:
        await client.initialize()
        opened = await client.request("session/new", cwd=str(bench.project), mcpServers=[])
        session = opened["sessionId"]
        assert opened["modes"]["currentModeId"] == "ask"
        await client.request("session/set_mode", sessionId=session, modeId="plan")
        await client.wait_update("current_mode_update", lambda update: update["currentModeId"] == "plan")
        await client.wait_update("config_option_update")
        result = await client.request("session/set_config_option", sessionId=session, configId="mode", value="review")
        assert next(each for each in result["configOptions"] if each["id"] == "mode")["currentValue"] == "review"
        await client.wait_update("current_mode_update", lambda update: update["currentModeId"] == "review")
        wrong: list[tuple[str, Json]] = [
            ("session/set_mode", {"modeId": "auto"}),
            ("session/set_config_option", {"configId": "mode", "value": "x"}),
            ("session/set_config_option", {"configId": "nothing", "value": "x"}),
        ]
        for method, params in wrong:
            with pytest.raises(AgentError) as failure:
                await client.request(method, {"sessionId": session, **params})
            assert failure.value.code == -32602


async def test_a_slow_client_gets_everything_and_its_answer_last(bench: Bench, connect: Connect) -> None:
    """The pipe takes little, the text is long; nothing is lost and nothing comes after the answer."""
    bench.script("\n".join(f"text: {'x' * 5000}{number:04d}" for number in range(500)))
    async with bench.running(), connect(pipe=4096) as client:
        await client.initialize()
        session = await client.new_session(bench.project)
        turn = client.prompt(session, "talk")
        assert (await turn)["stopReason"] == "end_turn"
        assert client.text() == "".join(f"{'x' * 5000}{number:04d}" for number in range(500))
        await asyncio.sleep(0)
        assert client.messages[-1].get("result") == {"stopReason": "end_turn"}


async def test_a_client_that_reads_nothing_for_long_is_cut_and_goes_on_from_the_journal(
    bench: Bench, connect: Connect, caplog: pytest.LogCaptureFixture
) -> None:
    """What waits for it is bounded, no turn waits for it, and once it reads it has missed nothing."""
    caplog.set_level("INFO", "sould.agents.sessions")
    said = ["".join(f"{turn}{'x' * 30_000}" for _ in range(100)) for turn in range(4)]
    bench.settings["model"] = {"max_context_size": 100_000_000}
    bench.script(*("\n".join([f"text: {turn}{'x' * 30_000}"] * 100) for turn in range(4)))
    async with bench.running(), connect() as client, connect() as other:
        await client.initialize()
        session = await client.new_session(bench.project)
        await other.initialize()
        await other.request("session/resume", sessionId=session, cwd=str(bench.project))
        client.reading.clear()
        for _ in said:
            assert (await other.prompt(session, "talk"))["stopReason"] == "end_turn"
        assert "too far behind" in caplog.text
        client.reading.set()
        while len(client.text()) < sum(map(len, said)):
            await client.heard()
        assert client.text() == other.text() == "".join(said)
        assert len(client.updates("user_message_chunk")) == len(said)
        assert len((await client.request("session/list"))["sessions"]) == 1


@pytest.mark.parametrize("blocks", [[], [{"type": "text", "text": " \n"}]])
async def test_a_prompt_of_nothing_is_refused(bench: Bench, connect: Connect, blocks: list[Json]) -> None:
    async with bench.running(), connect() as client:
        await client.initialize()
        session = await client.new_session(bench.project)
        with pytest.raises(AgentError, match="The prompt is empty"):
            await client.request("session/prompt", sessionId=session, prompt=blocks)


async def test_a_turn_that_is_stopped_at_its_limit_says_so(bench: Bench, connect: Connect) -> None:
    bench.settings["loop_control"] = {"max_steps_per_turn": 1}
    bench.script(call("ReadFile", path="a.txt"), "text: never")
    async with bench.running(), connect() as client:
        await client.initialize()
        session = await client.new_session(bench.project)
        assert await client.prompt(session, "look") == {"stopReason": "max_turn_requests"}
        assert "Stopped at the step limit of a turn" in client.text()
