"""What agents write into editors that do not save it, and say nothing of their buffers: reviewed there, until it is saved."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple

from tests.acp.server.test_review import listed, reviewer

from soultest.acpclient import FULL, AcpClient
from soultest.bench import Bench, call
from soultest.bench.acp import Connect

BEFORE, AFTER = "1\n2\n3\n4\n5\n", "one\n2\n3\n4\nfive\n"


class Desk(NamedTuple):
    """An editor with a file that it did not save, and another client that looks at the review."""

    editor: AcpClient
    other: AcpClient
    path: Path
    bench: Bench
    session: str

    @property
    def shown(self) -> str:
        """What the user sees."""
        return self.editor.buffers[str(self.path)]

    def type(self, text: str) -> None:
        """The user makes this of it, and the editor tells nobody."""
        self.editor.buffers[str(self.path)] = text

    def save(self) -> None:
        """To the disk, which the editor goes by from then on."""
        self.path.write_text(self.editor.buffers.pop(str(self.path)))

    async def hunks(self) -> list[tuple[int, str]]:
        """What is pending, as any client is told: the line where it begins, and its text."""
        found = await listed(self.other, self.bench)
        return [(hunk["start"], "".join(line["text"] for line in hunk["lines"])) for hunk in found]

    async def reject(self) -> None:
        """All of it, from the other client."""
        await self.other.request("_sould/review/reject", cwd=str(self.bench.project), all=True)


@asynccontextmanager
async def written(bench: Bench, connect: Connect, before: str | None = BEFORE) -> AsyncGenerator[Desk]:
    """An agent has changed the file."""
    path = bench.project / "new.txt"
    if before is not None:
        path.write_text(before)
    bench.script(call("WriteFile", path="new.txt", content=AFTER), "text: done")
    async with bench.running(), connect(save=False) as editor, reviewer(connect) as other:
        await editor.initialize(FULL)
        session = await editor.new_session(bench.project)
        await editor.request("session/set_mode", sessionId=session, modeId="review")
        await editor.prompt(session, "go")
        yield Desk(editor, other, path, bench, session)


async def test_it_is_pending_before_and_after_it_is_saved(bench: Bench, connect: Connect) -> None:
    async with written(bench, connect) as desk:
        assert desk.path.read_text() == BEFORE
        assert await desk.hunks() == [(0, "one\n"), (4, "five\n")]
        desk.save()
        assert await desk.hunks() == [(0, "one\n"), (4, "five\n")]


async def test_what_is_typed_there_is_the_users(bench: Bench, connect: Connect) -> None:
    async with written(bench, connect) as desk:
        assert len(await desk.hunks()) == 2
        desk.type("mine\n" + AFTER.replace("five\n", ""))
        assert await desk.hunks() == [(1, "one\n")]
        desk.save()
        assert await desk.hunks() == [(1, "one\n")]
        await desk.reject()
        assert desk.shown == "mine\n1\n2\n3\n4\n"


async def test_a_reject_goes_into_the_buffer_and_leaves_the_disk_alone(bench: Bench, connect: Connect) -> None:
    async with written(bench, connect) as desk:
        desk.type("mine\n" + AFTER)
        await desk.reject()
        assert desk.shown == "mine\n" + BEFORE
        assert desk.path.read_text() == BEFORE
        assert await desk.hunks() == []
        desk.save()
        assert await desk.hunks() == []


async def test_a_new_file_that_is_only_in_the_editor_is_pending(bench: Bench, connect: Connect) -> None:
    async with written(bench, connect, None) as desk:
        assert not desk.path.exists()
        assert await desk.hunks() == [(0, AFTER)]
        desk.save()
        assert await desk.hunks() == [(0, AFTER)]


async def test_it_is_pending_when_its_session_was_closed(bench: Bench, connect: Connect) -> None:
    async with written(bench, connect) as desk:
        assert len(await desk.hunks()) == 2
        await desk.editor.request("session/close", sessionId=desk.session)
        await desk.hunks()  # from when the session is unloaded, nobody knows what the editor shows
        desk.save()
        assert await desk.hunks() == [(0, "one\n"), (4, "five\n")]


async def test_an_editor_that_hangs_keeps_nobody_from_the_review(bench: Bench, connect: Connect) -> None:
    async with written(bench, connect) as desk:
        desk.editor.hang.add("fs/read_text_file")
        assert await desk.hunks() == [(0, "one\n"), (4, "five\n")]
