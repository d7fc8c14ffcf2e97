"""What a look says of a directory: every file that is not as it was with what it held, and no other."""

import os
import shutil
import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from sould.agents.config import CaptureLimits
from sould.agents.projects.gitfiles import GitFiles
from sould.agents.projects.preimages import Directory, FileVersion, PreimageStore
from sould.agents.projects.state import DIRECTORY

NAMES = ["a", "b c", "line\nbreak", "ümlaut", os.fsdecode(b"not text \xff")]
PATHS = [*NAMES, *(f"deep/er/{name}" for name in NAMES), "deep", "deep/er"]
rounds = st.lists(
    st.lists(st.tuples(st.sampled_from(PATHS), st.sampled_from(["write", "folder", "delete"]), st.integers(0, 999))),
    min_size=1,
    max_size=4,
)


@settings(max_examples=25, deadline=None, derandomize=True)
@given(rounds)
def test_a_look_finds_what_changed_and_knows_what_it_was(chosen: list[list[tuple[str, str, int]]]) -> None:
    with tempfile.TemporaryDirectory(prefix="sould-look-") as scratch:
        root = Path(scratch, "project")
        root.mkdir()
        directory = Directory(
            root, GitFiles(root, {"PATH": scratch}), PreimageStore(Path(scratch), 1 << 20), CaptureLimits()
        )
        before = held(root)
        for steps in [[], *chosen]:
            for path, kind, number in steps:
                change(root / path, kind, number)
            found = {each.path: each for each in directory.update()}
            after = held(root)
            assert found.keys() == {path for path in before | after if before.get(path) != after.get(path)}
            for path, each in found.items():
                assert content(directory, each.before) == before.get(path)
                assert content(directory, each.after) == after.get(path)
            assert directory.update() == []
            before = after
        directory.kept.close()


def change(path: Path, kind: str, number: int) -> None:
    """As far as it can be done there."""
    if any(parent.is_file() for parent in path.parents):
        return
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
    if kind != "delete":
        (path if kind == "folder" else path.parent).mkdir(parents=True, exist_ok=True)
        if kind == "write":
            path.write_text(str(number))


def held(root: Path) -> dict[str, bytes | str]:
    """By relative path."""
    return {str(path.relative_to(root)): path.read_bytes() if path.is_file() else DIRECTORY for path in root.rglob("*")}


def content(directory: Directory, what: FileVersion | None) -> bytes | str | None:
    """What the look says that was, or is, in a place."""
    if what is None or what.ref == DIRECTORY:
        return what.ref if what else None
    return directory.contents([what])[what.ref]
