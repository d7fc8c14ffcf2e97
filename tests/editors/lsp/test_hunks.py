"""Hunks in an editor's buffers: shown above their lines, kept and rejected there (docs/lsp.md)."""

from typing import Any

import pytest
from tests.acp.server.test_review import edited

from soultest.acpclient import AgentError
from soultest.bench import Bench
from soultest.bench.lsp import ConnectEditor
from soultest.lspclient import FULL

Json = dict[str, Any]


def titles(lenses: list[Json]) -> list[tuple[int, str]]:
    """What stands above which line."""
    return [(each["range"]["start"]["line"], each["command"]["title"]) for each in lenses]


async def test_hunks_are_shown_kept_and_rejected_in_an_editor_that_offers_nothing(
    bench: Bench, connect_editor: ConnectEditor
) -> None:
    await edited(bench, {"a.txt": ("1\n2\n3\n4\n5\n", "one\n2\n3\n4\nfive\n")})
    path = bench.project / "a.txt"
    async with bench.running(), connect_editor() as editor:
        await editor.initialize({}, bench.project)
        uri = editor.open(path)
        lenses = await editor.lenses(uri)
        assert titles(lenses) == [
            *((0, "Keep"), (0, "Reject"), (0, "Hunk 1/2: next")),
            *((4, "Keep"), (4, "Reject"), (4, "Hunk 2/2: next")),
        ]
        await editor.press(lenses[0])
        lenses = await editor.lenses(uri)
        assert titles(lenses) == [(4, "Keep"), (4, "Reject"), (4, "Hunk 1/1: next")]
        await editor.press(lenses[1])
        assert await editor.lenses(uri) == []
        assert path.read_text() == "one\n2\n3\n4\n5\n"


async def test_a_reject_edits_an_unsaved_buffer_and_nothing_else(bench: Bench, connect_editor: ConnectEditor) -> None:
    await edited(bench, {"a.txt": ("1\n2\n3\n4\n5\n", "one\n2\n3\n4\nfive\n")})
    path = bench.project / "a.txt"
    async with bench.running(), connect_editor() as editor:
        await editor.initialize(FULL, bench.project)
        uri = editor.open(path)
        editor.type(uri, "3\n", "drei\n")
        lenses = await editor.lenses(uri)
        await editor.press(lenses[4])
        assert editor.buffers[uri].text == "one\n2\ndrei\n4\n5\n"
        assert path.read_text() == "one\n2\n3\n4\nfive\n"
        assert editor.labels == ["sould: Reject hunk 2/2: five"]
        assert len(await editor.lenses(uri)) == 3


async def test_what_a_user_typed_into_an_agents_line_is_asked_about_when_it_is_rejected(
    bench: Bench, connect_editor: ConnectEditor
) -> None:
    await edited(bench, {"a.txt": ("1\n2\n3\n", "1\ntwo words\n3\n")})
    async with bench.running(), connect_editor(choose=lambda params: "Keep my lines") as editor:
        await editor.initialize(FULL, bench.project)
        uri = editor.open(bench.project / "a.txt")
        editor.type(uri, "words", "WORDS")
        lenses = await editor.lenses(uri)
        outcome = await editor.press(lenses[1])
        [question] = editor.told("window/showMessageRequest")
        assert [each["title"] for each in question["actions"]] == ["Keep my lines", "Drop my lines", "Leave it"]
        assert outcome["left"] == []
        assert editor.buffers[uri].text == "1\n2\ntwo WORDS\n3\n"


async def test_an_edit_that_the_editor_does_not_apply_leaves_the_hunk_and_says_so(
    bench: Bench, connect_editor: ConnectEditor
) -> None:
    await edited(bench, {"a.txt": ("1\n2\n3\n", "1\ntwo\n3\n")})
    async with bench.running(), connect_editor(applies=False) as editor:
        await editor.initialize(FULL, bench.project)
        uri = editor.open(bench.project / "a.txt")
        editor.type(uri, "3\n", "three\n")
        lenses = await editor.lenses(uri)
        [left] = (await editor.press(lenses[1]))["left"]
        assert left["why"] == "failed"
        assert "did not take this edit" in (await editor.wait_told("window/showMessage"))["message"]
        assert titles(await editor.lenses(uri)) == titles(lenses)
        assert editor.buffers[uri].text == "1\ntwo\nthree\n"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-32"])
async def test_positions_are_counted_as_the_editor_counts_them(
    bench: Bench, connect_editor: ConnectEditor, encoding: str
) -> None:
    before = "a\n😀é x\nz"
    await edited(bench, {"a.txt": (before, "A\n😀é x\nz")})
    able = {**FULL, "general": {"positionEncodings": [encoding]}}
    async with bench.running(), connect_editor() as editor:
        said = await editor.initialize(able, bench.project)
        assert said["capabilities"]["positionEncoding"] == encoding
        uri = editor.open(bench.project / "a.txt")
        editor.type(uri, "x\n", "y 😀\n")
        editor.type(uri, "z", "ZZ")
        editor.type(uri, "y 😀", "y 😁!")
        await editor.press((await editor.lenses(uri))[1])
        assert editor.buffers[uri].text == "a\n😀é y 😁!\nZZ"


async def test_a_client_that_writes_has_edits_put_into_its_buffers_and_saved(
    bench: Bench, connect_editor: ConnectEditor
) -> None:
    await edited(bench, {"a.txt": ("1\n2\n3\n", "1\ntwo\n3\n")})
    path = bench.project / "a.txt"
    async with bench.running(), connect_editor() as editor:
        await editor.initialize({"experimental": {"sould": {"writes": True}}}, bench.project)
        uri = editor.open(path)
        await editor.press((await editor.lenses(uri))[1])
        assert (editor.buffers[uri].text, path.read_text()) == ("1\n2\n3\n", "1\n2\n3\n")
        [asked] = editor.told("_sould/review/write")
        assert (asked["save"], asked["version"]) == (True, 1)


async def test_lenses_are_refreshed_when_another_client_decides(bench: Bench, connect_editor: ConnectEditor) -> None:
    await edited(bench, {"a.txt": ("1\n2\n3\n", "1\ntwo\n3\n")})
    async with bench.running(), connect_editor() as one, connect_editor() as other:
        for editor in (one, other):
            await editor.initialize({**FULL, "initializationOptions": {}}, bench.project)
        uri = one.open(bench.project / "a.txt")
        assert len(await one.lenses(uri)) == 3
        await other.press((await other.lenses(uri))[0])
        await one.wait_told("workspace/codeLens/refresh")
        assert await one.lenses(uri) == []


async def test_hints_are_told_where_the_user_wants_them(bench: Bench, connect_editor: ConnectEditor) -> None:
    await edited(bench, {"a.txt": ("1\n2\n3\n", "1\ntwo\n3\n")})
    async with bench.running(), connect_editor() as editor:
        await editor.initialize({}, bench.project, initializationOptions={"hints": True, "lenses": False})
        uri = editor.open(bench.project / "a.txt")
        told = await editor.wait_told("textDocument/publishDiagnostics")
        [hint] = told["diagnostics"]
        assert (hint["severity"], hint["range"]["start"]["line"], hint["source"]) == (4, 1, "sould")
        assert await editor.lenses(uri) == []


async def test_actions_of_a_range_are_commands_for_an_editor_that_knows_no_others(
    bench: Bench, connect_editor: ConnectEditor
) -> None:
    await edited(bench, {"a.txt": ("1\n2\n3\n", "one\n2\nthree\n")})
    async with bench.running(), connect_editor() as editor:
        await editor.initialize({}, bench.project)
        uri = editor.open(bench.project / "a.txt")
        at = {"start": {"line": 2, "character": 0}, "end": {"line": 2, "character": 0}}
        params: Json = {"textDocument": {"uri": uri}, "range": at, "context": {"diagnostics": []}}
        actions = await editor.request("textDocument/codeAction", params)
        assert [each["title"] for each in actions] == [
            *("Keep hunk 2/2", "Reject hunk 2/2", "Ask why: hunk 2/2"),
            *("Keep all hunks of this file", "Reject all hunks of this file", "Reject all hunks of the project"),
        ]
        await editor.execute(actions[4]["command"], *actions[4]["arguments"])
        assert (bench.project / "a.txt").read_text() == "1\n2\n3\n"


async def test_the_accepted_text_is_a_document_where_the_editor_shows_such(
    bench: Bench, connect_editor: ConnectEditor
) -> None:
    await edited(bench, {"a b.txt": ("1\n2\n", "one\n2\n")})
    async with bench.running(), connect_editor() as editor:
        said = await editor.initialize(FULL, bench.project)
        assert said["capabilities"]["workspace"]["textDocumentContent"]["schemes"] == ["sould-base"]
        shown = await editor.execute("sould.base", {"uri": (bench.project / "a b.txt").as_uri()})
        assert (await editor.wait_told("window/showDocument"))["takeFocus"] is False
        content = await editor.request("workspace/textDocumentContent", uri=shown["uri"])
        assert content["text"] == "1\n2\n"


async def test_the_accepted_text_is_asked_for_again_when_it_is_another(
    bench: Bench, connect_editor: ConnectEditor
) -> None:
    await edited(bench, {"a.txt": ("1\n2\n3\n", "one\n2\nthree\n")})
    async with bench.running(), connect_editor() as editor:
        await editor.initialize(FULL, bench.project)
        path = bench.project / "a.txt"
        base = (await editor.execute("sould.base", {"uri": path.as_uri()}))["uri"]
        assert (await editor.request("workspace/textDocumentContent", uri=base))["text"] == "1\n2\n3\n"
        lenses = await editor.lenses(path.as_uri())
        await editor.press(lenses[4])
        await editor.press(lenses[0])
        assert await editor.wait_told("workspace/textDocumentContent/refresh") == {"uri": base}
        assert (await editor.request("workspace/textDocumentContent", uri=base))["text"] == "one\n2\n3\n"


async def test_a_prompt_goes_to_the_roots_that_the_window_has_now(bench: Bench, connect_editor: ConnectEditor) -> None:
    bench.script("text: here", "text: there")
    other = bench.root / "other"
    other.mkdir()
    async with bench.running(), connect_editor() as editor:
        await editor.initialize(FULL, bench.project)
        first = await editor.execute("sould.prompt", {"text": "where?"})
        event: Json = {
            "added": [{"uri": "untitled:a", "name": ""}, {"uri": other.as_uri(), "name": ""}],
            "removed": [{"uri": bench.project.as_uri(), "name": ""}],
        }
        editor.notify("workspace/didChangeWorkspaceFolders", event=event)
        second = await editor.execute("sould.prompt", {"text": "where?"})
        places = [bench.host.sessions.get(each["sessionId"]) for each in (first, second)]
        assert [each.info.cwd for each in places if each is not None] == [bench.project, other]
        event = {"added": [], "removed": [{"uri": other.as_uri(), "name": ""}]}
        editor.notify("workspace/didChangeWorkspaceFolders", event=event)
        with pytest.raises(AgentError) as refused:
            await editor.execute("sould.prompt", {"text": "where?"})
        assert "this window has no root" in str(refused.value)


async def test_a_file_outside_all_roots_is_reviewed_and_asked_about_where_it_is(
    bench: Bench, connect_editor: ConnectEditor
) -> None:
    await edited(bench, {"a.txt": ("1\n2\n", "one\n2\n")})
    bench.script("text: Because.")
    elsewhere = bench.root / "elsewhere"
    elsewhere.mkdir()
    async with bench.running(), connect_editor() as editor:
        await editor.initialize(FULL, elsewhere)
        uri = editor.open(bench.project / "a.txt")
        lenses = await editor.lenses(uri)
        why = {"uri": uri, "id": lenses[0]["command"]["arguments"][0]["id"]}
        session = bench.host.sessions.get((await editor.execute("sould.why", why))["sessionId"])
        assert session is not None
        assert session.info.cwd == bench.project
        await editor.wait_told(
            "window/showMessage", lambda params: params["message"] == "Because."
        )  # a turn delays rejects
        await editor.press(lenses[1])
        assert (bench.project / "a.txt").read_text() == "1\n2\n"


async def test_two_roots_in_one_window_are_two_projects(bench: Bench, connect_editor: ConnectEditor) -> None:
    await edited(bench, {"a.txt": ("1\n", "one\n")})
    other = bench.root / "other"
    other.mkdir()
    (other / "b.txt").write_text("2\n")
    async with bench.running(), connect_editor() as editor:
        await editor.initialize(FULL, bench.project)
        event = {"added": [{"uri": other.as_uri(), "name": "other"}], "removed": []}
        editor.notify("workspace/didChangeWorkspaceFolders", event=event)
        one, two = editor.open(bench.project / "a.txt"), editor.open(other / "b.txt")
        assert len(await editor.lenses(one)) == 3
        assert await editor.lenses(two) == []
        first = await editor.request("_sould/review/list", cwd=str(bench.project))
        second = await editor.request("_sould/review/list", cwd=str(other))
        assert (first["root"], second["root"]) == (str(bench.project), str(other))


async def test_an_editor_that_offers_nothing_is_offered_what_every_one_can(
    bench: Bench, connect_editor: ConnectEditor
) -> None:
    """The messages as they are sent, character for character."""
    await edited(bench, {"a.txt": ("1\n", "one\n")})
    async with bench.running(), connect_editor() as editor:
        said = await editor.initialize({}, bench.project)
        commands = said["capabilities"].pop("executeCommandProvider")
        assert {"sould.keep", "sould.answer"} <= set(commands["commands"])
        assert said == {
            "capabilities": {
                "positionEncoding": "utf-16",
                "textDocumentSync": {"openClose": True, "change": 2, "save": {"includeText": True}},
                "codeLensProvider": {"resolveProvider": False},
                "codeActionProvider": True,
                "workspace": {"workspaceFolders": {"supported": True, "changeNotifications": True}},
                "experimental": {"sould": {"version": "0.0.0", "review": 1, "inbox": 1, "editor": 1}},
            },
            "serverInfo": {"name": "sould", "version": "0.0.0"},
        }
        uri = editor.open(bench.project / "a.txt")
        lens = (await editor.lenses(uri))[0]
        digest = lens["command"]["arguments"][0].pop("digest")
        assert digest
        assert lens == {
            "range": {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 0}},
            "command": {"title": "Keep", "command": "sould.keep", "arguments": [{"uri": uri, "id": 1}]},
        }


async def test_settings_that_are_not_named_stay_as_they_are(bench: Bench, connect_editor: ConnectEditor) -> None:
    await edited(bench, {"a.txt": ("1\n", "one\n")})
    async with bench.running(), connect_editor() as editor:
        await editor.initialize({}, bench.project, initializationOptions={"lenses": False})
        editor.notify("workspace/didChangeConfiguration", settings={})
        uri = editor.open(bench.project / "a.txt")
        assert await editor.lenses(uri) == []
        editor.notify("workspace/didChangeConfiguration", settings={"sould": {"lenses": True}})
        assert len(await editor.lenses(uri)) == 3


async def test_what_is_shown_follows_the_settings_at_once(bench: Bench, connect_editor: ConnectEditor) -> None:
    await edited(bench, {"a.txt": ("1\n", "one\n")})
    async with bench.running(), connect_editor() as editor:
        await editor.initialize(FULL, bench.project)
        uri = editor.open(bench.project / "a.txt")
        assert len(await editor.lenses(uri)) == 3
        editor.notify("workspace/didChangeConfiguration", settings={"sould": {"hints": True, "lenses": False}})
        shown = await editor.wait_told("textDocument/publishDiagnostics")
        assert len(shown["diagnostics"]) == 1
        await editor.wait_told("workspace/codeLens/refresh")
        assert await editor.lenses(uri) == []
        editor.notify("workspace/didChangeConfiguration", settings={"sould": {"hints": False}})
        await editor.wait_told("textDocument/publishDiagnostics", lambda params: params["diagnostics"] == [])


async def test_an_editor_that_can_be_asked_for_its_settings_is_asked(
    bench: Bench, connect_editor: ConnectEditor
) -> None:
    await edited(bench, {"a.txt": ("1\n", "one\n")})
    async with bench.running(), connect_editor() as editor:
        editor.settings["sould"] = {"hints": True}
        await editor.initialize(FULL, bench.project)
        editor.open(bench.project / "a.txt")
        asked = await editor.wait_told("workspace/configuration")
        assert asked == {"items": [{"section": "sould", "scopeUri": bench.project.as_uri()}]}
        await editor.wait_told("textDocument/publishDiagnostics", lambda params: len(params["diagnostics"]) == 1)
        editor.settings["sould"] = {"hints": False}
        editor.notify("workspace/didChangeConfiguration", settings=None)
        await editor.wait_told("textDocument/publishDiagnostics", lambda params: params["diagnostics"] == [])


async def test_the_next_hunk_is_shown_without_the_focus_or_told(bench: Bench, connect_editor: ConnectEditor) -> None:
    await edited(bench, {"a.txt": ("1\n2\n3\n", "one\n2\nthree\n")})
    async with bench.running(), connect_editor() as able, connect_editor() as plain:
        await able.initialize(FULL, bench.project)
        await plain.initialize({}, bench.project)
        uri = able.open(bench.project / "a.txt")
        found = await able.execute("sould.next", {"uri": uri, "line": 0})
        assert found["range"]["start"]["line"] == 2
        shown = await able.wait_told("window/showDocument")
        assert (shown["takeFocus"], shown["selection"]["start"]["line"]) == (False, 2)
        assert (await plain.execute("sould.next", {"uri": uri, "line": 2}))["range"]["start"]["line"] == 0
        assert (await plain.wait_told("window/showMessage"))["message"] == "The next hunk is at line 1."


async def test_an_editor_that_waits_for_its_command_is_answered_before_it_reports_the_edit(
    bench: Bench, connect_editor: ConnectEditor
) -> None:
    await edited(bench, {"a.txt": ("1\n2\n3\n", "one\n2\n3\n")})
    async with bench.running(), connect_editor() as editor:
        editor.blocks = True
        await editor.initialize(FULL, bench.project)
        uri = editor.open(bench.project / "a.txt")
        editor.type(uri, "3\n", "drei\n")
        outcome = await editor.press((await editor.lenses(uri))[1])
        assert outcome == {"done": [], "left": []}
        assert editor.buffers[uri].text == "1\n2\ndrei\n"
        await editor.wait_for(lambda _: len(editor.told("workspace/codeLens/refresh")) > 0)
        assert await editor.lenses(uri) == []


async def test_an_edit_that_the_editor_reports_piece_by_piece_is_one(
    bench: Bench, connect_editor: ConnectEditor
) -> None:
    await edited(bench, {"a.txt": ("1\n2\n3\n4\n5\n", "one\n2\n3\n4\nfive\n")})
    async with bench.running(), connect_editor() as editor:
        editor.piecewise = True
        await editor.initialize(FULL, bench.project)
        uri = editor.open(bench.project / "a.txt")
        editor.type(uri, "3\n", "drei\n")
        await editor.execute("sould.rejectFile", {"uri": uri})
        while await editor.lenses(uri):
            pass  # the command is answered whether or not the second piece was reported by then
        assert editor.buffers[uri].text == "1\n2\ndrei\n4\n5\n"
        listed = await editor.request("_sould/review/rejected", cwd=str(bench.project))
        assert len(listed["hunks"]) == 2
