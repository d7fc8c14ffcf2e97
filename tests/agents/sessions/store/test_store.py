"""The session store: found by id, listed through an index that is worth nothing, deleted whole."""

import json
import os
import sqlite3
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from sould.agents.base.errors import OptionError, SessionNotFoundError, SessionOpenElsewhereError
from sould.agents.journal.locking import lock_file
from sould.agents.journal.records import metadata_line, record_line
from sould.agents.sessions.store.store import SessionInfo, SessionStore, new_id
from sould.agents.wire.messages import TurnBegin, TurnEnd


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SessionStore]:
    store = SessionStore(tmp_path)
    yield store
    store.close()


def everything(store: SessionStore, cwd: Path | None = None, limit: int = 7) -> list[SessionInfo]:
    found: list[SessionInfo] = []
    page = store.list(cwd, limit=limit)
    while True:
        found += page.items
        if page.next_cursor is None:
            return found
        page = store.list(cwd, page.next_cursor, limit)


def test_ids_are_26_characters_that_sort_by_time() -> None:
    early, late = new_id(1_000_000.0), new_id(1_000_000.002)
    assert early < late
    assert len(early) == 26


def test_a_new_session_is_found_and_listed(store: SessionStore) -> None:
    stored = store.create(Path("/w"), additional=[Path("/x")])
    assert store.find(stored.info.id) == stored
    assert store.list().items == (stored.info,)
    assert stored.info.additional == (Path("/x"),)


def test_the_beginning_of_an_id_is_enough_and_that_of_several_names_them(store: SessionStore) -> None:
    found = [store.create(Path("/w")).info.id for _ in range(7)]
    assert store.begins_with(found[0][:-1]).info.id == found[0]
    with pytest.raises(SessionNotFoundError) as several:
        store.begins_with("0")
    lines = several.value.message.splitlines()
    assert lines[0] == "7 session ids begin with '0':"
    assert [line.split()[0] for line in lines[1:6]] == sorted(found, reverse=True)[:5]


def test_directories_are_for_their_owner_only(store: SessionStore, tmp_path: Path) -> None:
    stored = store.create(Path("/w"))
    modes = {stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "sessions", stored.directory)}
    assert modes == {0o700}
    assert stat.S_IMODE((stored.directory / "session.json").stat().st_mode) == 0o600


@pytest.mark.parametrize("session_id", ["", "..", "../sessions", "a/b", "a\0b", "x" * 65, "ünïcode", "a b", "nobody"])
def test_an_id_is_looked_up_and_never_a_path(session_id: str, store: SessionStore) -> None:
    store.create(Path("/w"))
    with pytest.raises(SessionNotFoundError):
        store.find(session_id)
    with pytest.raises(SessionNotFoundError):
        store.delete(session_id)


def test_lists_are_paged_newest_first_without_gap_or_repeat(store: SessionStore) -> None:
    made = [store.create(Path(f"/w/{number % 3}")).info for number in range(30)]
    assert [info.id for info in everything(store)] == [info.id for info in reversed(made)]
    one = [info.id for info in made if info.cwd == Path("/w/1")]
    assert [info.id for info in everything(store, Path("/w/1"), limit=4)] == one[::-1]


def test_sessions_of_a_directory_are_found_by_every_path_that_leads_to_it(store: SessionStore, tmp_path: Path) -> None:
    real, link, above = tmp_path / "p" / "deep", tmp_path / "link", tmp_path / "q"
    real.mkdir(parents=True)
    (real / "sub").mkdir()
    link.symlink_to(real)
    above.symlink_to(tmp_path / "p")
    spelled = [real, link, above / "deep", Path(f"{real}/sub/.."), Path(f"{tmp_path}/p/./deep/"), Path(f"/{real}")]
    made = {store.create(path).info.id for path in spelled}
    other = store.create(real / "sub").info.id
    for path in spelled:
        store.touch(store.create(path).info.id, prompt="words")
        assert made < {info.id for info in everything(store, path)}
        assert other not in {info.id for info in everything(store, path)}
    assert {info.cwd for info in everything(store, real)} == set(spelled), "as each client spelled it"
    assert len(store.below(real)) == len(spelled)


def test_a_session_stays_with_the_directory_in_which_it_began(store: SessionStore, tmp_path: Path) -> None:
    first, second, link = tmp_path / "first", tmp_path / "second", tmp_path / "current"
    first.mkdir()
    second.mkdir()
    link.symlink_to(first)
    session = store.create(link).info.id
    link.unlink()
    link.symlink_to(second)
    store.touch(session, prompt="words")
    assert [info.id for info in everything(store, first)] == [session]
    assert [info.id for info in everything(store, link)] == [session], "by the path that it was opened by, too"
    assert not everything(store, second)
    store.close()
    (tmp_path / "index.sqlite").unlink()
    assert [info.id for info in everything(store, first)] == [session], "the index is worth nothing"


def test_a_used_session_comes_first_with_its_first_prompt_as_title(store: SessionStore) -> None:
    old = store.create(Path("/w")).info
    store.create(Path("/w"))
    store.touch(old.id, prompt="Fix  the\nparser " + "x" * 100, turns=1)
    store.touch(old.id, prompt="another prompt", turns=2)
    first = store.list().items[0]
    assert (first.id, first.turns) == (old.id, 2)
    assert first.title == ("Fix the parser " + "x" * 100)[:50]


def test_a_users_title_stays(store: SessionStore) -> None:
    info = store.create(Path("/w")).info
    store.rename(info.id, "Mine")
    assert store.touch(info.id, prompt="prompt").title == "Mine"


@pytest.mark.parametrize("cursor", ["", "nonsense", "W10=", "WzEsMl0=", "é"])
def test_a_foreign_cursor_is_refused(cursor: str, store: SessionStore) -> None:
    with pytest.raises(OptionError, match="cursor"):
        store.list(cursor=cursor)


def test_a_deleted_session_is_gone_with_its_files(store: SessionStore, tmp_path: Path) -> None:
    stored = store.create(Path("/w"))
    (stored.directory / "spilled").mkdir()
    store.delete(stored.info.id)
    assert store.list().items == ()
    assert not stored.directory.exists()
    assert not (tmp_path / "trash").exists()


def test_an_open_session_is_not_deleted(store: SessionStore) -> None:
    stored = store.create(Path("/w"))
    lock = lock_file(stored.directory / "wire.jsonl.lock")
    with pytest.raises(SessionOpenElsewhereError, match=str(os.getpid())):
        store.delete(stored.info.id)
    os.close(lock)
    store.delete(stored.info.id)


def damage_index(kind: str, path: Path) -> None:
    match kind:
        case "deleted":
            path.unlink()
        case "junk":
            path.write_bytes(b"junk" * 4000)
        case "empty":
            path.write_bytes(b"")
        case "no table":
            with sqlite3.connect(path) as db:
                db.execute("DROP TABLE sessions")
            db.close()
        case "newer":
            with sqlite3.connect(path) as db:
                db.execute("PRAGMA user_version = 99")
            db.close()
        case _:
            path.write_bytes(path.read_bytes()[:5000])


@pytest.mark.parametrize(
    ("kind", "while_open"),
    [(kind, False) for kind in ("deleted", "junk", "empty", "no table", "newer", "torn")] + [("deleted", True)],
)
def test_the_index_is_rebuilt_whatever_happens_to_it(kind: str, *, while_open: bool, tmp_path: Path) -> None:
    store = SessionStore(tmp_path)
    for number in range(60):
        store.create(Path("/w"))
        store.touch(store.list(limit=1).items[0].id, prompt=f"prompt {number}", turns=1)
    expected = everything(store)
    if not while_open:
        store.close()
    damage_index(kind, tmp_path / "index.sqlite")
    again = store if while_open else SessionStore(tmp_path)
    assert everything(again) == expected
    again.rename(expected[0].id, "New title")
    again.close()
    with closing(SessionStore(tmp_path)) as third:
        assert third.list(limit=1).items[0].title == "New title"
    assert (tmp_path / "index.sqlite").exists()


def test_sessions_that_come_and_go_behind_the_index_are_noticed(store: SessionStore, tmp_path: Path) -> None:
    kept, gone = store.create(Path("/w")), store.create(Path("/w"))
    assert len(store.list().items) == 2
    gone.directory.rename(tmp_path / "elsewhere")
    assert store.list().items == (kept.info,)
    (tmp_path / "elsewhere").rename(gone.directory)
    assert store.find(gone.info.id).info == gone.info
    assert {info.id for info in store.list().items} == {kept.info.id, gone.info.id}


def test_a_session_without_its_info_file_is_read_from_its_journal(store: SessionStore, tmp_path: Path) -> None:
    directory = tmp_path / "sessions" / "copied"
    directory.mkdir()
    (directory / "wire.jsonl").write_bytes(
        metadata_line({"session_id": "old", "cwd": "/project", "created": 5.0})
        + record_line(1, 6.0, TurnBegin(user_input="What is\nthis?"))
        + record_line(2, 7.0, TurnEnd())
    )
    (info,) = store.list().items
    assert (info.id, info.cwd, info.title, info.turns, info.created) == (
        "copied",
        Path("/project"),
        "What is this?",
        1,
        5.0,
    )


def test_two_processes_worth_of_stores_see_the_same_list(store: SessionStore, tmp_path: Path) -> None:
    other = SessionStore(tmp_path)
    made = store.create(Path("/w")).info
    assert other.list().items == (made,)
    other.rename(made.id, "Shared")
    assert store.list().items[0].title == "Shared"
    other.delete(made.id)
    assert store.list().items == ()
    other.close()


def test_sessions_that_hold_nothing_are_forgotten_after_a_while(store: SessionStore, tmp_path: Path) -> None:
    blank, used, named, open_one = (store.create(tmp_path).info for _ in range(4))
    store.touch(used.id, prompt="hello", turns=1)
    store.rename(named.id, "For later")
    lock = lock_file(tmp_path / "sessions" / open_one.id / "wire.jsonl.lock")
    store.forget_blank(before=blank.updated)
    assert len(store.list().items) == 4, "it was just opened"
    store.forget_blank(before=time.time())
    os.close(lock)
    assert {info.id for info in store.list().items} == {used.id, named.id, open_one.id}
    assert {info.id for info in store.list(used=True).items} == {used.id, named.id}


def test_an_archived_session_is_listed_only_when_asked_for_until_it_is_used_again(
    store: SessionStore, tmp_path: Path
) -> None:
    kept, archived = (store.create(tmp_path).info for _ in range(2))
    before = store.touch(archived.id, prompt="hello", turns=1)
    assert store.archive(archived.id, archived=True).updated == before.updated
    assert [info.id for info in store.list().items] == [kept.id]
    assert [info.id for info in store.list(archived="include").items] == [archived.id, kept.id]
    store.close()
    (tmp_path / "index.sqlite").unlink()
    again = SessionStore(tmp_path)
    assert [info.id for info in again.list().items] == [kept.id], "it is kept in the session, not in the index"
    again.touch(archived.id, turns=1)
    assert [info.id for info in again.list().items] == [kept.id]
    again.touch(archived.id, prompt="go on", turns=2)
    assert [info.id for info in again.list().items] == [archived.id, kept.id]
    again.archive(archived.id, archived=True)
    again.archive(archived.id, archived=False)
    assert [info.id for info in again.list().items] == [archived.id, kept.id]
    again.close()


def test_a_session_of_before_origins_were_noted_is_listed_as_one_of_a_person(
    store: SessionStore, tmp_path: Path
) -> None:
    old, run = store.create(tmp_path), store.create(tmp_path, origin="run")
    kept = json.loads((old.directory / "session.json").read_bytes())
    del kept["origin"]
    (old.directory / "session.json").write_text(json.dumps(kept))
    store.close()
    (tmp_path / "index.sqlite").unlink()
    again = SessionStore(tmp_path)
    page = again.list(origins="attended")
    assert ([info.id for info in page.items], page.left_out) == ([old.info.id], 1)
    assert again.list(origins="any").left_out == 0
    again.note_opening(old.info.id, "run")
    again.note_opening(run.info.id, "terminal")
    assert again.note_opening(run.info.id, "wire").updated == run.info.updated, "opening is no use"
    assert {info.id: info.origin for info in again.list(origins="attended").items} == {
        old.info.id: "",
        run.info.id: "terminal",
    }
    again.close()


def test_what_is_written_later_is_listed_at_once_and_never_over_something_newer(tmp_path: Path) -> None:
    jobs: list[Callable[[], None]] = []
    store = SessionStore(tmp_path, jobs.append)
    stored = store.create(tmp_path)
    file = stored.directory / "session.json"
    store.touch(stored.info.id, prompt="one", turns=1)
    store.touch(stored.info.id, turns=2)
    assert [(info.title, info.turns) for info in store.list().items] == [("one", 2)]
    assert json.loads(file.read_bytes())["turns"] == 0, "replacing a file waits for the disk"
    jobs.pop(0)()
    written = file.stat().st_ino
    assert json.loads(file.read_bytes())["turns"] == 2
    jobs.pop(0)()
    assert file.stat().st_ino == written, "once is enough"
    store.rename(stored.info.id, "a title")
    store.archive(stored.info.id, archived=True)
    jobs.pop(0)()
    kept = json.loads(file.read_bytes())
    assert (kept["title"], kept["archived"]) == ("a title", True)
    store.rename(stored.info.id, "too late")
    store.delete(stored.info.id)
    jobs.pop(0)()
    assert not stored.directory.exists()
    store.close()
    store.close()
