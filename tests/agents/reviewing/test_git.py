"""Git beside the review, with the real git: what the user stages or commits is kept, what an agent commits is not."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from tests.agents.reviewing.gitdesk import BASE, BOTH, IDENTITY, GitDesk, git_in

from sould.agents.projects.port import ProjectPort
from sould.agents.reviewing.listing import ReviewedHunk, Selection
from sould.agents.reviewing.orders import Order
from sould.agents.reviewing.review import Review
from soultest.bench import Bench, Watcher, call, finish


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


@pytest.fixture
async def client(desk: GitDesk) -> AsyncIterator[Following]:
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


# --- an agent's own commands: the real Shell tool ---------------------------------------------------------------------


def shell(command: str) -> str:
    return call("Shell", command=command)


@asynccontextmanager
async def editor(bench: Bench) -> AsyncGenerator[ProjectPort, None]:
    """A client of the project, in the daemon that runs."""
    async with bench.port.project(bench.project, Path.home(), "editor") as port:
        yield port


async def pending(port: ProjectPort) -> list[ReviewedHunk]:
    return [hunk for each in await port.review() for hunk in each.hunks]


COMMIT = f"git {' '.join(IDENTITY)} commit -qam wip"


def committed(bench: Bench) -> None:
    (bench.project / "a.txt").write_text(BASE)
    git_in(bench.project, "init", "-q", "-b", "main")
    git_in(bench.project, "add", "-A")
    git_in(bench.project, "commit", "-qm", "all")


async def test_what_the_agent_commits_stays_pending_and_is_marked(bench: Bench) -> None:
    committed(bench)
    bench.script(call("WriteFile", path="a.txt", content=BOTH), "text: 1", shell(COMMIT), "text: 2")
    async with bench.running(), editor(bench) as port:
        watcher = Watcher(await bench.new("full"))
        await finish(watcher.session, "write")
        before = await pending(port)
        await finish(watcher.session, "commit")
        first, second = await pending(port)
        head = git_in(bench.project, "rev-parse", "HEAD")
        assert [(each.id, each.committed) for each in before] == [(first.id, False), (second.id, False)]
        assert first.committed
        assert second.committed

        await port.decide(Order("reject", Selection((second.id,)), "test"))

        assert (bench.project / "a.txt").read_text() == "a\nB\nc\nd\ne\n"
        assert git_in(bench.project, "rev-parse", "HEAD") == head
        assert [each.id for each in await pending(port)] == [first.id]


@pytest.mark.parametrize("commands", [[COMMIT], ["git add -A"], ["git add -A", COMMIT], [f"git add -A; {COMMIT}"]])
async def test_what_the_agent_commits_or_stages_is_pending_for_the_next_daemon(
    bench: Bench, commands: list[str]
) -> None:
    committed(bench)
    steps = [step for command in commands for step in (shell(command), "text: done")]
    bench.script(call("WriteFile", path="a.txt", content=BOTH), call("WriteFile", path="new.txt", content=""), *steps)
    async with bench.running():
        watcher = Watcher(await bench.new("full"))
        for command in commands:
            await finish(watcher.session, command)
    for _ in range(2):
        async with bench.running(), editor(bench) as port:
            assert [each.kind for each in await pending(port)] == ["text", "text", "add"]
            marks = {each.committed for each in await pending(port) if each.kind == "text"}
            assert marks == {True}
    git_in(bench.project, "commit", "-q", "--allow-empty", "-m", "mine")
    async with bench.running(), editor(bench) as port:
        staged_only = commands == ["git add -A"]
        assert bool(await pending(port)) != staged_only


async def test_what_one_command_writes_and_commits_is_pending_and_marked(bench: Bench) -> None:
    committed(bench)
    bench.script(shell(f"sed -i s/b/B/ a.txt; echo new > new.txt; git add new.txt; {COMMIT}"), "text: 1")
    async with bench.running(), editor(bench) as port:
        watcher = Watcher(await bench.new("full"))
        await finish(watcher.session, "go")
        assert [(Path(each.path).name, each.committed) for each in await pending(port)] == [
            ("a.txt", True),
            ("new.txt", True),
        ]


async def test_what_the_agent_commits_is_kept_where_commits_settle(bench: Bench) -> None:
    bench.settings["review"] = {"settle": "commit"}
    committed(bench)
    bench.script(call("WriteFile", path="a.txt", content=BOTH), shell(f"{COMMIT}; echo f >> a.txt"), "text: 1")
    async with bench.running(), editor(bench) as port:
        watcher = Watcher(await bench.new("full"))
        await finish(watcher.session, "go")
        assert [each.texts for each in await pending(port)] == [("f\n",)]


async def test_nothing_is_to_be_reviewed_where_nothing_is_wanted_to_be_and_undo_takes_it_back(bench: Bench) -> None:
    bench.settings["review"] = {"settle": "never"}
    (bench.project / "a.txt").write_text(BASE)
    write = call("WriteFile", path="a.txt", content=BOTH)
    bench.script(write, shell("echo f >> a.txt; echo new > new.txt"), "text: 1")
    async with bench.running(), editor(bench) as port:
        watcher = Watcher(await bench.new("full"))
        await finish(watcher.session, "go")
        assert (bench.project / "a.txt").read_text() == BOTH + "f\n"
        assert not await pending(port)
        await finish(watcher.session, "/undo")
        assert (bench.project / "a.txt").read_text() == BASE
        assert not (bench.project / "new.txt").exists()


async def test_what_the_agent_staged_is_kept_when_the_user_commits_it(bench: Bench) -> None:
    committed(bench)
    bench.script(call("WriteFile", path="a.txt", content=BOTH), shell("git add a.txt"), "text: 1")
    async with bench.running(), editor(bench) as port:
        watcher = Watcher(await bench.new("full"))
        await finish(watcher.session, "go")
        assert [each.committed for each in await pending(port)] == [True, True]

        git_in(bench.project, "commit", "-qm", "mine")

        assert not await pending(port)


async def test_what_the_agent_committed_is_not_kept_by_switching_away_and_back(bench: Bench) -> None:
    committed(bench)
    git_in(bench.project, "branch", "other")
    bench.script(call("WriteFile", path="a.txt", content=BOTH), shell(COMMIT), "text: 1")
    async with bench.running(), editor(bench) as port:
        watcher = Watcher(await bench.new("full"))
        await finish(watcher.session, "go")
        hunks = await pending(port)

        git_in(bench.project, "switch", "-q", "other")
        assert not await pending(port)
        git_in(bench.project, "switch", "-q", "main")

        assert await pending(port) == hunks


async def test_what_the_user_staged_before_a_command_of_the_agent_is_the_users(bench: Bench) -> None:
    committed(bench)
    bench.script(call("WriteFile", path="a.txt", content=BOTH), "text: 1", shell("true"), "text: 2")
    async with bench.running(), editor(bench) as port:
        watcher = Watcher(await bench.new("full"))
        await finish(watcher.session, "write")
        git_in(bench.project, "add", "a.txt")
        await finish(watcher.session, "run")
        assert not await pending(port)


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
