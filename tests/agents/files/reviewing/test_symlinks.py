"""Symbolic links that agents' commands make, change or remove are reviewed for where they lead, and never followed to write."""

import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.agents.files.reviewing.commanddesk import Desk, desk, shell
from tests.agents.files.reviewing.gitdesk import BASE, GitDesk

from sould.agents.files.directories.refs import link_ref, target_in
from sould.agents.files.reviewing.listing import Selection
from sould.agents.files.reviewing.orders import Order
from sould.agents.files.reviewing.shown import shown_hunk
from sould.agents.sessions.operations.reviewtext import Names, what
from soultest.bench import Bench, call

TEXT = "1\n2\n3\n"


@pytest.fixture
async def files(tmp_path: Path) -> AsyncIterator[GitDesk]:
    at = GitDesk(tmp_path)
    yield at
    await at.aclose()


async def shown(at: Desk) -> list[str]:
    """What is pending, in words."""
    names = Names(at.root)
    return [f"{Path(each.path).relative_to(at.root)}: {what(shown_hunk(each), names)}" for each in await at.pending()]


def link(at: Desk, name: str) -> str:
    return str((at.root / name).readlink())


async def test_a_new_link_is_a_change_of_its_own_and_what_it_leads_to_is_left_alone(bench: Bench) -> None:
    (bench.project / "b.txt").write_text(TEXT)
    async with desk(bench, shell("ln -s b.txt new; ln -s /etc/passwd out; ln -s nowhere/at/all bad"), "text: 1") as at:
        await at.turn()
        assert await shown(at) == [
            "bad: new link to nowhere/at/all",
            "new: new link to b.txt",
            "out: new link to /etc/passwd",
        ]
        [_, new, _] = await at.pending()
        assert (await at.port.review.decide(Order("keep", Selection((new.id,)), "test"))).done
        await at.reject()
        assert not os.path.lexists(at.root / "out")
        assert not os.path.lexists(at.root / "bad")
        assert (link(at, "new"), at.text("b.txt")) == ("b.txt", TEXT)
        assert await shown(at) == []


async def test_a_link_that_leads_elsewhere_leads_where_it_led_after_a_reject_and_back_again(bench: Bench) -> None:
    (bench.project / "current").symlink_to("v1")
    async with desk(bench, shell("ln -sfn v2 current"), "text: 1") as at:
        await at.turn()
        [hunk] = await at.pending()
        assert await shown(at) == ["current: link to v1 -> v2"]
        await at.reject(hunk.id)
        assert link(at, "current") == "v1"
        assert await shown(at) == []
        await at.port.review.decide(Order("undo", Selection((hunk.id,)), "test"))
        assert link(at, "current") == "v2"
        assert [each.id for each in await at.pending()] == [hunk.id]


async def test_a_removed_link_is_back_after_a_reject(bench: Bench) -> None:
    (bench.project / "gone").symlink_to("../up and away")
    async with desk(bench, shell("rm gone"), "text: 1") as at:
        await at.turn()
        assert await shown(at) == ["gone: deleted, a link to ../up and away"]
        await at.reject()
        assert link(at, "gone") == "../up and away"
        assert await shown(at) == []


async def test_a_file_that_a_link_replaced_is_back_with_its_mode_and_its_hunks(bench: Bench) -> None:
    (bench.project / "run.sh").write_text(TEXT)
    (bench.project / "run.sh").chmod(0o755)
    edit = call("StrReplaceFile", path="run.sh", edit={"old": "2", "new": "two"})
    async with desk(bench, edit, "text: 1", shell("ln -sf /bin/true run.sh"), "text: 2") as at:
        await at.turn()
        [hunk] = await at.pending()
        await at.turn()
        assert await shown(at) == ["run.sh: replaced by a link to /bin/true"]
        [link_change] = await at.pending()
        await at.reject(link_change.id)
        assert at.text("run.sh") == "1\ntwo\n3\n"
        assert (at.root / "run.sh").stat().st_mode & 0o777 == 0o755
        assert [each.id for each in await at.pending()] == [hunk.id]
        await at.reject()
        assert at.text("run.sh") == TEXT


async def test_a_link_that_a_file_replaced_is_back(bench: Bench) -> None:
    (bench.project / "b.txt").write_text(TEXT)
    (bench.project / "name").symlink_to("b.txt")
    async with desk(bench, shell("rm name; echo new > name"), "text: 1") as at:
        await at.turn()
        assert await shown(at) == ["name: a link to b.txt, replaced by a file"]
        await at.reject()
        assert (link(at, "name"), at.text("b.txt")) == ("b.txt", TEXT)


async def test_where_the_user_leads_a_link_meanwhile_is_not_overwritten_unless_they_say_so(bench: Bench) -> None:
    (bench.project / "current").symlink_to("v1")
    async with desk(bench, shell("ln -sfn v2 current; ln -s v2 new"), "text: 1") as at:
        await at.turn()
        for name in ("current", "new"):
            (at.root / name).unlink()
            (at.root / name).symlink_to("mine")
        outcome = await at.reject()
        assert {name: link(at, name) for name in ("current", "new")} == {"current": "mine", "new": "mine"}
        [left] = outcome.left
        assert left.path == str(at.root / "current")
        await at.port.review.decide(Order("reject", Selection((left.id,)), "test", choice="replace"))
        assert link(at, "current") == "v1"


async def test_a_link_that_the_user_took_away_and_put_back_is_pending_again(bench: Bench) -> None:
    async with desk(bench, shell("ln -s here new"), "text: 1") as at:
        await at.turn()
        [hunk] = await at.pending()
        (at.root / "new").unlink()
        assert await shown(at) == []
        (at.root / "new").symlink_to("here")
        assert [each.id for each in await at.pending()] == [hunk.id]


async def test_names_that_links_lead_to_are_any_bytes(bench: Bench) -> None:
    async with desk(bench, shell("ln -s $'a%41\\xff\\x1b[2J\\n' odd"), "text: 1", shell("rm odd"), "text: 2") as at:
        await at.turn()
        target = os.readlink(os.fsencode(at.root / "odd"))
        assert target == b"a%41\xff\x1b[2J\n"
        [words] = await shown(at)
        assert words.isprintable()
        [hunk] = await at.pending()
        await at.port.review.decide(Order("keep", Selection((hunk.id,)), "test"))
        await at.turn()
        await at.reject()
        assert os.readlink(os.fsencode(at.root / "odd")) == target


async def test_undo_takes_links_back_with_all_else(bench: Bench) -> None:
    (bench.project / "b.txt").write_text(TEXT)
    (bench.project / "current").symlink_to("v1")
    script = "ln -sfn v2 current; ln -s v2 new; rm b.txt; ln -s new b.txt"
    async with desk(bench, shell(script), "text: 1") as at:
        await at.turn()
        assert len(await at.pending()) == 3
        await at.says("/undo")
        assert (link(at, "current"), at.text("b.txt")) == ("v1", TEXT)
        assert not (at.root / "b.txt").is_symlink()
        assert not os.path.lexists(at.root / "new")
        assert await shown(at) == []


@pytest.mark.parametrize(
    "target", [b"a.txt", b"/", b"%", b"a%2fb", "é →".encode(), b"\xff\n\x1b[2J", bytes(range(1, 256))]
)
def test_the_name_of_a_link_is_plain_text_and_says_where_it_leads(target: bytes) -> None:
    name = link_ref(target)
    assert name.isascii()
    assert name.isprintable()
    assert target_in(name) == target
    assert target_in("0" * 64) is None


async def test_links_under_review_are_known_to_the_next_daemon_and_decided_there(files: GitDesk) -> None:
    await files.relinks("new", "a.txt")
    await files.relinks("a.txt", "elsewhere")
    ids = [each.id for each in await files.hunks()]
    await files.restart()

    assert [each.id for each in await files.hunks()] == ids
    await files.decide("reject")
    assert (files.text("a.txt"), os.path.lexists(files.root / "new")) == (BASE, False)
    await files.restart()
    assert await files.hunks() == []
    await files.decide("undo", *ids)
    assert [os.readlink(files.root / name) for name in ("new", "a.txt")] == ["a.txt", "elsewhere"]


async def test_a_link_that_the_user_commits_is_kept_and_one_that_is_stashed_is_absent(files: GitDesk) -> None:
    await files.relinks("new", "a.txt")
    await files.relinks("a.txt", "elsewhere")
    one, other = await files.hunks()
    files.git("stash", "-q", "-u")
    assert await files.states() == {one.id: "absent", other.id: "absent"}
    files.git("stash", "pop", "-q")
    assert await files.states() == {one.id: "pending", other.id: "pending"}
    files.git("add", "new")
    assert [each.path for each in await files.hunks()] == [str(files.root / "a.txt")]
    files.commit()
    assert await files.hunks() == []


async def test_a_link_where_an_earlier_call_deleted_a_file_is_one_change_of_that_file(files: GitDesk) -> None:
    await files.agent("a.txt", None)
    await files.relinks("a.txt", "elsewhere", "T2")
    [hunk] = await files.hunks()
    assert (hunk.kind, hunk.after) == ("content", "link:elsewhere")
    await files.decide("reject")
    assert files.text("a.txt") == BASE
    assert await files.hunks() == []


@pytest.fixture
async def moved_away(files: GitDesk) -> tuple[GitDesk, Path]:
    """Files under review in a directory of which the user made a link meanwhile, to one that has them as well."""
    elsewhere = files.root.parent / "elsewhere"
    for name in ("text", "mode", "deleted"):
        files.user(f"sub/{name}", BASE)
    (files.root / "sub" / "led").symlink_to("here")
    files.commit()
    await files.agent("sub/text", BASE + "agent\n")
    await files.agent("sub/new", "agent\n")
    await files.agent("sub/deleted", None)
    await files.relinks("sub/led", "there")
    await files.makes_executable("sub/mode")
    assert len(await files.hunks()) == 5
    (files.root / "sub").rename(elsewhere)
    (files.root / "sub").symlink_to(elsewhere)
    return files, elsewhere


def everything_in(folder: Path) -> dict[str, tuple[int, str]]:
    return {
        each.name: (each.lstat().st_mode, os.readlink(each) if each.is_symlink() else each.read_text())
        for each in folder.iterdir()
    }


async def test_nothing_is_rejected_through_a_directory_that_became_a_link(moved_away: tuple[GitDesk, Path]) -> None:
    files, elsewhere = moved_away
    before = everything_in(elsewhere)

    outcome = await files.decide("reject")

    assert not outcome.done
    assert everything_in(elsewhere) == before


async def test_nothing_is_taken_back_through_a_directory_that_became_a_link(moved_away: tuple[GitDesk, Path]) -> None:
    files, elsewhere = moved_away
    before = everything_in(elsewhere)

    assert {each.action for each in await files.undo("T1")} <= {"conflict"}
    assert everything_in(elsewhere) == before
