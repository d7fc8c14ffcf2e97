"""Files of several names, and mount points, stay what they are when they are written, and hold one text or the other."""

import contextlib
import os
import subprocess
import sys
import textwrap
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sould.agents.base.diskfile import digest_of, replace_file
from sould.agents.base.inplace import is_torn
from sould.agents.base.localworkspace import LocalWorkspace
from sould.agents.base.workspace import FileChangedError, Linked, WorkspaceError


async def test_a_file_of_several_names_keeps_those_that_may_change_with_it(
    root: Path, workspace: LocalWorkspace
) -> None:
    (root / "a").write_text("a long text")
    (root / "a").chmod(0o640)
    (root / "b").hardlink_to(root / "a")
    before = (root / "a").stat()
    for text in ("short", "", "one that is longer than all before"):
        expected = digest_of((root / "b").read_bytes())
        await workspace.write_text(root / "a", text, expected=Linked(expected, 2))
        assert (root / "b").read_text() == text
    after = (root / "b").stat()
    assert (after.st_ino, after.st_nlink, after.st_mode) == (before.st_ino, 2, before.st_mode)
    assert sorted(os.listdir(root)) == ["a", "b"]


async def test_a_file_that_got_another_name_than_was_judged_is_parted_from_all(
    root: Path, tmp_path: Path, workspace: LocalWorkspace
) -> None:
    (root / "a").write_text("old")
    (root / "b").hardlink_to(root / "a")
    (tmp_path / "elsewhere").hardlink_to(root / "a")
    await workspace.write_text(root / "a", "new", expected=Linked(digest_of(b"old"), 2))
    assert [path.read_text() for path in (root / "a", root / "b", tmp_path / "elsewhere")] == ["new", "old", "old"]


async def test_what_is_written_in_place_is_only_what_was_read(root: Path, workspace: LocalWorkspace) -> None:
    (root / "a").write_text("theirs")
    (root / "b").hardlink_to(root / "a")
    with pytest.raises(FileChangedError, match="changed since it was read"):
        await workspace.write_text(root / "a", "ours", expected=Linked(digest_of(b"old"), 2))
    with (root / "b").open("r+"), pytest.raises(FileChangedError, match="another program is writing"):
        await workspace.write_text(root / "a", "ours", expected=Linked(digest_of(b"theirs"), 2))
    assert (root / "b").read_text() == "theirs"


def test_one_file_is_written_under_two_names_at_once_by_one_after_the_other(root: Path) -> None:
    """Whoever is second is refused, or writes over what the first one wrote: it is never a mixture."""
    (root / "a").write_text("0")
    (root / "b").hardlink_to(root / "a")

    def write(name: str) -> None:
        written = 0
        while written < 20:
            with contextlib.suppress(WorkspaceError):
                text = f"{name} {written} ".encode() * 1000
                expected = digest_of((root / name).read_bytes())
                replace_file(root / name, text, expected=expected, umask=0, names=2)
                written += 1

    writers = [threading.Thread(target=write, args=(name,)) for name in ("a", "b")]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    words = (root / "a").read_text().split()
    assert words in (["a", "19"] * 1000, ["b", "19"] * 1000)
    assert (root / "a").samefile(root / "b")


@pytest.fixture
def mounted(root: Path, tmp_path: Path) -> Iterator[Path]:
    """The file that is mounted at `a`."""
    source = tmp_path / "source"
    source.write_text("old")
    (root / "a").touch()
    subprocess.run(["mount", "--bind", str(source), str(root / "a")], check=True)
    yield source
    subprocess.run(["umount", "-l", str(root / "a")], check=True)


@pytest.mark.needs_root
async def test_a_mount_point_is_written_and_stays_one(root: Path, mounted: Path, workspace: LocalWorkspace) -> None:
    """As containers mount single files."""
    await workspace.write_text(root / "a", "new", expected=digest_of(b"old"))
    assert mounted.read_text() == "new"
    assert (root / "a").samefile(mounted)
    with pytest.raises(WorkspaceError, match="mount point"):
        await workspace.delete(root / "a", expected=digest_of(b"new"))
    assert sorted(os.listdir(root)) == ["a"]


@pytest.mark.needs_root
def test_a_mount_point_is_written_where_no_file_can_be_made(root: Path, mounted: Path) -> None:
    """As in a container whose own file system is read-only."""
    subprocess.run(["mount", "--bind", str(root), str(root)], check=True)
    subprocess.run(["mount", "-o", "remount,bind,ro", str(root)], check=True)
    subprocess.run(["mount", "--bind", str(mounted), str(root / "a")], check=True)
    try:
        with pytest.raises(OSError, match="Read-only"):
            (root / "new").touch()
        replace_file(root / "a", b"new", expected=digest_of(b"old"), umask=0)
    finally:
        subprocess.run(["umount", "-l", str(root)], check=True)
    assert mounted.read_text() == "new"


@pytest.mark.needs_root
async def test_a_mount_point_with_a_name_elsewhere_changes_only_when_that_may(
    root: Path, tmp_path: Path, mounted: Path, workspace: LocalWorkspace
) -> None:
    (tmp_path / "elsewhere").hardlink_to(mounted)
    with pytest.raises(WorkspaceError, match="nobody allowed"):
        await workspace.write_text(root / "a", "new", expected=digest_of(b"old"))
    assert mounted.read_text() == "old"
    await workspace.write_text(root / "a", "new", expected=Linked(digest_of(b"old"), 2))
    assert (tmp_path / "elsewhere").read_text() == "new"


@pytest.mark.parametrize("text", ["x" * 100_000, "y"])
def test_a_disk_that_refuses_a_write_in_place_leaves_the_old_text(root: Path, text: str) -> None:
    """The limit, which stands in for a full disk, refuses the part behind its end, or all."""
    old = b"o" * 5000
    (root / "a").write_bytes(old)
    (root / "b").hardlink_to(root / "a")
    program = textwrap.dedent(
        """
        import os, resource, signal, sys
        from pathlib import Path
        from sould.agents.base.inplace import write_in_place
        path, text = Path(sys.argv[1]), sys.argv[2].encode()
        folder, old = os.open(path.parent, os.O_RDONLY), os.open(path, os.O_RDONLY)
        held = path.read_bytes()
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (6000, 6000) if len(text) > 6000 else (0, 0))
        try:
            write_in_place(folder, path, old, held, text)
        except OSError as error:
            print(error.strerror)
        """
    )
    arguments = [sys.executable, "-c", program, str(root / "a"), text]
    done = subprocess.run(arguments, capture_output=True, text=True, timeout=30, check=True)
    assert done.stdout == "File too large\n"
    assert (root / "b").read_bytes() == old


TEXTS = st.binary(max_size=12)


@given(TEXTS, TEXTS, st.data())
def test_what_a_write_in_place_leaves_when_it_is_cut_off_is_known_again(
    before: bytes, after: bytes, data: st.DataObject
) -> None:
    longer = before + after[len(before) :]
    tail, head = data.draw(st.integers(len(before), len(longer))), data.draw(st.integers(0, len(after)))
    for found in (longer[:tail], after[:head] + longer[head:]):
        assert found in (before, after) or is_torn(found, before, after)


@given(TEXTS, TEXTS, TEXTS)
def test_what_has_anything_from_elsewhere_is_no_part_of_a_write(before: bytes, after: bytes, found: bytes) -> None:
    if is_torn(found, before, after):
        known = [{0, *before[at : at + 1], *after[at : at + 1]} for at in range(len(found))]
        assert all(byte in bytes_there for byte, bytes_there in zip(found, known, strict=True))
