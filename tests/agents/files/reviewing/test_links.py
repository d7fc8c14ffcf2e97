"""Files that have several names: what an agent writes through a link is reviewed as the file that it leads to."""

import os
from pathlib import Path

from tests.agents.files.reviewing.commanddesk import Desk, desk, shell
from tests.agents.files.reviewing.gitdesk import git_in

from sould.agents.files.reviewing.listing import Selection
from sould.agents.files.reviewing.orders import Order
from sould.agents.soul.session_request import SessionRequest
from sould.agents.wire.messages import ApprovalRequest, ContextNote, ToolResult
from soultest.bench import Bench, Watcher, call, finish

TEXT = "1\n2\n3\n"


def through(path: str) -> str:
    """A tool of the agent edits the second line."""
    return call("StrReplaceFile", path=path, edit={"old": "2", "new": "two"})


async def hunks(at: Desk) -> list[tuple[str, str]]:
    return [(name, lines) for name, _, lines in await at.shown()]


async def test_what_is_written_through_a_link_is_reviewed_as_the_file_and_the_link_stays(bench: Bench) -> None:
    (bench.project / "b.txt").write_text(TEXT)
    (bench.project / "link").symlink_to("b.txt")
    async with desk(bench, through("link"), "text: 1") as at:
        await at.turn()
        assert await hunks(at) == [("b.txt", "two\n")]
        await at.reject()
        assert at.text("b.txt") == TEXT
        assert (bench.project / "link").readlink() == Path("b.txt")


async def test_what_is_written_through_a_linked_directory_is_reviewed_where_it_is(bench: Bench) -> None:
    real = bench.project / "real"
    real.mkdir()
    (real / "b.txt").write_text(TEXT)
    (bench.project / "dir").symlink_to("real")
    new = call("WriteFile", path="dir/new.txt", content="x\n")
    async with desk(bench, shell("sed -i s/2/two/ dir/b.txt"), new, "text: 1") as at:
        await at.turn()
        assert await hunks(at) == [("real/b.txt", "two\n"), ("real/new.txt", "x\n")]
        await at.reject()
        assert {path.name: path.read_text() for path in real.iterdir()} == {"b.txt": TEXT}


async def test_what_is_written_through_a_link_out_of_the_project_is_asked_about_by_the_name_of_the_file(
    bench: Bench,
) -> None:
    outside = bench.root / "outside.txt"
    outside.write_text(TEXT)
    (bench.project / "link").symlink_to(outside)
    bench.script(through("link"), "text: 1")
    async with bench.running():
        watcher = Watcher(await bench.new("review"))
        await finish(watcher.session, "go")
        asked = watcher.of(ApprovalRequest)
        assert "outside.txt" in asked[-1].description
        assert outside.read_text() == TEXT.replace("2", "two")
        await finish(watcher.session, "/undo")
        assert outside.read_text() == TEXT


async def test_in_full_what_is_written_through_a_link_out_of_the_project_is_reviewed_as_elsewhere(bench: Bench) -> None:
    outside = bench.root / "outside.txt"
    outside.write_text(TEXT)
    (bench.project / "link").symlink_to(outside)
    bench.script(through("link"), "text: 1")
    async with bench.running():
        session = await bench.new("full")
        watcher = Watcher(session)
        await finish(session, "go")
        review = session.parts.operations.review
        [hunk] = [hunk for each in await review.pending() for hunk in each.hunks]
        assert (hunk.path, hunk.texts) == (str(outside), ("two\n",))
        await finish(watcher.session, f"/reject elsewhere:{hunk.id}")
        assert outside.read_text() == TEXT


async def test_a_link_that_takes_the_place_of_a_file_under_review_is_not_followed(bench: Bench) -> None:
    outside = bench.root / "outside.txt"
    outside.write_text("mine\n")
    (bench.project / "b.txt").write_text(TEXT)
    async with desk(bench, through("b.txt"), "text: 1") as at:
        await at.turn()
        (bench.project / "b.txt").unlink()
        (bench.project / "b.txt").symlink_to(outside)
        outcome = await at.reject()
        assert not outcome.done
        assert outside.read_text() == "mine\n"
        assert (bench.project / "b.txt").is_symlink()


async def test_what_a_command_writes_to_a_file_of_two_names_is_reviewed_under_both(bench: Bench) -> None:
    (bench.project / "b.txt").write_text(TEXT)
    (bench.project / "sub").mkdir()
    (bench.project / "sub" / "same.txt").hardlink_to(bench.project / "b.txt")
    async with desk(bench, shell("echo 4 >> b.txt"), "text: 1") as at:
        await at.turn()
        assert await hunks(at) == [("b.txt", "4\n"), ("sub/same.txt", "4\n")]
        await at.reject()
        assert (at.text("b.txt"), at.text("sub/same.txt")) == (TEXT, TEXT)


async def test_an_edit_of_a_file_of_two_names_its_reject_and_undo_are_of_both(bench: Bench) -> None:
    (bench.project / "b.txt").write_text(TEXT)
    (bench.project / "same.txt").hardlink_to(bench.project / "b.txt")
    edited = TEXT.replace("2", "two")
    async with desk(bench, through("b.txt"), "text: 1") as at:
        await at.turn()
        assert await hunks(at) == [("b.txt", "two\n")]
        assert at.text("same.txt") == edited
        [hunk] = await at.pending()
        await at.reject()
        assert at.text("same.txt") == TEXT
        await at.port.review.decide(Order("undo", Selection((hunk.id,)), "test"))
        assert at.text("same.txt") == edited
        await at.says("/undo")
        assert at.text("same.txt") == TEXT
        await at.says("/redo")
        assert at.text("same.txt") == at.text("b.txt") == edited
        assert (at.root / "b.txt").samefile(at.root / "same.txt")


async def test_what_a_tool_wrote_under_another_name_is_no_change_of_the_users(bench: Bench) -> None:
    (bench.project / "b.txt").write_text(TEXT)
    (bench.project / "same.txt").hardlink_to(bench.project / "b.txt")
    edit = call("StrReplaceFile", path="same.txt", edit={"old": "3", "new": "three"})
    read = call("ReadFile", path="same.txt")
    bench.script(read, through("b.txt"), "text: 1", edit, "text: 2", "text: 3")
    async with bench.running():
        watcher = Watcher(await bench.new("full"))
        for _ in range(3):
            await finish(watcher.session, "go")
        results = [result.return_value.message for result in watcher.of(ToolResult)]
        assert "It is the same file as same.txt (hard links)." in results[1]
        assert not watcher.of(ContextNote)
        review = watcher.session.parts.operations.review
        pending = [(Path(hunk.path).name, hunk.texts) for each in await review.pending() for hunk in each.hunks]
        assert pending == [("b.txt", ("two\n",)), ("same.txt", ("three\n",))]
        await finish(watcher.session, "/reject all")
        assert (bench.project / "b.txt").read_text() == (bench.project / "same.txt").read_text() == TEXT


async def test_what_is_kept_under_one_name_is_not_rejected_under_another(bench: Bench) -> None:
    (bench.project / "b.txt").write_text(TEXT)
    (bench.project / "same.txt").hardlink_to(bench.project / "b.txt")
    async with desk(bench, shell("echo 4 >> b.txt; echo new > c.txt"), "text: 1") as at:
        await at.turn()
        first, *_ = await at.pending()
        outcome = await at.port.review.decide(Order("keep", Selection((first.id,)), "test"))
        assert [Path(each.path).name for each in outcome.done] == ["b.txt", "same.txt"]
        assert await hunks(at) == [("c.txt", "new\n")]
        await at.reject()
        assert at.text("b.txt") == at.text("same.txt") == f"{TEXT}4\n"


async def test_a_name_outside_the_project_is_asked_about_once_and_changes_with_the_file(bench: Bench) -> None:
    outside = bench.root / "outside.txt"
    outside.write_text(TEXT)
    (bench.project / "b.txt").hardlink_to(outside)
    edit = call("StrReplaceFile", path="b.txt", edit={"old": "3", "new": "three"})
    bench.script(through("b.txt"), "text: 1", edit, "text: 2")
    async with bench.running():
        watcher = Watcher(await bench.new("review"))
        await finish(watcher.session, "go")
        await finish(watcher.session, "go")
        [asked] = watcher.of(ApprovalRequest)
        assert "other names outside the project (hard links)" in asked.description
        assert outside.read_text() == "1\ntwo\nthree\n"
        await finish(watcher.session, "/reject all")
        assert outside.read_text() == "1\ntwo\n3\n"  # what was seen in the question is not pending
        await finish(watcher.session, "/undo")
        await finish(watcher.session, "/undo")
        assert outside.read_text() == TEXT
        assert outside.samefile(bench.project / "b.txt")


async def test_a_name_outside_the_project_that_nobody_was_asked_about_stays_as_it_was(bench: Bench) -> None:
    outside = bench.root / "outside.txt"
    outside.write_text(TEXT)
    (bench.project / "b.txt").hardlink_to(outside)
    async with desk(bench, through("b.txt"), "text: 1") as at:
        await at.turn()
        assert at.text("b.txt") == TEXT.replace("2", "two")
        assert outside.read_text() == TEXT
        os.link(bench.project / "b.txt", bench.root / "backup.txt")
        await at.reject()
        assert at.text("b.txt") == TEXT
        assert (bench.root / "backup.txt").read_text() == TEXT.replace("2", "two")


async def test_a_name_above_the_session_s_directory_is_not_judged_and_so_stays_as_it_was(bench: Bench) -> None:
    hook = bench.project / ".githooks" / "pre-commit"
    for place in (bench.project / "sub", hook.parent):
        place.mkdir()
    hook.write_text(TEXT)
    (bench.project / "sub" / "b.txt").hardlink_to(hook)
    git_in(bench.project, "init", "-q")
    bench.script(through("b.txt"), "text: 1")
    async with bench.running() as host:
        opening = SessionRequest(bench.project / "sub", environment=dict(os.environ), mode="full")
        watcher = Watcher(await host.new(opening))
        await finish(watcher.session, "go")
        [result] = watcher.of(ToolResult)
        assert "They were not changed" in result.return_value.message
        assert (bench.project / "sub" / "b.txt").read_text() == TEXT.replace("2", "two")
        assert hook.read_text() == TEXT


async def test_a_refused_question_about_a_name_outside_the_project_changes_nothing(bench: Bench) -> None:
    outside = bench.root / "outside.txt"
    outside.write_text(TEXT)
    (bench.project / "b.txt").hardlink_to(outside)
    bench.script(through("b.txt"), "text: 1")
    async with bench.running():
        watcher = Watcher(await bench.new("review"), answer="reject")
        await finish(watcher.session, "go")
        assert outside.read_text() == TEXT
        assert outside.samefile(bench.project / "b.txt")


async def test_a_protected_name_in_the_project_is_asked_about_under_any_name(bench: Bench) -> None:
    hook = bench.project / ".githooks" / "pre-commit"
    hook.parent.mkdir()
    hook.write_text(TEXT)
    (bench.project / "b.txt").hardlink_to(hook)
    bench.script(through("b.txt"), "text: 1")
    async with bench.running():
        watcher = Watcher(await bench.new("full"), answer="reject")
        await finish(watcher.session, "go")
        [asked] = watcher.of(ApprovalRequest)
        assert ".githooks" in asked.description
        assert hook.read_text() == TEXT


async def test_a_second_name_that_a_command_gives_a_file_is_a_new_file(bench: Bench) -> None:
    (bench.project / "b.txt").write_text(TEXT)
    async with desk(bench, shell("ln b.txt same.txt"), "text: 1") as at:
        await at.turn()
        assert await hunks(at) == [("same.txt", TEXT)]
        await at.reject()
        assert at.text("b.txt") == TEXT
        assert not (bench.project / "same.txt").exists()
