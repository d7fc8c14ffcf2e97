"""An editor goes on with the next daemon: what it has open is known there, saved or not (D11)."""

from typing import Any

from msgspec.structs import replace
from tests.acp.server.test_review import edited

from sould.agents.clients.connections import ConnectionRecord, Unanswered
from soultest.bench import Bench, call
from soultest.bench.acp import Notes
from soultest.bench.lsp import ConnectEditor
from soultest.lspclient import FULL, Buffer, LspClient

Json = dict[str, Any]


class Killed:
    """What a daemon leaves that was killed: what it had written down by then."""

    def __init__(self) -> None:
        self.records: list[ConnectionRecord] = []
        self.notes = Notes()

    @property
    def record(self) -> ConnectionRecord:
        """The last one."""
        return self.records[-1]


def carried_over(editor: LspClient, earlier: LspClient) -> None:
    """The editor is the same: it has the buffers that it had."""
    for uri, buffer in earlier.buffers.items():
        editor.buffers[uri] = Buffer(buffer.text)
        editor.buffers[uri].version = buffer.version
    editor.encoding = earlier.encoding


async def test_unsaved_text_is_known_to_the_next_daemon_after_a_kill(
    bench: Bench, connect_editor: ConnectEditor
) -> None:
    await edited(bench, {"a.txt": ("1\n2\n3\n4\n", "one\n2\n3\n4\n"), "b.txt": ("1\n2\n", "1\ntwo\n")})
    left = Killed()
    async with bench.running():
        async with connect_editor(remember=left.records.append, notes=left.notes) as earlier:
            await earlier.initialize(FULL, bench.project)
            one, two = earlier.open(bench.project / "a.txt"), earlier.open(bench.project / "b.txt")
            earlier.type(one, "4\n", "vier 😀\n")
            earlier.type(one, "vier", "VIER")
            await earlier.lenses(one)
            noted, record = left.notes.read(), left.record  # nothing that follows is what a killed daemon does
        later = Notes()
        later.replace(noted)
        async with connect_editor(resume=record, notes=later) as editor:
            carried_over(editor, earlier)
            editor.type(one, "😀", "!")
            await editor.press((await editor.lenses(one))[1])
            assert editor.buffers[one].text == "1\n2\n3\nVIER !\n"
            await editor.press((await editor.lenses(two))[1])
            assert (bench.project / "b.txt").read_text() == "1\n2\n"
    assert (bench.project / "a.txt").read_text() == "one\n2\n3\n4\n"


async def test_where_the_editor_may_have_said_more_than_the_killed_daemon_noted_nothing_is_written_until_it_saves(
    bench: Bench, connect_editor: ConnectEditor
) -> None:
    await edited(bench, {"a.txt": ("1\n2\n3\n", "one\n2\n3\n")})
    left = Killed()
    path = bench.project / "a.txt"
    async with bench.running():
        async with connect_editor(remember=left.records.append, notes=left.notes) as earlier:
            await earlier.initialize(FULL, bench.project)
            uri = earlier.open(path)
            earlier.type(uri, "3\n", "drei\n")
            await earlier.lenses(uri)
            noted, record = left.notes.read(), replace(left.record, unsure=True)
        later = Notes()
        later.replace(noted)
        earlier.buffers[uri].text += "read and never noted\n"
        async with connect_editor(resume=record, notes=later) as editor:
            carried_over(editor, earlier)
            editor.type(uri, "drei", "DREI")
            assert "does not know what is unsaved" in (await editor.wait_told("window/showMessage"))["message"]
            await editor.request("_sould/review/reject", cwd=str(bench.project), all=True)
            assert editor.buffers[uri].text == "one\n2\nDREI\nread and never noted\n"

            editor.save(uri, path)
            await editor.request("_sould/review/reject", cwd=str(bench.project), all=True)
            assert path.read_text() == "1\n2\nDREI\nread and never noted\n"


async def test_what_died_with_the_daemon_is_answered_and_a_cut_message_is_completed(
    bench: Bench, connect_editor: ConnectEditor
) -> None:
    await edited(bench, {"a.txt": ("1\n", "one\n")})
    left = Killed()
    async with bench.running():
        async with connect_editor(remember=left.records.append) as earlier:
            await earlier.initialize(FULL, bench.project)
        owed = 7
        record = ConnectionRecord.load(left.record.dump())
        record = replace(
            record,
            owed=owed,
            cut=True,
            unanswered=(Unanswered(41, "textDocument/codeLens"), Unanswered(42, "workspace/executeCommand")),
        )
        async with connect_editor(resume=record) as editor:
            editor.expect_rest(owed)
            first = await editor.wait_for(lambda message: message.get("id") == 41)
            second = await editor.wait_for(lambda message: message.get("id") == 42)
            assert (first["error"]["code"], second["error"]["code"]) == (-32801, -32803)


async def test_the_text_of_a_secret_is_noted_nowhere(bench: Bench, connect_editor: ConnectEditor) -> None:
    left = Killed()
    (bench.project / ".env").write_text("KEY=1\n")
    async with bench.running(), connect_editor(notes=left.notes) as editor:
        await editor.initialize(FULL, bench.project)
        uri = editor.open(bench.project / ".env")
        editor.type(uri, "KEY=1", "KEY=hunter2")
        editor.type(uri, "hunter2", "hunter22")
        await editor.lenses(uri)
        assert b".env" in left.notes.read()
        assert b"hunter" not in left.notes.read()


async def test_a_turn_that_waits_for_an_answer_goes_on_with_its_progress_and_its_question(
    bench: Bench, connect_editor: ConnectEditor
) -> None:
    bench.script(call("WriteFile", path="b.txt", content="new\n"), "text: done")
    left = Killed()
    async with bench.running():
        async with connect_editor(remember=left.records.append) as earlier:
            earlier.hang.add("window/showMessageRequest")
            await earlier.initialize(FULL, bench.project)
            begun = await earlier.execute("sould.prompt", {"text": "write"})
            await earlier.wait_told("window/showMessageRequest")
            await earlier.lenses((bench.project / "a.txt").as_uri())
            record = left.record
        async with connect_editor(resume=record, choose=lambda params: "Allow once") as editor:
            ended = await editor.wait_told("$/progress", lambda params: params["value"]["kind"] == "end")
            assert ended["token"] == f"sould-{begun['turnId']}"
            assert not editor.told("window/workDoneProgress/create")
            assert (await editor.wait_told("window/showMessage"))["message"] == "done"
    assert (bench.project / "b.txt").read_text() == "new\n"
