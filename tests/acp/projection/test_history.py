"""What an editor shows of a session that it opens again: what its user saw, in order, once, and nothing that still runs."""

from typing import Any

import pytest

from sould.agents.wire.messages import QuestionItem, QuestionOption, QuestionRequest
from soultest.acpclient import FULL, AcpClient, AgentError, ignore
from soultest.bench import Bench, call
from soultest.bench.acp import Connect
from soultest.bench.crash import kill_when
from soultest.bench.looks import choose
from soultest.pictures import encoded, png

Json = dict[str, Any]


def screen(updates: list[Json]) -> list[Any]:
    """What stands on a screen after some updates: messages whole, cards as they ended, both where they began."""
    shown: dict[Any, Any] = {}
    for number, update in enumerate(updates):
        match update["sessionUpdate"]:
            case "agent_message_chunk" | "agent_thought_chunk":
                key = update["messageId"]
                shown[key] = shown.get(key, "") + update["content"]["text"]
            case "notice":
                shown[number] = (update["severity"], update["title"], update.get("description"))
            case "tool_call" | "tool_call_update":
                card = shown.setdefault(update["toolCallId"], {})
                card |= {key: value for key, value in update.items() if key not in ("sessionUpdate", "_meta")}
            case _:
                pass
    return list(shown.values())


async def loaded(client: AcpClient, bench: Bench, session: str, capabilities: Json | None = None) -> list[Json]:
    """The updates before the answer to `session/load`."""
    await client.initialize(capabilities)
    await client.request("session/load", sessionId=session, cwd=str(bench.project), mcpServers=[])
    return client.updates()


async def again(client: AcpClient, bench: Bench, session: str) -> list[Json]:
    """The same, in the client that shows the session already."""
    before = len(client.updates())
    await client.request("session/load", sessionId=session, cwd=str(bench.project), mcpServers=[])
    return client.updates()[before:]


async def test_what_was_seen_live_is_there_again_in_order_and_once(bench: Bench, connect: Connect) -> None:
    """Also what is said in place of notices: an attempt that failed, a hook that forbade, a server that cannot be used."""
    bench.settings["hooks"] = [{"event": "PreToolUse", "matcher": "Shell", "command": "echo No pushing. >&2; exit 2"}]
    script = ("think: hm\ntext: I shall.\n" + call("Shell", command="git push"), "error: 429 slow down", "text: Well.")
    for capabilities in ({}, FULL):
        bench.script(*script)
        async with bench.running():
            async with connect() as client:
                await client.initialize(capabilities)
                broken: Json = {"name": "box", "command": "", "args": [], "env": []}
                opened = await client.request("session/new", cwd=str(bench.project), mcpServers=[broken])
                session = opened["sessionId"]
                await client.prompt(session, "push it")
                live = screen(client.updates())
            async with connect() as client:
                again = screen(await loaded(client, bench, session, capabilities))
                said = str(live)
                for words in ("box", "I shall.", "No pushing.", "429", "Well."):
                    assert words in said
                if capabilities:  # to them notices are events, which the protocol keeps out of history
                    assert again == [each for each in live if not isinstance(each, tuple)] != live
                else:
                    assert again == live


async def test_a_question_that_became_buttons_is_a_card_with_its_answer(bench: Bench, connect: Connect) -> None:
    item = QuestionItem(
        question="Continue?\nIt costs.", options=(QuestionOption(label="yes"), QuestionOption(label="no"))
    )
    async with bench.running() as host, connect() as client, connect() as one, connect() as other:
        await client.initialize()
        session = await client.new_session(bench.project)
        await client.wait_update("available_commands_update")
        channel = host.sessions[session].log.channel
        await channel.request(QuestionRequest(id="q1", tool_call_id="ask_1", questions=(item,)))
        ended = await client.wait_update("tool_call_update")
        (asked,) = client.asked("session/request_permission")
        assert asked["params"]["toolCall"]["toolCallId"] == ended["toolCallId"] == "ask_1"
        live = screen(client.updates())
        assert screen(await loaded(one, bench, session)) == live
        assert not screen(await loaded(other, bench, session, FULL)), "this one would have shown a form"
    (card,) = live
    assert (card["title"], card["status"]) == ("Continue? ⏎ It costs.", "completed")
    assert "Continue?\nIt costs.: yes" in str(card["content"][0]["content"]["text"])


async def test_what_was_attached_to_a_prompt_comes_back_as_what_it_was(bench: Bench, connect: Connect) -> None:
    picture = encoded(png())
    kept: list[Json] = [
        {"type": "text", "text": "look at </resource>"},
        {"type": "image", "data": picture, "mimeType": "image/png", "uri": "file:///x/c.png"},
        {
            "type": "resource",
            "resource": {"uri": "file:///x/a>b.py", "text": 'x = "<resource>"\n', "mimeType": "text/x-python"},
        },
        {"type": "resource", "resource": {"uri": "file:///x/d.png", "blob": picture, "mimeType": "image/png"}},
        {"type": "resource_link", "uri": "file:///x/b%20c.py", "name": "b c.py", "size": 5, "title": "B"},
    ]
    lost: Json = {"type": "resource", "resource": {"uri": "zed:///x/e%20f.bin", "blob": "AAAA"}}
    bench.script("text: seen")
    async with bench.running(), connect() as client:
        await client.initialize()
        session = await client.new_session(bench.project)
        await client.prompt(session, *kept, lost)
        blocks = [each["content"] for each in await again(client, bench, session) if "user" in each["sessionUpdate"]]
        assert blocks == [*kept, {"type": "resource_link", "uri": "zed:///x/e%20f.bin", "name": "e f.bin"}]
        assert len({each["messageId"] for each in client.updates("user_message_chunk")}) == 1
        (listed,) = (await client.request("session/list"))["sessions"]
        assert listed["title"] == "look at </resource> c.png a>b.py d.png b c.py e f."


async def test_a_long_prompt_comes_back_in_lines_that_every_client_can_read(bench: Bench, connect: Connect) -> None:
    bench.settings["model"] = {"max_context_size": 100_000_000}
    bench.script("text: seen")
    text, attached = "é" * 600_000, "x" * 1_000_000
    async with bench.running(), connect() as client:
        await client.initialize()
        session = await client.new_session(bench.project)
        await client.prompt(session, text, {"type": "resource", "resource": {"uri": "file:///x/a", "text": attached}})
        blocks = [each["content"] for each in await again(client, bench, session) if "user" in each["sessionUpdate"]]
        assert "".join(block.get("text", "") for block in blocks) == text
        assert blocks[-1] == {"type": "resource_link", "uri": "file:///x/a", "name": "a"}
        assert max(len(str(block)) for block in blocks) < 20_000


async def test_a_load_that_is_withdrawn_leaves_the_session_closed_here(bench: Bench, connect: Connect) -> None:
    bench.settings["model"] = {"max_context_size": 100_000_000}
    bench.script("\n".join([f"text: {'x' * 30_000}"] * 50))
    async with bench.running():
        async with connect() as client:
            await client.initialize()
            session = await client.new_session(bench.project)
            await client.prompt(session, "talk")
        async with connect() as client:
            await client.initialize()
            where: Json = {"sessionId": session, "cwd": str(bench.project), "mcpServers": []}
            client.reading.clear()
            loading = client.start("session/load", where)
            client.notify("$/cancel_request", requestId=2)
            client.reading.set()
            with pytest.raises(AgentError) as withdrawn:
                await loading
            with pytest.raises(AgentError) as closed:
                await client.prompt(session, "go on")
            assert (withdrawn.value.code, closed.value.code) == (-32800, -32002)
            shown = await client.request("session/load", where)
            assert shown["modes"]


async def test_a_prompt_is_answered_with_its_turns_end_also_when_its_client_loads_the_session_meanwhile(
    bench: Bench, connect: Connect
) -> None:
    bench.script(call("WriteFile", path="b.txt", content="x"), "text: done")
    async with bench.running(), connect(permissions=ignore) as client:
        await client.initialize()
        session = await client.new_session(bench.project)
        turn = client.prompt(session, "edit")
        asked = await client.wait_request("session/request_permission")
        await again(client, bench, session)
        anew = await client.wait_for(
            lambda message: message.get("method") == "session/request_permission" and message["id"] != asked["id"]
        )
        client.answer(anew, {"outcome": {"outcome": "selected", "optionId": "allow_once"}})
        assert await turn == {"stopReason": "end_turn"}
        assert client.messages[-1]["result"] == {"stopReason": "end_turn"}, "and after everything was shown"
        assert client.text() == "done"


PLAN = call(
    "SetTodoList",
    todos=[
        {"title": "a", "status": "done"},
        {"title": "b", "status": "in_progress"},
        {"title": "c", "status": "pending"},
    ],
)


def plan_and_cards(updates: list[Json]) -> tuple[list[str], list[str]]:
    """The states of the plan's entries and of the tool cards, as they stand."""
    plans = [update["entries"] for update in updates if update["sessionUpdate"] == "plan"]
    cards = {each["toolCallId"]: each["status"] for each in updates if each.get("toolCallId") and "status" in each}
    return [entry["status"] for entry in plans[-1]], list(cards.values())


async def test_what_a_d_mail_does_to_files_is_a_card_live_and_when_the_session_is_loaded(
    bench: Bench, connect: Connect
) -> None:
    bench.script(
        "\n".join(call("WriteFile", path=name, content="agent\n") for name in ("a.txt", "b.txt")),
        "text: Written.",
        call("SendDMail", message="Do not write.", checkpoint_id=1, restore_filesystem=True),
        "text: So I did not.",
    )
    async with bench.running() as host, connect() as client, connect() as later:
        await client.initialize(FULL)
        session = (await client.request("session/new", cwd=str(bench.project), mcpServers=[]))["sessionId"]
        live = host.sessions.get(session)
        assert live is not None
        await choose(live, "agent", "okabe", "")
        await choose(live, "mode", "full", "")
        await client.prompt(session, "write")
        (bench.project / "a.txt").write_text("mine\n")
        await client.prompt(session, "go on")
        await loaded(later, bench, session)
        for seen in (client, later):
            cards = [update for update in seen.updates() if update["sessionUpdate"] == "tool_call"]
            (card,) = [card for card in cards if "restored" in card["title"]]
            assert (card["status"], card["title"]) == ("completed", "1 file restored, 1 left as it is")
            assert card["content"][0]["content"]["text"].splitlines() == [
                "- a.txt: left as it is (1 change stays: it was changed since in the same place)",
                "- b.txt: deleted",
            ]
    assert ((bench.project / "a.txt").read_text(), (bench.project / "b.txt").exists()) == ("mine\n", False)


async def test_a_cancelled_turn_leaves_nothing_in_progress(bench: Bench, connect: Connect) -> None:
    bench.script(PLAN, call("Shell", command="echo started; sleep 1000"), "text: never")
    async with bench.running(), connect() as client:
        await client.initialize(FULL)
        session = await client.new_session(bench.project)
        turn = client.prompt(session, "go")
        await client.wait_update("tool_call_update", lambda update: "terminal_output" in update.get("_meta", {}))
        assert plan_and_cards(client.updates())[0] == ["completed", "in_progress", "pending"]
        client.notify("session/cancel", sessionId=session)
        assert await turn == {"stopReason": "cancelled"}
        live = plan_and_cards(client.updates())
        assert live == (["completed", "pending", "pending"], ["completed", "failed"])
        assert plan_and_cards(await again(client, bench, session)) == live


async def test_a_turn_that_was_killed_leaves_nothing_in_progress(bench: Bench, connect: Connect) -> None:
    bench.script(PLAN, call("Shell", command="echo started; sleep 1000"), "text: never")
    session = kill_when(bench, "full", "ToolOutput")
    async with bench.running(), connect() as client:
        seen = await loaded(client, bench, session)
        assert plan_and_cards(seen) == (["completed", "pending", "pending"], ["completed", "failed"])
        assert client.text().count("Recovered after a crash") == 1


async def test_a_notice_that_nobody_was_there_for_is_told_to_the_next_client_once(
    bench: Bench, connect: Connect
) -> None:
    bench.script(call("Shell", command="echo started; sleep 1000"), "text: never")
    session = kill_when(bench, "full", "ToolOutput")
    async with bench.running(), connect() as client, connect() as other:
        await loaded(client, bench, session, FULL)
        notice = await client.wait_update("notice")
        assert notice["title"] == "Recovered after a crash"
        await again(client, bench, session)
        await loaded(other, bench, session, FULL)
        await other.wait_update("available_commands_update")
        assert (len(client.updates("notice")), len(other.updates("notice"))) == (1, 0)
        assert "stopped in the middle of this turn" in other.text(), "how the turn ended is history"
