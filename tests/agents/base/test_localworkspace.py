"""The disk as a workspace: judged after every link, nothing followed after that, and never a half-written or lost text."""

import asyncio
import contextlib
import os
import stat
import struct
import subprocess
import sys
import textwrap
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from sould.agents.base.diskfile import digest_of, sweep
from sould.agents.base.localworkspace import MAX_TEXT, LocalWorkspace
from sould.agents.base.workspace import (
    FileChangedError,
    JustRead,
    NotAFileError,
    NotTextError,
    OutsideError,
    WorkspaceError,
)
from soultest.bench.tools import no_commands


def test_paths_are_judged_after_every_link(root: Path, tmp_path: Path, workspace: LocalWorkspace) -> None:
    (tmp_path / "app-tools").mkdir()
    (tmp_path / "outside.txt").write_text("x")
    (root / "dir").mkdir()
    (root / "link").symlink_to(tmp_path)
    (root / "file").symlink_to(tmp_path / "outside.txt")
    (root / "dangling").symlink_to(tmp_path / "not-there")
    (root / "inner").symlink_to(root / "dir")
    outside = [
        "..",
        "dir/../../x",
        "link/x",
        "file",
        "dangling",
        "../app-tools/x",
        "/etc/passwd",
        "~/x",
        "~",
        "/proc/self/root/etc",
    ]
    for path in outside:
        assert not workspace.resolve(path).inside, path
    for path in ["", ".", "new", "new/deeper", "dir/../x", "inner/x", str(root / "x"), "..\\x", "dir /x.", "~root/x"]:
        assert workspace.resolve(path).inside, path
    assert workspace.resolve("inner/x").path == root / "dir" / "x"
    assert workspace.resolve("file").path == tmp_path / "outside.txt"


def test_additional_directories_count_as_inside(root: Path, tmp_path: Path) -> None:
    (tmp_path / "more").mkdir()
    workspace = LocalWorkspace(root, (tmp_path / "more",), no_commands)
    assert workspace.resolve("../more/x").inside
    assert not workspace.resolve("../moreover").inside


@pytest.mark.parametrize("path", ["a\0b", "x" * 256, "y/" * 3000, "\ud800"])
def test_a_path_that_can_name_nothing_is_refused(workspace: LocalWorkspace, path: str) -> None:
    with pytest.raises(OutsideError):
        workspace.resolve(path)


async def test_a_link_that_points_to_itself_is_an_error(root: Path, workspace: LocalWorkspace) -> None:
    (root / "loop").symlink_to("loop")
    with pytest.raises(WorkspaceError):
        await workspace.read_text(workspace.resolve("loop").path)


@pytest.mark.parametrize("text", ["", "a", "a\r\nb\r\n", "\ufeffa\nb", "a\r\nb\nc\rd", "ünïcödé\u2028x\n\n"])
async def test_a_text_comes_back_exactly_as_it_was_written(root: Path, workspace: LocalWorkspace, text: str) -> None:
    path = root / "deep" / "er" / "file.txt"
    await workspace.write_text(path, text, expected=None)
    assert path.read_bytes() == text.encode()
    found = await workspace.read_text(path)
    assert (found.text, found.digest, found.unsaved) == (text, digest_of(text.encode()), False)


async def test_mode_and_attributes_stay_and_no_other_file_is_left(root: Path, workspace: LocalWorkspace) -> None:
    path = root / "run.sh"
    path.write_text("old")
    path.chmod(0o751)
    kept = True
    try:
        os.setxattr(path, "user.note", b"mine")
    except OSError:
        kept = False  # this file system has none
    await workspace.write_text(path, "new", expected=digest_of(b"old"))
    assert stat.S_IMODE(path.stat().st_mode) == 0o751
    assert not kept or os.getxattr(path, "user.note") == b"mine"
    assert os.listdir(root) == ["run.sh"]


@pytest.fixture
def private() -> Iterator[None]:
    """The umask of a daemon."""
    mask = os.umask(0o077)
    yield
    os.umask(mask)


@pytest.mark.usefixtures("private")
@pytest.mark.parametrize(
    ("umask", "file", "folder"), [(0o022, 0o644, 0o755), (0o002, 0o664, 0o775), (0o077, 0o600, 0o700)]
)
async def test_a_new_file_and_its_directories_have_the_modes_of_the_sessions_umask(
    root: Path, umask: int, file: int, folder: int
) -> None:
    os.chmod(root, 0o2755)  # as in a directory of a group: who works there shares what is made
    workspace = LocalWorkspace(root, (), no_commands, umask=umask)
    await workspace.write_text(root / "deep" / "er" / "new", "x", expected=None)
    assert stat.S_IMODE((root / "deep" / "er" / "new").stat().st_mode) == file
    assert [stat.S_IMODE((root / name).stat().st_mode) for name in ("deep", "deep/er")] == [0o2000 | folder] * 2


@pytest.mark.usefixtures("private")
@pytest.mark.skipif(sys.platform != "linux", reason="Linux alone has default ACLs")
async def test_where_a_directory_says_by_its_acl_what_new_files_may_be_no_umask_does(root: Path) -> None:
    def entry(tag: int, permissions: int) -> bytes:
        return struct.pack("<HHI", tag, permissions, 0xFFFFFFFF)

    acl = struct.pack("<I", 2) + entry(0x01, 7) + entry(0x04, 5) + entry(0x20, 0)
    os.setxattr(root, "system.posix_acl_default", acl)
    workspace = LocalWorkspace(root, (), no_commands, umask=0o002)
    await workspace.write_text(root / "deep" / "new", "x", expected=None)
    assert stat.S_IMODE((root / "deep" / "new").stat().st_mode) == 0o640
    assert stat.S_IMODE((root / "deep").stat().st_mode) == 0o750


async def test_a_stale_digest_writes_nothing(root: Path, workspace: LocalWorkspace) -> None:
    path = root / "a"
    path.write_text("one")
    read = await workspace.read_text(path)
    path.write_text("two, by somebody else")
    with pytest.raises(FileChangedError, match="changed since it was read"):
        await workspace.write_text(path, "three", expected=read.digest)
    with pytest.raises(FileChangedError, match="exists already"):
        await workspace.write_text(path, "three", expected=None)
    path.unlink()
    with pytest.raises(FileChangedError, match="deleted since it was read"):
        await workspace.write_text(path, "three", expected=read.digest)
    assert os.listdir(root) == []


async def test_a_file_is_deleted_only_as_it_was_read_and_its_directory_stays(
    root: Path, workspace: LocalWorkspace
) -> None:
    path = root / "made" / "here.txt"
    await workspace.write_text(path, "text", expected=None)
    digest = (await workspace.read_text(path)).digest
    path.write_text("the user's")
    with pytest.raises(FileChangedError):
        await workspace.delete(path, expected=digest)
    assert path.read_text() == "the user's"
    await workspace.delete(path, expected=(await workspace.read_text(path)).digest)
    assert list(path.parent.iterdir()) == []
    with pytest.raises(FileChangedError):
        await workspace.delete(path, expected=digest)
    (path.parent / "link").symlink_to(root)
    with pytest.raises(WorkspaceError):
        await workspace.delete(path.parent / "link", expected=digest)


async def test_special_files_are_refused_without_being_opened(root: Path, workspace: LocalWorkspace) -> None:
    os.mkfifo(root / "pipe")
    os.mknod(root / "socket", stat.S_IFSOCK | 0o600)
    for path in [root / "pipe", root / "socket", root, Path("/dev/null"), Path("/dev/zero")]:
        with pytest.raises(NotAFileError):
            await workspace.read_text(path)
        with pytest.raises(WorkspaceError):
            await workspace.write_text(path, "x", expected=None)


async def test_bytes_that_are_no_text_are_named_as_such(root: Path, workspace: LocalWorkspace) -> None:
    (root / "nul").write_bytes(b"a\0b")
    (root / "large").write_bytes(b"x" * (MAX_TEXT + 1))
    with pytest.raises(NotTextError, match="nul is not a text file"):
        await workspace.read_text(root / "nul")
    with pytest.raises(WorkspaceError, match="16 MiB"):
        await workspace.read_text(root / "large")
    assert await workspace.read_bytes(root / "nul", 2) == b"a\0"
    with pytest.raises(NotTextError):
        await workspace.write_text(root / "new", "\ud800", expected=None)


async def test_a_file_is_written_back_in_its_encoding_however_little_shows_it(
    root: Path, workspace: LocalWorkspace
) -> None:
    path, text = root / "a.c", "// \u8fd9\u662f\u4e00\u4e2a\u6ce8\u91ca\uff0c\u7528\u6765\u6d4b\u8bd5\r\nint a;\r\n"
    path.write_bytes(text.encode("gbk"))
    read = await workspace.read_text(path)
    assert (read.text, read.content) == (text, path.read_bytes())
    shorter = await workspace.write_text(path, "// \u91ca\r\n", expected=JustRead(read))
    assert path.read_bytes() == "// \u91ca\r\n".encode("gbk")
    longer = await workspace.write_text(path, "// \u91ca\u6d4b\r\n", expected=shorter.digest)
    assert path.read_bytes() == longer.content == "// \u91ca\u6d4b\r\n".encode("gbk")
    with pytest.raises(NotTextError, match="in GBK, which has no '\u20ac'"):
        await workspace.write_text(path, "\u20ac", expected=longer.digest)
    await workspace.write_text(root / "b.c", text, expected=None)
    assert (root / "b.c").read_bytes() == text.encode()


async def test_a_link_put_in_the_way_after_judging_is_not_followed(
    root: Path, tmp_path: Path, workspace: LocalWorkspace
) -> None:
    target = tmp_path / "target"
    target.mkdir()
    (target / "file").write_text("precious")
    judged = workspace.resolve("dir/file").path
    (root / "dir").symlink_to(target)
    with pytest.raises(OutsideError):
        await workspace.read_text(judged)
    for expected in [None, digest_of(b"precious")]:
        with pytest.raises(OutsideError):
            await workspace.write_text(judged, "owned", expected=expected)
    judged = workspace.resolve("plain").path
    (root / "plain").symlink_to(target / "file")
    with pytest.raises(OutsideError):
        await workspace.write_text(judged, "owned", expected=digest_of(b"precious"))
    assert (target / "file").read_text() == "precious"


async def test_a_directory_swapped_with_a_link_while_writing_never_lets_a_write_out(
    root: Path, tmp_path: Path, workspace: LocalWorkspace
) -> None:
    """A racer flips `dir` between a directory and a link to outside."""
    outside = tmp_path / "outside"
    outside.mkdir()
    real, link = root / "real", root / "link"
    real.mkdir()
    link.symlink_to(outside)
    for folder in (real, outside):
        (folder / "file").write_text("x")
    before = (outside / "file").stat()
    stop = threading.Event()

    def flip() -> None:
        while not stop.is_set():
            for source in (real, link):
                os.rename(source, root / "dir")
                os.rename(root / "dir", source)

    racer = threading.Thread(target=flip)
    racer.start()
    try:
        for _ in range(1000):
            with contextlib.suppress(WorkspaceError):
                await workspace.write_text(root / "dir" / "file", "x", expected=digest_of(b"x"))
    finally:
        stop.set()
        racer.join()
    assert os.listdir(outside) == ["file"]
    assert (outside / "file").stat().st_ino == before.st_ino
    assert (outside / "file").stat().st_mtime_ns == before.st_mtime_ns


async def test_a_hard_link_is_parted_and_not_written_through(
    root: Path, tmp_path: Path, workspace: LocalWorkspace
) -> None:
    (tmp_path / "bashrc").write_text("precious")
    os.link(tmp_path / "bashrc", root / "innocent")
    await workspace.write_text(root / "innocent", "owned", expected=digest_of(b"precious"))
    assert (tmp_path / "bashrc").read_text() == "precious"


async def test_in_a_race_of_writers_no_text_is_lost(root: Path, workspace: LocalWorkspace) -> None:
    """What the other writer put there is either still there, or was read by us before we wrote over it."""
    path = root / "shared"
    path.write_text("start")
    read: set[str] = {"start"}
    theirs: list[str] = []
    done = threading.Event()

    def write() -> None:
        for number in range(300):
            theirs.append(f"theirs {number}")
            (root / "other").write_text(theirs[-1])
            os.rename(root / "other", path)
        done.set()

    racer = threading.Thread(target=write)
    racer.start()
    ours = 0
    while not done.is_set() or not ours:
        found = await workspace.read_text(path)
        read.add(found.text)
        with contextlib.suppress(FileChangedError):
            await workspace.write_text(path, f"ours {ours}", expected=found.digest)
            ours += 1
    racer.join()
    final = path.read_text()
    assert final == theirs[-1] or (final.startswith("ours ") and theirs[-1] in read)
    assert [name for name in os.listdir(root) if name.startswith(".sould")] == []


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells who has a file open")
async def test_a_file_that_another_program_is_writing_is_left_to_it(root: Path, workspace: LocalWorkspace) -> None:
    """An editor that saves in place has emptied the file and not filled it yet."""
    path = root / "a"
    path.write_text("old")
    with path.open("w") as saving:
        found = await workspace.read_text(path)
        assert found.text == ""
        with pytest.raises(FileChangedError, match="another program is writing"):
            await workspace.write_text(path, "ours", expected=found.digest)
        saving.write("theirs")
    assert path.read_text() == "theirs"


def test_a_full_disk_fails_the_write_whole(root: Path) -> None:
    """The limit stands in for a full disk; the old text stays and no part of the new one."""
    (root / "a").write_text("old")
    program = textwrap.dedent(
        """
        import asyncio, resource, signal, sys
        from pathlib import Path
        from sould.agents.base.diskfile import digest_of
        from sould.agents.base.localworkspace import LocalWorkspace
        from sould.agents.base.workspace import WorkspaceError
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
        root = Path(sys.argv[1])
        async def main():
            workspace = LocalWorkspace(root, (), None)
            for name, expected in (("a", digest_of(b"old")), ("new", None)):
                try:
                    await workspace.write_text(root / name, "x" * 100_000, expected=expected)
                except WorkspaceError as error:
                    print(error)
        asyncio.run(main())
        """
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(root)], capture_output=True, text=True, timeout=30, check=True
    )
    assert done.stdout.count("cannot write") == 2
    assert (root / "a").read_text() == "old"
    assert os.listdir(root) == ["a"]


async def test_a_cancelled_write_is_finished_before_the_caller_hears_of_it(
    root: Path, workspace: LocalWorkspace
) -> None:
    path = root / "a"
    writing = asyncio.create_task(workspace.write_text(path, "x" * 1_000_000, expected=None))
    await asyncio.sleep(0)
    writing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await writing
    assert not path.exists() or path.stat().st_size == 1_000_000
    assert [name for name in os.listdir(root) if name.startswith(".sould")] == []


async def test_a_vanished_workspace_gives_sentences_and_never_another_directory(
    root: Path, tmp_path: Path, workspace: LocalWorkspace
) -> None:
    (root / "a").write_text("x")
    judged = workspace.resolve("a").path
    root.rename(tmp_path / "moved")
    with pytest.raises(NotAFileError, match="does not exist"):
        await workspace.read_text(judged)
    root.symlink_to(tmp_path / "moved")
    assert not workspace.resolve("a").inside
    with pytest.raises(OutsideError):
        await workspace.write_text(judged, "y", expected=digest_of(b"x"))
    assert (tmp_path / "moved" / "a").read_text() == "x"


def test_what_a_killed_write_left_is_swept_and_nothing_else(tmp_path: Path) -> None:
    ours, half, foreign = (tmp_path / f".sould-{letter * 16}.tmp" for letter in "abc")
    ours.write_bytes(b"known text")
    half.write_bytes(b"known")
    foreign.write_bytes(b"somebody's")
    other = tmp_path / "known"
    other.write_bytes(b"known text")
    sweep(tmp_path, [b"known text"])
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted((foreign.name, other.name))
