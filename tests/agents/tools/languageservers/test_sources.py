"""Which files of a project a language server is told of, where they take longer to look at than a look may."""

from collections.abc import Generator
from itertools import chain
from pathlib import Path

import pytest

from sould.agents.files.directories.watching import Watches
from sould.agents.tools.languageservers.sources import SourceFiles


@pytest.fixture
def sources(tmp_path: Path) -> Generator[SourceFiles]:
    """Of a directory where nothing can be watched; each look but the first reaches one folder."""
    made = SourceFiles(tmp_path, (".py",), (), Watches(most=0), seconds=0)
    yield made
    made.close()


def told(sources: SourceFiles, looks: int) -> list[list[tuple[str, int]]]:
    """What each look says, with the names of folder and file."""
    return [[("/".join(event.path.parts[-2:]), event.kind) for event in sources.look()] for _ in range(looks)]


def test_what_one_look_does_not_reach_is_told_by_the_next_ones_and_once(tmp_path: Path, sources: SourceFiles) -> None:
    folders = [tmp_path / name for name in "abcde"]
    for folder in folders:
        folder.mkdir()
        (folder / "old.py").touch()
        (folder / "gone.py").touch()
    assert told(sources, 1) == [[]]
    for folder in folders:
        (folder / "old.py").write_text("changed\n")
        (folder / "new.py").touch()
        (folder / "gone.py").unlink()
    looks = told(sources, 12)
    changes = (("new.py", 1), ("old.py", 2), ("gone.py", 3))
    assert sorted(chain.from_iterable(looks)) == sorted(
        (f"{folder}/{name}", kind) for folder in "abcde" for name, kind in changes
    )
    assert max(map(len, looks)) == len(changes), "a folder at a time"


def test_a_folder_that_goes_while_a_look_is_not_finished_is_told_of(tmp_path: Path, sources: SourceFiles) -> None:
    for name in "abc":
        (tmp_path / name).mkdir()
        (tmp_path / name / "m.py").touch()
    assert told(sources, 2) == [[], []]
    for name in "abc":
        (tmp_path / name / "m.py").unlink()
        (tmp_path / name).rmdir()
    assert sorted(chain.from_iterable(told(sources, 8))) == [("a/m.py", 3), ("b/m.py", 3), ("c/m.py", 3)]
