"""What servers hand out with an answer is put together from any pieces, and goes back to its own server alone."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sould.agents.llm.provider import ChatMessage, ChatRequest, ModelInfo
from sould.agents.llm.quirks import Quirks
from sould.agents.llm.requests import Dialect, RequestStyle, request_body, request_bytes
from sould.agents.llm.serverstate import HandedOut
from sould.agents.wire.content import FunctionCall, TextPart, ThinkPart
from sould.agents.wire.messages import ServerState, ToolCall

HERE = ModelInfo("m", "m", "p", 32_768, frozenset({"thinking"}), origin="https://here/v1 m")
DETAILS: list[dict[str, Any]] = [
    {
        "type": "reasoning.text",
        "text": "I should look.",
        "signature": "c2ln",
        "format": "anthropic-claude-v1",
        "index": 0,
    },
    {"type": "reasoning.encrypted", "data": "EjQKMgFyyN+xW==", "id": "tool_1", "index": 1},
    {"type": "reasoning.summary", "summary": "Looking.", "index": 2},
]
"""As OpenRouter hands them out (its page on reasoning tokens, "preserving reasoning blocks")."""
GROWING = ("text", "signature", "data", "summary")


def read(*deltas: dict[str, Any]) -> HandedOut:
    handed_out = HandedOut()
    for delta in deltas:
        for key, value in delta.items():
            handed_out.read(key, value)
    return handed_out


@st.composite
def cut(draw: st.DrawFn) -> list[dict[str, Any]]:
    """The same details in pieces: each text cut anywhere, other keys with the first piece or with all."""
    pieces: list[dict[str, Any]] = []
    for whole in DETAILS:
        key = next(key for key in GROWING if key in whole)
        at = draw(st.integers(1, len(whole[key]) - 1))
        rest = {name: value for name, value in whole.items() if name != key}
        shared = rest if draw(st.booleans()) else {"type": whole["type"], "index": whole["index"]}
        shared = {name: value for name, value in shared.items() if name not in GROWING}
        pieces += [{**rest, key: whole[key][:at]}, {**shared, key: whole[key][at:]}]
    return pieces


@given(cut(), st.integers(1, 6))
def test_details_are_the_same_however_they_are_cut(pieces: list[dict[str, Any]], together: int) -> None:
    deltas = [{"reasoning_details": pieces[at : at + together]} for at in range(0, len(pieces), together)]
    assert read(*deltas).answer["reasoning_details"] == DETAILS


JOINED: list[tuple[list[dict[str, Any]], dict[str, Any]]] = [
    ([{"reasoning_opaque": "abc"}, {"reasoning_opaque": "def"}], {"reasoning_opaque": "abcdef"}),
    (
        [
            {"extra_content": {"google": {"thought": True}}},
            {"extra_content": {"google": {"thought_signature": "s"}}},
        ],
        {"extra_content": {"google": {"thought": True, "thought_signature": "s"}}},
    ),
    (
        [
            {"thinking_blocks": [{"type": "thinking", "thinking": "I "}]},
            {"thinking_blocks": [{"type": "thinking", "thinking": "see.", "signature": "s"}]},
            {"thinking_blocks": [{"type": "thinking", "thinking": "And on."}]},
        ],
        {
            "thinking_blocks": [
                {"type": "thinking", "thinking": "I see.", "signature": "s"},
                {"type": "thinking", "thinking": "And on."},
            ]
        },
    ),
    ([{"annotations": [1], "audio": None, "reasoning_details": None, "logprobs": {}}], {}),
]


@pytest.mark.parametrize(("deltas", "answer"), JOINED, ids=["Copilot", "Gemini", "LiteLLM", "what is no state"])
def test_state_is_joined_as_each_kind_of_server_sends_it(deltas: list[dict[str, Any]], answer: dict[str, Any]) -> None:
    assert read(*deltas).answer == answer


# --- what goes back ---------------------------------------------------------------------------------------------------------

CALL = ToolCall(id="abcdefgh1", function=FunctionCall(name="Look", arguments="{}"))
STATE = ServerState(
    origin=HERE.origin,
    reasoning_key="reasoning_content",
    answer={"reasoning_opaque": "x"},
    calls={CALL.id: {"extra_content": {"google": {"thought_signature": "s"}}}},
)
CONVERSATION = (
    ChatMessage("user", (TextPart(text="look"),)),
    ChatMessage("assistant", (ThinkPart(think="Let me "), ThinkPart(think="look.")), (CALL,), state=STATE),
    ChatMessage("tool", (TextPart(text="out"),), tool_call_id=CALL.id),
    ChatMessage("assistant", (TextPart(text="done"),)),
)
FIELDS = ("reasoning_content", "reasoning_opaque")


def answers(info: ModelInfo, style: RequestStyle | None = None, **request: Any) -> list[dict[str, Any]]:
    sent = request_body(ChatRequest("", CONVERSATION, **request), info, style or RequestStyle())["messages"]
    return [message for message in sent if message["role"] == "assistant"]


def test_state_goes_back_unchanged_with_its_answer_and_its_calls() -> None:
    first, second = answers(HERE)
    assert {key: first[key] for key in FIELDS} == {"reasoning_content": "Let me look.", "reasoning_opaque": "x"}
    assert first["tool_calls"][0]["extra_content"] == {"google": {"thought_signature": "s"}}
    assert second == {"role": "assistant", "content": "done", "reasoning_content": ""}


@pytest.mark.parametrize("origin", ["https://here/v1 other", "https://there/v1 m", ""])
def test_another_server_or_model_gets_nothing_of_it(origin: str) -> None:
    other = ModelInfo("m", "m", "p", 32_768, origin=origin)
    assert not any(key in answer for answer in answers(other) for key in FIELDS)
    assert "extra_content" not in answers(other)[0]["tool_calls"][0]


@pytest.mark.parametrize(
    ("dialect", "level", "placeholder"), [("kimi", "high", ""), ("kimi", "off", None), ("plain", "high", None)]
)
def test_kimi_wants_reasoning_in_each_answer_while_it_thinks(
    dialect: Dialect, level: Any, placeholder: str | None
) -> None:
    other = ModelInfo("m", "m", "p", 32_768, frozenset({"thinking"}), origin="elsewhere")
    sent = answers(other, RequestStyle(dialect), thought_level=level)
    assert [answer.get("reasoning_content") for answer in sent] == [placeholder] * 2


def test_a_server_that_does_not_take_its_state_back_gets_none() -> None:
    for answer in answers(HERE, RequestStyle(quirks=Quirks(stateless=True))):
        assert not {*FIELDS, "extra_content"} & answer.keys()


def test_the_bytes_of_a_request_follow_a_change_of_model() -> None:
    request = ChatRequest("", CONVERSATION)
    other = ModelInfo("m", "m", "p", 32_768, origin="elsewhere")
    for info in (HERE, other, HERE):
        assert b"".join(request_bytes(request, info, RequestStyle())).count(b"reasoning_opaque") == (info is HERE)


# --- what servers must not do -------------------------------------------------------------------------------------------------


def test_state_in_very_many_pieces_is_put_together_once() -> None:
    piece = {"type": "reasoning.text", "text": "x", "index": 0}
    handed_out = read(*({"reasoning_details": [piece]} for _ in range(50_000)))
    assert handed_out.answer == {"reasoning_details": [{**piece, "text": "x" * 50_000}]}


def test_state_that_is_too_large_or_too_deep_is_not_kept() -> None:
    large = read(*({"reasoning_opaque": "x" * 100_000} for _ in range(50)))
    nested: dict[str, Any] = {}
    for _ in range(300):
        nested = {"deeper": nested}
    deep = read({"extra_content": nested})
    assert (large.answer, deep.answer) == ({}, {})
    assert not large
    assert not deep
