"""Git moving changes of whole files in and out of the working tree: modes, renames, binaries, line ends, new empty files."""

import stat
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
from tests.agents.files.reviewing.gitdesk import BASE, GitDesk

from sould.agents.files.edits.moments import moment
from sould.agents.files.projects.changes import CallChange
from sould.agents.files.review.hunk import AgentCall

BINARY, OTHER = "\0one", "\0two"


class Desk(GitDesk):
    """With a program and a binary."""

    def __init__(self, base: Path) -> None:
        super().__init__(base)
        self.user("b.bin", BINARY)
        self.user("crlf.txt", BASE.replace("\n", "\r\n"))
        self.git("config", "core.autocrlf", "false")
        self.commit()

    async def chmod(self, name: str, mode: int) -> None:
        """A command of the agent gives a file permissions."""
        path = self.root / name
        before, held = path.stat().st_mode, self.projects.store.put(path.read_bytes())
        path.chmod(mode)
        change = CallChange(path, held, held, before, path.stat().st_mode)
        await (await self.session()).found.keep([change], moment(), AgentCall("S1", "T1", "chmod"))

    def mode(self, name: str) -> int:
        return stat.S_IMODE((self.root / name).stat().st_mode)

    async def kinds(self) -> list[tuple[int, str, str]]:
        """All there is, with what is absent."""
        return [(each.id, each.kind, each.state) for each in await self.hunks(absent=True)]


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncGenerator[Desk]:
    at = Desk(tmp_path)
    yield at
    await at.aclose()


async def test_a_mode_that_is_stashed_is_absent_until_it_is_back(desk: Desk) -> None:
    await desk.chmod("a.txt", 0o755)
    [(number, _, _)] = await desk.kinds()
    desk.git("stash", "-q")
    assert await desk.kinds() == [(number, "mode", "absent")]
    left = (await desk.decide("reject", number)).left
    assert [each.why for each in left] == ["not_there"]
    desk.git("stash", "pop", "-q")
    assert await desk.kinds() == [(number, "mode", "pending")]
    await desk.decide("reject", number)
    assert desk.mode("a.txt") == 0o644
    assert not await desk.kinds()


async def test_a_mode_with_an_edit_is_switched_away_and_back(desk: Desk) -> None:
    await desk.agent("a.txt", BASE.replace("b", "B"))
    await desk.chmod("a.txt", 0o755)
    before = await desk.kinds()
    desk.git("stash", "-q")
    assert {state for _, _, state in await desk.kinds()} == {"absent"}
    await desk.restart()
    desk.git("stash", "pop", "-q")
    assert await desk.kinds() == before
    await desk.decide("reject")
    assert (desk.text("a.txt"), desk.mode("a.txt")) == (BASE, 0o644)


async def test_a_mode_that_the_user_takes_back_is_absent(desk: Desk) -> None:
    await desk.chmod("a.txt", 0o755)
    (desk.root / "a.txt").chmod(0o644)
    assert [state for _, _, state in await desk.kinds()] == ["absent"]


async def test_binary_content_that_is_stashed_is_absent_until_it_is_back(desk: Desk) -> None:
    await desk.command({"b.bin": BINARY}, {"b.bin": OTHER})
    [(number, _, _)] = await desk.kinds()
    desk.git("stash", "-q")
    assert await desk.kinds() == [(number, "content", "absent")]
    desk.git("stash", "pop", "-q")
    assert await desk.kinds() == [(number, "content", "pending")]
    await desk.decide("reject", number)
    assert desk.text("b.bin") == BINARY


async def test_a_text_that_became_binary_is_stashed_with_its_hunks(desk: Desk) -> None:
    await desk.agent("a.txt", BASE.replace("b", "B"))
    [(number, _, _)] = await desk.kinds()
    await desk.command({"a.txt": desk.text("a.txt")}, {"a.txt": OTHER}, "T2")
    [(content, kind, _)] = await desk.kinds()
    assert kind == "content"
    desk.git("stash", "-q")
    desk.git("stash", "pop", "-q")
    assert await desk.kinds() == [(content, "content", "pending")]
    await desk.decide("reject", content)
    assert desk.text("a.txt") == BASE.replace("b", "B")
    assert await desk.kinds() == [(number, "text", "pending")]


async def test_a_binary_that_was_deleted_is_absent_while_it_is_there_again(desk: Desk) -> None:
    await desk.command({"b.bin": BINARY}, {"b.bin": None})
    [(number, _, _)] = await desk.kinds()
    desk.git("stash", "-q")
    assert await desk.kinds() == [(number, "delete", "absent")]
    desk.git("stash", "pop", "-q")
    assert await desk.kinds() == [(number, "delete", "pending")]
    await desk.decide("reject", number)
    assert desk.text("b.bin") == BINARY


@pytest.mark.parametrize("text", ["", OTHER])
async def test_a_new_file_without_lines_is_stashed_and_back(desk: Desk, text: str) -> None:
    await desk.command({}, {"new": text})
    [(number, _, _)] = await desk.kinds()
    desk.git("stash", "-qu")
    assert await desk.kinds() == [(number, "add", "absent")]
    desk.git("stash", "pop", "-q")
    assert await desk.kinds() == [(number, "add", "pending")]
    await desk.decide("reject", number)
    assert not (desk.root / "new").exists()


@pytest.mark.parametrize("name", ["a.txt", "b.bin"])
async def test_a_rename_that_is_stashed_is_absent_until_it_is_back(desk: Desk, name: str) -> None:
    text = desk.text(name)
    await desk.command({name: text}, {name: None, "c": text})
    if name == "a.txt":
        await desk.agent("c", text.replace("b", "B"), "T2")
    before = await desk.kinds()
    assert before[0][1] == "rename"
    desk.git("stash", "-qu")
    assert {state for _, _, state in await desk.kinds()} == {"absent"}
    desk.git("stash", "pop", "-q")
    assert await desk.kinds() == before
    await desk.decide("reject")
    assert desk.text(name) == text
    assert not (desk.root / "c").exists()


async def test_line_ends_that_are_stashed_are_absent_until_they_are_back(desk: Desk) -> None:
    text = desk.text("crlf.txt")
    await desk.command({"crlf.txt": text}, {"crlf.txt": BASE})
    await desk.agent("crlf.txt", BASE.replace("b", "B"), "T2")
    before = await desk.kinds()
    assert [kind for _, kind, _ in before] == ["line_ends", "text"]
    desk.git("stash", "-q")
    assert {state for _, _, state in await desk.kinds()} == {"absent"}
    desk.git("stash", "pop", "-q")
    assert await desk.kinds() == before
    await desk.decide("reject")
    assert desk.text("crlf.txt") == text


async def test_what_a_branch_has_of_whole_files_is_absent_on_another_one(desk: Desk) -> None:
    await desk.command({"b.bin": BINARY}, {"b.bin": OTHER})
    await desk.chmod("a.txt", 0o755)
    before = await desk.kinds()
    desk.git("stash", "-q")
    desk.branch("feature", "other\n")
    desk.git("switch", "-q", "feature")
    assert {state for _, _, state in await desk.kinds()} == {"absent"}
    desk.git("switch", "-q", "main")
    assert {state for _, _, state in await desk.kinds()} == {"absent"}
    desk.git("stash", "pop", "-q")
    assert await desk.kinds() == before
