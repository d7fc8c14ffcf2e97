"""What is taken for a command: known ones, mistyped ones that are answered without the model, and what is text."""

import pytest

from sould.agents.wire.content import TextPart, UserInput
from soultest.bench import Bench, Watcher, finish


def _said(watcher: Watcher) -> str:
    return "".join(part.text for part in watcher.of(TextPart))


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("/comapct keep the numbers", "`/compact`"),
        ("/STATUS", "`/status`"),
        ("/reste", "`/clear`"),
        ("/releas 2.0", "`/flow:release`"),
        ("/nope\n", "`/help`"),
        ("/login fails since yesterday", "a space or a word before it"),
    ],
)
async def test_a_mistyped_command_is_answered_at_once_and_costs_nothing(bench: Bench, typed: str, meant: str) -> None:
    async with bench.running():
        watcher = Watcher(await bench.new())
        end = await finish(watcher.session, typed)
        assert end.stop_reason == "finished"
        assert f"no command `{typed.split()[0]}`" in _said(watcher)
        assert meant in _said(watcher)
        assert not watcher.session.log.context.messages, "the agent is not told"


@pytest.mark.parametrize(
    "text",
    [
        "/usr/bin is full",
        "/etc/hosts is broken",
        "/tmp is full",
        "/README.md has a wrong link",
        " /nope",
        "/nope is what they wrote.\nWhat did they mean?",
        "/",
        "// is this a comment?",
        "/* or this? */",
        "What does /nope do?",
        (TextPart(text="/nope"), TextPart(text="<resource_link uri='file:///a.txt'/>")),
    ],
)
async def test_paths_and_text_that_only_begins_with_a_slash_go_to_the_agent(bench: Bench, text: UserInput) -> None:
    bench.script("text: I see.")
    async with bench.running():
        watcher = Watcher(await bench.new())
        await watcher.session.prompt(text, "watcher").outcome()
        assert _said(watcher) == "I see."
        assert len(watcher.session.log.context.messages) == 2, "asked and answered"
