"""The review in editors that show no hunks: two clients of one session, and what each of them is told."""

from pathlib import Path
from typing import Any

import pytest

from soultest.acpclient import FULL, AcpClient, ignore
from soultest.bench import Bench, call
from soultest.bench.acp import Connect

Json = dict[str, Any]


async def joined(client: AcpClient, bench: Bench, session: str) -> None:
    await client.initialize(FULL, clientInfo={"name": "second", "version": "1"})
    await client.request("session/load", sessionId=session, cwd=str(bench.project), mcpServers=[])


async def begun(client: AcpClient, project: Path, **more: Any) -> str:
    await client.initialize(FULL | more, clientInfo={"name": "first", "version": "1"})
    session = await client.new_session(project)
    await client.request("session/set_config_option", sessionId=session, configId="mode", value="review")
    return session


def words(client: AcpClient) -> list[str]:
    return [update["content"]["text"] for update in client.updates("agent_message_chunk")]


async def test_what_one_client_keeps_the_other_one_sees(bench: Bench, connect: Connect) -> None:
    bench.script(call("WriteFile", path="b.txt", content="x\n"), "text: done")
    async with bench.running(), connect() as one, connect() as two:
        session = await begun(one, bench.project)
        await joined(two, bench, session)
        await one.prompt(session, "go")
        assert (await one.prompt(session, "/review"))["stopReason"] == "end_turn"
        assert "- `1` line 1, +1: `x`" in words(one)[-1]
        assert (await two.prompt(session, "/keep 1"))["stopReason"] == "end_turn"
        await one.wait_update("user_message_chunk", lambda update: update["content"]["text"] == "/keep 1")
        await one.wait_update("agent_message_chunk", lambda update: "second: Kept hunk 1" in update["content"]["text"])
        assert words(two)[-1] == "Kept hunk 1 in `b.txt`.\n"
        await one.prompt(session, "/reject 1")
        assert words(one)[-1].startswith("Left: hunk 1 in `b.txt`. second kept it (")


async def test_a_decision_needs_no_turn_while_one_runs_and_stays_in_the_conversation(
    bench: Bench, connect: Connect
) -> None:
    bench.script(call("WriteFile", path="b.txt", content="x\n"), call("Shell", command="true > c"), "text: done")
    async with bench.running(), connect(permissions=ignore) as one, connect() as two:
        session = await begun(one, bench.project)
        turn = one.prompt(session, "go")
        request = await one.wait_request("session/request_permission")
        assert (await one.prompt(session, "/keep all"))["stopReason"] == "end_turn"
        assert words(one)[-1] == "Kept hunk 1 in `b.txt`.\n"
        one.answer(request, {"outcome": {"outcome": "selected", "optionId": "allow_once"}})
        assert (await turn)["stopReason"] == "end_turn"
        await joined(two, bench, session)
        assert "first: Kept hunk 1 in `b.txt`.\n" in words(two)
        assert "/keep all" in [update["content"]["text"] for update in two.updates("user_message_chunk")]


async def ended(client: AcpClient, call_id: str = "1") -> Json:
    return await client.wait_update("tool_call_update", lambda update: update.get("status") == "completed")


async def test_an_edit_is_a_diff_with_the_line_it_begins_at(bench: Bench, connect: Connect) -> None:
    path = bench.project / "a.py"
    path.write_text("one\ntwo\nthree\n")
    bench.script(call("StrReplaceFile", path="a.py", edit={"old": "two", "new": "2"}), "text: done")
    async with bench.running(), connect() as client:
        await client.prompt(await begun(client, bench.project), "go")
        card = await ended(client)
        diff = {"type": "diff", "path": str(path), "oldText": "one\ntwo\nthree\n", "newText": "one\n2\nthree\n"}
        assert card["content"] == [diff]
        assert card["locations"] == [{"path": str(path), "line": 2}]


@pytest.mark.parametrize("terminal", [True, False])
async def test_what_a_command_changed_is_shown_as_diffs(bench: Bench, connect: Connect, *, terminal: bool) -> None:
    (bench.project / "a.py").write_text("one\ntwo\nthree\n")
    (bench.project / "gone.py").write_text("gone\n")
    line = "echo said; sed -i s/three/3/ a.py; rm gone.py; echo new > new.py"
    bench.script(call("Shell", command=line), "text: done")
    capabilities = {} if terminal else {"_meta": {"terminal_output": False}}
    async with bench.running(), connect() as client:
        await client.prompt(await begun(client, bench.project, **capabilities), "go")
        card = await ended(client)
        diffs = {item["path"]: item for item in card["content"] if item["type"] == "diff"}
        a, gone, new = (str(bench.project / name) for name in ("a.py", "gone.py", "new.py"))
        assert (diffs[a]["oldText"], diffs[a]["newText"]) == ("one\ntwo\nthree\n", "one\ntwo\n3\n")
        assert (diffs[gone]["oldText"], diffs[gone]["newText"]) == ("gone\n", "")
        assert (diffs[new]["oldText"], diffs[new]["newText"]) == (None, "new\n")
        lines = {place["path"]: place["line"] for place in card["locations"]}
        assert lines == {a: 3, gone: 1, new: 1}
        assert card["content"][0]["type"] == ("terminal" if terminal else "content")
        shown = str(client.updates("tool_call_update"))
        assert "said" in shown


class Zed:
    """What Zed does with a file that the agent writes through it: it saves, and shows the change until its user decides."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.before = path.read_text()

    def reject(self) -> None:
        self.path.write_text(self.before)


async def zed_begun(client: AcpClient, project: Path) -> str:
    await client.initialize(FULL, clientInfo={"name": "zed", "version": "1"})
    return await client.new_session(project)


async def test_what_zed_shows_for_review_is_said_to_be_in_review_there(bench: Bench, connect: Connect) -> None:
    (bench.project / "a.py").write_text("one\n")
    bench.script(call("WriteFile", path="a.py", content="1\n"), call("Shell", command="echo x > b.py"), "text: done")
    async with bench.running(), connect() as zed, connect() as other:
        session = await zed_begun(zed, bench.project)
        await zed.prompt(session, "go")
        told = [update["title"] for update in zed.updates("notice")]
        assert "1 file changed, 1 hunk to review" in told, "what Zed shows by itself is not counted"
        await joined(other, bench, session)
        await other.prompt(session, "/review")
        listed = words(other)[-1]
        assert "- `1` line 1, +1 -1, in review in Zed: `1`" in listed
        assert "- `2` line 1, +1: `x`" in listed, "a command writes past Zed, which does not show it"
        await other.prompt(session, "/keep 1")
        assert words(other)[-1] == "Kept hunk 1 in `a.py`.\n"
        assert (bench.project / "a.py").read_text() == "1\n"


async def test_what_is_rejected_in_zed_is_pending_nowhere_and_nobody_is_said_to_have_decided(
    bench: Bench, connect: Connect
) -> None:
    (bench.project / "a.py").write_text("one\n")
    screen = Zed(bench.project / "a.py")
    bench.script(call("WriteFile", path="a.py", content="1\n"), "text: done", "text: more")
    async with bench.running(), connect() as zed:
        session = await zed_begun(zed, bench.project)
        await zed.prompt(session, "go")
        assert not [update for update in zed.updates("notice") if "to review" in update["title"]]
        screen.reject()
        await zed.prompt(session, "/review")
        assert words(zed)[-1] == "Nothing is to be reviewed.\n"
        await zed.prompt(session, "/keep 1")
        assert words(zed)[-1].startswith("Left: hunk 1 in `a.py`. Its text is not in the file now. When it is back")
        (bench.project / "a.py").write_text("1\n")  # and Zed's undo of it
        await zed.prompt(session, "/review")
        assert "- `1` line 1, +1 -1, in review in Zed" in words(zed)[-1]
