"""Whatever an editor sends: one answer where there is one to give, and a connection that goes on (D17)."""

from typing import Any

import pytest
from tests.acp.server.test_review import edited

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
    ],
)
async def test_what_is_no_header_is_answered_and_ends_the_connection(
    bench: Bench, connect_editor: ConnectEditor, data: bytes
) -> None:
    async with bench.running():
        async with connect_editor() as editor:
            editor.send_raw(data)
            await editor.ended.wait()
            assert [(message["id"], message["error"]["code"]) for message in editor.messages] == [(None, -32700)]
        async with connect_editor() as other:
            await goes_on(other)


@pytest.mark.parametrize(
    "data",
    [
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
        pytest.param(2, {"text": None}, id="a text that is null"),
        pytest.param(2, {"range": ONCE_MORE, "text": 7}, id="a text that is a number"),
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


async def test_ids_of_any_size_are_answered_as_they_were_and_nested_json_is_refused(
    bench: Bench, connect_editor: ConnectEditor
) -> None:
    async with bench.running(), connect_editor(check=False) as editor:
        for identifier in (2**31 - 1, -5, 0, "x" * 10_000, ""):
            editor.send({"jsonrpc": "2.0", "id": identifier, "method": "sould/nothing", "params": {}})
            answer = await editor.wait_for(lambda message, wanted=identifier: message.get("id") == wanted)
            assert answer["error"]["code"] == -32002
        for body in (
            b'{"jsonrpc": "2.0", "id": 1' + b"0" * 5_000 + b', "method": "sould/nothing"}',
            b'{"jsonrpc": "2.0", "id": [[]], "method": "sould/nothing"}',
            b'{"jsonrpc": "2.0", "id": 3, "method": "initialize", "params": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        ):
            before = len([each for each in editor.messages if "error" in each])
            editor.send_raw(b"Content-Length: %d\r\n\r\n" % len(body) + body)
            await editor.wait_for(
                lambda _, before=before: len([each for each in editor.messages if "error" in each]) > before
            )
        await goes_on(editor)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-32"])
async def test_a_position_within_a_character_is_before_it(
    bench: Bench, connect_editor: ConnectEditor, encoding: str
) -> None:
    """The second half of a surrogate pair, or a byte in the middle: nothing is torn."""
    await edited(bench, {"a.txt": ("1\n😀😀\n", "one\n😀😀\n")})
    able = {**FULL, "general": {"positionEncodings": [encoding]}}
    async with bench.running(), connect_editor() as editor:
        await editor.initialize(able, bench.project)
        uri = editor.open(bench.project / "a.txt")
        width = {"utf-8": 4, "utf-16": 2, "utf-32": 1}[encoding]
        inside = {"line": 1, "character": 2 * width - (0 if encoding == "utf-32" else 1)}
        after = {"line": 1, "character": 2 * width}
        change = {"range": {"start": inside, "end": after}, "text": "!"}
        editor.notify("textDocument/didChange", textDocument={"uri": uri, "version": 2}, contentChanges=[change])
        editor.buffers[uri].text = "one\n😀😀!\n" if encoding == "utf-32" else "one\n😀!\n"
        editor.buffers[uri].version = 2
        await editor.press((await editor.lenses(uri))[1])
        assert editor.buffers[uri].text == ("1\n😀😀!\n" if encoding == "utf-32" else "1\n😀!\n")


async def test_a_document_that_is_too_large_is_told_when_it_is_changed_and_the_connection_goes_on(
    bench: Bench, connect_editor: ConnectEditor
) -> None:
    path = bench.project / "large.txt"
    path.write_text("0123456789abcde\n" * 600_000)
    async with bench.running(), connect_editor(pipe=1024 * 1024) as editor:
        await editor.initialize(FULL, bench.project)
        uri = editor.open(path)
        assert await editor.lenses(uri) == []
        assert editor.told("window/showMessage") == []
        editor.type(uri, "0123456789abcde\n" * 600_000, "0123456789abcde\n" * 600_001)
        told = await editor.wait_told("window/showMessage")
        assert told["message"].startswith("large.txt: it is too large")
        await goes_on(editor)


async def test_thousands_of_changes_at_once_are_all_taken(bench: Bench, connect_editor: ConnectEditor) -> None:
    await edited(bench, {"a.txt": ("1\n2\n", "one\n2\n")})
    async with bench.running(), connect_editor() as editor:
        await editor.initialize(FULL, bench.project)
        uri = editor.open(bench.project / "a.txt")
        for number in range(3_000):
            end = len(editor.buffers[uri].text)
            editor.replace(uri, end, end, f"{number}\n")
        await editor.press((await editor.lenses(uri))[1])
        assert editor.buffers[uri].text == "1\n2\n" + "".join(f"{number}\n" for number in range(3_000))


async def test_a_document_that_is_opened_twice_is_as_it_was_said_last_and_closed_once(
    bench: Bench, connect_editor: ConnectEditor
) -> None:
    await edited(bench, {"a.txt": ("1\n2\n", "one\n2\n")})
    path = bench.project / "a.txt"
    async with bench.running(), connect_editor() as editor:
        await editor.initialize(FULL, bench.project)
        editor.open(path, "one\n2\nlost\n")
        uri = editor.open(path)
        editor.type(uri, "2\n", "two\n")
        await editor.press((await editor.lenses(uri))[1])
        assert editor.buffers[uri].text == "1\ntwo\n"
        editor.close(uri)
        editor.notify("textDocument/didClose", textDocument={"uri": uri})
        await goes_on(editor)


async def test_a_uri_is_the_same_file_however_its_characters_are_written(
    bench: Bench, connect_editor: ConnectEditor
) -> None:
    await edited(bench, {"ä #%.txt": ("1\n2\n", "one\n2\n")})
    path = bench.project / "ä #%.txt"
    async with bench.running(), connect_editor() as editor:
        await editor.initialize(FULL, bench.project)
        uri = editor.open(path)
        assert "%C3%A4" in uri
        everything = "file://localhost" + "".join(f"%{byte:02x}" for byte in str(path).encode()).replace("%2f", "/")
        assert [each["command"]["title"] for each in await editor.lenses(everything)][:2] == ["Keep", "Reject"]
        editor.type(uri, "2\n", "two\n")
        await editor.execute("sould.rejectFile", {"uri": everything})
        assert editor.buffers[uri].text == "1\ntwo\n"
        for broken in ("file:///%ff%fe", "file:///%00", "file:///%zz", "file:relative", "FILE:///a"):
            assert await editor.lenses(broken) == []


async def test_an_exit_without_a_shutdown_ends_the_connection(bench: Bench, connect_editor: ConnectEditor) -> None:
    async with bench.running(), connect_editor() as editor:
        editor.notify("exit")
        await editor.ended.wait()


async def test_a_window_that_exits_leaves_the_others_of_its_process(
    bench: Bench, connect_editor: ConnectEditor
) -> None:
    async with bench.running(), connect_editor() as leaves, connect_editor() as stays:
        for editor in (leaves, stays):
            await editor.initialize(FULL, bench.project)
            assert await editor.lenses("file:///a") == []
        leaves.notify("exit")
        await leaves.ended.wait()
        await goes_on(stays)


async def test_wrong_parameters_are_named_by_where_they_stand(bench: Bench, connect_editor: ConnectEditor) -> None:
    async with bench.running(), connect_editor() as editor:
        await editor.initialize(FULL, bench.project)
        with pytest.raises(AgentError, match=r"expected str @ \$\.params\.text_document\.uri") as wrong:
            await editor.request("textDocument/codeLens", textDocument={"uri": 7})
        assert wrong.value.code == -32602
        with pytest.raises(AgentError, match="required field missing") as missing:
            await editor.request("textDocument/codeAction", textDocument={"uri": "file:///a"})
        assert missing.value.code == -32602


async def test_a_handshake_that_makes_no_sense_is_one_of_an_editor_that_can_nothing(
    bench: Bench, connect_editor: ConnectEditor
) -> None:
    async with bench.running(), connect_editor() as editor:
        wrong: Json = {
            "capabilities": {"workspace": 7, "window": [], "general": {"positionEncodings": "utf-8"}},
            "workspaceFolders": [7, {"uri": 7}, {"uri": "untitled:x"}],
            "initializationOptions": ["sould"],
            "clientInfo": "editor",
        }
        said = await editor.request("initialize", wrong)
        assert said["capabilities"]["positionEncoding"] == "utf-16"
        editor.notify("workspace/didChangeConfiguration", settings={"sould": {"lenses": "no", "hints": 7}})
        editor.notify("workspace/didChangeWorkspaceFolders", event={"added": [{"uri": "x" * 100_000}], "removed": []})
        await goes_on(editor)
