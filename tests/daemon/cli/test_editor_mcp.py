"""`sould editor-mcp`: editor tools for agents that are not ours, called by a real MCP client over pipes and over HTTP."""

import asyncio
import json
import os
import subprocess
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import pytest
from fastmcp import Client
from fastmcp.client.transports import StdioTransport, StreamableHttpTransport
from fastmcp.exceptions import ToolError
from mcp.types import Implementation

from soultest.acpclient import AcpClient
from soultest.daemon import Sould
from soultest.editor import client_of
from soultest.editormcp import serving_http
from soultest.world import SOULD, World

Json = dict[str, Any]

ON_DISK: Final = ["doc_read", "doc_edit", "scm", "review", "notebook", "notebook_edit"]


@pytest.fixture
def world(sould: Sould) -> World:
    """A daemon that runs, and a project of one file."""
    (sould.world.project / "a.txt").write_text("one\ntwo\n")
    sould.start()
    return sould.world


@asynccontextmanager
async def agent(world: World) -> AsyncGenerator[Client[Any]]:
    """An agent that started the server itself."""
    transport = StdioTransport(
        str(SOULD), ["editor-mcp"], env=dict(world.environment), cwd=str(world.project), keep_alive=False
    )
    async with Client(transport, client_info=Implementation(name="other agent", version="1")) as client:
        yield client


@asynccontextmanager
async def editor_of(world: World, tools: list[str], answers: Json) -> AsyncGenerator[AcpClient]:
    """An editor's client that serves some tools."""
    async with client_of(world) as client:
        client.tools = lambda params: answers[params["tool"]]
        await client.request("_sould/editor/state", tools=tools, workspaceFolders=[str(world.project)], app="Vim")
        yield client


async def made(client: Client[Any], tool: str, arguments: Json) -> Json:
    """What a call that came to something answers."""
    answer = await client.call_tool(tool, arguments)
    assert answer.structured_content is not None
    return answer.structured_content


def listed(world: World) -> list[Json]:
    return json.loads(world.sould("review", "--json").stdout)["files"]


async def test_an_agent_reads_and_edits_as_the_user_sees_it_and_the_user_reviews_it(world: World) -> None:
    async with agent(world) as client:
        tools = await client.list_tools()
        assert [tool.name for tool in tools] == ON_DISK
        read = await made(client, "doc_read", {"file": "a.txt"})
        data = read["data"]
        assert data["text"] == "one\ntwo\n"
        edits = [{"file": "a.txt", "expectedHash": data["hash"], "hunks": [{"oldText": "two", "newText": "2"}]}]
        edited = await made(client, "doc_edit", {"edits": edits})
        assert edited["data"]["applied"] == [{"file": "a.txt"}]
        pending = (await made(client, "review", {}))["data"]["pending"]
        assert [(each["file"], each["startLine"]) for each in pending] == [("a.txt", 2)]
    assert (world.project / "a.txt").read_text() == "one\n2\n"
    [file] = listed(world)
    assert file["hunks"][0]["agents"][0]["sessionId"] == "mcp:other agent"


async def test_an_agent_sees_and_edits_unsaved_text_of_an_editor_that_cannot_say_what_it_has_open(world: World) -> None:
    world.script(["text: hello"])
    path = world.project / "a.txt"
    async with client_of(world, buffers={str(path): "one\nunsaved\n"}, save=False) as editor:
        await editor.new_session(world.project)
        async with agent(world) as client:
            read = (await made(client, "doc_read", {"file": "a.txt"}))["data"]
            assert (read["text"], read["dirty"]) == ("one\nunsaved\n", True)
            on_disk = (await made(client, "doc_read", {"file": "a.txt", "version": "disk"}))["data"]
            assert on_disk["text"] == "one\ntwo\n"
            edits = [{"file": "a.txt", "hunks": [{"oldText": "one", "newText": "1"}]}]
            await made(client, "doc_edit", {"edits": edits})
        assert editor.buffers[str(path)] == "1\nunsaved\n"
        assert path.read_text() == "one\ntwo\n", "what its user has not saved is not saved for them"


async def test_what_an_editor_serves_is_offered_and_routed_to_it(world: World) -> None:
    async with editor_of(world, ["hover"], {"hover": {"data": {"markdown": "a word"}}}), agent(world) as client:
        [hover] = [tool for tool in await client.list_tools() if tool.name == "hover"]
        assert hover.annotations is not None
        assert hover.annotations.read_only_hint
        found = await made(client, "hover", {"file": "a.txt", "anchor": {"symbol": "one"}})
    assert found["data"] == {"markdown": "a word"}
    assert found["meta"]["backend"] == "Vim"


async def test_an_agent_that_was_there_before_the_editor_is_told_of_its_tools_and_that_they_are_gone(
    world: World,
) -> None:
    transport = StdioTransport(
        str(SOULD), ["editor-mcp"], env=dict(world.environment), cwd=str(world.project), keep_alive=False
    )
    told: asyncio.Queue[str] = asyncio.Queue()

    async def heard(message: Any) -> None:
        told.put_nowait(getattr(getattr(message, "root", message), "method", ""))

    async with Client(transport, message_handler=heard) as client:
        assert [tool.name for tool in await client.list_tools()] == ON_DISK
        async with editor_of(world, ["hover"], {}):
            assert await told.get() == "notifications/tools/list_changed"
            assert "hover" in [tool.name for tool in await client.list_tools()]
        assert await told.get() == "notifications/tools/list_changed"
        assert [tool.name for tool in await client.list_tools()] == ON_DISK


async def test_who_may_not_know_what_is_looked_at_is_told_how_the_user_chooses_that(world: World) -> None:
    async with editor_of(world, ["editor_state"], {}), agent(world) as client:
        found = await made(client, "editor_state", {})
    assert found["data"] == {"shared": False}
    assert 'sould run "/editor-context on"' in found["meta"]["note"]


@pytest.mark.parametrize(
    ("tool", "arguments", "code"),
    [
        ("doc_read", {"file": "../secret.txt"}, "not_found"),
        ("doc_read", {"file": "{home}/secret.txt"}, "denied"),
        ("doc_read", {"file": "link.txt"}, "denied"),
        ("doc_read", {"file": ".env"}, "denied"),
        ("doc_read", {"file": "none.txt"}, "not_found"),
        ("doc_edit", {"edits": [{"file": "{home}/secret.txt", "newText": "x"}]}, "denied"),
        ("doc_edit", {"edits": [{"file": ".git/hooks/pre-commit", "newText": "x"}]}, "denied"),
        ("doc_edit", {"edits": [{"file": "a.txt", "newText": "x", "expectedHash": "0" * 64}]}, "stale"),
        ("doc_edit", {"edits": [{"file": "a.txt"}]}, "invalid"),
        ("hover", {"file": "a.txt", "anchor": {"line": 1}}, "no_editor"),
        ("task_run", {"name": "build"}, "denied"),
        ("Shell", {"command": "id"}, "invalid"),
    ],
)
async def test_what_would_be_asked_about_or_does_not_fit_is_an_error(
    world: World, tool: str, arguments: Json, code: str
) -> None:
    secret = world.root / "secret.txt"
    secret.write_text("secret\n")
    (world.project / "link.txt").symlink_to(secret)
    (world.project / ".env").write_text("KEY=1\n")
    given = json.loads(json.dumps(arguments).replace("{home}", str(world.root)))
    async with agent(world) as client:
        with pytest.raises(ToolError) as failed:
            await client.call_tool(tool, given)
    assert str(failed.value).startswith(f"{code}: ") or code == "denied"
    assert "secret\n" not in str(failed.value)
    assert secret.read_text() == "secret\n"
    assert (world.project / "a.txt").read_text() == "one\ntwo\n"


async def test_it_goes_on_when_the_daemon_is_restarted(world: World) -> None:
    async with agent(world) as client:
        assert (await made(client, "doc_read", {"file": "a.txt"}))["ok"]
        world.sould("restart")
        assert (await made(client, "doc_read", {"file": "a.txt"}))["ok"]


def git(world: World, *arguments: str) -> None:
    identity = ("-c", "user.name=a", "-c", "user.email=a@example.com")
    done = subprocess.run(["git", *identity, *arguments], cwd=world.project, env=world.environment, capture_output=True)
    assert done.returncode == 0, done.stderr


def written_when_git_looked(path: Path, text: str) -> None:
    """Of a file that was written with its index, git knows only by its content whether it differs."""
    path.write_text(text)
    os.utime(path, (4e9, 4e9))  # no index is as young


async def changed(client: Client[Any], scope: str) -> dict[str, tuple[str, str]]:
    """What `scm` says: status and patch by file."""
    files = (await made(client, "scm", {"scope": scope}))["data"]["files"]
    return {each["file"]: (each["status"], each.get("patch", "")) for each in files}


async def test_what_differs_from_git_and_from_what_was_accepted_is_told(world: World) -> None:
    written_when_git_looked(world.project / "grüße.txt", "eins\n")
    (world.project / ".env").write_text("KEY=old\n")
    (world.project / "gone.txt").write_text("gone\n")
    async with agent(world) as client:
        git(world, "add", ".")
        assert (await changed(client, "staged")).keys() == {"a.txt", "grüße.txt", "gone.txt"}, "before any commit"
        git(world, "commit", "-qm", "first")
        git(world, "config", "filter.x.clean", "touch ran; cat")
        git(world, "config", "diff.external", "touch ran")
        (world.project / ".gitattributes").write_text("*.txt filter=x diff=x\n")
        git(world, "config", "core.trustctime", "false")
        written_when_git_looked(world.project / "grüße.txt", "zwei\n")
        (world.project / ".env").write_text("KEY=new\n")
        (world.project / "new.txt").write_text("new\n")
        (world.project / "gone.txt").unlink()
        found = await changed(client, "working")
        assert {name: status for name, (status, _) in found.items()} == {
            ".gitattributes": "?",
            "gone.txt": "D",
            "grüße.txt": "M",
            "new.txt": "?",
        }
        assert "-eins\n+zwei" in found["grüße.txt"][1]
        assert not (world.project / "ran").exists(), "what the repository's configuration names is not run"
        git(world, "-c", "filter.x.clean=cat", "add", "grüße.txt")
        assert (await changed(client, "staged"))["grüße.txt"][0] == "M"
        edits = [{"file": "a.txt", "hunks": [{"oldText": "two", "newText": "2"}]}]
        await made(client, "doc_edit", {"edits": edits})
        [(name, (status, patch))] = (await changed(client, "base")).items()
    assert (name, status) == ("a.txt", "M")
    assert "-two\n+2" in patch


REFUSED: Final[list[tuple[Json, int]]] = [
    ({"Authorization": "Bearer wrong"}, 401),
    ({"Authorization": None}, 401),
    ({"Origin": "http://127.0.0.1"}, 403),
    ({"Host": "attacker.example"}, 421),
    ({"Content-Length": "99999999"}, 413),
    ({"Content-Length": "x"}, 411),
]


async def test_over_http_only_who_has_the_token_is_served(world: World) -> None:
    async with serving_http(world) as said:
        async with Client(StreamableHttpTransport(said["url"], headers=said["headers"])) as client:
            read = await made(client, "doc_read", {"file": "a.txt"})
            assert read["data"]["text"] == "one\ntwo\n"
        for headers, status in REFUSED:
            assert await asyncio.to_thread(_status, said, headers) == status, headers


def _status(said: Json, headers: Json) -> int:
    """How a request is answered that would do but for these headers; None: without it."""
    address = urlsplit(str(said["url"]))
    given: Json = {"Host": address.netloc, "Content-Length": "0", **said["headers"], **headers}
    connection = HTTPConnection(str(address.hostname), address.port)
    connection.putrequest("POST", address.path, skip_host=True)
    for name, value in given.items():
        if value is not None:
            connection.putheader(name, value)
    connection.endheaders()
    status = connection.getresponse().status
    connection.close()
    return status


async def test_what_is_no_message_is_answered_and_the_rest_served(world: World) -> None:
    serving = await asyncio.create_subprocess_exec(
        SOULD,
        "editor-mcp",
        cwd=world.project,
        env=world.environment,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    lines = [b"nonsense", b"[]", b'{"id": 1}', b'{"jsonrpc":"2.0","id":2,"method":"no/such"}']
    lines += [b'{"jsonrpc":"2.0","id":3,"method":"tools/call","params":7}', b'{"jsonrpc":"2.0","method":"exit"}']
    lines += [b'{"jsonrpc":"2.0","id":4,"method":"ping"}']
    printed, _ = await serving.communicate(b"\n".join(lines) + b"\n")
    answers = [json.loads(line) for line in printed.splitlines()]
    assert [each.get("error", {}).get("code") for each in answers] == [-32700, -32600, -32601, -32602, None]
    assert answers[-1] == {"jsonrpc": "2.0", "id": 4, "result": {}}
