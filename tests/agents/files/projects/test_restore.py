"""Taking edits back: the files as they were, with what the user changed since, and nothing else touched."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from sould.agents.base.diskfile import digest_of
from sould.agents.base.localworkspace import LocalWorkspace
from sould.agents.files.edits.state import LoggedEdit
from sould.agents.files.projects.projects import Projects
from sould.agents.files.projects.restore import BOTH, FileOutcome, restore_call, take_back
from sould.agents.files.projects.sessionfiles import Author, SessionFiles
from sould.agents.tools import ToolCallContext
from soultest.bench.tools import no_commands


class Project:
    """A directory with a files over it."""

    def __init__(self, base: Path) -> None:
        self.root = base / "project"
        self.state = base / "state"
        for directory in (self.root, self.state):
            directory.mkdir()
        self.calls = 0

    async def open(self) -> SessionFiles:
        disk = LocalWorkspace(self.root, (), no_commands)
        return await SessionFiles.open(disk, Projects(self.state), Author("s", self.state, self.state))

    async def agent_writes(self, files: SessionFiles, name: str, text: str) -> None:
        self.calls += 1
        path = self.root / name
        expected = digest_of(path.read_bytes()) if path.exists() else None
        context = ToolCallContext(f"call_{self.calls}", 1, turn_id="turn")
        await files.for_call(context).write_text(path, text, expected=expected)


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


def every(edit: LoggedEdit) -> bool:
    return True


def of_restore(restore_id: str) -> Callable[[LoggedEdit], bool]:
    return lambda edit: edit.call_id == restore_call(restore_id)


async def test_files_are_as_they_were_byte_for_byte_and_others_are_untouched(project: Project) -> None:
    root = project.root
    (root / "a.txt").write_bytes(b"\xef\xbb\xbfone\r\ntwo\r\n")
    (root / "a.txt").chmod(0o755)
    (root / "mine.txt").write_text("mine")
    os.utime(root / "mine.txt", ns=(1, 1))
    files = await project.open()
    await project.agent_writes(files, "a.txt", "changed")
    await project.agent_writes(files, "a.txt", "changed again")
    await project.agent_writes(files, "new/b.txt", "made")
    outcomes = await take_back(files, every, "r", "t")
    assert outcomes == [
        FileOutcome(root / "a.txt", "restored", changes=1),
        FileOutcome(root / "new/b.txt", "deleted", changes=1),
    ]
    assert (root / "a.txt").read_bytes() == b"\xef\xbb\xbfone\r\ntwo\r\n"
    assert (root / "a.txt").stat().st_mode & 0o777 == 0o755
    assert not (root / "new/b.txt").exists()
    assert (root / "mine.txt").stat().st_mtime_ns == 1
    assert await take_back(files, every, "again", "t") == []


async def test_a_file_in_another_encoding_is_as_it_was_byte_for_byte(project: Project) -> None:
    path, text = project.root / "a.c", "// 读取配置文件\r\nint a;\r\n// 如果文件不存在则创建\r\n"
    path.write_bytes(text.encode("gbk"))
    files = await project.open()
    await project.agent_writes(files, "a.c", text.replace("int a", "int 文件"))
    await project.agent_writes(files, "a.c", "// 读取\r\n")
    assert path.read_bytes() == "// 读取\r\n".encode("gbk")
    assert await take_back(files, every, "r", "t") == [FileOutcome(path, "restored", changes=1)]
    assert path.read_bytes() == text.encode("gbk")


async def test_what_the_user_changed_elsewhere_in_the_file_is_kept(project: Project) -> None:
    path = project.root / "a.txt"
    path.write_text("1\n2\n3\n4\n5\n")
    files = await project.open()
    await project.agent_writes(files, "a.txt", "1\nTWO\n3\n4\n5\n")
    path.write_text("1\nTWO\n3\n4\nmine\n")  # between two edits of the agent
    await project.agent_writes(files, "a.txt", "1\nTWO\nTHREE\n4\nmine\n")
    path.write_text("0\n1\nTWO\nTHREE\n4\nmine\n")  # and after the last
    await take_back(files, every, "r", "t")
    assert path.read_text() == "0\n1\n2\n3\n4\nmine\n"


async def test_a_conflict_is_told_and_never_written(project: Project) -> None:
    root = project.root
    (root / "a.txt").write_text("1\n2\n")
    (root / "c.txt").write_text("c")
    files = await project.open()
    for name in ("a.txt", "new.txt", "c.txt"):
        await project.agent_writes(files, name, "agent\n")
    (root / "a.txt").write_text("user\n")
    (root / "new.txt").write_text("agent\nand user\n")
    (root / "c.txt").unlink()
    outcomes = await take_back(files, every, "r", "t")
    assert {outcome.path.name: outcome.reason for outcome in outcomes} == {
        "a.txt": BOTH,
        "new.txt": "",
        "c.txt": "it was deleted since",
    }
    assert (root / "a.txt").read_text() == "user\n"
    assert (root / "new.txt").read_text() == "and user\n"
    assert not (root / "c.txt").exists()


async def test_a_restore_can_be_taken_back_and_again(project: Project) -> None:
    (project.root / "a.txt").write_text("old")
    files = await project.open()
    await project.agent_writes(files, "a.txt", "new")
    await project.agent_writes(files, "b.txt", "made")
    await take_back(files, every, "r1", "t")
    await take_back(files, of_restore("r1"), "r2", "t")
    assert ((project.root / "a.txt").read_text(), (project.root / "b.txt").read_text()) == ("new", "made")
    await take_back(files, every, "r3", "t")
    assert (project.root / "a.txt").read_text() == "old"
    assert not (project.root / "b.txt").exists()


async def test_only_the_chosen_edits_are_taken_back(project: Project) -> None:
    files = await project.open()
    await project.agent_writes(files, "a.txt", "1\n")
    await project.agent_writes(files, "a.txt", "1\n2\n")
    await take_back(files, lambda edit: edit.n >= 2, "r", "t")
    assert (project.root / "a.txt").read_text() == "1\n"


async def test_a_restore_cut_off_in_the_middle_is_finished_by_doing_it_again(project: Project) -> None:
    names = [f"{number}.txt" for number in range(6)]
    for name in names:
        (project.root / name).write_text(f"old {name}")
    files = await project.open()
    for name in names:
        await project.agent_writes(files, name, "new")
    done = {project.root / name for name in names[:3]}
    await take_back(files, lambda edit: edit.n <= 3, "r", "t")
    await files.aclose()
    again = await project.open()
    outcomes = await take_back(again, every, "r", "t")
    assert {outcome.path for outcome in outcomes}.isdisjoint(done)
    assert all((project.root / name).read_text() == f"old {name}" for name in names)
    await again.aclose()


async def test_a_link_put_in_the_files_place_is_left_alone(project: Project) -> None:
    files = await project.open()
    await project.agent_writes(files, "a.txt", "made")
    (project.root / "target").write_text("made")
    (project.root / "a.txt").unlink()
    (project.root / "a.txt").symlink_to("target")
    (outcome,) = await take_back(files, every, "r", "t")
    assert outcome.action == "conflict"
    assert (project.root / "target").read_text() == "made"
