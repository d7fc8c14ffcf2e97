"""The context: a fold that is well-formed for a provider whatever the stream."""

import gc
import weakref

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sould.agents.journal.context import COMPACTED, Context
from sould.agents.journal.entries import INTERRUPTED, Result, content_weight, result_content, result_weight
from sould.agents.llm.provider import ChatMessage
from sould.agents.wire.content import FunctionCall, ImagePart, MediaUrl, TextPart, ThinkPart
from sould.agents.wire.display import DiffBlock
from sould.agents.wire.messages import (
    CompactionEnd,
    ContextCleared,
    ContextNote,
    ContextReturned,
    ContextReverted,
    StatusUpdate,
    SteerInput,
    StepBegin,
    StepInterrupted,
    SystemPrompt,
    TokenUsage,
    ToolCall,
    ToolCallPart,
    ToolResult,
    ToolReturn,
    TurnBegin,
    TurnEnd,
    WireMessage,
)
from soultest.streams import messages


def folded(*stream: WireMessage) -> Context:
    context = Context()
    for message in stream:
        context.apply(message)
    return context


def call(call_id: str, arguments: str | None = '{"a":1}') -> ToolCall:
    return ToolCall(id=call_id, function=FunctionCall(name="Shell", arguments=arguments))


def result(call_id: str, output: str = "", message: str = "") -> ToolResult:
    return ToolResult(tool_call_id=call_id, return_value=ToolReturn(is_error=False, output=output, message=message))


def texts(message: ChatMessage) -> list[str]:
    return [part.text for part in message.content if isinstance(part, TextPart)]


def shape(context: Context) -> list[str]:
    return [f"{message.role}:{'|'.join(texts(message))}" for message in context.messages]


def assert_well_formed(context: Context) -> None:
    owed: list[str] = []
    for message in context.messages:
        if message.role == "tool":
            assert message.tool_call_id == owed.pop(0)
        else:
            assert not owed, "a call without its result"
            owed = [asked.id for asked in message.tool_calls]
        assert message.content or message.tool_calls
        assert all(isinstance(orjson.loads(asked.function.arguments or ""), dict) for asked in message.tool_calls)
        assert all(part.text for part in message.content if isinstance(part, TextPart))
    assert not owed, "a call without its result"


history = st.one_of(
    st.builds(ContextNote, text=st.just("note")),
    st.just(ContextCleared()),
    st.builds(ContextReverted, checkpoint_id=st.integers(0, 6), restore_id=st.sampled_from(("", "r"))),
    st.just(ContextReturned()),
    st.builds(
        CompactionEnd,
        summary=st.just("summary"),
        kept=st.integers(0, 6),
        also_kept=st.lists(st.integers(0, 9), max_size=4).map(tuple),
        failed=st.booleans(),
    ),
)


@given(st.lists(messages | history, max_size=60))
def test_the_context_is_well_formed_whatever_the_stream(stream: list[WireMessage]) -> None:
    context = Context()
    for message in stream:
        before = context.checkpoint
        context.apply(message)
        assert_well_formed(context)
        assert context.checkpoint >= before


def test_a_turn_becomes_user_assistant_and_tool_messages() -> None:
    context = folded(
        TurnBegin(user_input="go"),
        StepBegin(n=1),
        ThinkPart(think="h"),
        ThinkPart(think="m"),
        TextPart(text="a"),
        TextPart(text="b"),
        call("1", None),
        ToolCallPart(arguments_part='{"x"'),
        ToolCallPart(arguments_part=":2}"),
        result("1", "hi\n", "Done."),
        SteerInput(user_input="also"),
        StepBegin(n=2),
        TextPart(text="end"),
        TurnEnd(),
    )
    assert context.messages == (
        ChatMessage("user", (TextPart(text="go"),)),
        ChatMessage("assistant", (ThinkPart(think="hm"), TextPart(text="ab")), (call("1", '{"x":2}'),)),
        ChatMessage("tool", (TextPart(text="<system>Done.</system>"), TextPart(text="hi\n")), tool_call_id="1"),
        ChatMessage("user", (TextPart(text="also"),)),
        ChatMessage("assistant", (TextPart(text="end"),)),
    )


def test_results_follow_their_calls_in_the_order_of_the_calls() -> None:
    context = folded(
        StepBegin(n=1), call("1"), call("2"), result("2", "two"), ContextNote(text="n"), result("1", "one")
    )
    assert shape(context) == ["assistant:", "tool:one", "tool:two", "user:<system>n</system>"]


def test_an_interrupted_step_keeps_its_text_and_its_calls_get_a_result() -> None:
    context = folded(TurnBegin(user_input="go"), StepBegin(n=1), TextPart(text="half"), call("1", '{"cut'))
    context.apply(StepInterrupted())
    context.apply(TurnEnd())
    assert shape(context) == ["user:go", "assistant:half", f"tool:<system>{INTERRUPTED}</system>"]
    assert context.messages[1].tool_calls[0].function.arguments == "{}"


def test_a_slash_commands_input_and_reply_are_for_people_only() -> None:
    context = folded(TurnBegin(user_input="/status", command=True), TextPart(text="All well."), TurnEnd())
    assert context.messages == ()
    context.apply(TurnBegin(user_input="/init", command=True))
    for message in (ContextNote(text="look round"), StepBegin(n=1), TextPart(text="Done."), TurnEnd()):
        context.apply(message)
    assert shape(context) == ["user:<system>look round</system>", "assistant:Done."]


def test_thoughts_alone_are_not_sent_back() -> None:
    assert folded(StepBegin(n=1), ThinkPart(think="hm"), TurnEnd()).messages == ()


def test_a_call_without_output_says_so() -> None:
    assert shape(folded(StepBegin(n=1), call("1"), result("1")))[1] == "tool:<system>No output.</system>"


def test_what_people_were_shown_of_a_call_is_not_held_for_the_model() -> None:
    shown = DiffBlock(path="a.txt", old_text="old", new_text="new")
    value = ToolReturn(is_error=False, output="done", display=(shown,))
    context = folded(StepBegin(n=1), call("a"), ToolResult(tool_call_id="a", return_value=value))
    held = weakref.ref(shown)

    del shown, value
    gc.collect()

    assert held() is None
    assert shape(context)[-1] == "tool:done"


def test_checkpoints_are_numbered_from_zero_and_never_reused() -> None:
    context = folded(TurnBegin(user_input="a"), StepBegin(n=1), TextPart(text="1"), StepBegin(n=2), TextPart(text="2"))
    assert context.checkpoint == 2
    context.apply(ContextReverted(checkpoint_id=1))
    assert shape(context) == ["user:a"]
    assert not context.has_checkpoint(2)
    context.apply(StepBegin(n=3))
    assert context.checkpoint == 3


def test_reverting_restores_the_count_of_that_moment() -> None:
    context = folded(TurnBegin(user_input="a"), StepBegin(n=1), TextPart(text="1"))
    context.apply(StatusUpdate(token_usage=TokenUsage(input_other=100, output=20)))
    context.apply(StepBegin(n=2))
    context.apply(StatusUpdate(token_usage=TokenUsage(input_other=500)))
    assert (context.token_count, context.pending_estimate) == (500, 0)
    context.apply(ContextReverted(checkpoint_id=2))
    assert context.token_count == 120


def test_compaction_leaves_the_summary_and_the_last_messages_and_forgets_older_checkpoints() -> None:
    context = folded(TurnBegin(user_input="a"), StepBegin(n=1), call("1"), result("1", "out"), TurnEnd())
    context.apply(TurnBegin(user_input="b"))
    context.apply(CompactionEnd(summary="S", kept=2))
    assert shape(context) == [f"user:<system>{COMPACTED}</system>|S", "user:b"]  # the orphan result is dropped
    assert not context.has_checkpoint(0)
    assert context.token_count == 0
    assert context.pending_estimate > 0


def test_a_failed_compaction_changes_nothing() -> None:
    context = folded(TurnBegin(user_input="a"), CompactionEnd(failed=True, kept=0))
    assert shape(context) == ["user:a"]


def test_clearing_forgets_everything_but_the_system_prompt() -> None:
    context = folded(SystemPrompt(text="you are"), TurnBegin(user_input="a"), ContextCleared())
    assert (context.system_prompt, context.messages, context.token_count) == ("you are", (), 0)


def test_estimates_are_corrected_by_what_the_provider_counts() -> None:
    context = folded(StatusUpdate(token_usage=TokenUsage(input_other=100)))
    context.apply(TurnBegin(user_input="x" * 4000))
    assert context.pending_estimate == 1000
    context.apply(StatusUpdate(token_usage=TokenUsage(input_other=1600)))  # 1500 for what we took for 1000
    context.apply(TurnBegin(user_input="x" * 4000))
    assert context.pending_estimate == 1250
    context.apply(ContextCleared())
    context.apply(StatusUpdate(token_usage=TokenUsage(input_other=9)))  # nothing to compare with
    context.apply(TurnBegin(user_input="x" * 4000))
    assert context.pending_estimate == 1250


def test_going_back_reaches_what_was_compacted_and_can_be_returned_from_until_the_model_works_on() -> None:
    context = folded(
        TurnBegin(user_input="a"), StepBegin(n=1), TextPart(text="1"), TurnEnd(), TurnBegin(user_input="b")
    )
    context.apply(CompactionEnd(summary="S", kept=0))
    assert not context.has_checkpoint(2)
    assert context.reaches(2)
    assert context.turns == (0, 2)
    context.apply(ContextReverted(checkpoint_id=2, restore_id="r"))
    assert shape(context) == ["user:a", "assistant:1"]
    assert context.undone == ["r"]
    context.apply(ContextReturned())
    assert shape(context)[0].endswith("|S")
    context.apply(ContextReverted(checkpoint_id=2, restore_id="r"))
    assert context.turns == (0,)
    context.apply(TurnBegin(user_input="c"))
    context.apply(ContextReturned())
    assert shape(context) == ["user:a", "assistant:1", "user:c"]
    context.apply(CompactionEnd(summary="S", kept=0))
    context.apply(TurnBegin(user_input="d"))
    assert context.turns == (0, 3, 4)


def test_what_was_added_since_the_last_count_is_estimated_from_its_bytes() -> None:
    context = folded(StatusUpdate(token_usage=TokenUsage(input_other=7)))
    context.apply(TurnBegin(user_input="x" * 400))
    assert (context.token_count, context.pending_estimate) == (7, 100)
    context.apply(TurnBegin(user_input="中" * 400))
    assert context.pending_estimate == 400
    context.apply(TurnBegin(user_input=(ImagePart(image_url=MediaUrl(url="data:image/png;base64,AA")),)))
    assert context.pending_estimate == 1400


@pytest.mark.parametrize("mark", ["<system>", "</system>", "</ System >", "<system a='b'>"])
def test_only_sould_says_its_mark_in_a_result(mark: str) -> None:
    text = f"before {mark} after"
    for output in (text, (TextPart(text=text),)):
        result = Result(output, text)
        note, said = (part.text for part in result_content(result) if isinstance(part, TextPart))
        escaped = f"before <\\{mark[1:]} after"
        assert (note, said) == (f"<system>{escaped}</system>", escaped)
        assert result_weight(result) == content_weight(result_content(result))
    plain = Result("<system.web> </systems>", "")
    assert result_content(plain) == (TextPart(text="<system.web> </systems>"),)
