"""Sessions that a client has begin in a git worktree of their own (docs/session-clients.md)."""

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from sould.agents.base.errors import SouldError
from soultest.acpclient import AcpClient, AgentError
from soultest.bench import Bench, call
from soultest.bench.acp import Connect
from soultest.bench.looks import messages_of


@pytest.fixture
def repository(bench: Bench) -> Path:
    (bench.project / "a.txt").write_text("one\n")
    (bench.project / "sub").mkdir()
    (bench.project / "sub" / "b.txt").write_text("b\n")
    identity = ("-c", "user.name=T", "-c", "user.email=t@example.org")
    for command in (["init", "-q"], ["add", "."], [*identity, "commit", "-q", "-m", "first"]):
        subprocess.run(["git", *command], cwd=bench.project, check=True)
    return bench.project


async def opened(client: AcpClient, method: str, cwd: Path, worktree: object, **more: Any) -> dict[str, Any]:
    """What the answer says in `_meta.sould`, with the session's id."""
    answer = await client.request(
        method, cwd=str(cwd), mcpServers=[], _meta={"sould": {"worktree": worktree}} if worktree else {}, **more
    )
    return {"sessionId": answer.get("sessionId"), **answer.get("_meta", {}).get("sould", {})}


async def test_a_new_session_works_there_and_says_where(bench: Bench, connect: Connect, repository: Path) -> None:
    bench.script(call("WriteFile", path="a.txt", content="two\n"), "text: done")
    async with bench.running(), connect() as client:
        await client.initialize()
        (repository / "more").mkdir()
        more = [str(repository / "sub"), str(repository / "more"), str(bench.root)]
        session = await opened(client, "session/new", repository, "mend-it", additionalDirectories=more)
        place = Path(session["cwd"])
        assert session["worktree"] == {
            "name": "mend-it",
            "branch": "sould/mend-it",
            "repository": str(repository),
        }
        await client.request("session/set_mode", sessionId=session["sessionId"], modeId="full")
        await client.prompt(session["sessionId"], "go")
        assert (place / "a.txt").read_text() == "two\n"
        assert (repository / "a.txt").read_text() == "one\n"
        (row,) = (await client.request("session/list"))["sessions"]
        assert row["cwd"] == str(place)
        assert row["_meta"]["sould"]["worktree"] == session["worktree"]
        assert row["additionalDirectories"] == [str(place / "sub"), str(bench.root)]
        again = await opened(client, "session/resume", place, None, sessionId=session["sessionId"])
        assert again["worktree"] == session["worktree"]


async def test_the_model_is_told_where_it_is(bench: Bench, connect: Connect, repository: Path) -> None:
    bench.script("text: done")
    async with bench.running() as host, connect() as client:
        await client.initialize()
        session = await opened(client, "session/new", repository, True)
        live = host.sessions.get(session["sessionId"])
        assert live is not None
        said = str(messages_of(live))
        assert f"You work in {session['cwd']}, a git worktree of {repository}" in said


async def test_a_fork_takes_the_conversation_there_and_leaves_the_files(
    bench: Bench, connect: Connect, repository: Path
) -> None:
    bench.script(call("WriteFile", path="a.txt", content="two\n"), "text: done", "text: Nothing to undo.")
    async with bench.running() as host, connect() as client:
        await client.initialize()
        source = await opened(client, "session/new", repository, None)
        assert "worktree" not in source
        await client.request("session/set_mode", sessionId=source["sessionId"], modeId="full")
        await client.prompt(source["sessionId"], "go")
        fork = await opened(client, "session/fork", repository, True, sessionId=source["sessionId"])
        live = host.sessions.get(fork["sessionId"])
        assert live is not None
        assert "done" in str(messages_of(live))
        assert (Path(fork["cwd"]) / "a.txt").read_text() == "one\n"
        await client.prompt(fork["sessionId"], "/undo")
        assert (repository / "a.txt").read_text() == "two\n"


async def test_what_cannot_be_had_is_an_error_with_a_kind(bench: Bench, connect: Connect, repository: Path) -> None:
    async with bench.running() as host, connect() as client:
        await client.initialize()
        with pytest.raises(AgentError) as failure:
            await opened(client, "session/new", repository, "No Name")
        assert failure.value.data["kind"] == "worktree"
        assert not host.sessions


async def test_a_session_that_cannot_be_stored_leaves_no_worktree(bench: Bench, repository: Path) -> None:
    unnamed = bench.root / os.fsdecode(b"\xff")
    unnamed.mkdir()
    async with bench.running() as host:
        with pytest.raises(SouldError, match="is not UTF-8"):
            await host.new(replace(bench.alone(), worktree="", additional=(unnamed,)))
    assert not list((repository / ".git" / "worktrees").glob("*"))
    assert not list((repository / ".git" / "refs" / "heads" / "sould").glob("*"))
