"""Trust: unknown until said, bound to the directory, never for what is too wide."""

import stat
from pathlib import Path

import pytest

from sould.agents.permissions.trust import TrustError, TrustStore


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
    assert [entry.name for entry in (tmp_path / "state").iterdir()] == ["trust.json"]


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
