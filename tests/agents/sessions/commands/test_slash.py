"""What is taken for a command: known ones, mistyped ones that are answered without the model, and what is text."""

import pytest

from sould.agents.sessions.commands.slash import for_people
from sould.agents.wire.content import Origin, TextPart, UserInput
from sould.agents.wire.messages import BtwEnd, Notification
from soultest.bench import Bench, Watcher, asked, finish
from soultest.bench.looks import messages_of, prompt_of

OPEN_FILE = TextPart(
    text='<resource path="/x/a.txt">\nhello\n</resource>', origin=Origin(type="resource", uri="file:///x/a.txt")
)
"""As editors put it beside what was typed."""


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
        assert not messages_of(watcher.session), "the agent is not told"


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
        await watcher.session.turns.prompt(text, "watcher").outcome()
        assert _said(watcher) == "I see."
        assert len(messages_of(watcher.session)) == 2, "asked and answered"


@pytest.mark.parametrize("before", [True, False])
@pytest.mark.parametrize(
    ("typed", "answer"),
    [
        ("/review", "Nothing is to be reviewed"),
        ("/mode", "Mode: **"),
        ("/plan off", "Plan mode is off"),
        ("/loop list", "no loops"),
        ("/comapct", "`/compact`"),
        ("/skill:nope", "There is no skill"),
    ],
)
async def test_a_command_is_carried_out_whatever_editors_put_beside_it(
    bench: Bench, typed: str, answer: str, before: bool
) -> None:
    prompt = (OPEN_FILE, TextPart(text=typed)) if before else (TextPart(text=typed), OPEN_FILE)
    async with bench.running():
        watcher = Watcher(await bench.new())
        end = await watcher.session.turns.prompt(prompt, "watcher").outcome()
        answered = "".join(each.body for each in watcher.of(Notification))
        said = _said(watcher) + answered + (end.error.message if end.error is not None else "")
        assert answer.lower() in said.lower()
        assert not messages_of(watcher.session), "the agent is not told"


async def test_commands_that_are_no_turns_are_known_beside_attachments_too(bench: Bench) -> None:
    bench.script("text: Aside.")
    async with bench.running():
        watcher = Watcher(await bench.new())
        await watcher.session.turns.prompt((OPEN_FILE, TextPart(text="/queue")), "watcher").outcome()
        assert [each.body for each in watcher.of(Notification)] == ["No prompts are queued"]
        await watcher.session.turns.prompt((OPEN_FILE, TextPart(text="/btw what is it?")), "watcher").outcome()
        assert [each.response for each in watcher.of(BtwEnd)] == ["Aside."]


async def test_what_is_attached_to_a_command_reaches_the_model_where_the_command_asks_it(bench: Bench) -> None:
    skill = bench.project / ".agents" / "skills" / "deploy"
    skill.mkdir(parents=True)
    (skill / "SKILL.md").write_text("---\nname: deploy\ndescription: Deploy it.\n---\nDo $ARGUMENTS now.\n")
    bench.script("text: Done.")
    async with bench.running():
        session = await bench.new()
        await session.turns.prompt((OPEN_FILE, TextPart(text="/skill:deploy all of it")), "watcher").outcome()
        attached, told = asked(session)
        assert OPEN_FILE.text in attached
        assert "Do all of it now." in told


async def test_a_file_that_begins_like_a_command_is_none(bench: Bench) -> None:
    bench.script("text: I see.")
    async with bench.running():
        session = await bench.new()
        await session.turns.prompt((OPEN_FILE.model_copy(update={"text": "/yolo"}),), "watcher").outcome()
        assert asked(session) == ["/yolo"]
        assert session.parts.services.permission.modes.mode == "ask"


@pytest.mark.parametrize(
    ("described", "shown"),
    [
        ("Make a pull request. Use it when the user asks for one.", "Make a pull request."),
        ("Reads v1.2 of e.g. a file\nand more", "Reads v1.2 of e.g. a file and more"),
        ("", ""),
        ("a" * 300, "a" * 99 + "…"),
    ],
)
def test_a_command_describes_itself_to_people_in_one_line(described: str, shown: str) -> None:
    assert for_people(described) == shown


async def test_the_words_that_tell_the_model_when_to_use_a_skill_stay_with_the_model(bench: Bench) -> None:
    skill = bench.project / ".agents" / "skills" / "deploy"
    skill.mkdir(parents=True)
    (skill / "SKILL.md").write_text("---\nname: deploy\ndescription: Deploy it. Use it whenever asked.\n---\nDo.\n")
    async with bench.running():
        session = await bench.new()
        shown = {command.name: command.description for command in session.commands.all()}
        assert shown["skill:deploy"] == "Deploy it."
        assert all("\n" not in description and len(description) <= 100 for description in shown.values())
        prompt = prompt_of(session)
        assert prompt is not None
        assert "Deploy it. Use it whenever asked." in prompt


async def test_the_values_of_options_say_what_they_are(bench: Bench) -> None:
    bench.settings["model"] = {"capabilities": ["thinking"]}
    async with bench.running():
        options = (await bench.new()).parts.choices.options.all()
    shown = {option.id: [choice.name for choice in option.choices] for option in options}
    assert shown["thought_level"] == ["Thinking off", "Thinking low", "Thinking medium", "Thinking high"]
    assert shown["loop"][:2] == ["No loop", "Loop up to 1 more time"]
    assert "Default agent" in shown["agent"]
    about = {option.id: [choice.description for choice in option.choices] for option in options}
    assert all(about["agent"]), about
    assert shown["mode"] == ["Plan mode", "Ask mode", "Review mode", "Full access"]
