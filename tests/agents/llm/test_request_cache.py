"""A body that grows by what is new is the body made from nothing, whatever became of the conversation meanwhile."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sould.agents.base.config import Capability
from sould.agents.journal.context import Context
from sould.agents.llm.provider import ChatMessage, ChatRequest, ModelInfo, ToolSpec
from sould.agents.llm.request_cache import GrowingBytes
from sould.agents.llm.requests import RequestStyle, request_body, request_bytes
from sould.agents.wire.content import FunctionCall, ImagePart, MediaUrl, TextPart, ThinkPart
from sould.agents.wire.messages import (
    CompactionEnd,
    ContextCleared,
    ContextNote,
    ContextReturned,
    ContextReverted,
    SteerInput,
    StepBegin,
    SystemPrompt,
    ToolCall,
    ToolResult,
    ToolReturn,
    TurnBegin,
    TurnEnd,
    WireMessage,
)

PNG = ImagePart(image_url=MediaUrl(url="data:image/png;base64,aGk="))
CAPABILITIES = list[frozenset[Capability]]([frozenset(), frozenset({"image_in"})])
STYLES = [RequestStyle(), RequestStyle("kimi", "reasoning_content")]


@dataclass
class Life:
    """A conversation as a session has it, what was published so far, and who decides what happens."""

    data: st.DataObject
    context: Context = field(default_factory=Context)
    sent: GrowingBytes[ChatMessage] = field(default_factory=lambda: GrowingBytes(most=1500, block=200, run=2))
    published: list[WireMessage] = field(default_factory=list[WireMessage])

    def publish(self, *messages: WireMessage) -> None:
        for message in messages:
            self.published.append(message)
            self.context.apply(message)

    def number(self, most: int) -> int:
        return self.data.draw(st.integers(0, most))

    def ask(self) -> None:
        """A request now, of a model that may be another one than before."""
        info = ModelInfo("m", "m", "p", 1000, self.data.draw(st.sampled_from(CAPABILITIES)))
        style = self.data.draw(st.sampled_from(STYLES))
        anew = Context()
        for message in self.published:
            anew.apply(message)
        grown = ChatRequest(self.context.system_prompt, self.context.messages, session_id="s", sent=self.sent)
        fresh = ChatRequest(anew.system_prompt, anew.messages, session_id="s")
        assert b"".join(request_bytes(grown, info, style)) == orjson.dumps(request_body(fresh, info, style))


def turn(life: Life) -> None:
    life.publish(TurnBegin(user_input=("hi", "Grüße 🌍", 'a "b"\n')[life.number(2)]))
    for _ in range(life.number(3)):
        step(life)
    life.publish(TurnEnd())


def step(life: Life) -> None:
    life.ask()
    life.publish(StepBegin(n=1))
    if life.number(1):
        life.publish(ThinkPart(think="hm"), TextPart(text="I "), TextPart(text="look"))
    calls = [f"c{len(life.published)}-{n}" for n in range(life.number(3))]
    life.publish(*(ToolCall(id=call, function=FunctionCall(name="Look", arguments="{}")) for call in calls))
    answered = calls if life.number(4) else calls[:1]
    for call in answered:
        if not life.number(4):
            life.ask()  # a side question, while results are missing
        output = (TextPart(text="out"), PNG) if life.number(1) else "out"
        life.publish(ToolResult(tool_call_id=call, return_value=ToolReturn(is_error=False, output=output)))


def note(life: Life) -> None:
    life.publish(ContextNote(text="a note"))


def steer(life: Life) -> None:
    life.publish(SteerInput(user_input=(TextPart(text="look"), PNG)))


def compact(life: Life) -> None:
    life.publish(CompactionEnd(summary="what was said", kept=life.number(4), also_kept=(life.number(8),)))


def rewind(life: Life) -> None:
    to = life.number(max(0, life.context.checkpoint))
    life.publish(ContextReverted(checkpoint_id=to, restore_id=f"r{len(life.published)}"))


def redo(life: Life) -> None:
    life.publish(ContextReturned())


def clear(life: Life) -> None:
    life.publish(ContextCleared())


def prompt(life: Life) -> None:
    life.publish(SystemPrompt(text=("", "You are an agent.", "You are another.")[life.number(2)]))


EVENTS: list[Callable[[Life], None]] = [turn, turn, turn, turn, note, steer, compact, rewind, redo, clear, prompt]


@pytest.mark.scaffold
@pytest.mark.long
@given(st.data(), st.lists(st.sampled_from(EVENTS), max_size=12))
def test_a_grown_body_is_the_body_made_from_nothing(data: st.DataObject, events: list[Callable[[Life], None]]) -> None:
    life = Life(data)
    for happen in events:
        happen(life)
        life.ask()


def test_results_that_come_one_by_one_have_their_media_behind_the_last() -> None:
    info, style = ModelInfo("m", "m", "p", 1000, CAPABILITIES[1]), RequestStyle()
    calls = tuple(ToolCall(id=f"c{n}", function=FunctionCall(name="Look", arguments="{}")) for n in range(4))
    results = (ChatMessage("tool", (TextPart(text="out"), PNG), tool_call_id=call.id) for call in calls)
    history = (ChatMessage("user", (TextPart(text="hi"),)), ChatMessage("assistant", (), calls), *results)
    sent = GrowingBytes[ChatMessage](block=1, run=1)
    for length in range(len(history) + 1):
        request = ChatRequest("", history[:length], sent=sent)
        assert b"".join(request_bytes(request, info, style)) == orjson.dumps(request_body(request, info, style))


@pytest.mark.scaffold
def test_what_was_sent_before_is_not_made_again() -> None:
    made: list[int] = []

    def make(items: Sequence[int]) -> bytes:
        made.extend(items)
        return b"x" * len(items)

    growing = GrowingBytes[int]()
    history = tuple(range(1000, 6000))
    assert len(b"".join(growing.made(history, "a", lambda _: True, make))) == 5000
    made.clear()
    growing.made((*history, 7), "a", lambda _: True, make)
    assert made == [7]
    made.clear()
    growing.made((*history, 7), "another model", lambda _: True, make)
    assert len(made) == 5001


@pytest.mark.scaffold
def test_no_more_is_kept_than_was_allowed() -> None:
    growing = GrowingBytes[int](most=100)
    made = growing.made(tuple(range(1000)), "", lambda _: True, lambda items: b"x" * len(items))
    assert len(b"".join(made)) == 1000
    assert sum(len(block.data) for block in growing._blocks) <= 100  # pyright: ignore[reportPrivateUsage] -- what is kept shows nowhere else


def test_text_that_is_no_unicode_and_numbers_beyond_64_bits_are_sent() -> None:
    tool = ToolSpec("Look", "Looks.", {"maximum": 2**70})
    request = ChatRequest("", (ChatMessage("user", (TextPart(text="a\udcffb"),)),), (tool,))
    body = b"".join(request_bytes(request, ModelInfo("m", "m", "p", 1000), RequestStyle()))
    assert b'"a?b"' in body
    assert b'"maximum":1180591620717411303424' in body
