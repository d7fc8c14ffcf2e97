"""MCP through the real daemon: what an editor's user, or somebody at the command line, has of servers (issue of MCP)."""

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sould.agents.mcp.naming import tool_name
from soultest.acpclient import AcpClient
from soultest.bench.mcp import SERVER, configure
from soultest.clients import FOLDER, NODE
from soultest.daemon import until
from soultest.editor import calls, client_of
from soultest.mcpover import EditorServer
from soultest.mcpremote import remote
from soultest.world import SOULD, World, call

Json = dict[str, Any]
REMOTE: list[tuple[str, Json]] = [("greet", {"name": "Ada"}), ("confirm", {})]
CANARY = "sk-canary-of-a-server"
CLIENT = "[mcp.client]\nturn_wait_ms = 30000\nrestart_first_wait_s = 0.01\n"


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """One daemon for all tests here, because each has to load the library; a test has sessions and servers of its own."""
    made = World(tmp_path_factory.mktemp("mcp"))
    yield made
    made.close()


async def opened(client: AcpClient, world: World, *servers: Json, **more: Any) -> str:
    """A session with servers."""
    answer = await client.request("session/new", cwd=str(world.project), mcpServers=list(servers), **more)
    return str(answer["sessionId"])


def ours(mode: str = "ok", **more: Any) -> Json:
    """An entry of `mcp.json`."""
    return {"command": sys.executable, "args": [SERVER, mode], **more}


def user_file(world: World) -> Path:
    return world.root / "config" / "sould" / "mcp.json"


def status(world: World) -> dict[str, Json]:
    """The servers in `sould status`, by name."""
    return {each["name"]: each for each in json.loads(world.sould("status", "--json").stdout)["mcp"]}


def results(client: AcpClient) -> dict[str, Json]:
    """The tool calls by title."""
    return {each["title"]: each for each in calls(client)}


# --- an editor's own servers ------------------------------------------------------------------------------------------


async def test_an_editors_tools_work_over_its_connection_and_over_a_killed_daemon(world: World) -> None:
    one, two = call("editor__shout", "1", text="hey"), call("editor__shout", "2", text="still here")
    world.script([one, "text: one", two, "text: two"], CLIENT)
    async with client_of(world) as client:
        server = EditorServer(client, shout=lambda given: given["text"].upper())
        session = await opened(client, world, server.declaration)
        await client.prompt(session, "shout")
        (asked,) = client.asked("session/request_permission")
        assert asked["params"]["toolCall"]["title"] == "editor: shout"
        assert "HEY" in str(calls(client))
        daemon = world.daemon()
        os.kill(daemon, signal.SIGKILL)
        await asyncio.to_thread(until, lambda: world.daemon() not in (0, daemon))
        await client.prompt(session, "again")
        assert server.methods().count("server/discover") == 2
        assert "editor__shout" not in str([each for each in calls(client) if each["status"] == "failed"])


async def test_servers_that_an_editor_brought_outlive_a_restart_and_are_named_when_a_crash_took_them(
    world: World,
) -> None:
    asks = call("brought__whoami", "1", variable="MARK")
    world.script([asks, "text: done"], CLIENT)
    secret, mark = {"name": "TOKEN", "value": "sk-canary-brought"}, {"name": "MARK", "value": "marked"}
    brought = {"name": "brought", "command": sys.executable, "args": [SERVER, "ok"], "env": [secret, mark]}
    async with client_of(world) as client:
        session = await opened(client, world, brought)
        await client.prompt(session, "who?")
        seen = len(client.messages)
        assert (await asyncio.to_thread(world.sould, "restart")).returncode == 0
        await client.prompt(session, "still?")
        assert [each["status"] for each in calls(client) if "marked" in str(each["content"])] == ["completed"] * 2
        assert not [each for each in client.messages[seen:] if "of your editor" in str(each)]
        os.kill(world.daemon(), signal.SIGKILL)
        notice = await client.wait_update("notice", lambda update: "of your editor" in str(update))
        assert "the MCP server brought of your editor is missing: open the session again there" in str(notice)
    files = [path for path in world.root.rglob("*") if path.is_file()]
    assert not [path for path in files if secret["value"].encode() in path.read_bytes()]


# --- servers of the user ----------------------------------------------------------------------------------------------


async def test_every_kind_of_result_limit_and_failure_is_its_calls_own(world: World) -> None:
    configure(world.root / ".kimi" / "mcp.json", {"old": ours(), "box": {"command": "/nowhere"}})
    servers = {"box": ours(timeout=60_000), "slow": ours(timeout=200), "crash": ours("crash"), "a b": ours()}
    servers["box"]["env"] = {"TOKEN": CANARY}
    servers["far"] = {"url": "http://127.0.0.1:9/mcp", "headers": {"Authorization": f"Bearer {CANARY}"}}
    servers |= {"hang": ours("hang", start_timeout=300), "garbage": ours("garbage", start_timeout=300)}
    configure(user_file(world), servers)
    made = [
        call("box__picture", "1"),
        call("box__sum", "2", a=2, b=3),
        call("box__fail", "3"),
        call("box__long", "4", length=250_000),
        call("slow__slow", "5"),
        call("old__echo", "6", text="from kimi"),
        call(tool_name("a b", "echo"), "7", text="odd name"),
        call("box__echo", "8", text="ünï"),
    ]
    world.script(["\n".join(made), "text: done"], CLIENT)
    async with client_of(world) as client:
        session = await opened(client, world)
        assert (await client.prompt(session, "call them all"))["stopReason"] == "end_turn"
        shown = results(client)
        assert {block["content"]["type"] for block in shown["box: picture"]["content"]} == {"text", "image"}
        assert "sum: 5" in str(shown["box: sum"]["content"])
        assert (shown["box: fail"]["status"], "no such row" in str(shown["box: fail"])) == ("failed", True)
        assert "100000 of 250000 characters" in str(shown["box: long"])
        assert "did not answer within 0.2 s" in str(shown["slow: slow"])
        assert "from kimi" in str(shown["old: echo"])
        assert "odd name" in str([each for each in calls(client) if "a b" in each["title"]])
        notices = str(client.updates("notice"))
        assert "Server crash ended before it was ready. Its last output: boom" in notices
        assert "Server hang did not answer within 0.3 s." in notices
        assert "Server garbage did not answer within 0.3 s." in notices
        assert all(kind in journal(world, session) for kind in ("MCPLoadingBegin", "MCPLoadingEnd"))
        assert len(client.asked("session/request_permission")) == len(made)
        now = await asyncio.to_thread(status, world)
        assert now["box"]["state"] == "connected"
        assert "boom: no database" in now["crash"]["trouble"]
        assert "Server far " in notices
    files = [path for path in world.root.rglob("*") if path.is_file() and CANARY.encode() in path.read_bytes()]
    assert files == [user_file(world)]
    assert CANARY not in str(now)


async def test_a_server_that_ends_is_back_and_one_that_is_mended_comes(world: World) -> None:
    configure(user_file(world), {"box": ours(), "late": {"command": "/nowhere/at/all"}})
    world.script(
        [call("box__die", "1"), call("box__echo", "2", text="back"), "text: a", call("late__echo", "3", text="mended"), "text: b"],
        CLIENT,
    )  # fmt: skip
    async with client_of(world) as client:
        session = await opened(client, world)
        await client.prompt(session, "die and come back")
        assert "the connection to it ended" in str(results(client)["box: die"])
        assert "struck by lightning" in str(results(client)["box: die"])
        assert "back" in str(results(client)["box: echo"])
        assert "Server late " in str(client.updates("notice"))
        configure(user_file(world), {"late": ours()})
        await client.prompt(session, "now the other")
        assert "mended" in str(results(client)["late: echo"])
        assert f"reloaded, because these changed: {user_file(world)}" in str(client.updates("notice"))
        assert (await asyncio.to_thread(status, world))["late"]["state"] == "connected"


async def test_tools_are_allowed_one_by_one_and_a_changed_one_asks_again(world: World) -> None:
    configure(user_file(world), {"kit": ours()})
    made = [call("kit__echo", str(n), text="x") for n in range(2)]
    more = [call("kit__sum", "s", a=1, b=1), call("kit__change", "c"), call("kit__grow", "g")]
    world.script(
        [*made, *more, "text: a", call("kit__extra", "e"), call("kit__echo", "z", text="x"), "text: b"], CLIENT
    )
    asked: list[str] = []

    def always(params: Json) -> Json:
        asked.append(params["toolCall"]["title"])
        option = next(each for each in params["options"] if each["kind"] == "allow_always")
        return {"outcome": "selected", "optionId": option["optionId"]}

    async with client_of(world, permissions=always) as client:
        session = await opened(client, world)
        await client.prompt(session, "go")
        assert asked == ["kit: echo", "kit: sum", "kit: change", "kit: grow"]
        await asyncio.to_thread(until, lambda: status(world)["kit"]["tools"] == 14)
        await client.prompt(session, "again")
        assert asked[4:] == ["kit: extra", "kit: echo"]


async def test_two_editors_share_a_process_when_nothing_differs(world: World) -> None:
    configure(user_file(world), {"box": ours(), "own": ours(shared=False)})
    made = [call("box__whoami", "1", variable="EXTRA"), call("own__whoami", "2", variable="EXTRA")]
    world.script(["\n".join(made), "text: done"] * 3, CLIENT)
    seen: list[dict[str, str]] = []
    for extra in ("", "", "1"):
        world.environment |= {"EXTRA": extra} if extra else {}
        async with client_of(world) as client:
            await client.prompt(await opened(client, world), "who?")
            seen.append({title: str(each["content"]) for title, each in results(client).items()})
    shared = [each["box: whoami"] for each in seen]
    assert shared[0] == shared[1] != shared[2]
    assert len({each["own: whoami"] for each in seen}) == 3


async def test_a_directory_that_is_added_is_a_root_of_that_sessions_servers_and_of_no_others(world: World) -> None:
    configure(user_file(world), {"box": ours("rich"), "own": ours("rich", shared=False)})
    both = call("box__roots", "1") + "\n" + call("own__roots", "2")
    world.script([both, "text: before", both, "text: after"], CLIENT)
    other = world.root / "other"
    other.mkdir()

    async with client_of(world) as client:
        adds, stays = await opened(client, world), await opened(client, world)
        for session in (adds, stays):
            await client.prompt(session, "where?")
        before = {session: roots(world, session) for session in (adds, stays)}
        await client.prompt(adds, f"/add-dir {other}")
        for session in (adds, stays):
            await client.prompt(session, "and now?")
        after = {session: roots(world, session) for session in (adds, stays)}
    here, there = {str(world.project)}, {str(world.project), str(other)}
    assert [each[0] for each in (*before[adds], *before[stays], *after[stays])] == [here] * 6
    assert (
        before[adds][0] == before[stays][0] == after[stays][0]
    )  # they shared it, and the one that stayed has it still
    assert [each[:2] for each in after[adds]] == [(there, 0), (there, 1)]
    assert after[adds][0][2] != before[adds][0][2]
    assert after[adds][1][2] == before[adds][1][2]  # nobody else uses this one, so it was told


def roots(world: World, session: str) -> list[tuple[set[str], int, str]]:
    """What the two servers of a session said last: their roots, how often they were told of others, their process."""
    lines = re.findall(r'"output":"(.*?) told (\d) times, pid (\d+)', journal(world, session))[-2:]
    return [(set(re.findall(r"file://([^\\]+)", said)), int(times), pid) for said, times, pid in lines]


# --- what servers ask and offer ---------------------------------------------------------------------------------------


async def test_a_server_may_ask_the_model_when_the_user_allows_it_and_not_otherwise(world: World) -> None:
    configure(user_file(world), {"box": ours("rich")})
    made = [call("box__sample", str(n), question=f"What is {n}?") for n in range(3)]
    world.script([made[0], "text: a number", made[1], made[2], "text: more", "text: done"], CLIENT)
    answers = iter(["Allow once", "Decline", "Allow for this session"])
    asked: list[str] = []

    def form(params: Json) -> Json:
        asked.append(params["message"])
        return {"action": "accept", "content": {"q1": next(answers)}}

    async with client_of(world, form=form) as client:
        session = await opened(client, world)
        await client.prompt(session, "ask")
        said = [str(each["content"]) for each in calls(client)]
        assert "a number" in said[0]
        assert "The user declined." in said[1]
        assert "more" in said[2]
        assert "user: What is 0?" in asked[0]
        assert "system: Be brief." in asked[0]
    done = world.sould("run", "--mode", "full", "-o", "json", "ask")  # nobody can be asked there
    assert json.loads(done.stdout)["exit_code"] == 0, done.stdout
    journals = [path.read_text() for path in (world.root / "state").glob("sould/sessions/*/wire.jsonl")]
    assert any("nobody to ask" in each for each in journals)


async def test_resources_are_mentioned_listed_and_read(world: World) -> None:
    configure(user_file(world), {"docs": ours("rich")})
    tool = [
        call("ReadMcpResource", "1", server="docs"),
        call("ReadMcpResource", "2", server="docs", uri="docs://page/7"),
    ]
    more = [call("docs__rename", "3"), "text: d", "text: explained"]
    world.script(["text: a", "text: b", *tool, "text: c", *more], CLIENT)
    async with client_of(world) as client:
        session = await opened(client, world)
        await client.prompt(session, "What says @docs:docs://guide? And @docs:docs://nothing.")
        context = journal(world, session)
        assert "Bees see no red." in context
        assert "there is no such page" in str(client.updates("notice"))
        await client.prompt(session, "Read", {"type": "resource_link", "uri": "docs://guide", "name": "guide"})
        assert journal(world, session).count("Bees see no red.") == 2
        await client.prompt(session, "Look yourself")
        assert "@docs:docs://page/{n}" in str(results(client)["docs: resources"])
        assert "Page 7." in str(results(client)["docs: docs://page/7"])
        await client.prompt(session, "/mcp docs")
        assert "- @docs:docs://guide guide" in client.text()
        await client.prompt(session, "rename")
        await client.prompt(session, "/mcp docs")
        assert "- @docs:docs://handbook guide" in client.text()
        offered = [each["name"] for each in client.updates("available_commands_update")[-1]["availableCommands"]]
        assert "mcp:docs:explain" in offered
        await client.prompt(session, "/mcp:docs:explain bees in short")
        assert "explained" in client.text()
        assert "Explain well" in journal(world, session)


async def test_what_an_attached_file_says_mentions_no_resource(world: World) -> None:
    configure(user_file(world), {"docs": ours("rich")})
    world.script(["text: a", "text: b"], CLIENT)
    text = "See @docs:docs://page/7."
    attached = {"type": "resource", "resource": {"uri": "file:///notes.md", "mimeType": "text/markdown", "text": text}}
    async with client_of(world) as client:
        session = await opened(client, world)
        await client.prompt(session, "Sum this up", attached)
        assert "Page 7." not in journal(world, session)
        await client.prompt(session, "And @docs:docs://page/7?", attached)
        assert "Page 7." in journal(world, session)


def journal(world: World, session: str) -> str:
    return (world.root / "state" / "sould" / "sessions" / session / "wire.jsonl").read_text()


async def test_subagents_have_the_mcp_tools_their_file_allows(world: World) -> None:
    configure(user_file(world), {"box": ours()})
    folder = world.root / "config" / "sould" / "agents"
    folder.mkdir(parents=True)
    (folder / "summer.yaml").write_text("version: 1\nagent: {extend: coder, mcp_tools: [box__sum]}\n")
    main = "version: 1\nagent: {extend: default, subagents: {summer: {path: ./summer.yaml, description: Adds.}}}\n"
    (folder / "main.yaml").write_text(main)
    world.script(
        [
            call("Agent", "1", prompt="add", subagent_type="summer", description="Add"),
            call("box__sum", "2", a=20, b=22), call("box__echo", "3", text="no"), "text: It is 42.",
            call("Agent", "4", prompt="look", subagent_type="explore", description="Look"),
            call("box__sum", "5", a=1, b=1), "text: I cannot.",
            call("CreateSubagent", "6", name="made", system_prompt="You add.", tools=["box__sum"]),
            call("Agent", "7", prompt="add", subagent_type="made", description="Add"),
            call("box__sum", "8", a=3, b=4), "text: 7.",
            "text: done",
        ],
        CLIENT,
    )  # fmt: skip
    async with client_of(world) as client:
        session = await opened(client, world)
        await client.request("session/set_config_option", sessionId=session, configId="agent", value="main")
        await client.prompt(session, "add")
        said = journal(world, session)
        assert '"sum":42' in said
        assert "Tool `box__echo` not found" in said
        assert "Tool `box__sum` not found" in said  # explore changes nothing, so it has none
        assert '"sum":7' in said
        asked = [each["params"]["toolCall"] for each in client.asked("session/request_permission")]
        assert any("summer" in str(each) for each in asked)


# --- remote servers ---------------------------------------------------------------------------------------------------


async def test_remote_servers_of_the_editor_are_called_and_ask_the_user(world: World) -> None:
    made = [call(f"{kind}__{name}", f"{kind}{name}", **given) for kind in ("http", "sse") for name, given in REMOTE]
    world.script(["\n".join(made), "text: done"], CLIENT)

    def form(params: Json) -> Json:
        return {"action": "accept", "content": dict.fromkeys(params["requestedSchema"]["properties"], "yes")}

    async with (
        remote("http", world.root) as http,
        remote("sse", world.root) as sse,
        client_of(world, form=form) as client,
    ):
        header = {"name": "X-Token", "value": "t0"}
        urls = {"http": http, "sse": sse}
        far = [{"type": kind, "name": kind, "url": url, "headers": [header]} for kind, url in urls.items()]
        await client.prompt(await opened(client, world, *far), "greet")
        for kind in urls:
            assert "hello Ada with t0" in str(results(client)[f"{kind}: greet"])
            assert "accept yes" in str(results(client)[f"{kind}: confirm"])


@pytest.mark.node
def test_a_server_of_the_official_sdk_is_understood_and_its_end_too(world: World) -> None:
    made = [call(f"editor__{name}", name, text="hey") for name in ("shout", "whisper")]
    # the new tool is used a step after the list was asked for, because a turn may begin before the answer is read
    world.script([made[0], "text: a", *made, "text: b", made[0], "text: c"], CLIENT)
    given = json.dumps({"command": [str(SOULD), "acp"], "cwd": str(world.project)})
    done = subprocess.run(
        [NODE, "ts_mcp.mjs", given], cwd=FOLDER, env=world.environment, capture_output=True, text=True, timeout=50
    )
    events = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 0, done.stderr
    assert {"event": "capability", "acp": True} in events
    asked = [each for each in events if each["event"] == "mcp"]
    assert asked[0]["method"] == "server/discover"
    assert {each["version"] for each in asked} == {"2026-07-28"}
    assert {each["client"]["name"] for each in asked} == {"sould"}
    shown = done.stdout
    assert "shout: HEY" in shown
    assert "whisper: HEY" in shown
    assert '"status":"failed"' in shown  # the provider is gone, which the tool's call or the tool's end shows
