"""The client's buffers as a workspace: what is read, what is written where, and what happens when the editor dies."""

import asyncio
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sould.acp.connection.workspace import GONE, ClientTexts
from sould.agents.base.localworkspace import LocalWorkspace
from sould.agents.base.rpc.errors import ConnectionGoneError, RpcError
from sould.agents.base.workspace import Command, FileChangedError, JustRead, NotAFileError, RunningCommand
from soultest.acpclient import ALLOW_ONCE, FULL, ignore
from soultest.bench import Bench, call
from soultest.bench.acp import Connect
from soultest.bench.looks import messages_of

Json = dict[str, Any]


class Editor:
    """The other end: buffers by path, which follow the disk unless the test types into them."""

    def __init__(self) -> None:
        self.buffers: dict[str, str] = {}
        self.saves = True
        self.failure: Exception | None = None
        self.on_write: Callable[[str], str | None] = lambda text: text
        """What the editor makes of a write; None: it says yes and does nothing."""
        self.asked: list[str] = []

    async def request(self, method: str, params: Json) -> Any:
        self.asked.append(method)
        if self.failure is not None:
            raise self.failure
        path = Path(params["path"])
        if method == "fs/read_text_file":
            text = self.buffers.get(str(path))
            if text is None and not path.exists():
                raise RpcError(-32002, "no such file")
            return {"content": path.read_text() if text is None else text}
        text = self.on_write(params["content"])
        if text is not None and self.saves:
            path.write_text(text)
            self.buffers.pop(str(path), None)
        elif text is not None:
            self.buffers[str(path)] = text
        return None


async def no_commands(command: Command) -> RunningCommand:
    raise AssertionError(command)


class Desk:
    """An editor, a workspace over it, and a file."""

    def __init__(self, root: Path, *, reads: bool = True, writes: bool = True) -> None:
        self.editor = Editor()
        self.told: list[str] = []
        self.file = root / "a.txt"
        self.file.write_text("on disk\n")
        disk = LocalWorkspace(root, (), no_commands)
        self.workspace = ClientTexts(
            disk, self.editor.request, "s", reads=reads, writes=writes, tell=self.told.append, patience=0.05
        )

    def type(self, text: str) -> None:
        self.editor.buffers[str(self.file)] = text

    def change(self, text: str) -> None:
        """Another program writes the file, later."""
        self.file.write_text(text)
        later = self.file.stat().st_mtime_ns + 1_000_000_000
        os.utime(self.file, ns=(later, later))


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path.resolve())


async def test_an_unsaved_buffer_is_what_is_read(desk: Desk) -> None:
    desk.type("typed\n")
    file = await desk.workspace.read_text(desk.file)
    assert (file.text, file.unsaved) == ("typed\n", True)
    assert set(await desk.workspace.unsaved()) == {desk.file}


async def test_a_saved_file_is_not_unsaved_also_when_the_editor_changes_line_ends(desk: Desk) -> None:
    desk.file.write_bytes(b"\xef\xbb\xbfa\r\nb\r\n")
    desk.type("a\nb\n")
    file = await desk.workspace.read_text(desk.file)
    assert (file.text, file.unsaved) == ("\ufeffa\r\nb\r\n", False)
    assert not await desk.workspace.unsaved()


async def test_the_disk_is_read_when_it_is_newer_and_nothing_was_typed(desk: Desk) -> None:
    """zed#49162: the buffer is what the file used to be."""
    desk.type("on disk\n")
    await desk.workspace.read_text(desk.file)
    desk.change("by a command\n")
    file = await desk.workspace.read_text(desk.file)
    assert (file.text, file.unsaved) == ("by a command\n", False)
    desk.type("by a command, and typed\n")
    assert (await desk.workspace.read_text(desk.file)).text == "by a command, and typed\n"


async def test_a_file_only_in_the_editor_is_read_and_a_missing_one_is_missing(desk: Desk) -> None:
    new = desk.file.with_name("new.txt")
    with pytest.raises(NotAFileError):
        await desk.workspace.read_text(new)
    desk.editor.buffers[str(new)] = "not saved yet\n"
    assert (await desk.workspace.read_text(new)).unsaved


async def test_a_deleted_file_is_gone_although_the_editor_still_shows_it(desk: Desk) -> None:
    desk.type("on disk\n")
    await desk.workspace.read_text(desk.file)
    desk.file.unlink()
    with pytest.raises(NotAFileError):
        await desk.workspace.read_text(desk.file)
    await desk.workspace.write_text(desk.file, "on disk\n", expected=None)
    assert desk.file.read_text() == "on disk\n"
    desk.file.unlink()
    desk.type("on disk, and typed\n")
    assert (await desk.workspace.read_text(desk.file)).unsaved


async def test_writes_go_through_the_editor(desk: Desk) -> None:
    before = await desk.workspace.read_text(desk.file)
    await desk.workspace.write_text(desk.file, "new\n", expected=before.digest)
    assert desk.file.read_text() == "new\n"
    assert "fs/write_text_file" in desk.editor.asked


async def test_a_new_file_is_made_by_the_editor(desk: Desk) -> None:
    new = desk.file.with_name("new.txt")
    await desk.workspace.write_text(new, "x\n", expected=None)
    assert new.read_text() == "x\n"
    with pytest.raises(FileChangedError):
        await desk.workspace.write_text(new, "y\n", expected=None)


async def test_an_editor_that_takes_other_bytes_for_utf_8_does_not_write_them(desk: Desk) -> None:
    text = "// 读取配置文件\nint a = 1;\n// 如果文件不存在则创建\n"
    desk.file.write_bytes(text.encode("gbk"))
    for shown in (text, text.encode("gbk").decode(errors="replace")):
        desk.type(shown)
        read = await desk.workspace.read_text(desk.file)
        assert (read.text, read.unsaved) == (text, False)
        written = await desk.workspace.write_text(desk.file, text := text.replace("int", "long"), expected=read.digest)
        assert (written.text, written.by_editor) == (text, False)
        assert desk.file.read_bytes() == text.encode("gbk")
        os.utime(desk.file, ns=(0, desk.file.stat().st_mtime_ns + 1_000_000_000))
        assert (await desk.workspace.read_text(desk.file)).text == text  # not the buffer, which is still as it was
        text = text.replace("long", "int")
        desk.file.write_bytes(text.encode("gbk"))
    desk.type("typed 中\n")
    typed = await desk.workspace.read_text(desk.file)
    assert (typed.text, typed.unsaved, typed.encoding.name) == ("typed 中\n", True, "GBK")
    with pytest.raises(FileChangedError, match="unsaved changes in the editor"):
        await desk.workspace.write_text(desk.file, "written\n", expected=JustRead(typed))
    assert "fs/write_text_file" not in desk.editor.asked
    assert desk.file.read_bytes() == text.encode("gbk")


async def test_a_write_that_stays_in_the_buffer_is_a_write(desk: Desk) -> None:
    desk.editor.saves = False
    before = await desk.workspace.read_text(desk.file)
    await desk.workspace.write_text(desk.file, "new\n", expected=before.digest)
    assert desk.file.read_text() == "on disk\n"
    assert (await desk.workspace.read_text(desk.file)).text == "new\n"


async def test_a_write_the_editor_formats_is_left_as_the_editor_made_it(desk: Desk) -> None:
    desk.editor.on_write = lambda text: text.upper()
    before = await desk.workspace.read_text(desk.file)
    await desk.workspace.write_text(desk.file, "new\n", expected=before.digest)
    assert desk.file.read_text() == "NEW\n"


async def test_an_editor_that_leaves_out_the_last_lines_end_costs_no_file_its_own(desk: Desk) -> None:
    """avante and the first agentic give the lines of a file without the end of the last one."""
    desk.type("on disk")
    before = await desk.workspace.read_text(desk.file)
    assert (before.text, before.unsaved) == ("on disk\n", False)
    desk.type("on screen")
    before = await desk.workspace.read_text(desk.file)
    assert (before.text, before.unsaved) == ("on screen\n", True)
    await desk.workspace.write_text(desk.file, "new\n", expected=before.digest)
    assert desk.file.read_text() == "new\n"
    desk.type("new")
    desk.editor.on_write = lambda text: None
    before = await desk.workspace.read_text(desk.file)
    await desk.workspace.write_text(desk.file, "newer\n", expected=before.digest)
    assert desk.file.read_text() == "newer\n", "that it took the edit was not true"


async def test_an_editor_that_ends_every_line_itself_adds_no_empty_one(desk: Desk) -> None:
    """CodeCompanion, when the file is open in a window."""
    desk.editor.on_write = lambda text: text + "\n"
    for text in ("new\n", "new\n\n", "no end", "\n"):
        before = await desk.workspace.read_text(desk.file)
        await desk.workspace.write_text(desk.file, text, expected=before.digest)
        assert desk.file.read_text() == (text if text.endswith("\n") else text + "\n")


async def test_a_write_the_editor_only_says_it_made_is_made_on_disk(desk: Desk) -> None:
    desk.editor.on_write = lambda text: None
    before = await desk.workspace.read_text(desk.file)
    await desk.workspace.write_text(desk.file, "new\n", expected=before.digest)
    assert desk.file.read_text() == "new\n"


async def test_what_was_typed_since_the_read_is_never_overwritten(desk: Desk) -> None:
    before = await desk.workspace.read_text(desk.file)
    desk.type("typed meanwhile\n")
    with pytest.raises(FileChangedError):
        await desk.workspace.write_text(desk.file, "new\n", expected=before.digest)
    assert desk.editor.buffers[str(desk.file)] == "typed meanwhile\n"


async def test_what_another_program_wrote_since_the_read_is_never_overwritten(desk: Desk) -> None:
    before = await desk.workspace.read_text(desk.file)
    desk.change("by a command\n")
    with pytest.raises(FileChangedError):
        await desk.workspace.write_text(desk.file, "new\n", expected=before.digest)
    assert desk.file.read_text() == "by a command\n"


async def test_an_unsaved_file_is_not_written_behind_an_editor_that_cannot_write(tmp_path: Path) -> None:
    desk = Desk(tmp_path.resolve(), writes=False)
    desk.type("typed\n")
    before = await desk.workspace.read_text(desk.file)
    with pytest.raises(FileChangedError, match="unsaved changes"):
        await desk.workspace.write_text(desk.file, "new\n", expected=before.digest)
    assert desk.file.read_text() == "on disk\n"


@pytest.mark.parametrize("failure", [RpcError(-32603, "no"), TimeoutError()])
async def test_an_editor_that_fails_leaves_the_disk_and_is_asked_again(desk: Desk, failure: Exception) -> None:
    desk.editor.failure = failure
    before = await desk.workspace.read_text(desk.file)
    assert before.text == "on disk\n"
    await desk.workspace.write_text(desk.file, "new\n", expected=before.digest)
    assert desk.file.read_text() == "new\n"
    assert desk.told == []


async def test_an_editor_that_is_gone_is_not_asked_again_and_the_model_is_told_once(desk: Desk) -> None:
    """D13."""
    desk.editor.failure = ConnectionGoneError("gone")
    for _ in range(3):
        assert (await desk.workspace.read_text(desk.file)).text == "on disk\n"
    assert desk.told == [GONE]
    assert len(desk.editor.asked) == 1


async def test_an_editor_that_never_answers_does_not_hold_the_turn(desk: Desk) -> None:
    hanging = asyncio.Event()

    async def hang(method: str, params: Json) -> Any:
        await hanging.wait()

    desk.editor.request = hang
    assert (await desk.workspace.read_text(desk.file)).text == "on disk\n"


# --- through a whole connection ---------------------------------------------------------------------------------------


async def test_a_tool_reads_and_writes_the_client_s_buffer(bench: Bench, connect: Connect) -> None:
    path = bench.project / "a.txt"
    bench.script(
        call("ReadFile", path=str(path)),
        call("StrReplaceFile", path=str(path), edit={"old": "typed", "new": "edited"}),
        "text: done",
    )
    buffers = {str(path): "typed by hand\n"}
    async with bench.running(), connect(buffers=buffers) as client:
        await client.initialize(FULL)
        session = await client.new_session(bench.project)
        await client.prompt(session, "edit")
        shown = client.asked("session/request_permission")[0]["params"]["toolCall"]
        diff = next(item for item in shown["content"] if item["type"] == "diff")
        assert (diff["oldText"], diff["newText"]) == ("typed by hand\n", "edited by hand\n")
        assert buffers[str(path)] == path.read_text() == "edited by hand\n"


async def test_an_editor_that_dies_during_a_read_leaves_the_turn_to_the_disk(bench: Bench, connect: Connect) -> None:
    """D13."""
    bench.script(call("ReadFile", path=str(bench.project / "a.txt")), "text: done")
    async with bench.running() as host:
        async with connect(permissions=ignore) as client:
            client.hang.add("fs/read_text_file")
            await client.initialize(FULL)
            session = await client.new_session(bench.project)
            client.prompt(session, "read")
            await client.wait_request("fs/read_text_file")
        async with connect() as other:
            await other.initialize()
            await other.request("session/load", sessionId=session, cwd=str(bench.project), mcpServers=[])
            await other.wait_update("agent_message_chunk", lambda update: update["content"]["text"] == "done")
        live = host.sessions.get(session)
        assert live is not None
        notes = [part for message in messages_of(live) for part in message.content if part.type == "text"]
        assert sum(GONE in part.text for part in notes) == 1


async def test_a_delete_goes_to_the_disk_and_never_past_unsaved_changes(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    digest = (await desk.workspace.read_text(desk.file)).digest
    desk.type("typed\n")
    for expected in (digest, (await desk.workspace.read_text(desk.file)).digest):
        with pytest.raises(FileChangedError):
            await desk.workspace.delete(desk.file, expected=expected)
    assert desk.file.read_text() == "on disk\n"
    desk.editor.buffers.clear()
    await desk.workspace.delete(desk.file, expected=digest)
    assert not desk.file.exists()


EDITS: dict[str, tuple[str, Json, str]] = {
    "a replacement": ("StrReplaceFile", {"path": "a.txt", "edit": {"old": "one", "new": "two"}}, "two\n"),
    "a file written over": ("WriteFile", {"path": "a.txt", "content": "two\n"}, "two\n"),
    "a new file": ("WriteFile", {"path": "new.txt", "content": "two\n"}, "two\n"),
}


@pytest.mark.parametrize("mode", ["ask", "review"])
@pytest.mark.parametrize("read_first", [True, False])
@pytest.mark.parametrize("edit", EDITS)
async def test_an_edit_asks_the_editor_for_the_text_once_and_writes_it_once(
    bench: Bench, connect: Connect, edit: str, mode: str, *, read_first: bool
) -> None:
    tool, arguments, wanted = EDITS[edit]
    (bench.project / "a.txt").write_text("one\n")
    before = [call("ReadFile", path="a.txt")] if read_first else []
    bench.script(*before, call(tool, **arguments), "text: done")
    async with bench.running(), connect() as client:
        await client.initialize(FULL)
        session = await client.new_session(bench.project)
        await client.request("session/set_config_option", sessionId=session, configId="mode", value=mode)
        await client.prompt(session, "edit")
        assert (bench.project / arguments["path"]).read_text() == wanted
        assert len(client.asked("session/request_permission")) == (mode == "ask")
        assert len(client.asked("fs/read_text_file")) <= 1 + len(before)
        assert len(client.asked("fs/write_text_file")) == 1


async def test_what_is_typed_while_the_question_stands_is_not_written_over(bench: Bench, connect: Connect) -> None:
    path = bench.project / "a.txt"
    path.write_text("one\n")
    buffers: dict[str, str] = {}

    def typing(params: Json) -> Json | None:
        buffers[str(path)] = "one\ntyped\n"
        return ALLOW_ONCE(params)

    bench.script(call("StrReplaceFile", path="a.txt", edit={"old": "one", "new": "two"}), "text: done")
    async with bench.running(), connect(buffers=buffers, permissions=typing) as client:
        await client.initialize(FULL)
        session = await client.new_session(bench.project)
        await client.prompt(session, "edit")
        assert (buffers[str(path)], path.read_text()) == ("one\ntyped\n", "one\n")
        assert client.asked("fs/write_text_file") == []


async def test_an_editor_that_leaves_edits_unsaved_is_asked_once_whether_it_took_them(
    bench: Bench, connect: Connect
) -> None:
    (bench.project / "a.txt").write_text("1\n")
    edits = [call("StrReplaceFile", path="a.txt", edit={"old": f"{n}", "new": f"{n + 1}"}) for n in range(1, 4)]
    bench.script(*edits, "text: done")
    buffers: dict[str, str] = {}
    async with bench.running(), connect(buffers=buffers, save=False) as client:
        await client.initialize(FULL)
        session = await client.new_session(bench.project)
        await client.request("session/set_config_option", sessionId=session, configId="mode", value="review")
        await client.prompt(session, "edit")
        assert buffers[str(bench.project / "a.txt")] == "4\n"
        assert (bench.project / "a.txt").read_text() == "1\n"
        assert len(client.asked("fs/read_text_file")) == len(edits) + 1
