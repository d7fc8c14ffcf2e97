"""The scripted model: one script a call, in the line format other programs' tests use."""

import json
from pathlib import Path

import pytest

from sould.agents.llm.provider import (
    ChatMessage,
    ChatProvider,
    ChatRequest,
    Delta,
    EmptyAnswerError,
    Finish,
    ModelInfo,
    ProviderConnectionError,
    ProviderError,
    ProviderProtocolError,
    ProviderStatusError,
    ProviderTimeoutError,
    ScriptExhaustedError,
)
from sould.agents.llm.scripted import EchoProvider, ScriptedProvider
from sould.agents.wire.content import AudioPart, FunctionCall, ImagePart, MediaUrl, TextPart, ThinkPart, VideoPart
from sould.agents.wire.messages import TokenUsage, ToolCall, ToolCallPart

INFO = ModelInfo("scripted", "scripted_echo", "scripted_provider", 100_000)


def request(text: str = "", session: str = "s") -> ChatRequest:
    return ChatRequest("", (ChatMessage("user", (TextPart(text=text),)),), session_id=session)


async def play(provider: ChatProvider, asked: ChatRequest | None = None) -> list[Delta]:
    async with provider.stream(asked or request()) as stream:
        return [delta async for batch in stream for delta in batch]


def scripted(directory: Path, *scripts: str) -> ScriptedProvider:
    path = directory / "scripts.json"
    path.write_text(json.dumps(scripts))
    return ScriptedProvider(INFO, path)


SCRIPT = """
# a comment
```
id: "msg-1"
think: let me see
text: Hello
line:  two spaces
image_url: https://example.org/a.png
audio_url: "data:audio/wav;base64,AAAA"
video_url: {"url": "https://example.org/a.mp4", "id": "v1"}
tool_call: {"id": "tc-1", "name": "ReadFile", "arguments": "{\\"path\\"", "extras": {"a": 1}}
tool_call_part: {"arguments_part": ": 1}"}
tool_call_part: raw
usage: input_other=10 output=5
"""


async def test_every_kind_of_line_is_played_in_order(tmp_path: Path) -> None:
    assert await play(scripted(tmp_path, SCRIPT)) == [
        ThinkPart(think="let me see"),
        TextPart(text="Hello"),
        TextPart(text=" two spaces\n"),
        ImagePart(image_url=MediaUrl(url="https://example.org/a.png")),
        AudioPart(audio_url=MediaUrl(url="data:audio/wav;base64,AAAA")),
        VideoPart(video_url=MediaUrl(url="https://example.org/a.mp4", id="v1")),
        ToolCall(id="tc-1", function=FunctionCall(name="ReadFile", arguments='{"path"'), extras={"a": 1}),
        ToolCallPart(arguments_part=": 1}"),
        ToolCallPart(arguments_part="raw"),
        Finish("tool_calls", TokenUsage(input_other=10, output=5), "msg-1"),
    ]


async def test_usage_may_be_json(tmp_path: Path) -> None:
    deltas = await play(scripted(tmp_path, 'text: a\nusage: {"input_other": 3, "output": 4}'))
    assert deltas[-1] == Finish("stop", TokenUsage(input_other=3, output=4))


async def test_scripts_may_be_parted_by_lines_of_dashes(tmp_path: Path) -> None:
    path = tmp_path / "scripts.txt"
    path.write_text("text: one\n---\ntext: two\n")
    provider = ScriptedProvider(INFO, path)
    assert (await play(provider))[0] == TextPart(text="one")
    assert (await play(provider))[0] == TextPart(text="two")


async def test_each_session_begins_with_the_first_script(tmp_path: Path) -> None:
    provider = scripted(tmp_path, "text: one", "text: two")
    played = [(await play(provider, request(session=session)))[0] for session in ("a", "b", "a")]
    assert played == [TextPart(text="one"), TextPart(text="one"), TextPart(text="two")]


async def test_used_up_scripts_are_an_error_that_counts(tmp_path: Path) -> None:
    provider = scripted(tmp_path, "text: one")
    await play(provider)
    with pytest.raises(ScriptExhaustedError, match=r"has 1 script .* this is call 2"):
        await play(provider)


@pytest.mark.parametrize(
    ("line", "kind", "status", "retryable"),
    [
        ("error: 429 slow down", ProviderStatusError, 429, True),
        ("error: 500 oops", ProviderStatusError, 500, True),
        ("error: 401 who", ProviderStatusError, 401, False),
        ("error: connection reset", ProviderConnectionError, None, True),
        ("error: timeout too slow", ProviderTimeoutError, None, True),
        ("think: only this", EmptyAnswerError, None, True),
        ("# nothing", EmptyAnswerError, None, True),
    ],
)
async def test_a_failure_is_the_one_a_server_would_cause(
    tmp_path: Path, line: str, kind: type[ProviderError], status: int | None, retryable: bool
) -> None:
    with pytest.raises(kind) as caught:
        await play(scripted(tmp_path, line))
    assert (caught.value.status, caught.value.retryable) == (status, retryable)


async def test_text_before_a_failure_is_shown(tmp_path: Path) -> None:
    seen: list[Delta] = []
    async with scripted(tmp_path, "text: half\nerror: connection cut").stream(request()) as stream:
        seen += await anext(stream)
        with pytest.raises(ProviderConnectionError):
            await anext(stream)
    assert seen == [TextPart(text="half")]


@pytest.mark.parametrize(
    "line", ["nonsense", "tool_call: {broken", 'tool_call: {"id": "no name"}', "wait: long", "shout: hey"]
)
async def test_a_wrong_line_is_named(tmp_path: Path, line: str) -> None:
    with pytest.raises(ProviderProtocolError, match="script 1, line 2"):
        await play(scripted(tmp_path, f"text: a\n{line}"))


@pytest.mark.parametrize("content", ['["text: a", 7]', "[broken", None])
async def test_a_wrong_file_is_named(tmp_path: Path, content: str | None) -> None:
    path = tmp_path / "scripts.json"
    if content is not None:
        path.write_text(content)
    with pytest.raises(ProviderProtocolError, match=r"scripts\.json"):
        await play(ScriptedProvider(INFO, path))


async def test_an_echo_plays_the_message_or_repeats_it() -> None:
    echo = EchoProvider(INFO)
    assert (await play(echo, request("think: hm\ntext: hello")))[:2] == [ThinkPart(think="hm"), TextPart(text="hello")]
    assert (await play(echo, request("just words")))[0] == TextPart(text="just words")
