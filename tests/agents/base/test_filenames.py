"""A file's other names are known as far as they lie in the project; whatever else it has counts as elsewhere."""

from pathlib import Path

import pytest

from sould.agents.base.filenames import FileNames, Reach, names_among, names_of


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    (folder / "sub" / "deep").mkdir(parents=True)
    (folder / "a").write_text("text")
    return folder


def test_names_are_found_wherever_they_are_and_again_when_they_changed(root: Path, tmp_path: Path) -> None:
    path, outside = root / "a", tmp_path / "outside"
    assert names_of(path, [root]) == FileNames()
    (root / "sub" / "deep" / "b").hardlink_to(path)
    assert names_of(path, [root]) == FileNames(2, (root / "sub" / "deep" / "b",))
    assert not names_of(path, [root]).elsewhere
    (root / "sub" / "deep").rename(root / "moved")
    assert names_of(path, [root]).inside == (root / "moved" / "b",)
    (root / "moved").rename(outside)
    assert names_of(path, [root]).elsewhere
    assert not names_of(path, [root, outside]).elsewhere
    (root / "moved").symlink_to(outside)
    assert names_of(path, [root]).elsewhere
    (outside / "b").unlink()
    assert names_of(path, [root]) == FileNames()


def test_links_directories_and_what_is_missing_have_one_name(root: Path) -> None:
    (root / "b").hardlink_to(root / "a")
    (root / "link").symlink_to("a")
    for name in ("link", "sub", "missing", "a/b", "x" * 300):
        assert names_of(root / name, [root]) == FileNames(), name


def test_a_name_that_was_asked_about_counts_wherever_it_lies(root: Path, tmp_path: Path) -> None:
    (tmp_path / "outside").hardlink_to(root / "a")
    assert names_of(tmp_path / "outside", [root]) == FileNames(2, (root / "a",))
    assert names_of(tmp_path / "outside", [root / "sub"]).elsewhere


def test_before_a_write_a_name_is_parted_from_those_elsewhere_and_is_the_same_but_for_that(
    root: Path, tmp_path: Path
) -> None:
    path, outside = root / "a", tmp_path / "outside"
    outside.hardlink_to(path)
    path.chmod(0o751)
    before = path.stat()
    allowed = Reach((root,), all_names=True).prepare(path)
    assert (allowed.count, allowed.in_place, path.samefile(outside)) == (2, True, True)
    parted = Reach((root,)).prepare(path)
    assert (parted.count, parted.in_place, parted.parted, path.samefile(outside)) == (1, False, True, False)
    after = path.stat()
    assert (after.st_mtime_ns, after.st_mode, path.read_text()) == (before.st_mtime_ns, before.st_mode, "text")
    assert Reach((root,)).prepare(path).parted is False


def test_names_are_told_from_equal_files(root: Path) -> None:
    (root / "b").hardlink_to(root / "a")
    (root / "c").write_text("text")
    paths = [str(root / name) for name in ("a", "b", "c", "gone")]
    assert names_among(paths, paths[0]) == [paths[1]]
    assert not names_among(paths, paths[2])
    assert not names_among(paths, paths[3])
