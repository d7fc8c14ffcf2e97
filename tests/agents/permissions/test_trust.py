"""Trust: unknown until said, bound to the directory, never for what is too wide."""

import stat
from pathlib import Path

import pytest

from sould.agents.permissions.projectfiles import contents
from sould.agents.permissions.trust import TrustError, TrustStore
from soultest.gitinit import git_init


@pytest.fixture
def project(tmp_path: Path) -> Path:
    project = tmp_path / "project"
    project.mkdir()
    return project


@pytest.fixture
def store(tmp_path: Path) -> TrustStore:
    return TrustStore(tmp_path / "state" / "trust.json")


def test_a_workspace_is_unknown_until_the_user_says_something(store: TrustStore, project: Path) -> None:
    assert store.state(project) == "unknown"
    for state in ("trusted", "restricted", "unknown"):
        store.set(project, state)
        assert store.state(project) == state


def test_trust_outlives_the_process_in_a_private_file(store: TrustStore, project: Path, tmp_path: Path) -> None:
    store.set(project, "trusted")
    assert TrustStore(tmp_path / "state" / "trust.json").state(project) == "trusted"
    assert stat.S_IMODE((tmp_path / "state" / "trust.json").stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "state").stat().st_mode) == 0o700
    assert sorted(entry.name for entry in (tmp_path / "state").iterdir()) == [
        ".answers.lock",
        "trust.json",
        "trusted",
    ]
    assert [stat.S_IMODE(entry.stat().st_mode) for entry in (tmp_path / "state" / "trusted").iterdir()] == [0o600]


def test_trust_is_not_inherited_and_follows_links(store: TrustStore, project: Path, tmp_path: Path) -> None:
    store.set(project, "trusted")
    (project / "sub").mkdir()
    (tmp_path / "link").symlink_to(project)
    assert store.state(project / "sub") == "unknown"
    assert store.state(tmp_path) == "unknown"
    assert store.state(tmp_path / "link") == "trusted"


def test_another_directory_in_its_place_is_unknown(store: TrustStore, project: Path) -> None:
    store.set(project, "trusted")
    project.rename(project.with_name("old"))
    project.mkdir()
    assert store.state(project) == "unknown"


def test_too_wide_or_missing_directories_are_refused(store: TrustStore, tmp_path: Path) -> None:
    for path in (Path("/"), Path("/tmp"), Path.home(), tmp_path / "missing"):
        with pytest.raises(TrustError):
            store.set(path, "trusted")
        assert store.state(path) == "unknown"


@pytest.mark.parametrize("damage", [b"", b"{", b"[]", b'{"x": 1}', b"\xff"])
def test_a_damaged_store_trusts_nothing_and_can_be_written_again(
    store: TrustStore, project: Path, tmp_path: Path, damage: bytes
) -> None:
    store.set(project, "trusted")
    (tmp_path / "state" / "trust.json").write_bytes(damage)
    assert store.state(project) == "unknown"
    store.set(project, "restricted")
    assert store.state(project) == "restricted"


def test_a_store_others_may_write_trusts_nothing(store: TrustStore, project: Path, tmp_path: Path) -> None:
    store.set(project, "trusted")
    (tmp_path / "state" / "trust.json").chmod(0o666)
    assert store.state(project) == "unknown"


def write(path: Path, text: str = "x") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_what_is_trusted_is_the_configuration_of_that_moment(store: TrustStore, project: Path) -> None:
    hooks, agent = write(project / ".sould" / "hooks.toml"), write(project / ".agents" / "a.yaml")
    servers = project / ".mcp.json"
    assert store.changes(project, contents(project)) == ()
    store.set(project, "trusted")
    write(project / "src" / "main.py")
    write(project / ".sould" / "memory.md")
    assert store.changes(project, contents(project)) == ()
    assert store.changed(project, (hooks, agent, servers, project / "src" / "main.py")) == (servers,)
    write(hooks, "y")
    write(servers)
    agent.unlink()
    changes = {change.path: change.how for change in store.changes(project, contents(project))}
    assert changes == {hooks: "changed", servers: "added", agent: "removed"}
    assert store.changed(project, (hooks,)) == (hooks,)
    store.set(project, "trusted")
    assert store.changes(project, contents(project)) == ()


def test_what_the_user_saw_is_trusted_and_not_what_came_while_they_looked(store: TrustStore, project: Path) -> None:
    hooks = write(project / ".sould" / "hooks.toml")
    seen = contents(project)
    write(hooks, "evil")
    store.set(project, "trusted", seen)
    assert store.changed(project, (hooks,)) == (hooks,)


def test_skills_above_the_directory_and_behind_links_are_configuration_too(store: TrustStore, tmp_path: Path) -> None:
    root = tmp_path / "repository"
    inner = root / "packages" / "one"
    git_init(root)
    inner.mkdir(parents=True)
    above = write(root / ".claude" / "skills" / "check" / "run.sh")
    linked = write(root / "shared" / "lint" / "run.sh")
    (root / ".claude" / "skills" / "lint").symlink_to(root / "shared" / "lint")
    (root / ".claude" / "skills" / "loop").symlink_to(root / ".claude")
    (root / ".claude" / "skills" / "all").symlink_to("/")
    store.set(inner, "trusted")
    assert store.changes(inner, contents(inner)) == ()
    write(above, "y")
    write(linked, "y")
    assert [change.path for change in store.changes(inner, contents(inner))] == [above, linked]


def test_losing_the_record_of_what_was_trusted_trusts_nothing_of_it(
    store: TrustStore, project: Path, tmp_path: Path
) -> None:
    hooks = write(project / ".sould" / "hooks.toml")
    store.set(project, "trusted")
    for file in (tmp_path / "state" / "trusted").iterdir():
        file.write_text("{")
    assert store.changed(project, (hooks,)) == (hooks,)
