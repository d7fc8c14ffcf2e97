"""A file with CR LF in an editor that has LF in its buffers and writes CR LF, as Emacs with eglot does."""

from typing import Any

from tests.acp.server.test_review import edited
from tests.editors.lsp.test_restarts import Killed, carried_over

from soultest.bench import Bench
from soultest.bench.acp import Notes
from soultest.bench.lsp import ConnectEditor
from soultest.lspclient import FULL

Json = dict[str, Any]
BEFORE, AFTER = "1\r\n2\r\n3\r\n4\r\n", "one\r\n2\r\n3\r\nfour\r\n"


async def test_a_buffer_with_line_feeds_is_not_unsaved_and_gets_no_carriage_returns(
    bench: Bench, connect_editor: ConnectEditor
) -> None:
    await edited(bench, {"a.txt": (BEFORE, AFTER)})
    path = bench.project / "a.txt"
    async with bench.running(), connect_editor() as editor:
        await editor.initialize(FULL, bench.project)
        uri = editor.open(path, "one\n2\n3\nfour\n")
        await editor.press((await editor.lenses(uri))[1])
        assert path.read_bytes() == b"1\r\n2\r\n3\r\nfour\r\n"
        editor.close(uri)
        editor.open(path, "1\n2\n3\nfour\n")
        editor.type(uri, "2\n", "two\nand a half\n")
        lenses = await editor.lenses(uri)
        assert [each["range"]["start"]["line"] for each in lenses] == [4, 4, 4]
        await editor.press(lenses[1])
        assert editor.buffers[uri].text == "1\ntwo\nand a half\n3\n4\n"
        path.write_bytes(b"1\r\ntwo\r\nand a half\r\n3\r\n4\r\n")
        part = "two\n"  # its user sees only a part of the buffer
        editor.notify("textDocument/didSave", textDocument={"uri": uri}, text=part)
        editor.type(uri, "3\n", "three\n")
        assert await editor.lenses(uri) == []
        listed = await editor.request("_sould/review/base", cwd=str(bench.project), path=str(path))
        assert listed["text"] == "1\r\ntwo\r\nand a half\r\nthree\r\n4\r\n"


async def test_line_ends_that_the_user_changes_are_followed(bench: Bench, connect_editor: ConnectEditor) -> None:
    await edited(bench, {"a.txt": (BEFORE, AFTER)})
    path = bench.project / "a.txt"
    async with bench.running(), connect_editor() as editor:
        await editor.initialize(FULL, bench.project)
        uri = editor.open(path, "one\n2\n3\nfour\n")
        await editor.lenses(uri)
        editor.save(uri, path)
        editor.type(uri, "2\n", "two\n")
        await editor.execute("sould.keepFile", {"uri": uri})
        base = await editor.request("_sould/review/base", cwd=str(bench.project), path=str(path))
        assert base["text"] == editor.buffers[uri].text == "one\ntwo\n3\nfour\n"


async def test_the_next_daemon_knows_it(bench: Bench, connect_editor: ConnectEditor) -> None:
    await edited(bench, {"a.txt": (BEFORE, AFTER)})
    left = Killed()
    async with bench.running():
        async with connect_editor(remember=left.records.append, notes=left.notes) as earlier:
            await earlier.initialize(FULL, bench.project)
            uri = earlier.open(bench.project / "a.txt", "one\n2\n3\nfour\n")
            earlier.type(uri, "2\n", "two\n")
            await earlier.lenses(uri)
            noted, record = left.notes.read(), left.record
        later = Notes()
        later.replace(noted)
        async with connect_editor(resume=record, notes=later) as editor:
            carried_over(editor, earlier)
            editor.type(uri, "3\n", "three\n")
            await editor.press((await editor.lenses(uri))[1])
            assert editor.buffers[uri].text == "1\ntwo\nthree\nfour\n"
