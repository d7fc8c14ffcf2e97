"""Files of what the user answered or chose: what cannot be read is asked about again, and nothing of 0.1 is lost."""

import json
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from pydantic import TypeAdapter

from sould.agents.base.answerfile import JsonAnswers
from sould.agents.permissions.remembered import Entry, Remembered
from sould.agents.permissions.rules import Rule, RulesError
from sould.agents.permissions.trust import TrustStore
from sould.agents.sessions.settings.projectmemory import ProjectMemory
from sould.agents.sessions.settings.seen_notices import ToldOnce
from sould.agents.soul.hooks.project import ProjectHooks


def garbage(path: Path) -> None:
    path.write_bytes(b'{"cut')


def shared(path: Path) -> None:
    path.chmod(0o666)


def link(path: Path) -> None:
    path.rename(path.with_suffix(".elsewhere"))
    path.symlink_to(path.with_suffix(".elsewhere"))


DAMAGES = [garbage, shared, link]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    project = tmp_path / "project"
    project.mkdir()
    return project


@pytest.mark.parametrize("damage", DAMAGES)
def test_trust_that_cannot_be_read_is_asked_for_again(
    tmp_path: Path, project: Path, damage: Callable[[Path], None]
) -> None:
    store = TrustStore(tmp_path / "trust.json")
    store.set(project, "trusted")
    damage(tmp_path / "trust.json")
    assert store.state(project) == "unknown"
    store.set(project, "restricted")
    assert store.state(project) == "restricted"
    assert (tmp_path / "trust.json.damaged").exists()


@pytest.mark.parametrize("damage", DAMAGES)
def test_what_was_trusted_and_cannot_be_read_counts_as_changed(
    tmp_path: Path, project: Path, damage: Callable[[Path], None]
) -> None:
    (project / ".mcp.json").write_text("{}")
    store = TrustStore(tmp_path / "trust.json")
    store.set(project, "trusted")
    assert store.changed(project, [project / ".mcp.json"]) == ()
    damage(next((tmp_path / "trusted").glob("*.json")))
    assert store.changed(project, [project / ".mcp.json"]) == (project / ".mcp.json",)


@pytest.mark.parametrize("damage", DAMAGES)
def test_accepted_hooks_that_cannot_be_read_are_compared_with_what_was_trusted(
    tmp_path: Path, project: Path, damage: Callable[[Path], None]
) -> None:
    (project / ".sould").mkdir()
    file = project / ".sould" / "hooks.toml"
    file.write_text('[[hooks]]\nevent = "PreToolUse"\ncommand = "true"\n')
    trust = TrustStore(tmp_path / "trust.json")
    trust.set(project, "trusted")
    hooks = ProjectHooks(tmp_path / "hooks.json", trust, project)
    assert len(hooks.hooks()) == 1
    file.write_text('[[hooks]]\nevent = "PreToolUse"\ncommand = "false"\n')
    damage(tmp_path / "hooks.json")
    assert hooks.hooks() == ()
    assert "changed since you trusted" in hooks.problem()


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_mode_that_cannot_be_read_is_that_of_nobody(
    tmp_path: Path, project: Path, damage: Callable[[Path], None]
) -> None:
    memory = ProjectMemory(tmp_path / "projects.json")
    memory.remember_mode(project, "review")
    memory.remember_editor_context(project, "off")
    assert (memory.mode(project), memory.editor_context(project)) == ("review", "off")
    damage(tmp_path / "projects.json")
    assert (memory.mode(project), memory.editor_context(project)) == (None, "ask")
    memory.remember_mode(project, "ask")
    assert memory.mode(project) == "ask"


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_notice_that_cannot_be_read_is_said_once_more(
    tmp_path: Path, project: Path, damage: Callable[[Path], None]
) -> None:
    told = ToldOnce(tmp_path / "told.json")
    assert told.is_news("topic", project, "words")
    assert not told.is_news("topic", project, "words")
    damage(tmp_path / "told.json")
    assert told.is_news("topic", project, "words")
    assert not told.is_news("topic", project, "words")


@pytest.mark.parametrize("damage", DAMAGES)
def test_remembered_answers_that_cannot_be_read_allow_nothing_and_stay(
    tmp_path: Path, damage: Callable[[Path], None]
) -> None:
    remembered = Remembered(tmp_path / "remembered.toml")
    entry = Entry.of(Rule("allow", "mcp:box:echo"), None, "me")
    remembered.keep(entry)
    damage(tmp_path / "remembered.toml")
    before = (tmp_path / "remembered.toml").read_bytes()
    with pytest.raises(RulesError):
        remembered.rules(["mcp:box:echo"], lambda: None)
    with pytest.raises(RulesError):
        remembered.keep(entry)
    assert (tmp_path / "remembered.toml").read_bytes() == before


def test_what_the_first_release_wrote_is_taken_over(tmp_path: Path, project: Path) -> None:
    status = project.stat()
    of = {"device": status.st_dev, "inode": status.st_ino, "since": 1.5}
    (tmp_path / "trust.json").write_text(json.dumps({str(project): {"state": "restricted", **of}}))
    (tmp_path / "projects.json").write_text(json.dumps({"projects": {str(project): {"mode": "review"}}}))
    for name in ("trust.json", "projects.json"):
        (tmp_path / name).chmod(0o600)
    assert TrustStore(tmp_path / "trust.json").state(project) == "restricted"
    assert ProjectMemory(tmp_path / "projects.json").mode(project) == "review"


def test_of_many_who_change_a_file_at_once_none_loses_anothers_answer(tmp_path: Path) -> None:
    form = TypeAdapter(dict[str, int])

    def add(name: str) -> None:
        JsonAnswers(tmp_path / "a.json", form).change(lambda known: {**(known or {}), name: 1})

    threads = [threading.Thread(target=add, args=(str(number),)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert JsonAnswers(tmp_path / "a.json", form).read() == {str(number): 1 for number in range(8)}
