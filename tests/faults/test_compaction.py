"""Compaction that goes wrong, behind the real daemon: chunks, then a cut with a notice; no fault costs the session."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from soultest.daemon import Sould, fresh_sould, until
from soultest.faulty import Editor, Faulty, faulty_daemon

Json = dict[str, Any]
SIMPLE = '\n[compaction]\nstrategy = "simple"\n'
SMART = '\n[compaction]\nembedding_model = "{}"\n'


@pytest.fixture(scope="module")
def faulty() -> Iterator[Faulty]:
    """One daemon for the tests that leave it alive."""
    with fresh_sould() as sould, faulty_daemon(sould, SIMPLE) as running:
        yield running


@pytest.fixture
def mortal(sould: Sould) -> Iterator[Faulty]:
    """A daemon of one test's own, whose server has not hung yet."""
    with faulty_daemon(sould, SIMPLE) as running:
        yield running


def talk(faulty: Faulty, *reports: str, more: str = "") -> Editor:
    """An editor that has said something for each `tokens,how`; `@` in `more` stands for that again."""
    editor = faulty.editor()
    for number, report in enumerate(reports):
        mark = f"[[compacting:{report}]]"
        answer = editor.prompt(f"Kettle {number} of {editor.session}. {mark} {more.replace('@', mark)}")
        assert answer["result"]["stopReason"] == "end_turn"
    return editor


def compacting(faulty: Faulty, editor: Editor) -> list[Json]:
    """The questions to compact the editor's conversation, which begins with its session's id."""
    asked = [each for each in faulty.requests() if "You compact" in str(each["body"]["messages"][0]["content"])]
    return [each for each in asked if editor.session in json.dumps(each["body"]["messages"])]


def ends(faulty: Faulty, editor: Editor) -> list[Json]:
    """The journal's `CompactionEnd`s of the editor's session."""
    state = Path(faulty.sould.environment["XDG_STATE_HOME"])
    (journal,) = state.glob(f"**/sessions/{editor.session}/wire.jsonl")
    records = [json.loads(line) for line in journal.read_text().splitlines()]
    return [each["message"]["payload"] for each in records if each.get("message", {}).get("type") == "CompactionEnd"]


def shown_to_another(faulty: Faulty, editor: Editor) -> str:
    """Everything a second editor is shown when it opens the session."""
    other = Editor(faulty.sould, faulty.sould.acp())
    other.request("session/load", sessionId=editor.session, cwd=str(faulty.sould.workspace), mcpServers=[])
    return json.dumps(other.updates)


def test_a_model_that_cannot_compact_costs_a_notice_and_no_word_of_the_conversation(faulty: Faulty) -> None:
    editor = talk(faulty, "1000,500", "80000,500")
    assert editor.prompt("[[plain:on it]]")["result"]["stopReason"] == "end_turn"
    assert "on it" in editor.said()
    assert len(compacting(faulty, editor)) == 3  # the attempts of one question
    assert "could not be compacted" in json.dumps(editor.updates)
    assert [end["failed"] for end in ends(faulty, editor)] == [True]
    last = json.dumps(faulty.requests()[-1]["body"]["messages"])
    assert "Kettle 0" in last
    assert "Kettle 1" in last
    # and it is not tried again with every step
    assert editor.prompt("[[plain:still]]")["result"]["stopReason"] == "end_turn"
    assert len(compacting(faulty, editor)) == 3


def test_a_full_window_that_cannot_be_compacted_is_cut_with_a_notice_and_stays_readable(faulty: Faulty) -> None:
    editor = talk(faulty, "1000,500", "1100,500", "97000,500", more="word " * 4000)
    assert editor.prompt("[[plain:on it]]")["result"]["stopReason"] == "end_turn"
    assert "so it was cut" in json.dumps(editor.updates)
    (end,) = ends(faulty, editor)
    assert not end["failed"]
    assert end["tokens_after"] < end["tokens_before"]
    last = json.dumps(faulty.requests()[-1]["body"]["messages"])
    assert "could not be compacted" in last
    assert "Kettle 0" in last  # its beginning is there
    assert last.count("word ") < 12_000
    assert "Kettle 0" in shown_to_another(faulty, editor)
    told = faulty.sould.cli("sessions", "show", editor.session)
    assert told.stdout.count("word word") > 0


def test_a_conversation_too_long_for_one_question_is_compacted_in_chunks(faulty: Faulty) -> None:
    editor = talk(faulty, "1000,fits:9000", "1100,fits:9000", "80000,fits:9000", more=("word " * 300 + "@ ") * 10)
    assert editor.prompt("[[plain:on it]]")["result"]["stopReason"] == "end_turn"
    sizes = [len(str(asked["body"]["messages"][-1]["content"])) for asked in compacting(faulty, editor)]
    assert max(sizes) > 9000  # refused
    assert sum(size <= 9000 for size in sizes) > 2
    (end,) = ends(faulty, editor)
    assert not end["failed"]
    assert "compacted" in end["summary"]
    last = json.dumps(faulty.requests()[-1]["body"]["messages"])
    assert "stands for it" in last
    assert "compacted" in last


def test_an_answer_without_sections_is_asked_for_once_more_and_then_repaired(faulty: Faulty) -> None:
    editor = talk(faulty, "1000,prose", "80000,prose")
    assert editor.prompt("[[plain:on it]]")["result"]["stopReason"] == "end_turn"
    first, second = compacting(faulty, editor)
    assert "lacks these sections" in str(second["body"]["messages"][-1]["content"])
    assert "tools" not in first["body"]
    (end,) = ends(faulty, editor)
    assert "<important_context>" in end["summary"]


def test_an_earlier_summary_is_carried_on_by_the_hierarchical_strategy_and_not_asked_about_again(sould: Sould) -> None:
    with faulty_daemon(sould, SIMPLE.replace("simple", "hierarchical")) as faulty:
        editor = talk(faulty, "1000,well", "80000,well", "1200,well", "80000,well")
        assert editor.prompt("[[plain:on it]]")["result"]["stopReason"] == "end_turn"
        first, second = ends(faulty, editor)
        done = first["summary"].partition("<completed_tasks>")[2].partition("</")[0].strip()
        assert done.startswith("compacted ")
        assert "carried the earlier summary on" in second["note"]
        assert done in second["summary"]
        later = [str(asked["body"]["messages"][-1]["content"]) for asked in compacting(faulty, editor)]
        assert not any(done in each or "stands for it" in each for each in later)


def test_cancelling_during_compaction_ends_the_turn_and_changes_nothing(mortal: Faulty) -> None:
    editor = talk(mortal, "1000,hang", "80000,hang")
    editor.begin("Go on. [[plain:on it]]", "p")
    until(lambda: compacting(mortal, editor), what="the question to compact")
    editor.send("session/cancel", sessionId=editor.session)
    done = editor.wait(lambda message: message.get("id") == "p" and "method" not in message)
    assert done["result"]["stopReason"] == "cancelled"
    assert [end["failed"] for end in ends(mortal, editor)] == [True]
    assert editor.prompt("Go on again. [[plain:on it]]")["result"]["stopReason"] == "end_turn"
    asked = str(compacting(mortal, editor)[-1]["body"]["messages"][-1]["content"])
    assert all(f"Kettle {number}" in asked for number in range(2))


def test_a_chinese_conversation_is_compacted_in_chinese(faulty: Faulty) -> None:
    editor = talk(faulty, "1000,well", "80000,well", more="请修复解析器的错误并运行所有测试。")
    assert editor.prompt("[[plain:on it]] 继续修复剩下的错误。")["result"]["stopReason"] == "end_turn"
    asked = [each["body"]["messages"] for each in faulty.requests() if "你负责压缩" in str(each["body"]["messages"][0])]
    assert len(asked) == 1
    assert "必须逐字保留" in str(asked[0][-1]["content"])
    assert [end["failed"] for end in ends(faulty, editor)] == [False]


def test_a_daemon_killed_in_mid_compaction_leaves_the_session_as_it_was(mortal: Faulty) -> None:
    editor = talk(mortal, "1000,hang", "80000,hang")
    editor.begin("Go on. [[plain:on it]]", "p")
    until(lambda: compacting(mortal, editor), what="the question to compact")
    mortal.sould.kill9()
    died = editor.wait(lambda message: message.get("id") == "p" and "method" not in message)
    assert died["result"]["_meta"]["sould"]["kind"] == "interrupted"
    shown = shown_to_another(mortal, editor)
    assert "The daemon stopped during compaction." in shown
    assert editor.prompt("Go on again. [[plain:on it]]")["result"]["stopReason"] == "end_turn"
    asked = str(compacting(mortal, editor)[-1]["body"]["messages"][-1]["content"])
    assert all(f"Kettle {number}" in asked for number in range(2))  # nothing of it was lost
    assert [end["failed"] for end in ends(mortal, editor)] == [True, False]
    mortal.pid = mortal.sould.pid


@pytest.mark.parametrize("model", ["letters", "unknown"])
def test_smart_compaction_compares_by_the_provider_s_embeddings_else_by_words(sould: Sould, model: str) -> None:
    with faulty_daemon(sould, SMART.format(model)) as faulty:
        editor = talk(faulty, "1000,well", "1100,well", "80000,well", more="word " * 9000)
        assert editor.prompt("[[plain:on it]]")["result"]["stopReason"] == "end_turn"
        (asked,) = [each for each in faulty.requests() if each["path"].endswith("/embeddings")]
        assert asked["body"]["model"] == model
        assert max(map(len, asked["body"]["input"])) <= 6000
        assert ("words were compared instead" in json.dumps(editor.updates)) == (model == "unknown")
        (end,) = ends(faulty, editor)
        assert (end["failed"], end["strategy"]) == (False, "smart")
        assert end["note"].startswith("Kept the last 2 messages")
