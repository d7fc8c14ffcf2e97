"""Hunks of a file that is no text for a while, or no file: nothing of them is lost, and none is decided about meanwhile."""

import os
import socket
from collections.abc import Callable
from contextlib import aclosing
from pathlib import Path

import pytest
from tests.agents.files.reviewing.gitdesk import BASE as GIT_BASE
from tests.agents.files.reviewing.livedesk import LiveDesk
from tests.agents.files.reviewing.reviewdesk import ReviewDesk

BASE = "1\n2\n3\n4\n5\n"
CHANGED = "1\ntwo\n3\nfour\n5\n"


async def two_hunks(desk: ReviewDesk) -> list[int]:
    desk.user("a.txt", BASE)
    await desk.agent("a.txt", CHANGED)
    return [each.id for each in await desk.hunks()]


@pytest.mark.parametrize(
    "data", [CHANGED.encode() + b"caf\xe9\n", CHANGED.encode("utf-16"), b"1\0\n"], ids=["latin", "utf16", "nul"]
)
@pytest.mark.parametrize("restart", [False, True], ids=["", "restarted"])
async def test_hunks_are_pending_again_when_their_file_is_a_text_again(
    desk: ReviewDesk, data: bytes, restart: bool
) -> None:
    ids = await two_hunks(desk)
    (desk.root / "a.txt").write_bytes(data)

    assert not await desk.hunks()
    outcome = await desk.decide("reject", *ids)
    assert {each.message for each in outcome.left} == {
        "its file is no text now: it is to be reviewed when it is one again"
    }
    assert not (await desk.decide("reject")).done
    assert (desk.root / "a.txt").read_bytes() == data
    if restart:
        await desk.restart()

    desk.user("a.txt", CHANGED + "café\n")
    assert [each.id for each in await desk.hunks()] == ids
    await desk.decide("reject")
    assert desk.text("a.txt") == BASE + "café\n"


def fifo(path: Path) -> None:
    os.mkfifo(path)


def listening(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as end:
        end.bind(str(path))


def link(path: Path) -> None:
    (path.parent.parent / "outside").write_text("outside\n")
    path.symlink_to(path.parent.parent / "outside")


@pytest.mark.parametrize("put", [Path.mkdir, fifo, listening, link])
async def test_hunks_are_absent_while_something_that_is_no_file_has_its_name(
    desk: ReviewDesk, put: Callable[[Path], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = await two_hunks(desk)
    path = desk.root / "a.txt"
    path.unlink()
    monkeypatch.chdir(desk.root)  # a socket's path is short
    put(Path("a.txt") if put is listening else path)

    for verdict in ("keep", "reject"):
        outcome = await desk.decide(verdict, *ids)
        assert not outcome.done
        assert {each.why for each in outcome.left} == {"not_there"}
        assert not (await desk.decide(verdict)).done
    assert not path.is_file() or (path.is_symlink() and path.read_text() == "outside\n")

    if path.is_dir():
        path.rmdir()
    else:
        path.unlink()
    desk.user("a.txt", CHANGED)
    assert [each.id for each in await desk.hunks()] == ids
    await desk.decide("reject")
    assert desk.text("a.txt") == BASE


async def test_a_text_that_commands_of_an_agent_made_bytes_of_and_brought_back_has_its_hunks_again(
    tmp_path: Path,
) -> None:
    async with aclosing(LiveDesk(tmp_path)) as live:
        path = live.root / "a.txt"
        await live.writes("a.txt", GIT_BASE + "agent\n", "T1", "S1")
        hunks, there = await live.hunks(), path.read_bytes()
        for turn, data in (("T2", b"1\0\n"), ("T3", there)):

            def work(data: bytes = data) -> None:
                path.write_bytes(data)

            await live.runs(work, turn, "S1")

        assert [(each.id, each.digest) for each in await live.hunks()] == [(each.id, each.digest) for each in hunks]
        live.user("a.txt", "mine\n" + live.text("a.txt"))
        await live.decide("reject")
        assert live.text("a.txt") == "mine\n" + GIT_BASE
