"""What a frontend may do with stored sessions: search, archive and prune, with typed results."""

import os
import time
from contextlib import closing

import pytest
from msgspec.structs import replace

from sould.agents.base.errors import OptionError, SessionOpenElsewhereError
from sould.agents.journal.locking import lock_file
from sould.agents.sessions.session import Session
from sould.agents.sessions.store.info import write_info
from sould.agents.sessions.store.store import SessionStore
from soultest.bench import Bench, Watcher, finish

DAY = 86_400.0


async def ended(bench: Bench, prompt: str) -> Session:
    """A session that was used and that nobody looks at any more."""
    watcher = Watcher(await bench.new())
    await finish(watcher.session, prompt)
    await bench.host.detach(watcher.session.id, watcher.id)
    await watcher.session.closed.wait()
    return watcher.session


def make_old(bench: Bench, session: Session, days: int) -> None:
    """As if it was last used so long ago."""
    directory = bench.state / "sessions" / session.id
    with closing(SessionStore(bench.state)) as store:
        info = store.find(session.id).info
    write_info(directory, replace(info, updated=time.time() - days * DAY))
    for path in bench.state.glob("index.sqlite*"):
        path.unlink()


async def test_what_is_said_in_a_live_session_is_found(bench: Bench) -> None:
    bench.script("text: The gate squeaks.")
    async with bench.running():
        watcher = Watcher(await bench.new())
        await finish(watcher.session, "look at the garden")
        (found,) = await bench.port.stored.search("garden squeaks")
        assert found.info.id == watcher.session.id
        assert found.info.title == "look at the garden"
        assert found.info.cwd == bench.project
        assert "The gate squeaks." in found.snippet


async def test_an_archived_session_comes_back_with_the_next_prompt_even_while_it_is_open(bench: Bench) -> None:
    bench.script("text: one", "text: two")
    async with bench.running():
        watcher, stored = Watcher(await bench.new()), bench.port.stored
        await finish(watcher.session, "garden")
        assert stored.archive(watcher.session.id).archived
        assert (await stored.list(None, None)).items == ()
        assert await stored.search("garden") == ()
        assert len((await stored.list(None, None, archived="include")).items) == 1
        await finish(watcher.session, "go on")
        assert len((await stored.list(None, None)).items) == 1


async def test_prune_removes_what_is_old_and_large_and_says_how_much_that_was(bench: Bench) -> None:
    bench.script(*["text: ok"] * 3)
    async with bench.running():
        old, large, fresh = [await ended(bench, name) for name in ("old", "large", "fresh")]
    (bench.state / "sessions" / large.id / "output").write_bytes(b"x" * 1_000_000)
    make_old(bench, old, 40)
    make_old(bench, large, 50)
    async with bench.running():
        stored, month = bench.port.stored, 30 * DAY
        would = await stored.prune(older_than=month, dry_run=True)
        assert [each.info.id for each in would.removed] == [large.id, old.id]
        assert would.removed[0].size > 1_000_000 > would.removed[1].size > 0
        done = await stored.prune(older_than=month, larger_than=500_000)
        assert [each.info.id for each in done.removed] == [large.id]
        assert not (bench.state / "sessions" / large.id).exists()
        assert (await stored.prune(older_than=month, only={fresh.id})).removed == ()
        assert {info.id for info in (await stored.list(None, None)).items} == {old.id, fresh.id}
        with pytest.raises(OptionError, match="how old or how large"):
            await stored.prune()


@pytest.mark.parametrize("dry_run", [True, False])
async def test_prune_leaves_what_is_open_here_or_elsewhere(bench: Bench, *, dry_run: bool) -> None:
    bench.script("text: ok")
    async with bench.running():
        elsewhere = await ended(bench, "elsewhere")
        live = Watcher(await bench.new()).session
        lock = lock_file(bench.state / "sessions" / elsewhere.id / "wire.jsonl.lock")
        done = await bench.port.stored.prune(larger_than=0, dry_run=dry_run)
        os.close(lock)
        assert done.removed == ()
        reasons = {each.info.id: reason for each, reason in done.left}
        assert reasons[live.id] == "The session is open; close it first."
        assert f"pid {os.getpid()}" in reasons[elsewhere.id]
        assert (bench.state / "sessions" / elsewhere.id / "wire.jsonl").exists()


@pytest.mark.parametrize("dry_run", [True, False])
async def test_a_session_whose_last_client_left_this_moment_is_not_open(dry_run: bool, bench: Bench) -> None:
    bench.script("text: one")
    async with bench.running():
        watcher, stored = Watcher(await bench.new()), bench.port.stored
        await finish(watcher.session, "hello")
        one = watcher.session.id
        with pytest.raises(SessionOpenElsewhereError):
            await (stored.require_unused if dry_run else stored.delete_unused)(one)
        await bench.host.detach(one, watcher.id)
        await (stored.require_unused if dry_run else stored.delete_unused)(one)
        assert (bench.state / "sessions" / one).exists() is dry_run
