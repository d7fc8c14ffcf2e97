"""Turns over Wire: handshake, prompts, approvals, questions, steering, cancelling, errors, replay."""

from soultest.bench import Bench, call
from soultest.wireprogram import NEW, Json, types_of, wire_connected


async def test_a_program_is_told_who_answers_and_what_can_be_said(bench: Bench) -> None:
    async with bench.running(), wire_connected(bench) as program:
        said = await program.result("initialize", **NEW, hooks=[{"id": "h", "event": "PreToolUse", "matcher": "Shell"}])
    assert said["protocol_version"] == "1.10"
    assert said["server"] == {"name": "sould", "version": "1.2.3"}
    assert {"name", "description", "aliases"} == said["slash_commands"][0].keys()
    assert "compact" in {each["name"] for each in said["slash_commands"]}
    assert len(said["hooks"]["supported_events"]) == 13
    assert said["hooks"]["configured"] == {"PreToolUse": 1}
    assert said["capabilities"] == {"supports_question": True}
    assert "external_tools" not in said


async def test_a_turn_is_told_in_order_and_then_the_prompt_is_answered(bench: Bench) -> None:
    bench.script("think: hmm", "text: a")
    async with bench.running(), wire_connected(bench) as program:
        await program.result("initialize", **NEW)
        assert await program.result("prompt", user_input="go") == {"status": "finished"}
    assert program.lines[1] == {
        "jsonrpc": "2.0",
        "method": "event",
        "params": {"type": "TurnBegin", "payload": {"user_input": "go"}},
    }
    kinds = [kind for kind in program.types if kind not in ("StatusUpdate", "Notification")]
    assert kinds[0] == "TurnBegin"
    assert kinds[1] == "StepBegin"
    assert kinds[-1] == "TurnEnd"
    assert program.events("ContentPart")[0] == {"type": "think", "think": "hmm", "encrypted": None}
    assert program.events("TurnEnd") == [{}]


async def test_an_approval_has_one_id_and_what_was_answered_is_told(bench: Bench) -> None:
    bench.script(call("Shell", command="echo hi > made"), "text: done")
    async with bench.running(), wire_connected(bench) as program:
        await program.result("initialize", **NEW)
        asked = program.ask("prompt", user_input="go")
        payload = await program.until("ApprovalRequest")
        request = program.lines[-1]
        assert request["method"] == "request"
        assert request["id"] == payload["id"]
        assert payload["display"] == [{"type": "shell", "language": "bash", "command": "echo hi > made"}]
        assert not (bench.project / "made").exists()
        program.send({"id": request["id"], "result": {"request_id": request["id"], "response": "approve"}})
        assert (await program.answer(asked))["result"] == {"status": "finished"}
    assert program.events("ApprovalResponse") == [{"request_id": payload["id"], "response": "approve", "feedback": ""}]
    assert (bench.project / "made").exists()


async def test_words_with_an_approval_are_told_and_reach_the_model(bench: Bench) -> None:
    bench.script(call("Shell", command="echo hi > made"), "text: done")
    async with bench.running(), wire_connected(bench) as program:
        await program.result("initialize", **NEW)
        asked = program.ask("prompt", user_input="go")
        payload = await program.until("ApprovalRequest")
        answer = {"request_id": payload["id"], "response": "approve", "feedback": "then look at it"}
        program.send({"id": payload["id"], "result": answer})
        assert (await program.answer(asked))["result"] == {"status": "finished"}
    assert program.events("ApprovalResponse") == [answer]
    [result] = program.events("ToolResult")
    assert "said: then look at it" in result["return_value"]["message"]
    assert (bench.project / "made").exists()


async def test_an_approval_that_is_answered_with_an_error_is_a_rejection(bench: Bench) -> None:
    bench.script(call("Shell", command="touch made"), "text: done")
    async with bench.running(), wire_connected(bench) as program:
        await program.result("initialize", **NEW)
        asked = program.ask("prompt", user_input="go")
        payload = await program.until("ApprovalRequest")
        program.send({"id": payload["id"], "error": {"code": -32000, "message": "no"}})
        assert (await program.answer(asked))["result"]["status"] == "finished"
    [result] = program.events("ToolResult")
    assert result["return_value"]["is_error"]
    assert not (bench.project / "made").exists()


async def test_cancelling_is_answered_first_then_the_turn_ends(bench: Bench) -> None:
    bench.script(call("Shell", command="sleep 1000"))
    async with bench.running(), wire_connected(bench, "--yolo") as program:
        await program.result("initialize", **NEW)
        asked = program.ask("prompt", user_input="go")
        await program.until("ToolCall")
        cancelled = program.ask("cancel")
        assert (await program.answer(cancelled))["result"] == {}
        seen = len(program.lines)
        assert (await program.answer(asked))["result"] == {"status": "cancelled"}
    assert types_of(program.lines[seen:])[-1] == "TurnEnd"


async def test_a_prompt_behind_the_turn_of_another_program_is_withdrawn_alone(bench: Bench) -> None:
    bench.script(call("Shell", command="until [ -e go ]; do sleep 0.05; done"), "text: done")
    async with bench.running(), wire_connected(bench, "--yolo") as program:
        session = (await program.result("initialize", **NEW))["sould"]["session_id"]
        asked = program.ask("prompt", user_input="go")
        await program.until("ToolCall")
        async with wire_connected(bench, "--session", session) as other:
            await other.result("initialize", **NEW, sould={"queue": True})
            waiting = other.ask("prompt", user_input="and then")
            assert await other.result("cancel") == {}
            assert (await other.answer(waiting))["result"] == {"status": "cancelled"}
        (bench.project / "go").touch()
        assert (await program.answer(asked))["result"] == {"status": "finished"}


async def test_what_needs_a_running_turn_or_none_is_refused_by_its_code(bench: Bench) -> None:
    bench.script(call("Shell", command="sleep 1000"))
    async with bench.running(), wire_connected(bench, "--yolo") as program:
        await program.result("initialize", **NEW)
        assert (await program.error("cancel"))["code"] == -32000
        assert (await program.error("steer", user_input="x"))["code"] == -32000
        asked = program.ask("prompt", user_input="go")
        await program.until("ToolCall")
        for method, params in (("prompt", {"user_input": "x"}), ("initialize", NEW), ("replay", {})):
            assert (await program.error(method, **params))["code"] == -32000
        program.ask("cancel")
        await program.answer(asked)


async def test_a_picture_that_the_model_does_not_take_begins_nothing(bench: Bench) -> None:
    bench.script("text: done")
    parts = [
        {"type": "text", "text": "look"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}},
    ]
    async with bench.running(), wire_connected(bench) as program:
        await program.result("initialize", **NEW)
        refused = await program.error("prompt", user_input=parts)
        assert (refused["code"], "takes no images" in refused["message"]) == (-32002, True)
        assert "TurnBegin" not in program.types
        assert await program.result("prompt", user_input=parts[:1]) == {"status": "finished"}


async def test_malformed_calls_get_the_code_of_json_rpc(bench: Bench) -> None:
    async with bench.running(), wire_connected(bench) as program:
        program.send({"id": 1, "method": "replay"})
        assert await program.read() == {
            "jsonrpc": "2.0",
            "id": None,
            "error": {"code": -32600, "message": "A request id is a string.", "data": None},
        }
        program.send({"id": 1, "result": {}})
        assert (await program.read())["error"]["code"] == -32600
        assert (await program.error("nonsense"))["code"] == -32601
        assert (await program.error("prompt", user_input=7))["code"] == -32602
        assert (await program.error("initialize"))["code"] == -32602


async def test_steering_comes_after_the_result_and_before_the_next_step(bench: Bench) -> None:
    bench.script(call("Shell", command="until [ -e go ]; do sleep 0.01; done"), "text: seen")
    async with bench.running(), wire_connected(bench, "--yolo") as program:
        await program.result("initialize", **NEW)
        asked = program.ask("prompt", user_input="go")
        await program.until("ToolCall")
        assert await program.result("steer", user_input="also") == {"status": "steered"}
        (bench.project / "go").touch()
        await program.answer(asked)
    kinds = [kind for kind in program.types if kind in ("ToolResult", "SteerInput", "StepBegin")]
    assert kinds == ["StepBegin", "ToolResult", "SteerInput", "StepBegin"]


async def test_plan_mode_is_entered_and_left(bench: Bench) -> None:
    async with bench.running(), wire_connected(bench, "--mode", "review") as program:
        said = await program.result("initialize", **NEW)
        assert await program.result("set_plan_mode", enabled=True) == {"status": "ok", "plan_mode": True}
        assert await program.result("set_plan_mode", enabled=False) == {"status": "ok", "plan_mode": False}
        [session] = bench.port.sessions.values()
        assert session.id == said["sould"]["session_id"]
        assert {option.id: option.value for option in session.options.all()}["mode"] == "review"
    assert [each["plan_mode"] for each in program.events("StatusUpdate")] == [True, False]


async def test_a_question_is_asked_of_programs_that_can_be_asked(bench: Bench) -> None:
    question = {
        "question": "Which?",
        "options": [{"label": "A", "description": "a"}, {"label": "B", "description": "b"}],
    }
    bench.script(call("AskUserQuestion", questions=[question]), "text: done")
    async with bench.running(), wire_connected(bench) as program:
        await program.result("initialize", **NEW)
        asked = program.ask("prompt", user_input="go")
        payload = await program.until("QuestionRequest")
        program.send({"id": payload["id"], "result": {"request_id": payload["id"], "answers": {"Which?": "B"}}})
        await program.answer(asked)
    [result] = program.events("ToolResult")
    assert "B" in str(result["return_value"]["output"])


async def test_a_tool_of_the_program_is_called_and_one_with_a_taken_name_is_refused(bench: Bench) -> None:
    tool = {"description": "Opens a file", "parameters": {"type": "object", "properties": {"path": {"type": "string"}}}}
    bench.script(call("open_in_ide", path="a.py"), "text: done")
    async with bench.running(), wire_connected(bench, "--yolo") as program:
        said = await program.result(
            "initialize", **NEW, external_tools=[{"name": "open_in_ide", **tool}, {"name": "Shell", **tool}]
        )
        assert said["external_tools"]["accepted"] == ["open_in_ide"]
        assert said["external_tools"]["rejected"] == [{"name": "Shell", "reason": "conflicts with builtin tool"}]
        assert "external_tools" not in await program.result("initialize", **NEW)
        asked = program.ask("prompt", user_input="go")
        payload = await program.until("ToolCallRequest")
        assert payload == {"id": payload["id"], "name": "open_in_ide", "arguments": '{"path":"a.py"}'}
        value: Json = {"is_error": False, "output": "Opened", "message": "Opened a.py", "display": []}
        program.send({"id": payload["id"], "result": {"tool_call_id": payload["id"], "return_value": value}})
        await program.answer(asked)
        assert "external_tools" not in await program.result("initialize", **NEW, external_tools=[])
    [result] = program.events("ToolResult")
    assert result["return_value"]["output"] == "Opened"


async def test_a_hook_of_the_program_blocks_a_call(bench: Bench) -> None:
    bench.script(call("Shell", command="touch made"), "text: done")
    async with bench.running(), wire_connected(bench, "--yolo") as program:
        await program.result("initialize", **NEW, hooks=[{"id": "h1", "event": "PreToolUse", "matcher": "Shell"}])
        asked = program.ask("prompt", user_input="go")
        payload = await program.until("HookRequest")
        assert payload["subscription_id"] == "h1"
        assert payload["input_data"]["tool_name"] == "Shell"
        program.send({"id": payload["id"], "result": {"request_id": payload["id"], "action": "block", "reason": "no"}})
        await program.answer(asked)
    assert program.events("HookResolved")[0]["action"] == "block"
    assert not (bench.project / "made").exists()


async def test_a_refusal_of_the_provider_ends_the_turn_and_then_the_prompt(bench: Bench) -> None:
    bench.script("error: 400 bad")
    async with bench.running(), wire_connected(bench) as program:
        await program.result("initialize", **NEW)
        error = await program.error("prompt", user_input="go")
    assert error["code"] == -32003
    assert "bad" in error["message"]
    assert program.types[-1] == "TurnEnd"


async def test_a_replay_says_everything_again_with_its_ids(bench: Bench) -> None:
    bench.script(call("Shell", command="touch made"), "text: a")
    async with bench.running(), wire_connected(bench) as program:
        await program.result("initialize", **NEW)
        asked = program.ask("prompt", user_input="go")
        request = await program.until("ApprovalRequest")
        program.send({"id": request["id"], "result": {"request_id": request["id"], "response": "approve"}})
        await program.answer(asked)
        live = len(program.lines)
        whole = await program.result("replay")
        lines = program.lines[live:-1]
        assert whole["status"] == "finished"
        assert whole["events"] + whole["requests"] == len(lines)
        again = [line for line in lines if line["method"] == "request"]
        assert [line["id"] for line in again] == [request["id"]]
        assert types_of(lines)[0] == "TurnBegin"
        paged: list[str] = []
        since = 0
        while True:
            before = len(program.lines)
            page = await program.result("replay", since=since, limit=3)
            paged += types_of(program.lines[before:-1])
            if page["next"] is None:
                break
            since = page["next"]
        assert paged == types_of(lines)


async def test_a_prompt_of_a_program_that_queues_waits_its_turn(bench: Bench) -> None:
    bench.script(call("Shell", command="until [ -e go ]; do sleep 0.01; done"), "text: one", "text: two")
    async with bench.running(), wire_connected(bench, "--yolo") as program:
        await program.result("initialize", **NEW, sould={"queue": True})
        first = program.ask("prompt", user_input="one")
        await program.until("ToolCall")
        second = program.ask("prompt", user_input="two")
        (bench.project / "go").touch()
        assert (await program.answer(first))["result"]["status"] == "finished"
        assert (await program.answer(second))["result"]["status"] == "finished"


async def test_the_merged_view_says_each_message_once(bench: Bench) -> None:
    bench.script("text: a", "text: b")
    async with bench.running(), wire_connected(bench) as program:
        await program.result("initialize", **NEW, sould={"view": "merged"})
        await program.result("prompt", user_input="go")
        assert len(program.events("ContentPart")) == 1


async def test_one_session_is_open_in_two_programs_and_the_first_answer_closes_the_others_request(bench: Bench) -> None:
    bench.script(call("Shell", command="touch made"), "text: done")
    async with bench.running(), wire_connected(bench) as one:
        session = (await one.result("initialize", **NEW))["sould"]["session_id"]
        async with wire_connected(bench, "--session", session) as two, wire_connected(bench, "-S", session) as observer:
            await two.result("initialize", **NEW)
            await observer.result("initialize", **NEW, sould={"role": "observer"})
            asked = one.ask("prompt", user_input="go")
            mine, theirs = await one.until("ApprovalRequest"), await two.until("ApprovalRequest")
            assert mine["id"] == theirs["id"]
            assert (await observer.error("cancel"))["code"] == -32000
            two.send({"id": theirs["id"], "result": {"request_id": theirs["id"], "response": "approve"}})
            await one.answer(asked)
            one.send({"id": mine["id"], "result": {"request_id": mine["id"], "response": "reject"}})
            for program in (two, observer):
                await program.until("TurnEnd")
            assert "ApprovalRequest" not in observer.types
            assert [each["response"] for each in observer.events("ApprovalResponse")] == ["approve"]
    assert (bench.project / "made").exists()


async def test_an_old_program_gets_what_its_version_knows(bench: Bench) -> None:
    bench.script("error: 429 slow down", "text: a")
    async with bench.running(), wire_connected(bench) as old, wire_connected(bench) as bare:
        await old.result("initialize", protocol_version="1.1", client={"name": "t"})
        await old.result("prompt", user_input="go")
        assert "StepRetry" not in old.types
        assert old.types[-1] == "TurnEnd"
        await bare.result("initialize", protocol_version="1.10")
        await bare.result("prompt", user_input="/help")
    assert {"StepRetry", "Notification", "MCPLoadingBegin", "HookTriggered"}.isdisjoint(bare.types)


async def test_a_program_may_prompt_without_introducing_itself(bench: Bench) -> None:
    bench.script("text: a")
    async with bench.running(), wire_connected(bench) as program:
        assert await program.result("prompt", user_input="go") == {"status": "finished"}


async def test_a_turn_goes_on_when_the_program_is_gone(bench: Bench) -> None:
    bench.script(call("Shell", command="until [ -e go ]; do sleep 0.01; done; touch made"), "text: done")
    async with bench.running():
        async with wire_connected(bench, "--yolo") as program:
            session = (await program.result("initialize", **NEW))["sould"]["session_id"]
            program.ask("prompt", user_input="go")
            await program.until("ToolCall")
        live = bench.port.live(session)
        assert live is not None
        [prompt] = live.turns.prompts
        (bench.project / "go").touch()
        await prompt.outcome()
    assert (bench.project / "made").exists()
