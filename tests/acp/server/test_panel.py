"""What a panel asks beside the conversation: files by their names, sessions by what was said, background tasks, export, sharing."""

import asyncio
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from soultest.acpclient import FULL, AcpClient, AgentError
from soultest.bench import Bench, call
from soultest.bench.acp import Connect
from soultest.bench.mcp import configure, entry, user_file
from soultest.reviewschema import judge

Json = dict[str, Any]


def write(root: Path, *names: str) -> None:
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(name)


async def names(client: AcpClient, cwd: Path, query: str, **more: Any) -> list[str]:
    answer = await client.request("_sould/files/search", cwd=str(cwd), query=query, **more)
    assert all(each["path"] == os.path.join(cwd, each["name"].rstrip("/")) for each in answer["files"])
    return [each["name"] for each in answer["files"]]


async def test_files_are_found_by_a_few_letters_of_their_names(bench: Bench, connect: Connect) -> None:
    write(bench.project, "src/panel/view.ts", "src/panel/store.ts", "src/preview.py", "docs/view/readme.md", "a b.txt")
    async with bench.running(), connect() as client:
        await client.initialize()
        assert await names(client, bench.project, "view.ts") == ["src/panel/view.ts"]
        found = await names(client, bench.project, "view")
        assert found[0] == "docs/view/", "a directory of this name"
        assert found.index("src/panel/view.ts") < found.index("src/preview.py") < found.index("docs/view/readme.md")
        assert (await names(client, bench.project, "panel store"))[0] == "src/panel/store.ts", "all words, in any part"
        assert "src/panel/store.ts" in await names(client, bench.project, "spst"), "its letters, in this order"
        assert await names(client, bench.project, "nothing like it") == []
        assert len(await names(client, bench.project, "", limit=2)) == 2
        with pytest.raises(AgentError) as failure:
            await client.request("_sould/files/search", cwd=str(bench.root / "nowhere"), query="x")
        assert failure.value.code == -32602
        assert {"files/search.params", "files/search.result"} <= judge(client.log)


async def test_what_agents_may_not_read_unasked_is_not_named(bench: Bench, connect: Connect) -> None:
    """Nor what the project ignores, what a link leads to, and what a rule of the user's denies."""
    write(bench.project, "key.py", "build/key.o", ".env", "deploy/id_ed25519", "private/key.txt", ".git/key")
    write(bench.root, "outside/key.txt")
    (bench.project / ".gitignore").write_text("build/\n")
    (bench.project / "key-link").symlink_to(bench.root / "outside" / "key.txt")
    bench.config.mkdir(parents=True)
    (bench.config / "rules.toml").write_text('[[rule]]\ndecision = "deny"\ntool = "read"\npath = "**/private/**"\n')
    async with bench.running(), connect() as client:
        await client.initialize()
        assert await names(client, bench.project, "key") == ["key.py"]
        for secret in (".env", "id_ed25519"):
            assert await names(client, bench.project, secret) == []


async def test_sessions_are_found_by_what_was_said_in_them(bench: Bench, connect: Connect) -> None:
    bench.script("text: It binds.")
    async with bench.running(), connect() as client:
        await client.initialize()
        one, other = await client.new_session(bench.project), await client.new_session(bench.project)
        await client.prompt(one, "what does the walrus do?")
        await client.prompt(other, "and this?")
        await client.request("session/set_title", sessionId=one, title="About operators")
        answer = await client.request("_sould/session/search", query="walrus")
        [found] = answer["sessions"]
        assert (found["sessionId"], found["title"], found["cwd"]) == (one, "About operators", str(bench.project))
        assert "walrus" in found["snippet"]
        elsewhere = await client.request("_sould/session/search", query="walrus", cwd=str(bench.root))
        assert elsewhere["sessions"] == []
        text = (await client.request("_sould/session/export", sessionId=one))["text"]
        assert text.startswith("# About operators")
        assert "It binds." in text
        assert {"session/search.result", "session/export.result"} <= judge(client.log)


async def test_what_fills_the_window_is_told_by_tool_and_by_server(bench: Bench, connect: Connect) -> None:
    configure(user_file(bench), {"docs": entry()})
    (bench.project / "long.txt").write_text(("word " * 20 + "\n") * 200)
    read, echo = call("ReadFile", path="long.txt"), call("docs__echo", text="hello")
    bench.script(read, echo, call("Shell", command="true"), call("Shell", command="true"), "text: Done.")
    async with bench.running(), connect() as client:
        await client.initialize(FULL)
        session = await client.new_session(bench.project)
        new = await client.request("_sould/session/context", sessionId=session)
        assert (new["counted"], new["asked"], new["answered"]) == (False, 0, 0)
        await client.prompt(session, "go on")
        found = await client.request("_sould/session/context", sessionId=session)
        tools = {each["name"]: each for each in found["tools"]}
        assert found["tools"][0]["name"] == "ReadFile", "what takes most comes first"
        assert {name: each["calls"] for name, each in tools.items() if each["calls"]} == {
            "ReadFile": 1,
            "docs": 1,
            "Shell": 2,
        }
        assert [name for name, each in tools.items() if each["server"]] == ["docs"]
        assert tools["docs"]["used"] > 0 < tools["docs"]["described"]
        parts = [each["described"] + each["used"] for each in found["tools"]]
        whole = sum(parts) + found["instructions"] + found["asked"] + found["answered"]
        assert abs(whole - found["used"]) <= 2 * len(parts) + 3, "the parts are shares of what is used"
        assert {"session/context.params", "session/context.result"} <= judge(client.log)


async def test_background_tasks_are_listed_read_and_stopped(bench: Bench, connect: Connect) -> None:
    begin = call("Shell", command="echo begun; exec sleep 1000", run_in_background=True, description="wait")
    bench.script(begin, "text: It runs.")
    async with bench.running(), connect() as client:
        await client.initialize(FULL)
        session = await client.new_session(bench.project)
        await client.prompt(session, "start it")
        [task] = (await client.request("_sould/session/tasks", sessionId=session))["tasks"]
        assert (task["status"], task["endedAt"], task["description"]) == ("running", None, "wait")
        about: Json = {"sessionId": session, "id": task["id"]}
        text = ""
        while "begun" not in text:
            text = (await client.request("_sould/session/tasks/output", about))["text"]
        [stopped] = (await client.request("_sould/session/tasks/stop", about))["tasks"]
        assert stopped["status"] == "stopped"
        assert stopped["endedAt"] is not None
        with pytest.raises(AgentError) as failure:
            await client.request("_sould/session/tasks/stop", sessionId=session, id="shell_9")
        assert "shell_9" in failure.value.message
        assert {"session/tasks.result", "session/tasks.stop.result", "session/tasks.output.result"} <= judge(client.log)


async def test_what_agents_may_know_of_the_editor_is_read_and_chosen(bench: Bench, connect: Connect) -> None:
    """The same choice as `/editor-context`."""
    async with bench.running(), connect() as client:
        await client.initialize()
        cwd = str(bench.project)
        assert await client.request("_sould/editor/context", cwd=cwd) == {"sharing": "ask"}
        assert await client.request("_sould/editor/context", cwd=cwd, sharing="off") == {"sharing": "off"}
        session = await client.new_session(bench.project)
        await client.prompt(session, "/editor-context")
        assert "are not told" in client.text()
        await client.prompt(session, "/editor-context on")
        assert await client.request("_sould/editor/context", cwd=cwd) == {"sharing": "on"}
        with pytest.raises(AgentError):
            await client.request("_sould/editor/context", cwd=cwd, sharing="sometimes")
        assert "editor/context.result" in judge(client.log)


def span(start: int, stop: int) -> Json:
    return {"start": {"line": start, "character": 0}, "end": {"line": stop, "character": 0}}


async def test_a_code_block_is_applied_as_an_edit_to_be_reviewed(bench: Bench, connect: Connect) -> None:
    """In the file's own line ends; rejected, it is as if it had never been. The model knows of it."""
    file = bench.project / "a.py"
    file.write_bytes(b"one\r\ntwo\r\nthree\r\n")
    bench.script("text: here is a block")
    async with bench.running(), connect() as client:
        await client.initialize()
        session = await client.new_session(bench.project)
        about: Json = {"sessionId": session, "path": "a.py", "text": "TWO\n2\n", "range": span(1, 2)}
        done = await client.request("_sould/session/apply", about, expected="two\n")
        assert done == {"outcome": "applied", "path": str(file)}
        assert file.read_bytes() == b"one\r\nTWO\r\n2\r\nthree\r\n"
        with pytest.raises(AgentError) as failure:
            await client.request("_sould/session/apply", about, expected="two\n")
        assert failure.value.data["kind"] == "not_applied"
        new: Json = {"sessionId": session, "path": "new/b.py", "text": "b\n"}
        assert (await client.request("_sould/session/apply", new))["outcome"] == "applied"
        assert (await client.request("_sould/session/apply", new))["outcome"] == "unchanged"
        review = await client.request("_sould/review/list", cwd=str(bench.project), sessionId=session)
        assert {each["path"] for each in review["files"]} == {str(file), str(bench.project / "new/b.py")}
        await client.request("_sould/review/reject", cwd=str(bench.project), all=True)
        assert file.read_bytes() == b"one\r\ntwo\r\nthree\r\n"
        assert not (bench.project / "new/b.py").exists()
        assert "session/apply.result" in judge(client.log)


async def test_a_code_block_goes_only_where_agents_may_write(bench: Bench, connect: Connect) -> None:
    outside = bench.root / "outside.py"
    write(bench.project, ".env")
    bench.script("text: x")
    async with bench.running(), connect() as client:
        await client.initialize()
        session = await client.new_session(bench.project)
        for path in (str(outside), "../outside.py", ".env", "a\0b"):
            with pytest.raises(AgentError) as failure:
                await client.request("_sould/session/apply", sessionId=session, path=path, text="x")
            assert failure.value.data["kind"] == "not_applied", path
        assert not outside.exists()
        assert (bench.project / ".env").read_text() == ".env"


def git(root: Path, *arguments: str) -> None:
    who = ("-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "commit.gpgsign=false")
    subprocess.run(["git", *who, *arguments], cwd=root, check=True, capture_output=True)


@pytest.fixture
def repository(bench: Bench) -> Path:
    """A project with a commit, and a file that agents may not read."""
    root = bench.project
    git(root, "init", "-q")
    write(root, "kept.py", "pending.py", "other.py")
    git(root, "add", ".")
    git(root, "commit", "-qm", "Begin with three files")
    write(root, ".env")
    git(root, "config", "log.showSignature", "true")
    git(root, "config", "gpg.program", str(root / "other.py"))
    return root


async def message(client: AcpClient, session: str) -> str:
    return str((await client.request("_sould/session/commit_message", sessionId=session))["message"])


async def test_a_commit_message_is_about_what_was_accepted(bench: Bench, connect: Connect, repository: Path) -> None:
    """The echo model answers with what it was asked. The conversation knows nothing of it."""
    bench.settings["providers"] = {"script": {"type": "_echo"}}
    async with bench.running(), connect() as client:
        await client.initialize()
        session = await client.new_session(repository)
        with pytest.raises(AgentError) as failure:
            await message(client, session)
        assert failure.value.data["kind"] == "nothing_to_commit"
        for name in ("kept.py", "pending.py"):
            about: Json = {"sessionId": session, "path": name, "text": f"new text of {name}\n"}
            await client.request("_sould/session/apply", about)
        await client.request("_sould/review/keep", cwd=str(repository), paths=[str(repository / "kept.py")])
        before = len(client.messages)
        said = await message(client, session)
        assert "+new text of kept.py" in said
        assert "Begin with three files" in said
        assert "pending.py" not in said
        assert ".env" not in said
        assert not [each for each in client.messages[before:] if each.get("method") == "session/update"]
        (repository / "other.py").write_text("staged by hand\n")
        await asyncio.to_thread(git, repository, "add", "other.py")
        said = await message(client, session)
        assert "+staged by hand" in said
        assert "kept.py" not in said, "what is staged is what will be committed"
        assert "session/commit_message.result" in judge(client.log)


async def test_resources_of_mcp_servers_are_listed_and_read_when_a_prompt_has_a_link_to_one(
    bench: Bench, connect: Connect
) -> None:
    configure(user_file(bench), {"docs": entry("rich")})
    bench.script("text: Hello.", "text: Read.")
    async with bench.running(), connect() as client:
        await client.initialize(FULL)
        session = await client.new_session(bench.project)
        assert (await client.request("_sould/session/resources", sessionId=session))["partial"] is False
        await client.prompt(session, "hello")
        found: list[Json] = []
        while not found:
            found = (await client.request("_sould/session/resources", sessionId=session))["resources"]
        assert {(each["server"], each["name"]) for each in found} == {("docs", "guide")}
        link = {"type": "resource_link", "uri": found[0]["uri"], "name": "guide"}
        await client.request("session/prompt", sessionId=session, prompt=[{"type": "text", "text": "see"}, link])
        (journal,) = bench.state.rglob("wire.jsonl")
        assert f'<resource server=\\"docs\\" uri=\\"{found[0]["uri"]}\\">' in journal.read_text()
        assert "session/resources.result" in judge(client.log)
