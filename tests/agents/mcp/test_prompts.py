"""Prompts of servers as slash commands."""

from sould.agents.wire.content import TextPart
from sould.agents.wire.messages import ContextNote, SessionChanged
from soultest.bench import Bench, finish
from soultest.bench.mcp import asked, open_session, state_of


async def test_a_prompt_is_a_command_with_its_arguments(bench: Bench) -> None:
    bench.script("text: explained")
    async with bench.running():
        watcher = await open_session(bench, asked("box"))
        await state_of(watcher, "box", "connected")
        await watcher.wait_for(SessionChanged, lambda changed: changed.commands)
        command = next(each for each in watcher.session.commands.all() if each.name == "mcp:box:explain")
        assert (command.description, command.hint) == ("Explains.", "what [how]")
        await finish(watcher.session, "/mcp:box:explain bees in short")
        note = watcher.of(ContextNote)[-1].text
        assert 'Explain well: {"what": "bees", "how": "in short"}' in note
        assert watcher.of(TextPart)[-1].text == "explained"


async def test_a_prompt_without_what_it_needs_says_so(bench: Bench) -> None:
    async with bench.running():
        watcher = await open_session(bench, asked("box"))
        await state_of(watcher, "box", "connected")
        await finish(watcher.session, "/mcp:box:explain")
        assert watcher.of(TextPart)[-1].text == "The prompt explain needs what."


async def test_the_servers_of_a_session_are_listed(bench: Bench) -> None:
    async with bench.running():
        watcher = await open_session(bench, asked("box"))
        await state_of(watcher, "box", "connected")
        await finish(watcher.session, "/mcp")
        assert "**box** (editor, stdio): connected, 13 tools, 1 prompt, 0 resources." in watcher.of(TextPart)[-1].text
