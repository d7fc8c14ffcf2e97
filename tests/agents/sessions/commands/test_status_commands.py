"""Commands that show how a session stands or choose one of its options."""

from pathlib import Path

import pytest

from sould.agents.wire.content import TextPart
from soultest.bench import Watcher, finish, make_bench
from soultest.bench.looks import messages_of


@pytest.mark.parametrize(
    ("command", "shown"),
    [
        ("/status", "queued prompts: 0"),
        ("/context", "- `Shell`: "),
        ("/mode", "Mode: **ask**"),
        ("/mode plan", "Mode: **plan**"),
        ("/mode wild", "it takes plan, ask"),
        ("/model", "`scripted`"),
        ("/model none", "it takes scripted"),
        ("/agent", "`default`"),
        ("/agent nobody", "nobody"),
        ("/tasks", "no background tasks"),
        ("/mcp", "no MCP servers"),
        ("/skills", "skill:"),
        ("/help", "/status"),
    ],
)
async def test_a_command_says_how_things_are(tmp_path: Path, command: str, shown: str) -> None:
    bench = make_bench(tmp_path)
    async with bench.running():
        session = await bench.new()
        watcher = Watcher(session)
        assert (await finish(session, command)).stop_reason == "finished"
        assert shown in watcher.of(TextPart)[0].text
        assert not messages_of(session)


async def test_every_command_has_a_description(tmp_path: Path) -> None:
    bench = make_bench(tmp_path)
    async with bench.running():
        commands = (await bench.new()).commands.all()
        names = {command.name for command in commands}
        expected = (
            "init compact clear yolo plan rewind undo redo btw model agent mcp skills tasks loop status mode help"
        )
        assert set(expected.split()) <= names
        assert all(command.description for command in commands)


async def test_the_page_names_every_command(tmp_path: Path) -> None:
    page = (Path(__file__).parents[4] / "docs" / "commands.md").read_text()
    bench = make_bench(tmp_path)
    async with bench.running():
        names = {command.name for command in (await bench.new()).commands.all()}
    assert not [name for name in names if ":" not in name and f"`/{name}" not in page]
