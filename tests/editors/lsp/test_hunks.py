"""Hunks in an editor's buffers: shown above their lines, kept and rejected there (docs/lsp.md)."""

from pathlib import Path
from typing import Any

from tests.acp.handlers.test_review import edited

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


def written(path: Path, text: str) -> Path:
    """A file."""
    path.write_text(text)
    return path
