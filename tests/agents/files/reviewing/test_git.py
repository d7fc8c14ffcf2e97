"""Git beside the review, with the real git: what the user stages or commits is kept, what an agent commits is not."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.agents.files.reviewing.gitdesk import BASE, BOTH, GitDesk

from sould.agents.files.projects.projects import Projects
from sould.agents.files.reviewing.review import Review
from soultest.watchers import WATCHERS


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[GitDesk]:
    desk = GitDesk(tmp_path)
    yield desk
    await desk.aclose()


async def test_what_is_stashed_and_switched_away_is_absent_until_it_is_back(desk: GitDesk) -> None:
    desk.branch("feature", "a\nb\nc\nd2\ne\nf\n")
    await desk.agent("a.txt", BOTH)
    first, second = await desk.hunks()

    desk.git("stash", "-q")
    desk.git("switch", "-q", "feature")

    assert await desk.states() == {first.id: "absent", second.id: "absent"}
    assert await (await desk.review()).base(str(desk.root / "a.txt")) == "a\nb\nc\nd2\ne\nf\n"
    desk.git("switch", "-q", "main")
    desk.git("stash", "pop", "-q")
    assert await desk.hunks() == [first, second]


async def test_hunks_are_back_also_when_nobody_looked_in_between_or_another_daemon_does(desk: GitDesk) -> None:
    desk.branch("feature", "a\nb\nc\nd2\ne\nf\n")
    await desk.agent("a.txt", BOTH)
    hunks = await desk.hunks()
    desk.git("stash", "-q")
    desk.git("switch", "-q", "feature")
    await desk.states()
    await desk.restart()

    desk.git("switch", "-q", "main")
    desk.git("stash", "pop", "-q")
    assert await desk.hunks() == hunks
    desk.git("stash", "-q")
    desk.git("stash", "pop", "-q")
    assert await desk.hunks() == hunks


async def test_a_branch_that_has_a_hunk_settles_it_and_the_other_one_is_absent(desk: GitDesk) -> None:
    desk.branch("other", "a\nB\nc\nd\ne\n")
    await desk.agent("a.txt", BOTH)
    first, second = await desk.hunks()

    desk.git("switch", "-qf", "other")

    assert await desk.states() == {second.id: "absent"}
    [left] = (await desk.decide("reject", first.id)).left
    assert (left.why, left.state, left.by) == ("already_decided", "kept", "git")
    desk.git("switch", "-q", "main")
    assert not await desk.hunks()


async def test_what_the_user_stages_is_kept_and_stays_so_when_it_is_unstaged(desk: GitDesk) -> None:
    await desk.agent("a.txt", BOTH)
    first, second = await desk.hunks()

    desk.stage("a.txt", "a\nB\nc\nd\ne\n")

    assert await desk.hunks() == [second]
    desk.git("reset", "-q")
    assert await desk.hunks() == [second]
    [left] = (await desk.decide("reject", first.id)).left
    assert (left.by, left.state) == ("git", "kept")
    await desk.decide("reject")
    assert desk.text("a.txt") == "a\nB\nc\nd\ne\n"


async def test_what_the_user_commits_is_kept(desk: GitDesk) -> None:
    await desk.agent("a.txt", BOTH)
    await desk.agent("new.txt", "new\n")
    await desk.agent("old.txt", "x\n")

    desk.git("add", "a.txt", "new.txt")
    desk.git("commit", "-qm", "mine")

    assert [Path(hunk.path).name for hunk in await desk.hunks()] == ["old.txt"]


async def test_what_the_user_commits_while_no_daemon_runs_is_kept(desk: GitDesk) -> None:
    await desk.agent("a.txt", BOTH)
    await desk.restart()
    desk.commit()

    assert not await desk.hunks()


@pytest.mark.parametrize("commits", [True, False])
async def test_what_git_kept_and_was_taken_back_is_pending_until_git_has_another_version(
    desk: GitDesk, *, commits: bool
) -> None:
    await desk.agent("a.txt", BOTH)
    hunks = await desk.hunks()
    desk.git("add", "-A")
    if commits:
        desk.git("commit", "-qm", "mine")
    assert not await desk.hunks()

    await desk.decide("undo", *(each.id for each in hunks))

    for _ in range(2):
        assert [each.id for each in await desk.hunks()] == [each.id for each in hunks]
        desk.user("other.txt", "other\n")
        desk.git("add", "other.txt")
        assert [each.id for each in await desk.hunks()] == [each.id for each in hunks]
        await desk.restart()
    desk.git("reset", "-q", *(["HEAD~"] if commits else []))
    assert [each.id for each in await desk.hunks()] == [each.id for each in hunks]
    desk.commit()
    assert not await desk.hunks()


async def test_what_was_committed_before_the_agent_wrote_it_is_pending(desk: GitDesk) -> None:
    desk.user("a.txt", "a\nmine\nc\nd\ne\n")
    await desk.agent("a.txt", BASE)
    desk.user("b.txt", "more\n")
    desk.git("add", "b.txt")
    desk.git("commit", "-qm", "more")

    [hunk] = await desk.hunks()
    await desk.decide("reject", hunk.id)

    assert desk.text("a.txt") == "a\nmine\nc\nd\ne\n"


async def test_a_write_of_an_agent_over_what_the_user_committed_is_a_hunk_of_its_own(desk: GitDesk) -> None:
    await desk.agent("a.txt", "a\nB\nc\nd\ne\n")
    desk.commit()
    await desk.agent("a.txt", "a\nB2\nc\nd\ne\n", turn="T2")

    await desk.decide("reject")

    assert desk.text("a.txt") == "a\nB\nc\nd\ne\n"


# --- a client that follows is told at once --------------------------------------------------------------------------


class Following:
    """A client that lists nothing by itself: it knows what it is told."""

    def __init__(self, review: Review) -> None:
        self._review = review
        self._told = asyncio.Event()

    def __call__(self, path: str) -> None:
        self._told.set()

    async def until(self, *states: tuple[int, str]) -> None:
        """This is what there is."""
        async with asyncio.timeout(30):
            while self._states() != dict(states):
                self._told.clear()
                await self._told.wait()

    def _states(self) -> dict[int, str]:
        return {hunk.id: hunk.state for each in self._review.pending(absent=True) for hunk in each.hunks}


@pytest.fixture(params=WATCHERS)
async def client(desk: GitDesk, request: pytest.FixtureRequest) -> AsyncIterator[Following]:
    desk.projects = Projects(desk.state, events=request.param())
    review = await desk.review()
    client = Following(review)
    with review.following(client):
        yield client


async def test_staging_in_a_terminal_is_seen_by_a_client_that_follows(desk: GitDesk, client: Following) -> None:
    await desk.agent("a.txt", BOTH)
    await client.until((1, "pending"), (2, "pending"))
    desk.stage("a.txt", "a\nB\nc\nd\ne\n")
    await client.until((2, "pending"))
    desk.git("commit", "-qam", "all")
    await client.until()


async def test_stashing_and_switching_are_seen_by_a_client_that_follows(desk: GitDesk, client: Following) -> None:
    desk.branch("feature", "a\nb\nc\nd2\ne\nf\n")
    await desk.agent("a.txt", BOTH)
    await client.until((1, "pending"), (2, "pending"))
    desk.git("stash", "-q")
    await client.until((1, "absent"), (2, "absent"))
    desk.git("switch", "-q", "feature")
    desk.git("switch", "-q", "main")
    desk.git("stash", "pop", "-q")
    await client.until((1, "pending"), (2, "pending"))


async def test_stashing_a_deletion_is_seen_by_a_client_that_follows(desk: GitDesk, client: Following) -> None:
    await desk.agent("a.txt", None)
    await client.until((1, "pending"))
    desk.git("stash", "-q")
    await client.until((1, "absent"))
    desk.git("stash", "pop", "-q")
    await client.until((1, "pending"))


async def test_what_an_editor_saves_or_removes_is_seen_by_a_client_that_follows(
    desk: GitDesk, client: Following
) -> None:
    await desk.agent("src/deep/new.txt", "1\n2\n")
    await client.until((1, "pending"))
    (desk.root / "src").rename(desk.root / "aside")
    await client.until((1, "absent"))
    (desk.root / "aside").rename(desk.root / "src")
    await client.until((1, "pending"))
    desk.user("src/deep/new.txt", "3\n")
    await client.until((1, "stale"))


# --- what git does to files as a whole, and in other forms --------------------------------------------------------------


async def test_a_new_file_that_is_stashed_is_back_with_its_hunk_and_goes_when_that_is_rejected(desk: GitDesk) -> None:
    await desk.agent("new.txt", "x\nx\n")
    hunks = await desk.hunks()

    desk.git("stash", "-qu")
    assert await desk.states() == {hunks[0].id: "absent"}
    desk.git("stash", "pop", "-q")

    assert await desk.hunks() == hunks
    await desk.decide("reject")
    assert not (desk.root / "new.txt").exists()


@pytest.mark.parametrize("looked", [True, False])
async def test_a_deletion_that_is_stashed_is_absent_until_it_is_back(desk: GitDesk, *, looked: bool) -> None:
    await desk.command({"a.txt": BASE}, {"a.txt": None})
    [deleted] = await desk.hunks()
    assert deleted.kind == "delete"

    desk.git("stash", "-q")
    if looked:
        assert await desk.states() == {deleted.id: "absent"}
        assert not await desk.hunks()
        [left] = (await desk.decide("reject", deleted.id)).left
        assert (left.why, left.state) == ("not_there", "absent")
    await desk.restart()
    if looked:
        assert await desk.states() == {deleted.id: "absent"}
    desk.git("stash", "pop", "-q")

    assert await desk.hunks() == [deleted]
    await desk.restart()
    assert await desk.hunks() == [deleted]
    await desk.decide("reject")
    assert desk.text("a.txt") == BASE
    assert not await desk.states()


async def test_a_deletion_and_a_rename_that_the_user_commits_are_kept(desk: GitDesk) -> None:
    desk.user("gone.txt", "gone\n")
    desk.user("old.txt", "1\n2\n3\n")
    desk.commit()
    await desk.agent("gone.txt", None)
    await desk.command({"old.txt": "1\n2\n3\n", "renamed.txt": None}, {"old.txt": None, "renamed.txt": "1\n2\n3\n"})
    assert {each.kind for each in await desk.hunks()} == {"delete", "rename"}

    desk.git("add", "gone.txt")
    assert {each.kind for each in await desk.hunks()} == {"rename"}
    desk.commit()

    assert not await desk.hunks()


async def test_hunks_are_found_in_git_whatever_line_ends_it_converts(desk: GitDesk) -> None:
    desk.git("config", "core.autocrlf", "true")
    desk.user("crlf.txt", "a\r\nb\r\nc\r\nd\r\ne\r\n")
    desk.commit()
    await desk.agent("crlf.txt", "a\r\nB\r\nc\r\nD\r\ne\r\n")
    _, second = await desk.hunks()

    desk.stage("crlf.txt", "a\nB\nc\nd\ne\n")

    assert await desk.hunks() == [second]
    desk.git("add", "crlf.txt")
    assert not await desk.hunks()


async def test_what_a_filter_hides_from_git_stays_to_be_decided_and_the_filter_is_not_run(desk: GitDesk) -> None:
    mark = desk.root.parent / "ran"
    desk.user(".gitattributes", "secret.txt filter=hide\n")
    desk.commit()
    desk.git("config", "filter.hide.clean", "sed s/B/hidden/")
    desk.git("config", "filter.hide.smudge", f"touch {mark}; cat")
    desk.user("secret.txt", "a\nb\nc\n")
    desk.commit()
    await desk.agent("secret.txt", "a\nB\nc\nd\n")
    first, _ = await desk.hunks()

    desk.commit()

    assert await desk.hunks() == [first]
    assert not mark.exists()


async def test_a_linked_work_tree_has_an_index_and_a_head_of_its_own(desk: GitDesk, tmp_path: Path) -> None:
    linked = tmp_path / "linked"
    desk.git("worktree", "add", "-q", str(linked))
    desk.root = linked
    await desk.aclose()
    await desk.agent("a.txt", BOTH)
    _, second = await desk.hunks()

    desk.stage("a.txt", "a\nB\nc\nd\ne\n")
    assert await desk.hunks() == [second]
    desk.commit()

    assert not await desk.hunks()


async def test_references_that_git_packs_change_nothing_and_a_commit_after_that_is_seen(desk: GitDesk) -> None:
    await desk.agent("a.txt", BOTH)
    hunks = await desk.hunks()
    desk.git("pack-refs", "--all")
    assert await desk.hunks() == hunks
    desk.commit()
    assert not await desk.hunks()


async def test_nobody_is_told_of_rejections_when_git_takes_hunks_away(desk: GitDesk) -> None:
    await desk.agent("a.txt", BOTH)
    await desk.hunks()
    desk.git("checkout", "-q", "--", "a.txt")
    assert set((await desk.states()).values()) == {"absent"}
    assert not (await desk.review()).decisions(0)
