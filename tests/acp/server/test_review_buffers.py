"""What clients of a review have open: it is known before it is saved, and edits go into it, or leave it alone (D44)."""

import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.acp.server.test_review import edited, listed, reviewer, told_of_decision

from sould.agents.wire.messages import Notification, ToolResult
from soultest.acpclient import AcpClient, AgentError
from soultest.bench import Bench, Watcher, call, finish
from soultest.bench.acp import Connect
from soultest.reviewschema import judge

Json = dict[str, Any]


class Editor:
    """A client with a file in a buffer, which reports it as editors do, and takes edits when it says so."""

    def __init__(self, client: AcpClient, path: Path, encoding: str = "utf-8") -> None:
        self.client = client
        self.path = path
        self.text = path.read_text(encoding)
        self.saved = True
        self.version = 1
        self.taken = 0

    async def report(self, event: str, **more: Any) -> str:
        """What became of a report."""
        answer = await self.client.request("_sould/review/report", event=event, path=str(self.path), **more)
        return answer["outcome"]

    async def open(self) -> None:
        """Show the file."""
        assert await self.report("open", version=self.version, text=self.text) == "taken"

    async def type(self, line: int, character: int, text: str) -> None:
        """Insert text in a line."""
        lines = self.text.splitlines(keepends=True)
        lines[line] = lines[line][:character] + text + lines[line][character:]
        self.text, self.saved, self.version = "".join(lines), False, self.version + 1
        place = {"line": line, "character": character}
        change = {"range": {"start": place, "end": place}, "text": text}
        assert await self.report("change", version=self.version, changes=[change]) == "taken"

    def takes(self, message: Json) -> Json:
        """Answers `_sould/review/write`."""
        params = message["params"]
        if params["version"] != self.version:
            return {"outcome": "outdated"}
        self.text, self.version = params["text"], self.version + 1
        if params["save"]:
            self.path.write_text(self.text)
        self.saved = params["save"]
        return {"outcome": "written", "saved": self.saved, "version": self.version}

    async def take_one(self) -> None:
        """Take the next edit."""
        method = "_sould/review/write"
        await self.client.wait_for(lambda _: len(self.client.asked(method)) > self.taken)
        request = self.client.asked(method)[self.taken]
        self.taken += 1
        self.client.answer(request, self.takes(request))


async def introduced(client: AcpClient) -> None:
    """It has buffers."""
    await client.initialize({"_meta": {"sould": {"buffers": True}}}, clientInfo={"name": "B", "version": "1"})


@asynccontextmanager
async def asked_to_edit(bench: Bench, connect: Connect) -> AsyncGenerator[Editor]:
    """A client with a file open, which the model edits in the next turn: it answers when the test says so."""
    path = bench.project / "a.txt"
    path.write_text("a\nb\nc\n")
    bench.script(call("StrReplaceFile", path="a.txt", edit={"old": "b", "new": "B"}), "text: done")
    async with bench.running(), connect() as client:
        await introduced(client)
        client.hang.add("_sould/review/write")
        editor = Editor(client, path)
        await editor.open()
        yield editor


async def test_what_is_typed_is_known_before_it_is_saved(bench: Bench, connect: Connect) -> None:
    await edited(bench, {"a.txt": ("1\n2\n3\n", "1\ntwo 😀\n3\n")})
    async with bench.running(), reviewer(connect) as client:
        editor = Editor(client, bench.project / "a.txt")
        await editor.open()
        assert await editor.report("change", version=0, text="old") == "outdated"
        place = {
            "start": {"line": 1, "character": 6},
            "end": {"line": 1, "character": 6},
        }  # behind two units of one sign
        assert await editor.report("change", version=2, changes=[{"range": place, "text": "!"}]) == "taken"
        answer = await client.request("_sould/review/list", cwd=str(bench.project))
        [file] = answer["files"]
        assert (file["unsaved"], file["unsavedIn"]) == (True, ["desk"])
        assert file["hunks"][0]["lines"] == [{"text": "two 😀!\n", "author": "mixed", "agent": 0}]
        assert await editor.report("close") == "taken"
        [hunk] = await listed(client, bench)
        assert [line["text"] for line in hunk["lines"]] == ["two 😀\n"]


async def test_ranges_of_an_unknown_text_are_answered_with_what_is_needed(bench: Bench, connect: Connect) -> None:
    async with bench.running(), reviewer(connect) as client:
        path = str(bench.project / "a.txt")
        report = "_sould/review/report"
        place = {"line": 0, "character": 0}
        change = {"range": {"start": place, "end": place}, "text": "x"}
        answer = await client.request(report, event="change", path=path, changes=[change])
        assert answer == {"outcome": "needsText"}
        assert await client.request(report, event="change", path=path, text="whole\n") == {"outcome": "taken"}
        assert await client.request(report, event="change", path=path, changes=[change]) == {"outcome": "taken"}
        assert await client.request(report, event="change", path=path, text="x" * 8_000_001) == {"outcome": "tooLarge"}
        assert await client.request(report, event="focus", path=path) == {"outcome": "taken"}
        for wrong in ({"event": "burn", "path": path}, {"event": "open"}, {"event": "open", "path": "a.txt"}):
            with pytest.raises(AgentError) as refused:
                await client.request(report, wrong)
            assert refused.value.code == -32602


async def test_a_reject_goes_into_an_unsaved_buffer_and_leaves_it_unsaved(bench: Bench, connect: Connect) -> None:
    """review-cases.md, case 11: B holds unsaved text, A rejects."""
    await edited(bench, {"a.txt": ("a\nb\nc\n", "a\nB\nc\n")})
    path = bench.project / "a.txt"
    async with bench.running(), reviewer(connect, "A") as one, connect() as other:
        await introduced(other)
        other.hang.add("_sould/review/write")
        editor = Editor(other, path)
        await editor.open()
        await editor.type(2, 1, "!")
        await other.request("_sould/review/report", event="focus", cwd=str(bench.project))
        await one.request("_sould/review/subscribe", cwd=str(bench.project))

        rejecting = one.start("_sould/review/reject", cwd=str(bench.project), all=True)
        await editor.take_one()
        outcome = await rejecting

        assert [done["verdict"] for done in outcome["done"]] == ["reject"]
        assert (editor.text, editor.saved) == ("a\nb\nc!\n", False)
        assert path.read_text() == "a\nB\nc\n"
        [file] = (await told_of_decision(one))["files"]
        assert (file["hunks"], file["unsaved"], file["unsavedIn"]) == ([], True, ["B"])
        path.write_text(editor.text)
        assert await editor.report("save") == "taken"
        assert await listed(one, bench) == []
        assert judge(other.log) >= {
            "review/write.params",
            "review/write.result",
            "review/report.params",
            "review/report.result",
        }


async def test_what_is_unsaved_in_a_client_that_takes_no_edits_is_not_written_over(
    bench: Bench, connect: Connect
) -> None:
    await edited(bench, {"a.txt": ("a\nb\nc\n", "a\nB\nc\n")})
    path = bench.project / "a.txt"
    async with bench.running(), reviewer(connect, "plain") as client:
        editor = Editor(client, path)
        await editor.open()
        await editor.type(2, 1, "!")
        [left] = (await client.request("_sould/review/reject", cwd=str(bench.project), all=True))["left"]
        assert left["why"] == "failed"
        assert left["message"] == f"{path} has unsaved changes in plain, which takes no edits; save it first"
        assert path.read_text() == "a\nB\nc\n"
        path.write_text(editor.text)
        await editor.report("save")
        await client.request("_sould/review/reject", cwd=str(bench.project), all=True)
        assert path.read_text() == "a\nb\nc!\n"


async def test_reports_are_taken_as_notifications_in_the_order_in_which_they_came(
    bench: Bench, connect: Connect
) -> None:
    await edited(bench, {"a.txt": ("1\n2\n3\n", "1\ntwo\n3\n")})
    async with bench.running(), reviewer(connect) as client:
        path = str(bench.project / "a.txt")
        report = "_sould/review/report"
        client.notify(report, event="open", path=path, version=1, text="1\ntwo\n3\n")
        for number in range(50):
            place = {"line": 1, "character": 3 + number}
            change = {"range": {"start": place, "end": place}, "text": str(number % 10)}
            client.notify(report, event="change", path=path, version=2 + number, changes=[change])
        client.notify(report, event="change", path=path, changes="nonsense")
        [hunk] = await listed(client, bench)
        assert [line["text"] for line in hunk["lines"]] == ["two" + "0123456789" * 5 + "\n"]


async def test_an_agent_writes_into_the_unsaved_buffer_of_a_client_without_a_session(
    bench: Bench, connect: Connect
) -> None:
    async with asked_to_edit(bench, connect) as editor:
        await editor.type(2, 1, "!")
        watcher = Watcher(await bench.new("review"))
        turn = watcher.session.turns.prompt("go", "watcher")
        await editor.take_one()
        await turn.outcome()
        assert (editor.text, editor.saved) == ("a\nB\nc!\n", False)
        assert editor.path.read_text() == "a\nb\nc\n"
        [hunk] = await listed(editor.client, bench)
        assert [line["text"] for line in hunk["lines"]] == ["B\n"]


async def test_what_is_not_in_utf_8_is_written_on_disk_and_not_by_an_editor_that_may_misread_it(
    bench: Bench, connect: Connect
) -> None:
    path = bench.project / "a.txt"
    text = "// 读取配置文件\nint b;\n// 如果文件不存在则创建\n"
    path.write_bytes(text.encode("gbk"))
    bench.script(call("StrReplaceFile", path="a.txt", edit={"old": "int b", "new": "int B"}), "text: done")
    async with bench.running(), connect() as client:
        await introduced(client)
        shown = path.read_bytes().decode(errors="replace")
        params: Json = {"event": "open", "path": str(path), "version": 1, "text": shown}
        assert await client.request("_sould/review/report", **params) == {"outcome": "taken"}
        session = Watcher(await bench.new("full")).session
        await finish(session, "go")
        assert path.read_bytes() == text.replace("int b", "int B").encode("gbk")
        assert client.asked("_sould/review/write") == []
        await finish(session, "/undo")
        assert path.read_bytes() == text.encode("gbk")


async def test_an_unsaved_text_of_a_file_that_is_not_in_utf_8_is_saved_before_it_is_edited(
    bench: Bench, connect: Connect
) -> None:
    path = bench.project / "a.txt"
    data = "// 读取配置文件\nint b;\n// 如果文件不存在则创建\n".encode("gbk")
    path.write_bytes(data)
    bench.script(call("StrReplaceFile", path="a.txt", edit={"old": "int b", "new": "int B"}), "text: done")
    async with bench.running(), connect() as client:
        await introduced(client)
        editor = Editor(client, path, "gbk")
        await editor.open()
        await editor.type(1, 0, "int c;\n")
        watcher = Watcher(await bench.new("full"))
        await finish(watcher.session, "go")
        assert "is not in UTF-8; save it first" in watcher.of(ToolResult)[-1].return_value.message
        assert client.asked("_sould/review/write") == []
        assert path.read_bytes() == data


async def test_an_unsaved_text_is_read_where_its_file_is_no_text(bench: Bench, connect: Connect) -> None:
    path = bench.project / "a.txt"
    path.write_text("a\n")
    bench.script(call("ReadFile", path="a.txt"), "text: done")
    async with bench.running(), connect() as client:
        await introduced(client)
        editor = Editor(client, path)
        await editor.open()
        await editor.type(0, 0, "typed ")
        path.write_bytes(b"a\0b")
        watcher = Watcher(await bench.new("full"))
        await finish(watcher.session, "go")
        assert "typed a" in str(watcher.of(ToolResult)[-1].return_value.output)


async def test_a_pipe_in_the_place_of_an_open_file_holds_nobody(bench: Bench, connect: Connect) -> None:
    os.mkfifo(bench.project / "pipe")
    async with bench.running(), connect() as client:
        await introduced(client)
        for text in ("", "x\n"):
            params: Json = {"event": "open", "path": str(bench.project / "pipe"), "version": 1, "text": text}
            assert await client.request("_sould/review/report", **params) == {"outcome": "taken"}


async def test_an_edit_that_is_refused_for_what_was_typed_just_then_is_made_on_the_new_text(
    bench: Bench, connect: Connect
) -> None:
    async with asked_to_edit(bench, connect) as editor:
        watcher = Watcher(await bench.new("review"))
        turn = watcher.session.turns.prompt("go", "watcher")
        asked = await editor.client.wait_request("_sould/review/write")
        await editor.type(2, 1, "!")
        editor.client.answer(asked, editor.takes(asked))
        editor.taken += 1
        await editor.take_one()
        await turn.outcome()
        assert (editor.text, editor.saved) == ("a\nB\nc!\n", False)
        [hunk] = await listed(editor.client, bench)
        assert [line["text"] for line in hunk["lines"]] == ["B\n"]


async def test_an_edit_that_an_editor_refuses_without_a_reason_is_not_tried_for_ever(
    bench: Bench, connect: Connect
) -> None:
    async with asked_to_edit(bench, connect) as editor:
        watcher = Watcher(await bench.new("review"))
        turn = watcher.session.turns.prompt("go", "watcher")
        editor.client.answer(await editor.client.wait_request("_sould/review/write"), {"outcome": "outdated"})
        await turn.outcome()
        assert editor.path.read_text() == "a\nb\nc\n"
        assert len(editor.client.asked("_sould/review/write")) == 1


async def test_a_reject_that_is_refused_for_what_was_typed_just_then_is_done_on_the_new_text(
    bench: Bench, connect: Connect
) -> None:
    await edited(bench, {"a.txt": ("a\nb\nc\n", "a\nB\nc\n")})
    async with bench.running(), connect() as client:
        await introduced(client)
        client.hang.add("_sould/review/write")
        editor = Editor(client, bench.project / "a.txt")
        await editor.open()
        rejecting = client.start("_sould/review/reject", cwd=str(bench.project), all=True)
        await client.wait_request("_sould/review/write")
        await editor.type(2, 1, "!")
        await editor.take_one()
        await editor.take_one()
        outcome = await rejecting
        assert ([done["verdict"] for done in outcome["done"]], outcome["left"]) == (["reject"], [])
        assert (editor.text, editor.saved) == ("a\nb\nc!\n", False)
        assert await listed(client, bench) == []


async def test_what_an_editor_did_not_take_is_left_with_its_number_and_the_reason(
    bench: Bench, connect: Connect
) -> None:
    await edited(bench, {"a.txt": ("a\nb\nc\n", "a\nB\nc\n")})
    cwd = str(bench.project)
    async with bench.running(), connect() as client:
        await introduced(client)
        client.hang.add("_sould/review/write")
        [hunk] = await listed(client, bench)
        await client.request("_sould/review/reject", cwd=cwd, all=True)
        editor = Editor(client, bench.project / "a.txt")
        await editor.open()
        await editor.type(2, 1, "!")
        undoing = client.start("_sould/review/undo", cwd=cwd, hunks=[{"id": hunk["id"]}])
        client.answer(await client.wait_request("_sould/review/write"), {"outcome": "outdated"})
        [left] = (await undoing)["left"]
        assert (left["id"], left["why"]) == (hunk["id"], "failed")
        assert "B, which did not take this edit" in left["message"]
        assert editor.text == "a\nb\nc!\n"


@pytest.mark.parametrize("takes_edits", [True, False])
async def test_a_rejected_new_file_that_an_editor_shows_is_back_when_the_reject_is_taken_back(
    bench: Bench, connect: Connect, *, takes_edits: bool
) -> None:
    bench.script(call("WriteFile", path="new.txt", content="x\ny\n"), "text: done")
    path, cwd = bench.project / "new.txt", str(bench.project)
    async with bench.running(), connect() as client:
        meta: Json = {"_meta": {"sould": {"buffers": True}}} if takes_edits else {}
        await client.initialize(meta, clientInfo={"name": "B", "version": "1"})
        client.hang.add("_sould/review/write")
        await finish(await bench.new("review"), "go")
        editor = Editor(client, path)
        await editor.open()
        [hunk] = await listed(client, bench)
        await client.request("_sould/review/reject", cwd=cwd, all=True)
        assert not path.exists()

        outcome = await client.request("_sould/review/undo", cwd=cwd, hunks=[{"id": hunk["id"]}])

        assert [done["id"] for done in outcome["done"]] == [hunk["id"]]
        assert (path.read_text(), editor.text) == ("x\ny\n", "x\ny\n")
        assert [each["id"] for each in await listed(client, bench)] == [hunk["id"]]


async def test_a_rejected_new_file_with_words_in_an_editor_stays_there_and_comes_back_with_them(
    bench: Bench, connect: Connect
) -> None:
    bench.script(call("WriteFile", path="new.txt", content="x\ny\n"), "text: done")
    path, cwd = bench.project / "new.txt", str(bench.project)
    async with bench.running(), connect() as client:
        await introduced(client)
        client.hang.add("_sould/review/write")
        await finish(await bench.new("review"), "go")
        editor = Editor(client, path)
        await editor.open()
        await editor.type(1, 0, "mine\n")
        [hunk] = await listed(client, bench)
        rejecting = client.start("_sould/review/reject", cwd=cwd, all=True)
        await editor.take_one()
        outcome = await rejecting
        assert [done["verdict"] for done in outcome["done"]] == ["reject"]
        assert (editor.text, editor.saved) == ("mine\n", False)

        undoing = client.start("_sould/review/undo", cwd=cwd, hunks=[{"id": hunk["id"]}])
        await editor.take_one()
        assert [done["id"] for done in (await undoing)["done"]] == [hunk["id"]]

        assert (editor.text, editor.saved) == ("x\nmine\ny\n", False)


async def test_what_an_editor_that_was_killed_held_unsaved_is_known_to_other_clients(
    bench: Bench, connect: Connect
) -> None:
    await edited(bench, {"a.txt": ("a\nb\nc\n", "a\nB\nc\n")})
    path, cwd = bench.project / "a.txt", str(bench.project)
    async with bench.running(), reviewer(connect) as other:
        async with connect() as client:
            await client.initialize({}, clientInfo={"name": "vi", "version": "1"})
            editor = Editor(client, path)
            await editor.open()
            await editor.type(2, 1, "!")
        [hunk] = await listed(other, bench)
        assert (hunk["state"], path.read_text()) == ("pending", "a\nB\nc\n")
        [left] = (await other.request("_sould/review/rejected", cwd=cwd))["unsaved"]
        assert (left["path"], left["text"], left["by"]) == (str(path), "a\nB\nc!\n", "vi")
        judge(other.log)
        watcher = Watcher(await bench.new("review"))
        await finish(watcher.session, "/review")
        said = watcher.of(Notification)[-1].body
        assert "What vi held unsaved of `a.txt` when it ended is kept: `sould review unsaved a.txt` prints it." in said
    async with bench.running(), reviewer(connect) as other:
        [left] = (await other.request("_sould/review/rejected", cwd=cwd))["unsaved"]
        assert left["text"] == "a\nB\nc!\n"
        path.write_text(left["text"])
        assert "unsaved" not in await other.request("_sould/review/rejected", cwd=cwd)


async def test_what_a_user_closes_without_saving_is_not_kept_for_others(bench: Bench, connect: Connect) -> None:
    await edited(bench, {"a.txt": ("a\nb\nc\n", "a\nB\nc\n")})
    async with bench.running(), reviewer(connect) as client:
        editor = Editor(client, bench.project / "a.txt")
        await editor.open()
        await editor.type(2, 1, "!")
        assert await editor.report("close") == "taken"
        assert "unsaved" not in await client.request("_sould/review/rejected", cwd=str(bench.project))
