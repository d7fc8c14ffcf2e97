"""The questions a summarising model is asked, pinned word for word, and what becomes of its answers."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from sould.agents.base.text import tokens
from sould.agents.llm.provider import ChatRequest, ProviderStatusError
from sould.agents.soul.compaction.strategies import Plan
from sould.agents.soul.compaction.summariser import TRUNCATED, Summariser, chunks, summary_request
from sould.agents.soul.compaction.summary import parse
from sould.agents.soul.compaction.transcript import Language
from sould.agents.wire.content import TextPart, input_text
from soultest.summaries import summary_of

GOLDEN = Path(__file__).parent / "golden"
ANSWER = summary_of("go on", environment="Linux", code_state='<file name="a.py"><summary>s</summary></file>')


class Model:
    """Gives the answers in order and keeps the questions; an exception is raised."""

    def __init__(self, *answers: str | Exception) -> None:
        self.answers = list(answers)
        self.asked: list[ChatRequest] = []

    async def __call__(self, request: ChatRequest) -> str:
        self.asked.append(request)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer

    def said(self, at: int = -1) -> str:
        return input_text(self.asked[at].messages[-1].content)


def summariser(model: Model, language: Language = "en", chunk: int = 10_000) -> Summariser:
    return Summariser(model, language, chunk, 500, "the user's last words")


def shown(request: ChatRequest) -> str:
    parts = [f"system: {request.system_prompt}", f"tools: {len(request.tools)}"]
    parts += [f"--- {message.role}\n{input_text(message.content)}" for message in request.messages]
    return "\n".join(parts) + "\n"


@pytest.mark.parametrize("language", ["en", "zh"])
async def test_the_request_and_the_parsed_result_are_the_pinned_ones(language: Language) -> None:
    talk = {"en": ("## user\nFix it", "## assistant\nDone."), "zh": ("## user\n修复它", "## assistant\n完成。")}[
        language
    ]
    guidance = {"en": "the API names", "zh": "接口名称"}[language]
    model = Model("<current_focus>half</current_focus>", ANSWER)
    summary = await summariser(model, language).summarise(Plan((talk,), 2), guidance)
    assert shown(model.asked[0]) == (GOLDEN / f"request.{language}.txt").read_text(encoding="utf-8")
    assert shown(model.asked[1]) == (GOLDEN / f"again.{language}.txt").read_text(encoding="utf-8")
    assert summary.text + "\n" == (GOLDEN / "summary.txt").read_text(encoding="utf-8")


async def test_an_answer_that_lacks_sections_twice_is_repaired() -> None:
    model = Model("<think>hm</think>All is well.")
    summary = await summariser(model).summarise(Plan((("talk",),), 0))
    assert len(model.asked) == 2
    assert "<think>" in shown(model.asked[1]) or model.asked[1].messages[1].role == "assistant"
    assert summary.texts["current_focus"] == "the user's last words"
    assert "All is well." in summary.texts["important_context"]
    assert parse(summary.text).missing == ()


async def test_a_conversation_too_long_for_one_question_is_asked_in_chunks_that_build_on_each_other() -> None:
    model = Model(ANSWER)
    await summariser(model, chunk=600).summarise(Plan((tuple(f"message {n} " + "x" * 800 for n in range(6)),), 0))
    assert len(model.asked) == 3
    assert "<summary_so_far>" not in model.said(0)
    assert "<summary_so_far>" in model.said(1)
    assert "message 5" in model.said(2)


async def test_a_server_that_finds_a_chunk_too_long_gets_smaller_ones() -> None:
    too_long = ProviderStatusError("too long", kind="context_too_long")
    model = Model(too_long, ANSWER)
    summary = await summariser(model, chunk=4000).summarise(Plan((("x" * 12_000,),), 0))
    assert summary.texts["current_focus"] == "go on"
    assert len(model.asked) == 3


async def test_parts_are_compacted_apart_and_merged_with_the_earlier_summary() -> None:
    model = Model(summary_of("one", completed_tasks="first"), summary_of("two", completed_tasks="second"))
    earlier = parse(summary_of("zero", completed_tasks="before", important_context="never forget"))
    summary = await summariser(model).summarise(Plan((("a",), ("b",)), 0, earlier=earlier))
    assert summary.texts["current_focus"] == "two"
    assert summary.texts["completed_tasks"].splitlines() == ["before", "first", "second"]
    assert summary.texts["important_context"] == "never forget"
    assert "never forget" not in model.said(0) + model.said(1)


async def test_an_answer_longer_than_its_room_is_cut() -> None:
    summary = await summariser(Model(summary_of("f", completed_tasks="t" * 40_000))).summarise(Plan((("a",),), 0))
    assert tokens(summary.text) <= 500


def test_without_a_model_the_ends_are_kept_with_a_notice() -> None:
    plan = Plan((("the beginning " + "x" * 50_000 + " the end",),), 0)
    summary = summariser(Model("")).truncated(plan, "HTTP 500.")
    said = summary.texts["important_context"]
    assert TRUNCATED["en"].format("HTTP 500") in said
    assert "the beginning" in said
    assert "the end" in said
    assert tokens(summary.text) <= 500


def test_a_single_message_longer_than_a_chunk_is_cut_into_pieces() -> None:
    made = list(chunks(["x" * 10_000], 600))
    assert all(tokens(piece) <= 600 for piece in made)
    assert "".join(made) == "x" * 10_000


def test_the_text_of_a_prompt_holds_no_tools_and_names_the_session() -> None:
    made = summary_request("t", "en", session_id="s")
    assert (made.tools, made.session_id) == ((), "s")
    assert isinstance(made.messages[0].content[0], TextPart)
    assert replace(made, session_id="") == summary_request("t", "en")
