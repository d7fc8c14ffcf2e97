"""When a session is compacted, what clients are told, and that no failure costs the session."""

import asyncio

import pytest

from sould.agents.base.text import tokens
from sould.agents.journal.context import COMPACTED
from sould.agents.sessions.session import Session
from sould.agents.soul.compaction.compactor import DECLINED
from sould.agents.soul.compaction.preview import CONFIRM, EDIT, EDIT_IT, GUIDE, QUESTION, REGENERATE
from sould.agents.wire.content import TextPart
from sould.agents.wire.messages import (
    CompactionBegin,
    CompactionEnd,
    Notification,
    QuestionRequest,
    QuestionResponse,
    StatusUpdate,
    TurnBegin,
    WireMessage,
)
from soultest.bench import Bench, Watcher, call, finish
from soultest.bench.looks import messages_of, used_of
from soultest.summaries import summary_of

SUMMARY = f"text: {summary_of('the summary')}"


def said(session: Session) -> str:
    return "\n".join(
        part.text for message in messages_of(session) for part in message.content if isinstance(part, TextPart)
    )


@pytest.mark.parametrize("window", [8_000, 32_000, 128_000, 1_000_000])
@pytest.mark.parametrize("strategy", ["simple", "smart", "hierarchical"])
async def test_a_full_window_is_compacted_and_never_twice_without_a_message(
    bench: Bench, window: int, strategy: str
) -> None:
    bench.settings |= {"model": {"max_context_size": window}, "compaction": {"strategy": strategy}}
    full = f"usage: input_other={int(window * 0.9)} output=10"
    step = call("Glob", pattern="*.txt") + "\n" + full
    # every report fills the window, so that each step is preceded by a compaction if one is allowed
    bench.script(step, *[SUMMARY, step, SUMMARY, step.replace("txt", "md"), SUMMARY, f"text: done\n{full}"] * 3)
    async with bench.running():
        watcher = Watcher(await bench.new())
        await finish(watcher.session, "find the files")
        await finish(watcher.session, "again")
        used = used_of(watcher.session)
    kinds = [type(message) for message in watcher.messages if not isinstance(message, StatusUpdate)]
    ends = [at for at, kind in enumerate(kinds) if kind is CompactionEnd]
    assert len(ends) >= 2
    assert all(kinds[at + 1] is not CompactionBegin for at in ends)
    assert not any(end.failed for end in watcher.of(CompactionEnd))
    assert used > 0


async def test_the_reserve_triggers_in_small_windows_and_the_ratio_in_large_ones(bench: Bench) -> None:
    for window, below, above in ((8_000, 5_900, 6_100), (1_000_000, 849_000, 851_000)):
        bench.settings["model"] = {"max_context_size": window}
        bench.script(
            f"text: one\nusage: input_other={below}", f"text: two\nusage: input_other={above}", SUMMARY, "text: three"
        )
        async with bench.running():
            watcher = Watcher(await bench.new())
            await finish(watcher.session, "a")
            await finish(watcher.session, "b")
            assert not watcher.of(CompactionEnd)
            await finish(watcher.session, "c")
            assert len(watcher.of(CompactionEnd)) == 1


async def test_a_system_prompt_and_tools_that_do_not_fit_are_refused_with_their_sizes(bench: Bench) -> None:
    (bench.project / "AGENTS.md").write_text("rule " * 6_000)
    bench.settings["model"] = {"max_context_size": 8_000}
    async with bench.running():
        end = await finish(await bench.new(), "go")
    assert end.error is not None
    assert end.error.kind == "context_too_long"
    assert "8000 tokens" in end.error.message
    assert "system prompt (about" in end.error.message
    assert "tools (about" in end.error.message


async def test_the_end_tells_summary_kept_tokens_and_strategy(bench: Bench) -> None:
    bench.settings["compaction"] = {"strategy": "simple"}
    bench.script("text: one " + "x" * 9000, "text: two", SUMMARY)
    async with bench.running():
        watcher = Watcher(await bench.new())
        for prompt in ("first", "second", "/compact"):
            await finish(watcher.session, prompt)
        used = used_of(watcher.session)
    (end,) = watcher.of(CompactionEnd)
    assert (end.kept, end.strategy) == (2, "simple")
    assert "the summary" in end.summary
    assert end.tokens_before > end.tokens_after == used
    assert end.note == "Kept the last 2 messages."
    assert watcher.of(StatusUpdate)[-1].context_tokens == end.tokens_after


async def test_guidance_reaches_the_model_and_the_users_language_chooses_the_prompt(bench: Bench) -> None:
    bench.settings["providers"] = {"script": {"type": "_echo"}}
    async with bench.running():
        watcher = Watcher(await bench.new())
        watcher.answers = {QUESTION: CONFIRM}
        for prompt in ("请读取文件并修复错误", "再试一次", "/compact preview 接口名称"):
            await finish(watcher.session, prompt)
        # the echoing model answers with the question itself, so the prompt's own sections are read back
        assert "接口名称" in said(watcher.session)
        assert COMPACTED in said(watcher.session)


async def test_a_summary_longer_than_what_it_stands_for_is_told_and_not_used(bench: Bench) -> None:
    async with bench.running():
        watcher = await talked(bench)
        before = messages_of(watcher.session)
        await finish(watcher.session, "/compact")
        assert messages_of(watcher.session) == before
        answer = watcher.of(TextPart)[-1].text
        assert answer.startswith("The context is unchanged. A summary would be longer than what it replaces")


async def test_by_hand_most_is_compacted_also_where_all_of_it_would_fit(bench: Bench) -> None:
    prompts = [f"error {number}: " + "it does not work " * 100 for number in range(6)]
    bench.script(*["text: hm"] * 6, SUMMARY)
    async with bench.running():
        watcher = Watcher(await bench.new())
        for prompt in (*prompts, "/compact"):
            await finish(watcher.session, prompt)
        (end,) = watcher.of(CompactionEnd)
        assert end.tokens_before - end.tokens_after > sum(map(tokens, prompts)) // 3


async def test_a_model_that_fails_leaves_the_context_and_says_so(bench: Bench) -> None:
    bench.script("text: one", "text: two", *["error: 500 broken"] * 3, "text: three")
    async with bench.running():
        watcher = Watcher(await bench.new())
        for prompt in ("first", "second"):
            await finish(watcher.session, prompt)
        before = messages_of(watcher.session)
        await finish(watcher.session, "/compact")
        assert messages_of(watcher.session) == before
        assert watcher.of(CompactionEnd)[0].failed
        assert (await finish(watcher.session, "third")).stop_reason == "finished"


async def test_a_full_window_whose_compaction_fails_is_cut_with_a_notice_and_the_turn_goes_on(bench: Bench) -> None:
    bench.settings["model"] = {"max_context_size": 8_000}
    bench.script("text: one\nusage: input_other=7900", *["error: 500 broken"] * 3, "text: two")
    async with bench.running():
        watcher = Watcher(await bench.new())
        await finish(watcher.session, "remember the kettle " + "x" * 2000)
        end = await finish(watcher.session, "go on")
        assert "remember the kettle" in said(watcher.session)
    assert end.stop_reason == "finished"
    assert not watcher.of(CompactionEnd)[0].failed
    assert any("cut instead" in notice.body for notice in watcher.of(Notification))


async def test_a_first_message_too_long_for_the_window_is_compacted_itself(bench: Bench) -> None:
    bench.settings["model"] = {"max_context_size": 8_000}
    bench.script(*[SUMMARY] * 8, "text: done")
    async with bench.running():
        watcher = Watcher(await bench.new())
        end = await finish(watcher.session, "Sort this out: " + "log line; " * 6_000)
        assert used_of(watcher.session) < 8_000
    assert end.stop_reason == "finished"
    assert watcher.of(CompactionEnd)[0].kept == 0


async def test_a_conversation_the_server_finds_too_long_is_compacted_and_asked_again(bench: Bench) -> None:
    too_long = "error: 400 This model's maximum context length is 8192 tokens"
    bench.script("text: one", "text: two", too_long, SUMMARY, "text: three")
    async with bench.running():
        watcher = Watcher(await bench.new())
        for prompt in ("first", "second", "third"):
            end = await finish(watcher.session, prompt)
    assert end.stop_reason == "finished"
    assert len(watcher.of(CompactionEnd)) == 1


async def test_cancelling_during_compaction_leaves_the_context_as_it_was(bench: Bench) -> None:
    bench.script("text: one", "text: two", "wait: 1000\ntext: never")
    async with bench.running():
        watcher = Watcher(await bench.new())
        for prompt in ("first", "second"):
            await finish(watcher.session, prompt)
        before = messages_of(watcher.session)
        prompt = watcher.session.turns.prompt("/compact", "watcher")
        await watcher.wait_for(CompactionBegin)
        watcher.session.turns.cancel("watcher")
        assert (await prompt.outcome()).stop_reason == "cancelled"
        assert messages_of(watcher.session) == before
    assert watcher.of(CompactionEnd)[0].failed


# --- the preview -----------------------------------------------------------------------------------------------------


def answering(watcher: Watcher, *answers: tuple[str, str]) -> None:
    """Answer each question as told, in order; "" dismisses."""
    waiting = list(answers)

    def take(message: WireMessage) -> None:
        if isinstance(message, QuestionRequest) and waiting:
            question, answer = waiting.pop(0)
            assert message.questions[0].question == question
            given = {question: answer} if answer else {}
            response = QuestionResponse(request_id=message.id, answers=given)
            asyncio.get_running_loop().call_soon(watcher.session.parts.attached.answer, response, "watcher")

    def sink(record: object) -> bool:
        take(record.message)  # pyright: ignore[reportAttributeAccessIssue, reportUnknownArgumentType, reportUnknownMemberType] -- a record
        return True

    watcher.session.log.channel.subscribe(sink, on_cut=lambda _: None)


async def talked(bench: Bench, *more: str) -> Watcher:
    bench.script("text: one", "text: two", SUMMARY, *more)
    watcher = Watcher(await bench.new())
    for prompt in ("first", "second"):
        await finish(watcher.session, prompt)
    return watcher


async def test_a_preview_shows_summary_and_tokens_and_waits_for_confirmation(bench: Bench) -> None:
    async with bench.running():
        watcher = await talked(bench)
        answering(watcher, (QUESTION, CONFIRM))
        await finish(watcher.session, "/compact preview")
        (asked,) = watcher.of(QuestionRequest)
        assert "the summary" in asked.questions[0].body
        assert "tokens become about" in asked.questions[0].body
        assert "longer than what it replaces" in asked.questions[0].body
        assert "the summary" in said(watcher.session)


async def test_a_preview_can_be_edited(bench: Bench) -> None:
    async with bench.running():
        watcher = await talked(bench)
        answering(watcher, (QUESTION, EDIT_IT), (EDIT, "<current_focus>my own words</current_focus>"))
        await finish(watcher.session, "/compact preview")
        assert "the summary" in watcher.of(QuestionRequest)[1].questions[0].default
        assert "my own words" in said(watcher.session)


async def test_a_preview_can_be_made_anew_with_guidance(bench: Bench) -> None:
    async with bench.running():
        watcher = await talked(bench, f"text: {summary_of('with names')}")
        answering(watcher, (QUESTION, REGENERATE), (GUIDE, "names"), (QUESTION, CONFIRM))
        await finish(watcher.session, "/compact preview")
        assert "with names" in said(watcher.session)


async def test_a_dismissed_preview_changes_nothing(bench: Bench) -> None:
    async with bench.running():
        watcher = await talked(bench)
        before = messages_of(watcher.session)
        answering(watcher, (QUESTION, ""))
        await finish(watcher.session, "/compact preview")
        assert messages_of(watcher.session) == before
    ended = watcher.of(CompactionEnd)[0]
    assert (ended.error, ended.cancelled) == (DECLINED, True)


@pytest.mark.parametrize(("attached", "second", "asked"), [(True, "go", 1), (False, "go", 0), (True, "/loop 1 go", 0)])
async def test_an_automatic_compaction_asks_only_when_configured_and_somebody_is_there_and_no_loop_runs(
    bench: Bench, attached: bool, second: str, asked: int
) -> None:
    bench.settings |= {"compaction": {"confirm": "ask"}, "model": {"max_context_size": 8_000}}
    bench.script(
        "text: one\nusage: input_other=7000",
        SUMMARY,
        "text: two\nusage: input_other=100",
        "text: <choice>STOP</choice>",
    )
    async with bench.running():
        watcher = Watcher(await bench.new())
        if not attached:
            watcher.session.detach("watcher")
        answering(watcher, (QUESTION, CONFIRM))
        prompts = [watcher.session.turns.prompt(text, "watcher") for text in ("first", second)]
        for prompt in prompts:
            await prompt.outcome()
    assert len(watcher.of(QuestionRequest)) == asked
    assert len(watcher.of(CompactionEnd)) == 1
    assert len(watcher.of(TurnBegin)) == 2


async def test_a_declined_compaction_is_not_asked_about_again_before_much_was_added(bench: Bench) -> None:
    bench.settings |= {"compaction": {"confirm": "ask"}, "model": {"max_context_size": 8_000}}

    def step(name: str, used: int) -> str:
        return call("Glob", pattern=f"{name}.txt") + f"\nusage: input_other={used}"

    bench.script(
        "text: one",
        "text: two",
        step("a", 6_100),
        SUMMARY,
        step("b", 6_200),
        step("c", 6_600),
        SUMMARY,
        "text: done\nusage: input_other=6700",
    )
    async with bench.running():
        watcher = Watcher(await bench.new())
        answering(watcher, (QUESTION, ""), (QUESTION, CONFIRM))
        for prompt in ("first", "second", "find the files"):
            assert (await finish(watcher.session, prompt)).stop_reason == "finished"
    assert [end.failed for end in watcher.of(CompactionEnd)] == [True, False]
