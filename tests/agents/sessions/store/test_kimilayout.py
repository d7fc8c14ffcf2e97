"""The store's sessions in kimi-cli's layout: what it says in them meanwhile is known, and never lost."""

import json
import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from sould.agents.base.errors import JournalFullError
from sould.agents.sessions.settings.state import load_state
from sould.agents.sessions.store.kimijournal import convert
from sould.agents.sessions.store.kimilayout import LARGEST_STATE, note_latest
from sould.agents.sessions.store.store import SessionStore
from soultest.kimisessions import STARTED, folder_of, keep, lines_of, text, turn, wire_lines


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SessionStore]:
    store = SessionStore(tmp_path / "state")
    yield store
    store.close()


@pytest.fixture
def share(tmp_path: Path) -> Path:
    return tmp_path / "share"


@pytest.fixture
def cwd(tmp_path: Path) -> Path:
    (tmp_path / "project").mkdir()
    return tmp_path / "project"


def test_a_blank_session_in_which_kimi_cli_has_said_something_is_known_and_stays(
    store: SessionStore, share: Path, cwd: Path
) -> None:
    for each in ("seen", "unseen"):
        store.create(cwd, session_id=each, share=share)
        (folder_of(share, cwd) / each / "wire.jsonl").write_bytes(wire_lines(*turn("important", text("yes"))))
        if each == "seen":
            store.take_in(share, cwd)
            assert (store.find(each).info.title, store.find(each).info.turns) == ("important", 1)
    store.forget_blank(time.time() + 60)
    assert sorted(each.id for each in store.list(cwd, used=True).items) == ["seen", "unseen"]


def test_a_session_in_which_kimi_cli_went_on_is_the_latest_and_not_an_old_one(
    store: SessionStore, share: Path, cwd: Path
) -> None:
    for number, each in enumerate(("old", "new")):
        journal = keep(share, cwd, each, wire_lines(*turn(each, text("yes")))) / "wire.jsonl"
        os.utime(journal, (STARTED, STARTED + number))
    store.take_in(share, cwd)
    store.rename("old", "Mine")
    assert [each.id for each in store.list(cwd).items] == ["new", "old"]
    with (folder_of(share, cwd) / "old" / "wire.jsonl").open("ab") as journal:
        journal.write(wire_lines(*turn("more", text("yes")), version=None))
    assert [each.info.id for each in store.weigh(STARTED + 60, 0)] == ["new"]
    store.take_in(share, cwd)
    latest = store.list(cwd).items[0]
    assert (latest.id, latest.title, latest.turns) == ("old", "Mine", 2)


def test_a_session_was_begun_when_its_first_record_says(store: SessionStore, share: Path, cwd: Path) -> None:
    keep(share, cwd, "said", wire_lines(*turn("one", text("yes"))))
    unsaid = keep(share, cwd, "unsaid", None, lines_of({"role": "user", "content": "one"}))
    os.utime(unsaid / "context.jsonl", (STARTED + 60, STARTED + 60))
    future = keep(share, cwd, "future", lines_of({"timestamp": 1e300, "message": {"type": "TurnBegin", "payload": {}}}))
    os.utime(future / "wire.jsonl", (STARTED + 90, STARTED + 90))
    store.take_in(share, cwd)
    begun = {each.id: each.created - STARTED for each in store.list(cwd).items}
    assert begun == {"said": 0, "unsaid": 60, "future": 90}


def test_what_was_chosen_in_a_session_outlasts_a_directory_that_was_away(
    store: SessionStore, share: Path, cwd: Path
) -> None:
    directory = keep(share, cwd, "one", wire_lines(*turn("one", text("yes"))))
    store.take_in(share, cwd)
    store.rename("one", "Mine")
    state = {"mode": "plan", "model": "k2"}
    (directory / "state.json").write_text(json.dumps(state))
    share.rename(share.with_name("away"))
    assert not store.list(cwd).items
    share.with_name("away").rename(share)
    store.take_in(share, cwd)
    assert [each.title for each in store.list(cwd).items] == ["Mine"]
    assert json.loads((directory / "state.json").read_text()) == state


def test_a_session_that_was_away_while_others_were_listed_is_listed_again(
    store: SessionStore, share: Path, cwd: Path
) -> None:
    keep(share, cwd, "one", wire_lines(*turn("one", text("yes"))))
    store.take_in(share, cwd)
    share.rename(share.with_name("away"))
    assert not store.list(cwd).items
    share.with_name("away").rename(share)
    assert [each.id for each in store.list(cwd).items] == ["one"]


def test_the_link_to_a_session_that_was_deleted_by_hand_goes_when_the_store_is_listed(
    store: SessionStore, share: Path, cwd: Path, tmp_path: Path
) -> None:
    for name in ("deleted", "kept"):
        keep(share, cwd, name, wire_lines(*turn("one", text("yes"))))
    store.take_in(share, cwd)
    assert len(store.list(cwd).items) == 2
    links = tmp_path / "state" / "sessions"
    (links / "strange").symlink_to(tmp_path / "nowhere")
    shutil.rmtree(folder_of(share, cwd) / "deleted")
    assert [each.id for each in store.list(cwd).items] == ["kept"]
    assert sorted(os.listdir(links)) == ["kept", "strange"]
    assert sorted(os.listdir(folder_of(share, cwd))) == ["kept"]


@pytest.mark.parametrize("place", ["", "sessions", "sessions/*", "sessions/*/one"])
def test_what_others_may_write_is_left_alone(store: SessionStore, share: Path, cwd: Path, place: str) -> None:
    keep(share, cwd, "one", wire_lines(*turn("one", text("yes"))))
    [directory] = share.glob(place) if place else [share]
    directory.chmod(0o777)
    store.take_in(share, cwd)
    assert not store.list(cwd).items


def test_kimi_json_is_left_alone_where_it_is_a_link_or_a_pipe(share: Path, cwd: Path, tmp_path: Path) -> None:
    keep(share, cwd, "one", wire_lines(*turn("one", text("yes"))))
    other = tmp_path / "other.json"
    other.write_text("{}")
    (share / "kimi.json").symlink_to(other)
    note_latest(share, cwd, "one")
    assert (other.read_text(), (share / "kimi.json").is_symlink()) == ("{}", True)
    (share / "kimi.json").unlink()
    os.mkfifo(share / "kimi.json")
    note_latest(share, cwd, "one")
    assert (share / "kimi.json").is_fifo()


def test_a_link_that_came_later_is_not_read(store: SessionStore, share: Path, cwd: Path, tmp_path: Path) -> None:
    directory = keep(share, cwd, "one", wire_lines(*turn("one", text("yes"))))
    store.take_in(share, cwd)
    (directory / "context.jsonl").symlink_to(tmp_path / "secret")
    (tmp_path / "secret").write_bytes(b'{"role": "user", "content": "secret"}\n')
    with pytest.raises(JournalFullError):
        convert(store.find("one").directory, cwd)
    assert not (directory / "context.kimi.jsonl").exists()


def test_a_field_that_a_newer_kimi_cli_wrote_costs_none_of_the_others(tmp_path: Path) -> None:
    todos = [{"title": "x", "status": "of the future"}]
    (tmp_path / "state.json").write_text(json.dumps({"custom_title": "t", "model": "k2", "todos": todos}))
    state = load_state(tmp_path)
    state.save(tmp_path)
    kept = json.loads((tmp_path / "state.json").read_text())
    assert (kept["custom_title"], state.model, state.todos) == ("t", "k2", ())


def test_a_session_that_could_not_begin_leaves_what_was_there_before(
    store: SessionStore, share: Path, cwd: Path
) -> None:
    there = keep(share, cwd, "there", None, state={"custom_title": "Mine", "mode": "full"})
    for each in ("there", "new"):
        store.create(cwd, session_id=each, share=share)
        store.take_back(each)
    assert [path.name for path in there.parent.iterdir()] == ["there"]
    assert [path.name for path in there.iterdir()] == ["state.json"]
    assert json.loads((there / "state.json").read_text()) == {"custom_title": "Mine"}
    assert not store.list(cwd).items


def test_what_is_noted_in_a_session_s_state_leaves_all_else_there(store: SessionStore, share: Path, cwd: Path) -> None:
    theirs = {"custom_title": "Theirs", "wire_mtime": 1.5}
    directory = keep(share, cwd, "one", wire_lines(*turn("one", text("yes"))), state=theirs)
    store.take_in(share, cwd)
    ours = load_state(directory)
    store.rename("one", "Ours")
    store.archive("one", archived=True)
    ours.choose_mode("plan")
    ours.save(directory)
    state = json.loads((directory / "state.json").read_text())
    assert (state["custom_title"], state["archived"], state["wire_mtime"], state["mode"]) == ("Ours", True, 1.5, "plan")
    assert (directory / "state.json").stat().st_mode & 0o777 == 0o600
    store.touch("one", prompt="go on")
    store.rename("one", "")
    state = json.loads((directory / "state.json").read_text())
    assert (state["archived"], state.keys() & {"custom_title", "archived_at"}) == (False, set())
    assert not list(directory.glob("*.tmp"))


def test_a_state_that_only_pythons_own_json_reads_loses_nothing(store: SessionStore, share: Path, cwd: Path) -> None:
    directory = keep(share, cwd, "one", wire_lines(*turn("one", text("yes"))))
    store.take_in(share, cwd)
    (directory / "state.json").write_text(json.dumps({"todos": [{"title": "cut \ud83d"}], "version": 1}))
    store.rename("one", "Ours")
    state = json.loads((directory / "state.json").read_text())
    assert state == {"todos": [{"title": "cut \ud83d"}], "version": 1, "custom_title": "Ours", "title_generated": True}


@pytest.mark.parametrize("kind", ["link", "dangling link", "pipe", "directory", "too large"])
def test_a_state_that_is_no_file_of_the_user_s_own_is_neither_read_nor_written(
    store: SessionStore, share: Path, cwd: Path, tmp_path: Path, kind: str
) -> None:
    directory = keep(share, cwd, "one", wire_lines(*turn("one", text("yes"))))
    store.take_in(share, cwd)
    other, path = tmp_path / "other.json", directory / "state.json"
    said = json.dumps({"mode": "full", "model": "theirs", "more": "x" * LARGEST_STATE * (kind == "too large")})
    match kind:
        case "link" | "dangling link":
            path.symlink_to(other)
        case "pipe":
            os.mkfifo(path)
        case "directory":
            path.mkdir()
        case _:
            path.write_text(said)
    if kind != "dangling link":
        other.write_text(said)
    before = os.lstat(path)
    state = load_state(directory)
    assert (state.mode, state.model) == (None, None)
    assert store.rename("one", "Ours").title == "Ours"
    assert store.archive("one", archived=True).archived
    with pytest.raises(JournalFullError):
        state.save(directory)
    after = os.lstat(path)
    assert (after.st_ino, after.st_mode, after.st_size) == (before.st_ino, before.st_mode, before.st_size)
    assert (other.read_text() if other.exists() else None) == (said if kind != "dangling link" else None)
    assert not list(directory.glob("*.tmp"))


def test_a_session_kept_with_ours_has_no_state_of_kimi_cli(store: SessionStore, cwd: Path) -> None:
    stored = store.create(cwd)
    store.rename(stored.info.id, "Mine")
    assert not (stored.directory / "state.json").exists()
