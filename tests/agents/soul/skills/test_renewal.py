"""When a session looks for its skills again: whenever looking would find something else, and not before."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from sould.agents.base.config import Config
from sould.agents.base.filechanges import FileChanges
from sould.agents.base.liveconfig import FixedConfig, LiveConfig
from sould.agents.permissions.trust import TrustStore
from sould.agents.soul.session_request import SessionRequest
from sould.agents.soul.skills.catalog import SkillCatalog, open_catalog
from soultest.gitinit import git_init

SKILL = "---\nname: {0}\ndescription: {1}\n---\nbody\n"
Change = Callable[[Path], object]


def write(folder: Path, name: str, description: str = "d") -> Path:
    path = folder / name / "SKILL.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(SKILL.format(name, description))
    return path


@pytest.fixture
def changes() -> Iterator[FileChanges]:
    made = FileChanges()
    yield made
    made.close()


@pytest.fixture
def world(tmp_path: Path) -> Path:
    """A monorepo with a session in a part of it, a home, and a state directory."""
    write(tmp_path / "repo" / "part" / ".agents" / "skills", "mine")
    write(tmp_path / "home" / ".sould" / "skills", "usual")
    program = write(tmp_path / "repo" / "part" / ".agents" / "skills", "program").with_name("run.sh")
    program.write_text("#!/bin/sh\n")
    write(tmp_path / "repo" / ".agents" / "skills", "above")
    (tmp_path / "state").mkdir()
    return tmp_path


class Changing:
    """A configuration that the user edits. A `LiveConfig`."""

    now = Config()

    def look(self) -> Config:
        return self.now


async def opened(world: Path, changes: FileChanges, config: LiveConfig | None = None) -> SkillCatalog:
    opening = SessionRequest(world / "repo" / "part", environment={"HOME": str(world / "home")})
    trust = TrustStore(world / "state" / "trust.json")
    return await open_catalog(trust, opening, config or FixedConfig(Config()), changes)


def trusted(world: Path) -> None:
    TrustStore(world / "state" / "trust.json").set(world / "repo" / "part", "trusted")


EDITS: dict[str, tuple[Change, str]] = {
    "changed": (lambda world: write(world / "repo/part/.agents/skills", "mine", "e"), "changed: mine"),
    "gone": (lambda world: (world / "repo/part/.agents/skills/mine").rename(world / "mine"), "gone: mine"),
    "one of the user's": (lambda world: write(world / "home/.claude/skills", "new"), "new: new"),
    "in a directory that was not there": (lambda world: write(world / "repo/part/.kimi/skills", "new"), "new: new"),
    "in the project's configuration of kimi": (lambda world: write(world / "home/.config/sould/skills", "x"), "new: x"),
    "the repository begins above": (lambda world: git_init(world / "repo"), "new: above"),
    "the user trusts the project": (trusted, "new: program"),
    "a skill that is a link": (
        lambda world: (world / "home/.sould/skills/linked").symlink_to(write(world / "away", "linked").parent),
        "new: linked",
    ),
}


@pytest.mark.parametrize("edit", EDITS)
async def test_every_edit_is_taken_up_by_the_next_look(edit: str, world: Path, changes: FileChanges) -> None:
    catalog = await opened(world, changes)
    assert catalog.current is (sys.platform == "linux")
    make, told = EDITS[edit]
    make(world)
    assert not catalog.current
    assert catalog.refresh() == told
    assert catalog.current is (sys.platform == "linux")


async def test_a_changed_configuration_is_taken_up(world: Path, changes: FileChanges) -> None:
    write(world / "further", "extra")
    config = Changing()
    catalog = await opened(world, changes, config)
    assert catalog.current is (sys.platform == "linux")
    config.now = Config(extra_skill_dirs=(str(world / "further"),))
    assert not catalog.current
    assert catalog.refresh() == "new: extra"


async def test_what_changes_in_one_project_is_nothing_to_another(world: Path, changes: FileChanges) -> None:
    write(world / "other" / ".agents" / "skills", "theirs")
    mine = await opened(world, changes)
    trust = TrustStore(world / "state" / "trust.json")
    environment = {"HOME": str(world / "home")}
    theirs = await open_catalog(
        trust, SessionRequest(world / "other", environment=environment), FixedConfig(Config()), changes
    )
    write(world / "other" / ".agents" / "skills", "more")
    assert mine.current is (sys.platform == "linux")
    assert not theirs.current
    assert theirs.refresh() == "new: more"
    assert {"theirs", "more"}.isdisjoint(mine.skills)
    assert "mine" not in theirs.skills
