"""While nobody prompts, clients learn that what they offer is something else now: commands of skills, agents, models."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from sould.agents.sessions.session import Session
from sould.agents.wire.messages import ContextNote, Notification, SessionChanged
from soultest.bench import Bench, Watcher, call, finish
from soultest.bench.looks import choose, prompt_of

SKILL = "---\ndescription: {}\n---\nKnit.\n"
AGENT = "version: 1\nagent:\n  extend: default\n"


@pytest.fixture
async def watcher(bench: Bench) -> AsyncIterator[Watcher]:
    """Of a session whose HOME is the bench's; files are noticed soon."""
    bench.step = 0.05
    (bench.project / ".agents" / "skills").mkdir(parents=True)
    async with bench.running():
        yield Watcher(await bench.begin())


def write_skill(bench: Bench, name: str, description: str = "knits") -> None:
    (bench.project / ".agents" / "skills" / f"{name}.md").write_text(SKILL.format(description))


def commands(session: Session) -> dict[str, str]:
    return {command.name: command.description for command in session.commands.all()}


def choices(session: Session, option_id: str) -> set[str]:
    return {
        choice.value
        for option in session.parts.choices.options.all()
        if option.id == option_id
        for choice in option.choices
    }


async def told(watcher: Watcher, holds: Callable[[Session], bool]) -> None:
    """A message says that the session's lists are others, and they are."""
    async with asyncio.timeout(60):
        await watcher.wait_for(SessionChanged, lambda _: holds(watcher.session))


async def test_a_new_skill_is_a_command_before_the_next_prompt(bench: Bench, watcher: Watcher) -> None:
    write_skill(bench, "knit")
    await told(watcher, lambda session: "skill:knit" in commands(session))
    assert watcher.of(SessionChanged)[-1].commands
    write_skill(bench, "knit", "purls")
    await told(watcher, lambda session: commands(session).get("skill:knit") == "purls")
    (bench.project / ".agents" / "skills" / "knit.md").unlink()
    await told(watcher, lambda session: "skill:knit" not in commands(session))


async def test_the_first_skill_of_a_user_is_noticed_too(bench: Bench, watcher: Watcher) -> None:
    folder = bench.root / ".claude" / "skills" / "knit"
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text(SKILL.format("knits"))
    await told(watcher, lambda session: "skill:knit" in commands(session))


async def test_nobody_but_the_menu_is_told_before_the_next_turn(bench: Bench, watcher: Watcher) -> None:
    bench.script("text: yes", "text: yes")
    await finish(watcher.session, "hello")
    write_skill(bench, "knit")
    await told(watcher, lambda session: "skill:knit" in commands(session))
    assert not watcher.of(Notification)
    assert not watcher.of(ContextNote)
    assert "knit" not in prompt_of(watcher.session)
    await finish(watcher.session, "hello")
    assert [notice.body for notice in watcher.of(Notification)] == ["new: knit"]
    assert "- knit: knits" in watcher.of(ContextNote)[-1].text


async def test_a_skill_that_the_agent_writes_is_a_command_after_its_turn(bench: Bench, watcher: Watcher) -> None:
    path = str(bench.project / ".agents" / "skills" / "knit.md")
    bench.script(call("WriteFile", path=path, content=SKILL.format("knits")), "text: done")
    await finish(watcher.session, "Make a skill.")
    await told(watcher, lambda session: "skill:knit" in commands(session))


async def test_an_agent_that_the_user_wrote_can_be_chosen(bench: Bench, watcher: Watcher) -> None:
    folder = bench.config / "agents"
    await settled(bench, watcher)
    folder.mkdir(parents=True)
    (folder / "own.yaml").write_text(AGENT)
    await told(watcher, lambda session: "own" in choices(session, "agent"))
    assert watcher.of(SessionChanged)[-1].options is not None


async def test_what_the_user_chose_by_a_path_is_shown_once(bench: Bench, watcher: Watcher) -> None:
    await settled(bench, watcher)
    (bench.root / "own.yaml").write_text(AGENT)
    await choose(watcher.session, "agent", str(bench.root / "own.yaml"))
    write_skill(bench, "knit")
    await told(watcher, lambda session: "skill:knit" in commands(session))
    write_skill(bench, "purl")
    await told(watcher, lambda session: "skill:purl" in commands(session))
    assert len([change for change in watcher.of(SessionChanged) if change.options is not None]) == 1


async def settled(bench: Bench, watcher: Watcher) -> None:
    """Everything was looked at, and is watched."""
    write_skill(bench, "first")
    await told(watcher, lambda session: "skill:first" in commands(session))
    watcher.records.clear()


def written_anew(bench: Bench, path: Path) -> None:
    """As an editor saves it: a new file takes the old one's name."""
    document = json.loads(path.read_text())
    document["models"]["other"] = {**document["models"]["scripted"], "model": "other"}
    draft = path.with_name("draft")
    draft.write_text(json.dumps(document))
    draft.replace(path)


async def test_a_model_that_the_user_configures_can_be_chosen(bench: Bench, watcher: Watcher) -> None:
    await settled(bench, watcher)
    written_anew(bench, bench.root / "config.json")
    await told(watcher, lambda session: "other" in choices(session, "model"))
    assert watcher.of(SessionChanged)[-1].options is not None


async def test_a_configuration_behind_a_link_is_noticed(bench: Bench, watcher: Watcher) -> None:
    away = bench.root / "dotfiles"
    away.mkdir()
    (bench.root / "config.json").rename(away / "config.json")
    (bench.root / "config.json").symlink_to(away / "config.json")
    await settled(bench, watcher)
    written_anew(bench, away / "config.json")
    await told(watcher, lambda session: "other" in choices(session, "model"))


async def test_a_mistake_in_the_configuration_changes_no_menu(bench: Bench, watcher: Watcher) -> None:
    await settled(bench, watcher)
    before = choices(watcher.session, "model")
    (bench.root / "config.json").write_text("{")
    write_skill(bench, "knit")
    await told(watcher, lambda session: "skill:knit" in commands(session))
    assert choices(watcher.session, "model") == before
    assert [change for change in watcher.of(SessionChanged) if change.options is not None] == []
