"""What is sent: the body and headers of a chat request."""

import json
from typing import Any

import pytest

from sould.agents.llm.provider import ChatMessage, ChatRequest, ModelInfo, ToolSpec
from sould.agents.llm.quirks import OPTIONAL, Quirks
from sould.agents.llm.requests import Dialect, RequestStyle, request_body, request_bytes
from sould.agents.wire.content import AudioPart, FunctionCall, ImagePart, MediaUrl, TextPart, ThinkPart
from sould.agents.wire.messages import ToolCall
from soultest.llm import ModelServer
from soultest.llmclient import INFO, KEY, ask, provider_for

PNG = "data:image/png;base64,aGk="
CALL = ToolCall(id="abcdefgh1", function=FunctionCall(name="Look", arguments="{}"))
HISTORY = (
    ChatMessage("user", (TextPart(text="see"), ImagePart(image_url=MediaUrl(url=PNG)))),
    ChatMessage("assistant", (ThinkPart(think="hm"),), (CALL,)),
    ChatMessage("tool", (TextPart(text="out"), ImagePart(image_url=MediaUrl(url=PNG))), tool_call_id="abcdefgh1"),
    ChatMessage("assistant", (TextPart(text="done"), ImagePart(image_url=MediaUrl(url=PNG)))),
    ChatMessage("assistant"),
    ChatMessage("user", (TextPart(text="a"), TextPart(text="b"))),
)
TOOL = ToolSpec("Look", "Looks.", {"type": "object", "properties": {}})


def body(style: RequestStyle | None = None, info: ModelInfo = INFO, **fields: Any) -> dict[str, Any]:
    return request_body(ChatRequest("system", HISTORY, (TOOL,), **fields), info, style or RequestStyle())


def test_a_conversation_is_sent_in_the_apis_form() -> None:
    image = {"type": "image_url", "image_url": {"url": PNG}}
    function = {"name": "Look", "arguments": "{}"}
    assert body()["messages"] == [
        {"role": "system", "content": "system"},
        {"role": "user", "content": [{"type": "text", "text": "see"}, image]},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "abcdefgh1", "type": "function", "function": function}],
        },
        {"role": "tool", "tool_call_id": "abcdefgh1", "content": "out"},
        {"role": "user", "content": [{"type": "text", "text": "(output of tool call abcdefgh1)"}, image]},
        {"role": "assistant", "content": "done\n(An image was here)"},
        {"role": "user", "content": "a\nb"},
    ]


def test_a_model_without_eyes_gets_a_word_in_place_of_an_image() -> None:
    blind = ModelInfo("m", "m", "p", 1000)
    sent = str(body(info=blind)["messages"])
    assert PNG not in sent
    assert "An image was here" in sent


@pytest.mark.parametrize(
    ("media_type", "name"),
    [("audio/wav", "wav"), ("audio/x-wav", "wav"), ("audio/mpeg", "mp3"), ("audio/ogg;codecs=opus", "ogg")],
)
def test_sound_is_sent_where_it_can_be_heard(media_type: str, name: str) -> None:
    info = ModelInfo("m", "m", "p", 1000, frozenset({"audio_in"}))
    request = ChatRequest(
        "", (ChatMessage("user", (AudioPart(audio_url=MediaUrl(url=f"data:{media_type};base64,aGk=")),)),)
    )
    sent = request_body(request, info, RequestStyle())["messages"][0]["content"]
    assert sent == [{"type": "input_audio", "input_audio": {"data": "aGk=", "format": name}}]


@pytest.mark.parametrize(
    ("dialect", "level", "sent"),
    [
        ("plain", "high", {"reasoning_effort": "high"}),
        ("plain", "off", {}),
        ("kimi", "off", {"thinking": {"type": "disabled"}}),
        ("kimi", "medium", {"thinking": {"type": "enabled"}}),
        ("openrouter", "low", {"reasoning": {"effort": "low"}}),
        ("openrouter", "off", {"reasoning": {"enabled": False}}),
    ],
)
def test_thinking_is_asked_for_in_the_servers_words(dialect: Dialect, level: Any, sent: dict[str, object]) -> None:
    asked = body(RequestStyle(dialect), thought_level=level)
    assert {key: asked[key] for key in ("reasoning_effort", "thinking", "reasoning") if key in asked} == sent


async def test_the_server_receives_exactly_this_body() -> None:
    request = ChatRequest("system", HISTORY, (TOOL,), session_id="s1")
    style = RequestStyle(dialect="kimi", max_output_tokens=7, temperature=0.5, top_p=0.9)
    async with ModelServer() as server, provider_for(server.url, style=style) as provider:
        outcome = await ask(provider, "", request=request)
    assert outcome.error is None
    assert server.requests[0].body == request_body(request, INFO, style)
    assert server.requests[0].path == "/v1/chat/completions"
    assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"


async def test_a_connection_is_used_again() -> None:
    async with ModelServer() as server, provider_for(server.url) as provider:
        for _ in range(3):
            assert (await ask(provider, "hello")).error is None
        assert server.connections == 1


@pytest.mark.scaffold
@pytest.mark.parametrize("left_out", [(), ("stream_options",), OPTIONAL], ids=["nothing", "usage", "all that may be"])
@pytest.mark.parametrize("tools", [(), (TOOL,)], ids=["without tools", "with tools"])
def test_the_bytes_are_the_body(left_out: tuple[str, ...], tools: tuple[ToolSpec, ...]) -> None:
    request = ChatRequest("system", HISTORY, tools, session_id="s1", thought_level="low")
    style = RequestStyle("openai", max_output_tokens=7, temperature=0.5, quirks=Quirks(left_out=frozenset(left_out)))
    assert json.loads(b"".join(request_bytes(request, INFO, style))) == request_body(request, INFO, style)
