"""`sould lsp` as an editor starts it: the real program, killed and restarted under the editor (D11)."""

import asyncio

import pytest
from tests.editors.lsp.killedstory import window

from soultest.acpclient import AgentError
from soultest.daemon import Sould
from soultest.world import call


def reviewed(sould: Sould, before: str, after: str) -> None:
    """A file that an agent wrote anew."""
    path = sould.workspace / "a.txt"
    path.write_text(before)
    sould.world.script([call("WriteFile", "1", path="a.txt", content=after), "text: Done."])
    assert sould.cli("run", "--mode", "review", "go").returncode == 0


async def test_an_editor_with_unsaved_text_goes_on_after_a_kill(sould: Sould) -> None:
    reviewed(sould, "1\n2\n3\n4\n", "one\n2\n3\nfour\n")
    path = sould.workspace / "a.txt"
    async with window(sould) as editor:
        uri = editor.open(path)
        editor.type(uri, "2\n", "zwei\n")
        assert len(await editor.lenses(uri)) == 6
        sould.kill9()
        editor.type(uri, "zwei", "ZWEI")
        await editor.press((await editor.lenses(uri))[1])
        assert editor.buffers[uri].text == "1\nZWEI\n3\nfour\n"
        assert path.read_text() == "one\n2\n3\nfour\n"
        editor.save(uri, path)
        assert len(await editor.lenses(uri)) == 3
    assert sould.cli("review", "list").stdout.count("a.txt") == 1


async def test_a_planned_restart_is_not_noticed(sould: Sould) -> None:
    reviewed(sould, "1\n2\n3\n", "one\n2\n3\n")
    async with window(sould) as editor:
        uri = editor.open(sould.workspace / "a.txt")
        editor.type(uri, "3\n", "drei\n")
        assert len(await editor.lenses(uri)) == 3
        pid = sould.pid
        assert sould.cli("restart").returncode == 0
        editor.type(uri, "drei", "DREI")
        await editor.press((await editor.lenses(uri))[1])
        assert sould.pid != pid
        assert editor.buffers[uri].text == "1\n2\nDREI\n"
        assert not [each for each in editor.messages if "error" in each]


async def test_two_windows_see_one_review_and_a_killed_editor_loses_its_text_only(sould: Sould) -> None:
    reviewed(sould, "1\n2\n3\n", "one\n2\n3\n")
    async with window(sould) as one:
        async with window(sould) as other:
            theirs = other.open(sould.workspace / "a.txt")
            other.type(theirs, "3\n", "lost\n")
            assert len(await other.lenses(theirs)) == 3
        uri = one.open(sould.workspace / "a.txt")
        await one.press((await one.lenses(uri))[1])
        assert (sould.workspace / "a.txt").read_text() == "1\n2\n3\n"
        assert await one.lenses(uri) == []


async def test_what_an_editor_serves_is_kept_whatever_it_asks_while_sessions_load(sould: Sould) -> None:
    project = str(sould.workspace)
    async with window(sould) as editor:
        asked = [editor.start("_sould/editor/context", {"cwd": project})]
        editor.notify("_sould/editor/state", tools=["hover"], workspaceFolders=[project])
        while not asked[0].done():
            asked.append(editor.start("_sould/review/list", {"cwd": project}))
            with pytest.raises(AgentError):
                await editor.request("nothing")  # answered at once
        await asyncio.gather(*asked)
        offered = (await editor.request("_sould/editor/tools", {"cwd": project}))["tools"]
        assert "hover" in [each["name"] for each in offered]
