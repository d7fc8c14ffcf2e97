"""Folders of thousands of files: what is asked of many of them goes through the folder once, and is done some time."""

import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest

from sould.agents.base.config import CaptureLimits
from sould.agents.files.directories.copying import PreimageStore
from sould.agents.files.directories.directory import Directory
from sould.agents.files.directories.gitfiles import GitFiles


@contextmanager
def looking(root: Path, scratch: Path) -> Generator[Directory]:
    """A directory without git that is looked at; copies lie in `scratch`."""
    store = PreimageStore(scratch, 1 << 30)
    directory = Directory(root, GitFiles(root, {}), store, CaptureLimits())
    try:
        yield directory
    finally:
        directory.close()
        store.close()


def bytes_read(work: Callable[[], object]) -> int:
    """By this process, from files."""

    def so_far() -> int:
        return int(Path("/proc/self/io").read_text().split()[1])

    before = so_far()
    work()
    return so_far() - before


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
def test_what_is_asked_of_many_files_of_one_folder_reads_no_more_for_each_of_them(tmp_path: Path) -> None:
    """What is known of a folder is kept on disk, so bytes tell how often it is gone through."""
    touching: list[int] = []
    asking: list[int] = []
    for count in (200, 1600):
        root = tmp_path / str(count)
        root.mkdir()
        for number in range(count):
            (root / f"{number}.txt").write_text("")
        with looking(root, tmp_path) as directory:
            directory.update(told=False)
            names = [f"{number}.txt" for number in range(count)]
            touching.append(bytes_read(partial(directory.update, touched=names)))
            asking.append(bytes_read(partial(directory.not_kept, names)))
    assert touching[1] < 16 * touching[0]  # eight times the files; for each of them anew it would be 64 times as much
    assert asking[1] < 16 * asking[0]


@pytest.mark.long
def test_a_large_folder_is_copied_whole_however_little_time_there_is_at_once(tmp_path: Path) -> None:
    root = tmp_path / "project"
    root.mkdir()
    names = [f"{number}.txt" for number in range(3000)]
    for name in names:
        (root / name).write_text(name)
    with looking(root, tmp_path) as directory:
        directory.update(told=False, patience=0.0)
        assert directory.uncopied
        for _ in range(10 * len(names)):
            directory.copy_some(0.001)
        assert not directory.uncopied
        for name in names:
            (root / name).write_text("other")
        found = directory.update()
        held = directory.contents(each.before for each in found if each.before)
        assert {each.path: held[each.before.ref].decode() for each in found if each.before} == {
            name: name for name in names
        }
