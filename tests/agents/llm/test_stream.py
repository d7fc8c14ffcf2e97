"""Bytes to deltas: however the reads are cut, the same answer comes out."""

from itertools import pairwise

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import SecretStr

from sould.agents.llm.chunks import AnswerReader, read_usage
from sould.agents.llm.provider import Delta, ProviderProtocolError
from sould.agents.llm.provider_errors import Redactor
from sould.agents.wire.content import FunctionCall, TextPart, ThinkPart
from sould.agents.wire.messages import TokenUsage, ToolCall, ToolCallPart


def event(delta: object, finish: str | None = None) -> bytes:
    return b"data: %b\n\n" % orjson.dumps({"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})


def call(index: int | None, call_id: object = None, name: str | None = None, arguments: object = None) -> bytes:
    entry: dict[str, object] = {"function": {"name": name, "arguments": arguments}}
    if index is not None:
        entry["index"] = index
    if call_id is not None:
        entry["id"] = call_id
    return event({"tool_calls": [entry]})


def read(*reads: bytes) -> list[Delta]:
    reader = AnswerReader(Redactor())
    return [delta for data in reads for delta in reader.feed(data)] + reader.close()


def opened(call_id: str, name: str, arguments: str | None = None) -> ToolCall:
    return ToolCall(id=call_id, function=FunctionCall(name=name, arguments=arguments))


ANSWER = (
    b": comment\r\n\r\n"
    + event({"role": "assistant", "content": None})
    + event({"reasoning_content": "grübeln"})
    + event({"content": "Grüße 🌍"})
    + call(0, "a", "Read", "")
    + call(0, arguments='{"path"')
    + call(0, arguments=':"ä"}')
    + event({}, "tool_calls")
    + b"data: [DONE]\n\n"
)
MEANT = [
    ThinkPart(think="grübeln"),
    TextPart(text="Grüße 🌍"),
    opened("a", "Read"),
    ToolCallPart(arguments_part='{"path"'),
    ToolCallPart(arguments_part=':"ä"}'),
]


@given(st.lists(st.integers(0, len(ANSWER))), st.sampled_from([b"\n", b"\r\n", b"\r"]))
def test_an_answer_is_the_same_however_it_is_cut(cuts: list[int], end: bytes) -> None:
    answer = ANSWER.replace(b"\r\n", b"\n").replace(b"\n", end)
    at = [0, *sorted(min(cut, len(answer)) for cut in cuts), len(answer)]
    assert read(*(answer[start:stop] for start, stop in pairwise(at))) == MEANT


def test_interleaved_calls_are_told_apart() -> None:
    out = read(call(0, "a", "F", ""), call(1, "b", "G", ""), call(0, arguments="1"), call(1, arguments="2"))
    assert out[2:] == [ToolCallPart(arguments_part="1", tool_call_id="a"), ToolCallPart(arguments_part="2")]


@pytest.mark.parametrize(
    ("reads", "meant"),
    [
        ((call(0, "x", "F", "{}"), call(1, "x", "G", "{}")), [opened("x", "F", "{}"), opened("x_1", "G", "{}")]),
        ((call(0, "", "F", "{}"), call(1, "", "G", "{}")), [opened("call_0", "F", "{}"), opened("call_1", "G", "{}")]),
        (
            (call(0, None, "F", "{}"), call(0, None, "G", "{}")),
            [opened("call_0", "F", "{}"), opened("call_1", "G", "{}")],
        ),
        ((call(0, "a", "F", ""), call(0, "a", "F", "{}")), [opened("a", "F"), ToolCallPart(arguments_part="{}")]),
        (
            (call(None, "a", "F", "{"), call(None, None, None, "}")),
            [opened("a", "F", "{"), ToolCallPart(arguments_part="}")],
        ),
        ((call(0, "a", None, None), call(0, None, "F", "{}")), [opened("a", "F", "{}")]),
        ((call(0, "a", "F", {"x": 1}),), [opened("a", "F", '{"x":1}')]),
        ((call(0, 7, "F", "{}"),), [opened("7", "F", "{}")]),
        ((call(0, "a", "", "{}"),), [opened("a", "", "{}")]),
        ((call(0, "a", None, None),), [opened("a", "")]),
        (
            (call(0, "a", "F", ""), call(0, "b", None, '{"x":'), call(0, "c", None, "1}")),
            [opened("a", "F"), ToolCallPart(arguments_part='{"x":'), ToolCallPart(arguments_part="1}")],
        ),
        (
            (call(0, "a", "F", '{"x":'), call(0, "b", "F", "1"), call(0, "c", "F", "}")),
            [opened("a", "F", '{"x":'), ToolCallPart(arguments_part="1"), ToolCallPart(arguments_part="}")],
        ),
        (
            (call(0, "a", "F", '{"x":1}'), call(0, "b", "F", '{"x":1}')),
            [opened("a", "F", '{"x":1}'), opened("b", "F", '{"x":1}')],
        ),
        ((call(0, "a", "F", ""), call(0, "b", "G", "")), [opened("a", "F"), opened("b", "G")]),
        (
            (call(0, "a", "F", '{"x":'), call(0, None, None, "1}"), call(0, "a", "F", '{"x":1}')),
            [opened("a", "F", '{"x":'), ToolCallPart(arguments_part="1}")],
        ),
        ((call(0, "a", "F", '{"x":1}'), call(1, "a", "F", '{"x":1}')), [opened("a", "F", '{"x":1}')]),
        (
            (call(0, "a", "F", '{"x'), call(0, "a", "F", '{"x":'), call(0, "a", "F", '{"x":1}')),
            [opened("a", "F", '{"x'), ToolCallPart(arguments_part='":'), ToolCallPart(arguments_part="1}")],
        ),
        (
            (call(0, "a", "F", '{"x":'), call(0, None, None, '{"x":1}}')),
            [opened("a", "F", '{"x":'), ToolCallPart(arguments_part='{"x":1}}')],
        ),
        ((call(0, "a", "F", "{}"), call(0, None, None, '{"x":1}')), [opened("a", "F", '{"x":1}')]),
        (
            (call(0, "a", "F", "{}"), call(1, "b", "G", '{"x":1}')),
            [opened("a", "F", "{}"), opened("b", "G", '{"x":1}')],
        ),
    ],
    ids=[
        "one id twice",
        "empty ids",
        "no ids and one index",
        "id and name in every fragment",
        "no index",
        "name after the id",
        "arguments as an object",
        "a number as id",
        "an empty name",
        "nothing but an id",
        "another id in every fragment, as lmdeploy (its issue 3412)",
        "another id and the name in every fragment",
        "the same call twice under one index",
        "two calls without arguments under one index",
        "a last chunk that repeats the call (litellm 20480)",
        "one call under two indexes (LocalAI 9722)",
        "arguments that grow from the start (cogito pull 66)",
        "arguments that hold their own beginning",
        "an empty object before the arguments (envoy ai-gateway 1465)",
        "a call without arguments before another",
    ],
)
def test_calls_are_read_as_servers_send_them(reads: tuple[bytes, ...], meant: list[Delta]) -> None:
    assert read(*reads) == meant


@pytest.mark.parametrize(
    ("data", "meant"),
    [
        (b'data: {"choices":[{"delta":{"content":"a"}}]}\ndata: {"choices":[{"delta":{"content":"b"}}]}\n\n', "ab"),
        (b'data: {"choices":\ndata: [{"delta":{"content":"a"}}]}\n\n', "a"),
        (b'\xef\xbb\xbfdata:{"choices":[{"delta":{"content":"a"}}]}\n\n', "a"),
        (b'event: message\nid: 1\nretry: 5\ndata: {"choices":[{"delta":{"content":"a"}}]}\n\n', "a"),
        (b'data: {"choices":[{"delta":{"content":"a"}}]}', "a"),
        (b'data: {"choices":[{"delta":{"content":[{"type":"text","text":"a"}]}}]}\n\n', "a"),
        (b'data: {"choices":[{"delta":{"content":"\\ud83d"}}]}\n\n', "\ufffd"),
        (b'data: {"choices":[{"delta":{"refusal":"no"}}]}\n\n', "no"),
        (b'data: {"type":"ping"}\n\ndata: {"choices":[{"delta":{"content":"a"}}]}\n\n', "a"),
    ],
    ids=["no blank lines", "one event on two lines", "byte order mark", "other fields", "no last line end", "content in parts",
         "half a surrogate pair", "refusal", "ping event"],
)  # fmt: skip
def test_text_is_read_from_unusual_events(data: bytes, meant: str) -> None:
    assert "".join(delta.text for delta in read(data) if isinstance(delta, TextPart)) == meant


@pytest.mark.parametrize(
    "data",
    [
        b"data: {not json\n\n",
        b"data: 7\n\n",
        b'data: {"choices":[7]}\n\n',
        b'data: {"choices":[{"delta":{"content":7}}]}\n\n',
        b'data: {"choices":[{"delta":{"tool_calls":[7]}}]}\n\n',
        b"data: \xff\xfe\n\n",
        b"the upstream is down\n",
    ],
)
def test_what_is_not_the_api_is_an_error_that_shows_it(data: bytes) -> None:
    with pytest.raises(ProviderProtocolError) as caught:
        read(data)
    assert caught.value.kind == "malformed"
    assert len(caught.value.message) < 400


def test_shown_bytes_are_redacted_and_harmless() -> None:
    reader = AnswerReader(Redactor.of([SecretStr("canary-key")]))
    with pytest.raises(ProviderProtocolError) as caught:
        reader.feed(b"data: {canary-key \x1b[31m\n\n")
    assert "canary" not in caught.value.message
    assert "\x1b" not in caught.value.message


def test_a_comment_of_a_mebibyte_is_not_kept() -> None:
    reader = AnswerReader(Redactor())
    for _ in range(1024):
        assert reader.feed(b":" + b"c" * 1024) == []
    assert reader.feed(b"\n\n" + event({"content": "a"})) == [TextPart(text="a")]
    assert reader.events == 1


def test_a_custom_reasoning_key_is_read() -> None:
    reader = AnswerReader(Redactor(), "thoughts")
    assert reader.feed(event({"thoughts": "hm"})) == [ThinkPart(think="hm")]


@pytest.mark.parametrize(
    ("usage", "meant"),
    [
        ({"prompt_tokens": 10, "completion_tokens": 2}, TokenUsage(input_other=10, output=2)),
        ({"prompt_tokens": 10, "cached_tokens": 4}, TokenUsage(input_other=6, input_cache_read=4)),
        ({"prompt_tokens": 10, "prompt_cache_hit_tokens": 4}, TokenUsage(input_other=6, input_cache_read=4)),
        ({"prompt_tokens": 3, "prompt_tokens_details": {"cached_tokens": 9}}, TokenUsage(input_cache_read=3)),
        (
            {"completion_tokens": 9, "completion_tokens_details": {"reasoning_tokens": 7}},
            TokenUsage(output=9, output_thought=7),
        ),
        ({"prompt_tokens": None, "completion_tokens": None}, None),
        ({}, None),
    ],
)
def test_usage_is_counted(usage: dict[str, object], meant: TokenUsage | None) -> None:
    assert read_usage(usage) == meant


def whole(**message: object) -> bytes:
    """A chunk with the whole message beside its reason to stop."""
    choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": "stop"}
    return b"data: " + orjson.dumps({"choices": [choice]}) + b"\n\n"


def test_an_answer_that_is_said_again_as_a_whole_counts_once() -> None:
    said = {"index": 0, "id": "a", "type": "function", "function": {"name": "F", "arguments": '{"x":1}'}}
    parts = (call(0, "a", "F", ""), call(0, None, None, '{"x":1}'))
    assert read(*parts, whole(content=None, tool_calls=[said])) == read(*parts)
    assert read(whole(content="Hello", tool_calls=[said])) == [TextPart(text="Hello"), opened("a", "F", '{"x":1}')]


def test_comments_are_signs_of_life() -> None:
    reader = AnswerReader(Redactor())
    for number, sign in enumerate(
        (b": OPENROUTER PROCESSING\n\n", b": keepalive\n", b": kee", b"palive\n\n", b"data: {}\n\n")
    ):
        before = reader.signs
        reader.feed(sign)
        assert (reader.signs > before) == (number in {0, 1, 3})
