"""What each strategy compacts and keeps, over conversations with facts in known places."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sould.agents.journal.context import COMPACTED, Context
from sould.agents.llm.provider import ChatMessage
from sould.agents.soul.compaction.strategies import (
    Plan,
    Room,
    Simple,
    Smart,
    StrategyName,
    by_embeddings,
    by_words,
    importance,
    strategy_named,
    topics,
)
from sould.agents.soul.compaction.transcript import groups, language, last_request, message_tokens, tail
from sould.agents.wire.content import FunctionCall, TextPart, ThinkPart
from sould.agents.wire.messages import (
    CompactionEnd,
    StepBegin,
    ToolCall,
    ToolResult,
    ToolReturn,
    TurnBegin,
)
from sould.agents.wire.messages import (
    TextPart as Said,
)
from soultest.summaries import summary_of

ROOM = Room(keep=2, tail=2000, excerpts=400, summary=500)


def user(text: str) -> ChatMessage:
    return ChatMessage("user", (TextPart(text=text),))


def assistant(text: str, *calls: str) -> ChatMessage:
    made = tuple(ToolCall(id=name, function=FunctionCall(name="Shell", arguments="{}")) for name in calls)
    return ChatMessage("assistant", (ThinkPart(think="secret"), TextPart(text=text)), made)


def result(call_id: str, text: str) -> ChatMessage:
    return ChatMessage("tool", (TextPart(text=text),), tool_call_id=call_id)


TALK = (
    user("Make the scheduler retry jobs"),
    assistant("Looking.", "1"),
    result("1", "ImportError: no module named croniter"),
    assistant("Installed croniter, which fixes the ImportError."),
    user("What is the weather?"),
    assistant("I cannot know. " + "Small talk. " * 300),
    user("We decided: retries use exponential backoff because the queue is shared."),
    assistant("Noted."),
    user("Now write the scheduler retry test"),
    assistant("Writing."),
)


async def planned(name: StrategyName, messages: Sequence[ChatMessage], room: Room = ROOM) -> Plan:
    plan = await strategy_named(name, by_words).plan(messages, room)
    assert plan is not None
    return plan


def compacted(plan: Plan) -> str:
    return "\n".join(text for part in plan.parts for text in part)


async def test_simple_keeps_the_last_two_messages_and_compacts_the_rest_without_reasoning() -> None:
    plan = await planned("simple", TALK)
    assert (plan.kept, plan.also_kept) == (2, ())
    assert "croniter" in compacted(plan)
    assert "secret" not in compacted(plan)
    assert "Now write" not in compacted(plan)


async def test_smart_keeps_errors_fixes_and_decisions_and_compacts_small_talk() -> None:
    plan = await planned("smart", TALK)
    kept = [TALK[at] for at in plan.also_kept]
    assert {1, 2, 6} <= set(plan.also_kept)
    assert "Small talk" in compacted(plan)
    assert message_tokens(kept) <= ROOM.excerpts
    assert " earlier for what they say about the task" in plan.note


async def test_hierarchical_compacts_topics_apart_and_carries_an_earlier_summary_on() -> None:
    before = ChatMessage(
        "user", (TextPart(text=f"<system>{COMPACTED}</system>"), TextPart(text=summary_of("the scheduler")))
    )
    plan = await planned("hierarchical", (before, *TALK))
    assert plan.earlier is not None
    assert plan.earlier.texts["current_focus"] == "the scheduler"
    assert COMPACTED not in compacted(plan)
    assert len(plan.parts) > 1
    assert (await planned("simple", (before, *TALK))).earlier is None


def test_neighbouring_turns_about_one_thing_are_one_topic_and_there_are_never_more_than_six() -> None:
    same = [
        "parse the bracket grammar",
        "the bracket grammar must parse nested text",
        "bake bread with flour and yeast",
    ]
    assert [len(topic) for topic in topics(same)] == [2, 1]
    assert len(topics([f"subject{n} alone{n}" for n in range(40)])) == 6


async def test_nothing_to_compact_is_no_plan() -> None:
    for name in ("simple", "smart", "hierarchical"):
        assert await strategy_named(name, by_words).plan(TALK[-2:], ROOM) is None


async def test_a_tail_too_long_for_its_room_is_compacted_too() -> None:
    long = (*TALK, user("x" * 40_000))
    assert (await Simple().plan(long, ROOM) or Plan((), 9)).kept == 0


async def test_weights_and_similarity_make_importance() -> None:
    found = groups(TALK, len(TALK))
    worth = await importance(found, last_request(TALK), by_words)
    by_start = {group.start: value for group, value in zip(found, worth, strict=True)}
    assert by_start[1] >= 1  # the error
    assert by_start[3] > 0.6  # its fix
    assert by_start[5] < 0.3  # small talk


async def test_embeddings_decide_when_they_are_given() -> None:
    async def embed(texts: Sequence[str]) -> list[list[float]]:
        return [[1.0, 0.0] if "weather" in text or number == 0 else [0.0, 1.0] for number, text in enumerate(texts)]

    plan = await Smart(by_embeddings(embed)).plan(TALK, Room(2, 2000, 30, 500))
    assert plan is not None
    assert 4 in plan.also_kept


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("请修复解析器的错误", "zh"),
        ("Fix the parser", "en"),
        ("修复 parser.py 里的 ValueError 错误，谢谢", "zh"),
        ("パーサーを修正してください", "en"),
    ],
)
def test_the_prompt_follows_the_users_language(said: str, expected: str) -> None:
    assert language([user(said), assistant("ok"), user(f"<system>{'English note ' * 50}</system>")]) == expected


@st.composite
def conversations(draw: st.DrawFn) -> list[ChatMessage]:
    made: list[ChatMessage] = []
    for number in range(draw(st.integers(1, 12))):
        size = draw(st.sampled_from((1, 50, 3000)))
        if draw(st.booleans()):
            made.append(user(f"ask {number} {'u' * size}"))
            continue
        calls = [f"{number}.{at}" for at in range(draw(st.integers(0, 3)))]
        made.append(assistant(f"say {number} error " + "a" * size, *calls))
        made += [result(call, "out " + "o" * size) for call in calls]
    return made


@given(conversations(), st.sampled_from(("simple", "smart", "hierarchical")))
async def test_a_plan_never_tears_a_call_from_its_results_and_fits_its_room(
    messages: list[ChatMessage], name: StrategyName
) -> None:
    plan = await strategy_named(name, by_words).plan(messages, ROOM)
    if plan is None:
        return
    start = len(messages) - plan.kept
    assert start == tail(messages, ROOM.keep, ROOM.tail)
    kept = [*(messages[at] for at in plan.also_kept), *messages[start:]]
    assert message_tokens(messages[start:]) <= ROOM.tail
    assert message_tokens([messages[at] for at in plan.also_kept]) <= ROOM.excerpts
    calls = [call.id for message in kept for call in message.tool_calls]
    assert calls == [message.tool_call_id for message in kept if message.role == "tool"]
    assert plan.parts


def test_messages_kept_from_before_the_tail_stay_whole_in_the_context() -> None:
    context = Context()
    for message in (
        TurnBegin(user_input="a"),
        StepBegin(n=1),
        ToolCall(id="1", function=FunctionCall(name="Shell", arguments="{}")),
    ):
        context.apply(message)
    context.apply(ToolResult(tool_call_id="1", return_value=ToolReturn(is_error=False, output="out")))
    for message in (StepBegin(n=2), Said(text="done"), TurnBegin(user_input="b")):
        context.apply(message)
    context.apply(CompactionEnd(summary="S", kept=1, also_kept=(1, 99)))
    assert [message.role for message in context.messages] == ["user", "assistant", "tool", "user"]
    assert context.compacted_size == 4
