"""Searching sessions: by title and by what was said, with an index that is worth nothing."""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from sould.agents.base.errors import OptionError
from sould.agents.journal.records import metadata_line, record_line
from sould.agents.sessions.store.info import StoredSession
from sould.agents.sessions.store.search import SessionSearch
from sould.agents.sessions.store.store import SessionStore
from sould.agents.wire.content import TextPart, ThinkPart
from sould.agents.wire.messages import SteerInput, StepBegin, TurnBegin, WireMessage


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SessionStore]:
    store = SessionStore(tmp_path)
    yield store
    store.close()


def say(stored: StoredSession, *messages: WireMessage) -> None:
    """Write a journal with these messages."""
    lines = [record_line(number, float(number), message) for number, message in enumerate(messages, 1)]
    metadata = metadata_line({"session_id": stored.info.id, "cwd": str(stored.info.cwd), "created": 1.0})
    (stored.directory / "wire.jsonl").write_bytes(metadata + b"".join(lines))


@pytest.fixture
def talk(store: SessionStore) -> Callable[..., str]:
    """A stored session in which a user asked and the agent answered."""

    def talk(prompt: str, answer: str = "Done.", cwd: str = "/w") -> str:
        stored = store.create(Path(cwd))
        say(stored, TurnBegin(user_input=prompt), StepBegin(n=1), TextPart(text=answer))
        store.touch(stored.info.id, prompt=prompt, turns=1)
        return stored.info.id

    return talk


def ids(store: SessionStore, query: str, cwd: Path | None = None) -> list[str]:
    return [found.info.id for found in store.search(query, cwd)]


def test_sessions_are_found_by_what_was_said_and_by_title_newest_first(
    store: SessionStore, talk: Callable[..., str]
) -> None:
    first = talk("Mend the parser", "The tokenizer drops the last line.")
    second = talk("Why is the tokenizer slow?")
    named = talk("hello")
    store.rename(named, "Tokenizer plans")
    talk("Something else")
    assert ids(store, "tokenizer") == [named, second, first]
    assert ids(store, "TOKEN") == [named, second, first], "the beginning of a word, in whatever case"
    assert ids(store, "parser drops") == [first], "every word, wherever it was said"
    assert ids(store, "nothing-like-it") == []


def test_a_snippet_is_what_was_said_around_the_word_on_one_line(store: SessionStore, talk: Callable[..., str]) -> None:
    talk("Look", f"{'before ' * 50}\nthe needle\nis here {'after ' * 50}")
    (found,) = store.search("needle")
    assert "before the needle is here after" in found.snippet
    assert len(found.snippet) < 200


def test_accents_need_not_be_typed_and_what_was_said_is_shown_even_so(
    store: SessionStore, talk: Callable[..., str]
) -> None:
    talk("Look", f"{'before ' * 50}\nle café est ici {'after ' * 50}")
    (found,) = store.search("cafe")
    assert "before le café est ici after" in found.snippet


def test_only_what_user_and_agent_said_is_searched(store: SessionStore) -> None:
    stored = store.create(Path("/w"))
    say(
        stored,
        TurnBegin(user_input="hello"),
        ThinkPart(think="secretly"),
        SteerInput(user_input="rather quickly"),
        TextPart(text="Cer"),
        TextPart(text="tainly."),
    )
    store.touch(stored.info.id, prompt="hello", turns=1)
    assert ids(store, "secretly") == []
    assert ids(store, "quickly certainly") == [stored.info.id]


@pytest.mark.parametrize("query", ["構文", "=>", "!=", 'a"b', "解析"])
def test_signs_and_scripts_without_spaces_are_found_too(
    query: str, store: SessionStore, talk: Callable[..., str]
) -> None:
    wanted = talk("構文解析を直して", 'x => y != z, and a"b')
    talk("Something else")
    assert ids(store, query) == [wanted]


def test_what_was_said_or_renamed_since_is_found_and_what_is_gone_is_not(
    store: SessionStore, talk: Callable[..., str], tmp_path: Path
) -> None:
    kept, gone = talk("the apple"), talk("the pear")
    assert ids(store, "the") == [gone, kept]
    say(store.find(kept), TurnBegin(user_input="a plum"))
    store.rename(kept, "Fruit")
    store.delete(gone)
    assert ids(store, "plum") == ids(store, "fruit") == [kept]
    assert ids(store, "apple") == ids(store, "pear") == []
    with closing(sqlite3.connect(tmp_path / "search.sqlite")) as db:
        assert [row[0] for row in db.execute("SELECT id FROM texts")] == [kept]


def test_archived_sessions_and_those_of_other_directories_are_found_when_asked_for(
    store: SessionStore, talk: Callable[..., str]
) -> None:
    here, there, archived = talk("a word"), talk("a word", cwd="/x"), talk("a word")
    store.archive(archived, archived=True)
    assert ids(store, "word") == [there, here]
    assert ids(store, "word", Path("/x")) == [there]
    assert [found.info.id for found in store.search("word", archived=True)] == [archived, there, here]


@pytest.mark.parametrize("query", ["", "  ", "\0\n"])
def test_a_query_without_a_word_is_refused(query: str, store: SessionStore) -> None:
    with pytest.raises(OptionError, match="give a word"):
        store.search(query)


def damage(kind: str, path: Path) -> None:
    path.unlink()
    match kind:
        case "junk":
            path.write_bytes(b"junk" * 4000)
        case "directory":
            path.mkdir()
        case "no table":
            with closing(sqlite3.connect(path)) as db:
                db.execute("PRAGMA user_version = 3")
        case "newer":
            with closing(sqlite3.connect(path)) as db:
                db.execute("PRAGMA user_version = 99")
        case _:
            pass


@pytest.mark.parametrize("kind", ["deleted", "junk", "directory", "no table", "newer"])
def test_whatever_happens_to_the_index_the_search_finds(
    kind: str, store: SessionStore, talk: Callable[..., str], tmp_path: Path
) -> None:
    wanted = talk("the apple")
    assert ids(store, "apple") == [wanted]
    damage(kind, tmp_path / "search.sqlite")
    assert ids(store, "apple") == [wanted]
    store.delete(wanted)
    assert ids(store, "apple") == []


def test_without_fts5_the_search_finds_the_same(store: SessionStore, talk: Callable[..., str], tmp_path: Path) -> None:
    wanted = [store.find(talk("Mend the parser", "It drops " + "a line " * 100)), store.find(talk("Something else"))]
    known = {session.info.id for session in wanted}
    search = SessionSearch(tmp_path / "plain.sqlite", fulltext=False)
    for _ in range(2):
        (found,) = search.search("PARS drops", wanted, 5, known=known)
        assert found.info == wanted[0].info
        assert "Mend the parser It drops" in found.snippet
    assert search.search("drops", wanted[1:], 5, known={wanted[1].info.id}) == ()
    search = SessionSearch(tmp_path / "plain.sqlite", fulltext=True)
    assert [each.info for each in search.search("else", wanted, 5, known=known)] == [wanted[1].info]
