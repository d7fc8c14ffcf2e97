"""The life of sessions over ACP: opened, listed, loaded, resumed, forked, renamed, closed, deleted."""

from typing import Any

import pytest

from soultest.acpclient import FULL, AcpClient, AgentError, ignore
from soultest.bench import Bench, call
from soultest.bench.acp import Connect
from soultest.bench.looks import messages_of

Json = dict[str, Any]


async def ready(client: AcpClient, bench: Bench) -> str:
    """An initialised client and its session."""
    await client.initialize()
    return await client.new_session(bench.project)


@pytest.mark.parametrize("method", ["session/new", "session/load", "session/resume", "session/list", "session/fork"])
async def test_a_relative_directory_is_refused_by_name(bench: Bench, connect: Connect, method: str) -> None:
    async with bench.running(), connect() as client:
        await client.initialize()
        with pytest.raises(AgentError) as failure:
            await client.request(method, sessionId="x", cwd="some/where", mcpServers=[])
        assert failure.value.code == -32602
        assert "some/where" in failure.value.message


async def test_relative_additional_directories_are_refused_and_absolute_ones_kept(
    bench: Bench, connect: Connect
) -> None:
    async with bench.running() as host, connect() as client:
        await client.initialize()
        with pytest.raises(AgentError) as failure:
            await client.new_session(bench.project, additionalDirectories=["x"])
        assert failure.value.code == -32602
        session = await client.new_session(bench.project, additionalDirectories=[str(bench.root), 5])
        live = host.sessions.get(session)
        assert live is not None
        assert live.parts.services.workplace.opening.additional == (bench.root,)


async def test_a_directory_that_is_missing_is_refused(bench: Bench, connect: Connect) -> None:
    async with bench.running(), connect() as client:
        await client.initialize()
        with pytest.raises(AgentError) as failure:
            await client.new_session(bench.root / "nowhere")
        assert failure.value.code == -32602
        assert "nowhere" in failure.value.message


@pytest.mark.parametrize(
    ("method", "more"),
    [
        ("session/prompt", {"prompt": [{"type": "text", "text": "x"}]}),
        ("session/load", {}),
        ("session/resume", {}),
        ("session/fork", {}),
        ("session/close", {}),
        ("session/set_mode", {"modeId": "ask"}),
        ("session/set_config_option", {"configId": "mode", "value": "ask"}),
        ("session/set_title", {"title": "x"}),
        ("session/archive", {}),
        ("session/unarchive", {}),
        ("session/status", {}),
    ],
)
async def test_an_unknown_session_is_not_found(bench: Bench, connect: Connect, method: str, more: Json) -> None:
    async with bench.running(), connect() as client:
        await client.initialize()
        for unknown in ("nothing", "../../etc", ""):
            params: Json = {"sessionId": unknown, "cwd": str(bench.project), "mcpServers": [], **more}
            with pytest.raises(AgentError) as failure:
                await client.request(method, params)
            assert failure.value.code == -32002


@pytest.mark.parametrize("prompt", [None, "text", [], [{"type": "video"}], [{"type": "text"}], [5]])
async def test_a_prompt_of_the_wrong_shape_is_refused(bench: Bench, connect: Connect, prompt: Any) -> None:
    async with bench.running(), connect() as client:
        session = await ready(client, bench)
        with pytest.raises(AgentError) as failure:
            await client.request("session/prompt", sessionId=session, prompt=prompt)
        assert failure.value.code == -32602


async def test_load_replays_the_conversation_before_it_answers(bench: Bench, connect: Connect) -> None:
    path = bench.project / "a.txt"
    edit = {"old": "hello", "new": "goodbye"}
    bench.script("think: hm\ntext: I shall.\n" + call("StrReplaceFile", path=str(path), edit=edit), "text: Done.")
    async with bench.running():
        async with connect() as client:
            session = await ready(client, bench)
            await client.prompt(session, "please edit")
        async with connect() as client:
            await client.initialize()
            loaded = await client.request("session/load", sessionId=session, cwd=str(bench.project), mcpServers=[])
            assert {option["id"] for option in loaded["configOptions"]} >= {"mode", "model"}
            assert client.updates()[0]["sessionUpdate"] == "user_message_chunk"
            assert client.updates("user_message_chunk")[0]["content"]["text"] == "please edit"
            assert client.text() == "I shall.Done."
            assert [call["status"] for call in client.updates("tool_call")] == ["completed"]
            assert not client.updates("tool_call_update"), "it is shown as it ended"
            assert not client.asked("session/request_permission"), "history never asks again"
            replayed = [message for message in client.messages if message.get("method") == "session/update"]
            last = next(each for each in reversed(replayed) if "messageId" in each["params"]["update"])
            answer = next(message for message in client.messages if message.get("id") == 2)
            assert client.messages.index(last) < client.messages.index(answer)
            await client.wait_update("available_commands_update")


async def test_load_twice_replays_twice_and_shows_what_follows_once(bench: Bench, connect: Connect) -> None:
    bench.script("text: one", "text: two")
    async with bench.running(), connect() as client:
        session = await ready(client, bench)
        await client.prompt(session, "a")
        for _ in range(2):
            await client.request("session/load", sessionId=session, cwd=str(bench.project), mcpServers=[])
        assert client.text() == "one" * 3
        await client.prompt(session, "b")
        assert client.text() == "one" * 3 + "two"


async def test_resume_replays_nothing_and_goes_on(bench: Bench, connect: Connect) -> None:
    bench.script("text: one\nusage: input_other=100 output=20", "text: two")
    async with bench.running():
        async with connect() as client:
            session = await ready(client, bench)
            await client.prompt(session, "a")
        async with connect() as client:
            await client.initialize()
            resumed = await client.request("session/resume", sessionId=session, cwd=str(bench.project))
            assert resumed["modes"]
            usage = await client.wait_update("usage_update")
            assert (usage["used"], usage["size"]) == (120, 100_000)
            await client.prompt(session, "b")
            assert client.text() == "two"


async def test_sessions_are_listed_by_directory_in_pages(bench: Bench, connect: Connect) -> None:
    bench.script(*["text: ok"] * 3)
    async with bench.running(), connect() as client:
        await client.initialize()
        begun = [await client.new_session(bench.project) for _ in range(3)]
        for session in begun:
            await client.prompt(session, "hi")
        listed = await client.request("session/list", cwd=str(bench.project))
        assert {info["sessionId"] for info in listed["sessions"]} == set(begun)
        assert all(info["cwd"] == str(bench.project) for info in listed["sessions"])
        assert (await client.request("session/list", cwd=str(bench.root)))["sessions"] == []
        assert len((await client.request("session/list"))["sessions"]) == 3
        with pytest.raises(AgentError) as failure:
            await client.request("session/list", cursor="not one of ours")
        assert failure.value.code == -32602


async def test_a_directory_is_the_same_one_by_every_path_that_leads_to_it(bench: Bench, connect: Connect) -> None:
    bench.script("text: Here.")
    link = bench.root / "link"
    link.symlink_to(bench.project)
    async with bench.running(), connect() as client:
        await client.initialize()
        session = await client.new_session(link)
        await client.request("session/set_mode", sessionId=session, modeId="review")
        await client.prompt(session, "hi")
        for path in (f"{link}/", bench.project, f"/{bench.project}/."):
            found = (await client.request("session/list", cwd=str(path)))["sessions"]
            assert [(each["sessionId"], each["cwd"]) for each in found] == [(session, str(link))]
            hits = await client.request("_sould/session/search", cwd=str(path), query="hi")
            assert [each["sessionId"] for each in hits["sessions"]] == [session]
        await client.request("session/load", sessionId=session, cwd=str(bench.project), mcpServers=[])
        opened = await client.request("session/new", cwd=str(bench.project), mcpServers=[])
        assert opened["modes"]["currentModeId"] == "review", "what was chosen there last"


async def test_a_title_comes_from_the_first_prompt_or_the_client(bench: Bench, connect: Connect) -> None:
    bench.script("text: one")
    async with bench.running(), connect() as client:
        session = await ready(client, bench)
        await client.prompt(session, "mend the gate")
        first = await client.wait_update("session_info_update")
        assert "gate" in first["title"]
        assert await client.request("session/set_title", sessionId=session, title=" My\n gate ") == {"title": "My gate"}
        await client.wait_update("session_info_update", lambda update: update["title"] == "My gate")
        for _ in range(2):  # what is cleaned is not cleaned again
            shown = await client.request("session/set_title", sessionId=session, title="My\u202e \u2066gate")
            assert shown == {"title": r"My\u202e \u2066gate"}
            await client.request("session/set_title", sessionId=session, title=shown["title"])
        await client.request("session/set_title", sessionId=session, title="My gate")
        listed = await client.request("session/list")
        assert listed["sessions"][0]["title"] == "My gate"


async def test_a_list_says_what_git_has_checked_out_where_a_session_works(bench: Bench, connect: Connect) -> None:
    bench.script("text: one")
    async with bench.running(), connect() as client:
        session = await ready(client, bench)
        await client.prompt(session, "mend the gate")
        (listed,) = (await client.request("session/list"))["sessions"]
        assert "branch" not in listed["_meta"]["sould"]
        (bench.project / ".git").mkdir()
        (bench.project / ".git" / "HEAD").write_text("ref: refs/heads/gate\n")
        (listed,) = (await client.request("session/list"))["sessions"]
        assert listed["_meta"] == {"sould": {"branch": "gate", "origin": "editor"}}


async def test_an_archived_session_is_listed_for_clients_that_ask_for_it(bench: Bench, connect: Connect) -> None:
    bench.script("text: one")
    async with bench.running(), connect() as client:
        session = await ready(client, bench)
        await client.prompt(session, "mend the gate")
        assert client.messages[0]["result"]["agentCapabilities"]["_meta"]["sould"]["archive"] == {"supported": True}
        assert await client.request("_sould/session/archive", sessionId=session) == {"archived": True}
        assert (await client.request("session/list"))["sessions"] == []
        (listed,) = (await client.request("session/list", _meta={"sould": {"archived": True}}))["sessions"]
        assert listed["_meta"] == {"sould": {"archived": True, "origin": "editor"}}
        assert await client.request("_sould/session/archive", sessionId=session, archived=False) == {"archived": False}
        (listed,) = (await client.request("session/list"))["sessions"]
        assert "archived" not in listed["_meta"]["sould"]
        with pytest.raises(AgentError) as failure:
            await client.request("_sould/session/archive", sessionId="nobody")
        assert failure.value.code == -32002


async def test_a_run_with_nobody_there_is_listed_in_editors_when_asked_for_or_once_one_has_opened_it(
    bench: Bench, connect: Connect
) -> None:
    bench.script("text: one", "text: two", "text: three")
    run = {"name": "sould-run", "version": "1"}
    async with bench.running(), connect() as editor, connect() as script, connect() as terminal:
        mine = await ready(editor, bench)
        await script.initialize({"_meta": {"sould": {"questions": False}}}, clientInfo=run)
        await terminal.initialize({"_meta": {"sould": {"questions": True}}}, clientInfo=run)
        alone, typed = await script.new_session(bench.project), await terminal.new_session(bench.project)
        for client, session in ((editor, mine), (script, alone), (terminal, typed)):
            await client.prompt(session, "mend the gate")

        async def found(**own: str) -> dict[str, str]:
            page = await editor.request("session/list", _meta={"sould": own})
            hits = await editor.request("_sould/session/search", {"query": "gate", **own})
            origins = {each["sessionId"]: each["_meta"]["sould"]["origin"] for each in page["sessions"]}
            assert origins == {each["sessionId"]: each["origin"] for each in hits["sessions"]}
            assert page.get("_meta", {}).get("sould", {}).get("leftOut", 0) == 3 - len(origins)
            return origins

        assert await found() == {mine: "editor", typed: "terminal"}
        assert await found(origin="run") == {alone: "run"}
        assert await found(origin="any") == {mine: "editor", typed: "terminal", alone: "run"}
        await script.request("session/resume", sessionId=typed, cwd=str(bench.project), mcpServers=[])
        assert await found() == {mine: "editor", typed: "terminal"}, "a script that goes on with it does not hide it"
        await editor.request("session/load", sessionId=alone, cwd=str(bench.project), mcpServers=[])
        assert await found() == {mine: "editor", typed: "terminal", alone: "editor"}


async def listed(client: AcpClient, **params: Any) -> dict[str, bool]:
    """The sessions of a list, and whether each is archived."""
    answer = await client.request("session/list", params)
    return {info["sessionId"]: info["archived"] for info in answer["sessions"]}


async def test_a_list_leaves_archived_sessions_out_has_them_too_or_only_them(bench: Bench, connect: Connect) -> None:
    bench.script("text: one", "text: two")
    async with bench.running(), connect() as client:
        kept = await ready(client, bench)
        away = await client.new_session(bench.project)
        for session in (kept, away):
            await client.prompt(session, "mend the gate")
        assert await client.request("session/archive", sessionId=away) == {}
        assert await client.request("session/archive", sessionId=away) == {}, "it is archived already"
        assert await listed(client) == await listed(client, archived="exclude") == {kept: False}
        assert await listed(client, archived=None, cwd=str(bench.project)) == {kept: False}
        assert await listed(client, archived="include") == {kept: False, away: True}
        assert await listed(client, archived="only") == {away: True}
        with pytest.raises(AgentError) as failure:
            await listed(client, archived="_nearly")
        assert failure.value.code == -32602
        for _ in range(2):
            assert await client.request("session/unarchive", sessionId=away) == {}
        assert await listed(client) == {kept: False, away: False}
        assert (await client.request("session/status", sessionId=away))["status"] == "saved", "nothing was opened"


async def test_archiving_ends_the_work_of_a_session_that_nobody_else_shows(bench: Bench, connect: Connect) -> None:
    bench.script("text: one", "text: Working.\nwait: 600")
    async with bench.running() as host, connect() as client:
        session = await ready(client, bench)
        await client.prompt(session, "mend the gate")
        working = client.prompt(session, "go on")
        await client.wait_update("agent_message_chunk", lambda update: update["content"]["text"] == "Working.")
        await client.request("session/archive", sessionId=session)
        assert (await working)["stopReason"] == "cancelled"
        assert host.sessions.get(session) is None
        assert await listed(client, archived="include") == {session: True}


async def test_archiving_leaves_a_session_to_the_other_client_that_shows_it(bench: Bench, connect: Connect) -> None:
    bench.script("text: one", "text: two")
    async with bench.running(), connect() as client, connect() as other:
        session = await ready(client, bench)
        await client.prompt(session, "mend the gate")
        await other.initialize()
        await other.request("session/resume", sessionId=session, cwd=str(bench.project))
        await client.request("session/archive", sessionId=session)
        with pytest.raises(AgentError):
            await client.prompt(session, "go on")
        assert (await other.prompt(session, "go on"))["stopReason"] == "end_turn"
        assert await listed(client) == {session: False}, "its next prompt brings it back"


async def test_archiving_a_session_that_holds_nothing_leaves_none(bench: Bench, connect: Connect) -> None:
    async with bench.running(), connect() as client:
        session = await ready(client, bench)
        assert await client.request("session/archive", sessionId=session) == {}
        assert await listed(client, archived="include") == {}


async def test_the_status_says_whether_a_session_is_in_memory_works_or_waits(bench: Bench, connect: Connect) -> None:
    bench.script(call("Shell", command="true > c"), "text: Done.")
    async with bench.running(), connect(permissions=ignore) as client, connect() as other:
        session = await ready(client, bench)
        await other.initialize()

        async def status() -> tuple[str, Json]:
            answer = await other.request("session/status", sessionId=session)
            return answer["status"], answer["_meta"]["sould"]

        assert await status() == ("open", {"running": False, "waiting": 0})
        working = client.prompt(session, "try it")
        asked = await client.wait_request("session/request_permission")
        assert await status() == ("open", {"running": True, "waiting": 1})
        client.answer(asked, {"outcome": {"outcome": "selected", "optionId": "allow_once"}})
        await working
        assert await status() == ("open", {"running": False, "waiting": 0})
        await client.request("session/close", sessionId=session)
        assert await status() == ("saved", {"running": False, "waiting": 0})
        with pytest.raises(AgentError) as failure:
            await other.request("session/status", sessionId="nobody")
        assert failure.value.data["sessionId"] == "nobody"


async def test_deleting_is_idempotent_and_the_session_is_gone(bench: Bench, connect: Connect) -> None:
    async with bench.running(), connect() as client:
        session = await ready(client, bench)
        for _ in range(2):
            assert await client.request("session/delete", sessionId=session) == {}
        assert (await client.request("session/list"))["sessions"] == []
        with pytest.raises(AgentError) as failure:
            await client.prompt(session, "hi")
        assert failure.value.code == -32002


async def test_closing_cancels_the_turn_and_keeps_the_history(bench: Bench, connect: Connect) -> None:
    bench.script("text: begun\n" + call("Shell", command="sleep 100"), "text: never")
    async with bench.running() as host, connect() as client:
        session = await ready(client, bench)
        turn = client.prompt(session, "run")
        await client.wait_update("tool_call_update", lambda update: update.get("status") == "in_progress")
        assert await client.request("session/close", sessionId=session) == {}
        assert (await turn)["stopReason"] == "cancelled"
        assert host.sessions.get(session) is None
        await client.request("session/load", sessionId=session, cwd=str(bench.project), mcpServers=[])
        assert client.text().count("begun") == 2


async def test_a_fork_knows_what_was_said_and_goes_its_own_way(bench: Bench, connect: Connect) -> None:
    bench.script("text: one", "text: two", "text: three")
    async with bench.running() as host, connect() as client:
        await client.initialize(FULL)
        broken: Json = {"name": "box", "command": "", "args": [], "env": []}
        session = (await client.request("session/new", cwd=str(bench.project), mcpServers=[broken]))["sessionId"]
        await client.prompt(session, "a")
        forked = await client.request("session/fork", sessionId=session, cwd=str(bench.project), mcpServers=[])
        fork = forked["sessionId"]
        await client.prompt(fork, "b")
        assert not client.updates("notice", fork), "what happened to the other one is no event here"
        live, source = host.sessions.get(fork), host.sessions.get(session)
        assert live is not None
        assert source is not None
        assert len(messages_of(live)) == 4
        assert len(messages_of(source)) == 2
