"""Whether something may have changed: whatever looking would find different has changed, and what nobody touched has not."""

import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sould.agents.base import filechanges
from sould.agents.base.filechanges import FileChanges
from soultest.luck import examples

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere everything is looked at each time")


@pytest.fixture
def changes() -> Iterator[FileChanges]:
    made = FileChanges()
    yield made
    made.close()


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A file, a tree, both also behind links, and a neighbour of theirs."""
    root = tmp_path / "home" / "project"
    (root / ".sould" / "skills" / "one" / "more").mkdir(parents=True)
    (root / ".sould" / "skills" / "one" / "SKILL.md").write_text("one")
    (root / "config.toml").write_text("a = 1")
    elsewhere = tmp_path / "elsewhere"
    (elsewhere / "two").mkdir(parents=True)
    (elsewhere / "two" / "SKILL.md").write_text("two")
    (elsewhere / "other.toml").write_text("b = 1")
    (root / ".sould" / "skills" / "two").symlink_to(elsewhere / "two")
    (root / "linked.toml").symlink_to("../../elsewhere/other.toml")
    (root / "src").mkdir()
    return root


def replaced(path: Path, text: str) -> None:
    draft = path.with_name("draft")
    draft.write_text(text)
    draft.replace(path)


def retargeted(link: Path, target: Path) -> None:
    link.unlink()
    link.symlink_to(target)


def made_anew(directory: Path) -> None:
    directory.rename(directory.with_name("gone"))
    shutil.copytree(directory.with_name("gone"), directory, symlinks=True)


EDITS: dict[str, Callable[[Path], object]] = {
    "in place": lambda root: (root / "config.toml").write_text("a = 2"),
    "in place, as long, with the old times": lambda root: same_times(root / "config.toml", "a = 3"),
    "by rename": lambda root: replaced(root / "config.toml", "a = 1"),
    "deleted": lambda root: (root / "config.toml").unlink(),
    "another mode": lambda root: (root / "config.toml").chmod(0o622),
    "what a link leads to": lambda root: (root / "linked.toml").write_text("b = 2"),
    "where a link leads": lambda root: retargeted(root / "linked.toml", root / "config.toml"),
    "what a link leads to, by rename": lambda root: replaced(root.parent.parent / "elsewhere" / "other.toml", ""),
    "made": lambda root: (root / "missing" / "deep").mkdir(parents=True) or (root / "missing/deep/file").touch(),
    "a file in a tree": lambda root: (root / ".sould/skills/one/SKILL.md").write_text("1"),
    "made in a tree": lambda root: (root / ".sould/skills/one/more/x").touch(),
    "a directory in a tree": lambda root: (root / ".sould/skills/three").mkdir(),
    "a tree made below it, at once": lambda root: shutil.copytree(root / ".sould/skills/one", root / ".sould/skills/3"),
    "deleted in a tree": lambda root: shutil.rmtree(root / ".sould/skills/one/more"),
    "behind a link in a tree": lambda root: (root.parent.parent / "elsewhere/two/SKILL.md").write_text("2"),
    "where a link in a tree leads": lambda root: retargeted(root / ".sould/skills/two", root / "src"),
    "a directory on the way, replaced": lambda root: made_anew(root / ".sould"),
    "the project, moved": lambda root: root.rename(root.with_name("moved")),
    "a directory far above, replaced": lambda root: made_anew(root.parent),
}


def same_times(path: Path, text: str) -> None:
    before = path.stat()
    path.write_text(text)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


@pytest.mark.parametrize("edit", EDITS)
def test_every_edit_is_seen_and_seen_once(edit: str, project: Path, changes: FileChanges) -> None:
    files = [project / name for name in ("config.toml", "linked.toml", "missing/deep/file")]

    def stamp() -> filechanges.Stamp | None:
        return changes.stamp(files, [project / ".sould" / "skills"])

    before = stamp()
    assert before is not None
    assert changes.holds(before)
    EDITS[edit](project)
    assert not changes.holds(before)
    after = stamp()
    assert after is not None
    assert after != before
    assert changes.holds(after)
    assert not changes.holds(before)


def test_what_happens_beside_a_place_is_none_of_it(project: Path, changes: FileChanges) -> None:
    stamp = changes.stamp([project / "config.toml", project / "missing"], [project / ".sould" / "skills"])
    assert stamp is not None
    (project / "src" / "main.py").write_text("code")
    (project / "notes.md").write_text("text")
    (project / ".sould" / "memory.md").write_text("text")
    (project.parent / "neighbour").mkdir()
    assert changes.holds(stamp)


def test_what_cannot_be_watched_without_missing_something_has_no_stamp(project: Path, changes: FileChanges) -> None:
    (project / "other name").hardlink_to(project / "config.toml")
    assert changes.stamp([project / "config.toml"]) is None
    (project / "loop").symlink_to("loop")
    assert changes.stamp([project / "loop"]) is None
    assert changes.stamp([Path("relative")]) is None
    assert changes.stamp(["/proc/self/status"]) is None, "a file system whose changes nobody reports"
    for number in range(filechanges.MOST_DIRECTORIES):
        (project / "src" / str(number)).mkdir()
    assert changes.stamp((), [project / "src"]) is None
    assert not changes.holds(None)


def test_when_the_queue_ran_over_everything_has_changed(project: Path, changes: FileChanges) -> None:
    stamp = changes.stamp([project / "config.toml"], [project / "src"])
    longest = int(Path("/proc/sys/fs/inotify/max_queued_events").read_text())
    for number in range(longest // 2 + 2):
        name = project / "src" / str(number % 3)
        name.touch()
        name.unlink()
    again = changes.stamp([project / "config.toml"], [project / "src"])
    assert not changes.holds(stamp)
    assert changes.holds(again)


def test_what_nobody_asks_for_any_more_is_forgotten_with_the_rest(project: Path, changes: FileChanges) -> None:
    stamp = changes.stamp([project / "config.toml"])
    assert changes.stamp([project / f"missing {number}" for number in range(filechanges.MOST_PLACES)]) is not None
    assert changes.holds(stamp)
    again = changes.stamp([project / "config.toml"])
    assert not changes.holds(stamp)
    assert changes.holds(again)
    (project / "config.toml").write_text("a = 2")
    assert not changes.holds(again)


def test_what_is_closed_watches_nothing_and_whoever_asks_looks_again(project: Path, changes: FileChanges) -> None:
    stamp = changes.stamp([project / "config.toml"])
    changes.close()
    assert not changes.holds(stamp)
    assert changes.stamp([project / "config.toml"]) is None


NAMES = st.sampled_from(["a", "b", "a/c", "b/c", "a/c/d", "b/c/d"])
STEPS = st.lists(
    st.tuples(st.sampled_from(["write", "mkdir", "rename", "delete", "link", "chmod"]), NAMES, NAMES), max_size=25
)


def snapshot(path: str, depth: int = 6) -> object:
    """All that looking at a place tells, links followed."""
    try:
        status = os.stat(path)
    except OSError as error:
        return error.errno
    told = (status.st_ino, status.st_mode, status.st_size, status.st_mtime_ns if not os.path.isdir(path) else 0)
    below = sorted(os.listdir(path)) if os.path.isdir(path) and depth else []
    return told, [(name, snapshot(f"{path}/{name}", depth - 1)) for name in below]


def taken(root: str, step: tuple[str, str, str]) -> None:
    kind, one, other = step[0], f"{root}/{step[1]}", f"{root}/{step[2]}"
    match kind:
        case "write":
            Path(one).write_text(other)
        case "mkdir":
            Path(one).mkdir(parents=True)
        case "rename":
            Path(one).rename(other)
        case "delete":
            shutil.rmtree(one) if os.path.isdir(one) and not os.path.islink(one) else os.unlink(one)
        case "link":
            Path(one).symlink_to(other)
        case _:
            Path(one).chmod(0o700 if Path(one).stat().st_mode & 0o077 else 0o755)


@settings(max_examples=examples(150), deadline=None)
@given(STEPS, NAMES, NAMES)
def test_whatever_looking_would_find_different_has_changed(
    steps: list[tuple[str, str, str]], file: str, tree: str
) -> None:
    with tempfile.TemporaryDirectory() as directory:
        root = os.path.realpath(directory)
        changes = FileChanges()
        stamp = changes.stamp([f"{root}/{file}"], [f"{root}/{tree}"])
        for step in steps:
            before = (
                os.stat(f"{root}/{file}").st_mtime_ns if os.path.isfile(f"{root}/{file}") else 0,
                snapshot(f"{root}/{tree}"),
            )
            try:
                taken(root, step)
            except OSError:
                continue
            after = (
                os.stat(f"{root}/{file}").st_mtime_ns if os.path.isfile(f"{root}/{file}") else 0,
                snapshot(f"{root}/{tree}"),
            )
            if before != after:
                assert not changes.holds(stamp)
            if not changes.holds(stamp):
                stamp = changes.stamp([f"{root}/{file}"], [f"{root}/{tree}"])
        changes.close()
