"""Whatever an editor sends: one answer where there is one to give, and a connection that goes on (F15-F18, D17)."""

from typing import Any

import pytest
from tests.acp.handlers.test_review import edited

from soultest.acpclient import AgentError
from soultest.bench import Bench
from soultest.bench.lsp import ConnectEditor
from soultest.lspclient import FULL, LspClient

Json = dict[str, Any]
ANSWERED: Json = {"jsonrpc": "2.0", "id": "still", "method": "sould/nothing", "params": {}}


async def goes_on(editor: LspClient) -> None:
    """The connection answers."""
    editor.send(ANSWERED)
    answer = await editor.wait_for(lambda message: message.get("id") == "still")
    assert answer["error"]["code"] in (-32601, -32002)


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", id="no length"),
        pytest.param(b"Content-Length: many\r\n\r\n", id="no number"),
        pytest.param(b"Content-Length: -5\r\n\r\n", id="less than nothing"),
        pytest.param(b"Content-Length: 0\r\n\r\n", id="nothing"),
        pytest.param(b'{"jsonrpc": "2.0", "id": 1, "method": "initialize"}\n', id="a line, as in ACP"),
        pytest.param(b"X: " + b"y" * 100_000, id="a header without an end"),
        pytest.param(b"Content-Length: 4\r\n\r\n{bad", id="no JSON"),
        pytest.param(b"Content-Length: 2\r\n\r\n[]", id="a batch"),
        pytest.param(b"Content-Length: 2\r\n\r\n\xff\xfe", id="no text"),
    ],
)
async def test_what_is_no_message_costs_one_error_and_nothing_else(
    bench: Bench, connect_editor: ConnectEditor, data: bytes
) -> None:
    async with bench.running(), connect_editor() as editor:
        editor.send_raw(data)
        refused = await editor.wait_for(lambda message: "error" in message)
        assert refused["error"]["code"] in (-32700, -32600)
        assert refused["id"] is None
        await goes_on(editor)


async def test_a_message_that_is_too_long_is_refused_by_its_id(bench: Bench, connect_editor: ConnectEditor) -> None:
    async with bench.running(), connect_editor() as editor:
        begin = b'{"jsonrpc": "2.0", "id": 7, "method": "x", "params": {"text": "'
        editor.send_raw(b"Content-Length: %d\r\n\r\n" % (50_000_001 + len(begin)) + begin)
        for _ in range(50):
            editor.send_raw(b"x" * 1_000_000)
        editor.send_raw(b"x")
        refused = await editor.wait_for(lambda message: message.get("id") == 7)
        assert refused["error"]["code"] == -32600
        await goes_on(editor)


async def test_work_before_and_after_the_connection_is_refused_and_unknown_methods_are_named(
    bench: Bench, connect_editor: ConnectEditor
) -> None:
    async with bench.running(), connect_editor() as editor:
        with pytest.raises(AgentError) as early:
            await editor.lenses("file:///a")
        assert early.value.code == -32002
        await editor.initialize(FULL, bench.project)
        with pytest.raises(AgentError) as unknown:
            await editor.request("textDocument/hover")
        assert unknown.value.code == -32601
        with pytest.raises(AgentError) as wrong:
            await editor.request("textDocument/codeLens", textDocument=7)
        assert wrong.value.code == -32602
        with pytest.raises(AgentError) as command:
            await editor.execute("sould.nothing")
        assert command.value.code == -32602
        assert await editor.request("shutdown") is None
        with pytest.raises(AgentError) as late:
            await editor.lenses("file:///a")
        assert late.value.code == -32600
        editor.notify("exit")
        await editor.ended.wait()


FAR: Json = {"line": 2**31 - 1, "character": 2**31 - 1}


async def test_an_end_behind_the_end_is_the_end(bench: Bench, connect_editor: ConnectEditor) -> None:
    await edited(bench, {"a.txt": ("1\n2\n", "one\n2\n")})
    async with bench.running(), connect_editor() as editor:
        await editor.initialize(FULL, bench.project)
        uri = editor.open(bench.project / "a.txt")
        start = {"line": 1, "character": 5}
        change = {"range": {"start": start, "end": FAR}, "text": "!\n3\n"}
        editor.notify("textDocument/didChange", textDocument={"uri": uri, "version": 2}, contentChanges=[change])
        editor.buffers[uri].text = "one\n2!\n3\n"
        editor.buffers[uri].version = 2
        await editor.press((await editor.lenses(uri))[1])
        assert editor.buffers[uri].text == "1\n2!\n3\n"
        at: Json = {"textDocument": {"uri": uri}, "range": {"start": FAR, "end": FAR}, "context": {"diagnostics": []}}
        assert await editor.request("textDocument/codeAction", at) == []


ONCE_MORE: Json = {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 1}}


@pytest.mark.parametrize(
    ("version", "change"),
    [
        pytest.param(2, {"range": {"start": FAR, "end": FAR}, "text": "x"}, id="behind the end"),
        pytest.param(2, {"range": {"start": {"line": -1, "character": 0}, "end": FAR}, "text": "x"}, id="before it"),
        pytest.param(2, {"range": ONCE_MORE}, id="no text"),
        pytest.param(2, 7, id="no change"),
        pytest.param(-3, {"range": ONCE_MORE, "text": "x"}, id="an older version"),
        pytest.param(None, {"range": ONCE_MORE, "text": "x"}, id="no version"),
    ],
)
async def test_a_change_that_is_not_understood_is_told_and_the_file_left_alone_until_its_text_is_known_again(
    bench: Bench, connect_editor: ConnectEditor, version: int | None, change: Json
) -> None:
    await edited(bench, {"a.txt": ("1\n2\n3\n4\n", "one\n2\n3\nfour\n")})
    path = bench.project / "a.txt"
    async with bench.running(), connect_editor() as editor:
        await editor.initialize(FULL, bench.project)
        uri = editor.open(path)
        editor.type(uri, "2\n", "two\n")
        for _ in range(2):
            document = {"uri": uri, "version": version}
            editor.notify("textDocument/didChange", textDocument=document, contentChanges=[change])
        told = await editor.wait_told("window/showMessage")
        assert told["message"].startswith("a.txt: what this editor said of it last does not fit")
        [left] = (await editor.execute("sould.rejectFile", {"uri": uri}))["left"][:1]
        assert left["why"] == "failed"
        assert editor.told("workspace/applyEdit") == []
        assert path.read_text() == "one\n2\n3\nfour\n"
        editor.save(uri, path)
        editor.buffers[uri].version = 5
        editor.type(uri, "3\n", "three\n")
        await editor.press((await editor.lenses(uri))[1])
        assert editor.buffers[uri].text == "1\ntwo\nthree\nfour\n"
        assert len([each for each in editor.told("window/showMessage") if "does not fit" in each["message"]]) == 1


async def test_documents_that_are_not_open_or_no_files_are_passed_over(
    bench: Bench, connect_editor: ConnectEditor
) -> None:
    async with bench.running(), connect_editor() as editor:
        await editor.initialize(FULL, bench.project)
        for uri in ("untitled:1", "file://elsewhere/a", "file:///no/such/file", "file:///\0", "http://[", ""):
            editor.notify("textDocument/didClose", textDocument={"uri": uri})
            editor.notify("textDocument/didSave", textDocument={"uri": uri})
            text = [{"text": "whole"}]
            editor.notify("textDocument/didChange", textDocument={"uri": uri, "version": 3}, contentChanges=text)
            assert await editor.lenses(uri) == []
        await goes_on(editor)


async def test_an_older_version_changes_nothing(bench: Bench, connect_editor: ConnectEditor) -> None:
    await edited(bench, {"a.txt": ("1\n2\n", "one\n2\n")})
    async with bench.running(), connect_editor() as editor:
        await editor.initialize(FULL, bench.project)
        uri = editor.open(bench.project / "a.txt")
        editor.type(uri, "2\n", "two\n")
        editor.notify(
            "textDocument/didChange", textDocument={"uri": uri, "version": -3}, contentChanges=[{"text": "lost"}]
        )
        await editor.press((await editor.lenses(uri))[1])
        assert editor.buffers[uri].text == "1\ntwo\n"
