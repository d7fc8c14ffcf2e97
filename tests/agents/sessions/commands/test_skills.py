"""Skills in a session: told to the model, used by `/skill:NAME`, taken up when they change."""

import pytest

from sould.agents.sessions.session import Session
from sould.agents.wire.content import TextPart
from sould.agents.wire.messages import Notification, SessionChanged
from soultest.bench import Bench, Watcher, finish, refused
from soultest.bench.looks import messages_of, prompt_of


def write(bench: Bench, name: str, body: str, head: str = "description: does it") -> None:
    path = bench.project / ".agents" / "skills" / f"{name}.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"---\n{head}\n---\n{body}\n")


def asked(session: Session) -> str:
    """Everything the model has been told."""
    parts = [part for message in messages_of(session) for part in message.content]
    return "\n".join(part.text for part in parts if isinstance(part, TextPart))


async def test_the_system_prompt_lists_the_skills(bench: Bench) -> None:
    write(bench, "tidy", "Sort.")
    async with bench.running():
        session = await bench.begin()
        assert "- tidy: does it" in prompt_of(session)
        assert "- sould-help: " in prompt_of(session)


async def test_skills_are_advertised_as_commands(bench: Bench) -> None:
    write(bench, "tidy", "Sort.")
    async with bench.running():
        commands = {command.name: command for command in (await bench.begin()).commands.all()}
    assert commands["skill:tidy"].description == "does it"
    assert commands["skill:tidy"].hint


async def test_a_skill_command_gives_the_model_the_skill_and_the_request(bench: Bench) -> None:
    write(bench, "tidy", "Sort the imports.")
    bench.script("text: sorted")
    async with bench.running():
        watcher = Watcher(await bench.begin())
        end = await finish(watcher.session, "/skill:tidy only a.txt")
        told = asked(watcher.session)
    assert end.stop_reason == "finished"
    assert "Sort the imports." in told
    assert "only a.txt" in told
    assert "sorted" in told


async def test_arguments_take_their_place_in_the_skill(bench: Bench) -> None:
    write(bench, "tidy", "Sort $ARGUMENTS now.")
    bench.script("text: sorted")
    async with bench.running():
        watcher = Watcher(await bench.begin())
        await finish(watcher.session, "/skill:tidy a.txt")
        assert "Sort a.txt now." in asked(watcher.session)


async def test_a_new_skill_is_taken_up_at_the_next_turn_and_named(bench: Bench) -> None:
    bench.script("text: one", "text: two")
    async with bench.running():
        watcher = Watcher(await bench.begin())
        await finish(watcher.session, "first")
        write(bench, "fresh", "New.", "description: brand new")
        await finish(watcher.session, "second")
        assert "- fresh: brand new" in asked(watcher.session)
        assert "skill:fresh" in {command.name for command in watcher.session.commands.all()}
    assert any(changed.commands for changed in watcher.of(SessionChanged))
    assert any("new: fresh" in told.body for told in watcher.of(Notification))


async def test_what_changed_while_a_session_was_closed_and_what_a_compaction_took_is_told_anew(bench: Bench) -> None:
    write(bench, "tidy", "Sort.")
    bench.script("text: one", "text: two", "text: three", "text: four", "text: five")
    async with bench.running():
        session = await bench.begin()
        await finish(session, "first")
        assert "skill" not in asked(session)
    write(bench, "fresh", "New.", "description: brand new")
    async with bench.running():
        session = await bench.open(session.id)
        await finish(session, "second")
        await finish(session, "third")
        assert asked(session).count("- fresh: brand new") == 1
        await finish(session, "/clear")
        await finish(session, "fourth")
        assert asked(session).count("- fresh: brand new") == 1


async def test_unchanged_skills_say_nothing(bench: Bench) -> None:
    bench.script("text: one", "text: two")
    async with bench.running():
        watcher = Watcher(await bench.begin())
        await finish(watcher.session, "first")
        await finish(watcher.session, "second")
        assert "skills have changed" not in asked(watcher.session)
    assert watcher.of(Notification) == []


async def test_skills_lists_what_there_is_and_what_is_not_used(bench: Bench) -> None:
    write(bench, "tidy", "Sort.")
    write(bench, "broken", "x", f"description: {'[' * 200}")
    async with bench.running():
        watcher = Watcher(await bench.begin())
        await finish(watcher.session, "/skills")
    said = "".join(part.text for part in watcher.of(TextPart))
    assert "`/skill:tidy`" in said
    assert "broken.md" in said


async def test_a_skill_that_cannot_be_used_is_told_once(bench: Bench) -> None:
    write(bench, "broken", "x", f"description: {'[' * 200}")
    bench.script("text: one", "text: two")
    async with bench.running():
        watcher = Watcher(await bench.begin())
        await finish(watcher.session, "first")
        await finish(watcher.session, "second")
    assert len([told for told in watcher.of(Notification) if "broken.md" in told.body]) == 1


async def test_what_waits_for_trust_is_told_once_at_the_session_s_start(bench: Bench) -> None:
    write(bench, "tidy", "Sort.")
    runs, agents = bench.project / ".agents" / "skills" / "runs", bench.project / ".sould" / "agents"
    for directory, name in (
        (runs, "SKILL.md"),
        (runs, "it.sh"),
        (agents, "lib.yaml"),
        (agents / "judge", "agent.yaml"),
    ):
        directory.mkdir(parents=True, exist_ok=True)
        (directory / name).write_text("true")
    bench.script("text: one", "text: two")
    told: list[Notification] = []
    async with bench.running():
        watcher = Watcher(await bench.begin())
        await finish(watcher.session, "/status")
        await finish(watcher.session, "first")
        told += watcher.of(Notification)
        await bench.host.close(watcher.session.id, watcher.id)
        watcher = Watcher(await bench.open(watcher.session.id))
        await finish(watcher.session, "second")
        told += watcher.of(Notification)
    (only,) = told
    assert only.body.startswith("agent judge, agent lib, skill runs. ")
    assert "sould trust" in only.body


@pytest.mark.parametrize(
    ("prompt", "said"),
    [
        ("/skill:tidi x", "There is no skill 'tidi'. Did you mean 'tidy'?"),
        ("/flow:zzz", "There is no flow 'zzz'. `/skills` lists all of them."),
        ("/flow:tidy", "tidy is a skill: `/skill:tidy`."),
        ("/skill:release", "release is a flow: `/flow:release`."),
        (
            "/skill:broken",
            "There is no skill 'broken'. {project}/.agents/skills/broken.md:1: the front matter is longer",
        ),
        ("/skill:runs", "There is no skill 'runs'. The skill runs contains programs"),
    ],
)
async def test_a_skill_that_is_not_there_is_no_prompt_for_the_model(bench: Bench, prompt: str, said: str) -> None:
    write(bench, "tidy", "Sort.")
    write(bench, "broken", "x", f"description: {'[' * 200}")
    runs = bench.project / ".agents" / "skills" / "runs"
    runs.mkdir()
    (runs / "SKILL.md").write_text("Run it.")
    (runs / "it.sh").write_text("true")
    async with bench.running():
        answer = await refused(await bench.begin(), prompt)
    assert answer.startswith(said.format(project=bench.project))
