"""What the seven servers send that the API's documentation does not: each file of `servers/` names where its bytes come from (D4).

The bytes go through a real local server and the real provider.
"""

from dataclasses import dataclass, field
from pathlib import Path

import pytest
from pydantic import SecretStr

from sould.agents.llm.openai import OpenAIClient, OpenAIProvider
from sould.agents.llm.provider import ChatMessage, ChatRequest, Finish, ModelInfo, ProviderError
from sould.agents.llm.server import ProviderSettings
from sould.agents.wire.content import TextPart, ThinkPart
from sould.agents.wire.messages import TokenUsage, ToolCall, ToolCallPart
from soultest.llm import Exchange, ModelServer, scenario


@dataclass
class Said:
    """An answer put together again."""

    text: str = ""
    think: str = ""
    calls: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    ids: list[str] = field(default_factory=list[str])
    reason: str | None = None
    usage: TokenUsage | None = None


SERVERS = {
    "openai-call-in-fragments": Said(
        calls=[("get_weather", '{"location":"Paris"}')],
        ids=["call_DdmO9pD3xa9XTPNJ32zg2hcA"],
        reason="tool_calls",
        usage=TokenUsage(input_other=86, output=300, input_cache_read=1920),
    ),
    "moonshot-usage-in-choice": Said(
        text="你好", reason="stop", usage=TokenUsage(input_other=10, output=13, input_cache_read=9)
    ),
    "openrouter-comments-and-reasoning": Said(
        text="I'll", think="Hm", reason="stop", usage=TokenUsage(input_other=8, output=2)
    ),
    "ollama-index-always-0": Said(
        calls=[("file_write", '{"filePath":"hello.py"}'), ("file_write", '{"filePath":"world.py"}')],
        ids=["abc123", "def456"],
        reason="tool_calls",
    ),
    "ollama-no-index": Said(calls=[("f", "{}"), ("g", "{}")], ids=["call_a", "call_b"], reason="stop"),
    "lmstudio-empty-ids": Said(calls=[("bash", "{}"), ("", "")], ids=["call_0", "call_1"], reason="tool_calls"),
    "vllm-usage-everywhere": Said(text="!", reason="stop", usage=TokenUsage(input_other=16, output=2)),
    "vllm-no-usage": Said(text="我是", reason="stop"),
    "llamacpp-null-content-and-timings": Said(
        text="Yes", think=" it", reason="stop", usage=TokenUsage(input_other=17, output=29)
    ),
}

ERRORS = {
    "lmstudio-error-event": ("provider", "Compute error."),
    "lmstudio-context-exceeded": ("context_too_long", "Context size has been exceeded."),
    "llamacpp-context-exceeded": ("context_too_long", "exceeds the available context size"),
    "openrouter-error-mid-stream": ("provider", "Provider disconnected unexpectedly"),
}

FILES = Path(__file__).with_name("servers")


@scenario
async def verbatim(x: Exchange, argument: str) -> None:
    """The bytes of a file."""
    await x.start()
    await x.raw((FILES / f"{argument}.sse").read_bytes())
    await x.end()


async def ask(file: str) -> Said:
    said = Said()
    calls: dict[str, list[str]] = {}
    async with ModelServer() as server:
        client = OpenAIClient(ProviderSettings(server.url, SecretStr("sk-test-key")))
        provider = OpenAIProvider(ModelInfo("m", "m", "p", 1000), client)
        question = TextPart(text=f"[[verbatim:{file}]]")
        try:
            async with provider.stream(ChatRequest("", (ChatMessage("user", (question,)),))) as stream:
                async for batch in stream:
                    for delta in batch:
                        match delta:
                            case TextPart():
                                said.text += delta.text
                            case ThinkPart():
                                said.think += delta.think
                            case ToolCall():
                                calls[delta.id] = [delta.function.name, delta.function.arguments or ""]
                            case ToolCallPart():
                                calls[delta.tool_call_id or list(calls)[-1]][1] += delta.arguments_part or ""
                            case Finish():
                                said.reason, said.usage = delta.reason, delta.usage
                            case _:
                                raise AssertionError(f"no server here sends media: {delta}")
        finally:
            await client.aclose()
    said.ids = list(calls)
    said.calls = [(name, arguments) for name, arguments in calls.values()]
    return said


@pytest.mark.parametrize(("file", "said"), SERVERS.items(), ids=list(SERVERS))
async def test_an_answer_means_what_the_server_meant(file: str, said: Said) -> None:
    assert await ask(file) == said


@pytest.mark.parametrize(("file", "error"), ERRORS.items(), ids=list(ERRORS))
async def test_an_error_in_the_stream_is_an_error(file: str, error: tuple[str, str]) -> None:
    kind, text = error
    with pytest.raises(ProviderError, match=text) as caught:
        await ask(file)
    assert caught.value.kind == kind


@pytest.mark.parametrize("file", sorted(FILES.iterdir()), ids=lambda file: file.stem)
def test_every_answer_names_its_source_and_is_read_by_a_test(file: Path) -> None:
    assert ": source: https://" in file.read_text(encoding="utf-8")
    assert file.stem in SERVERS.keys() | ERRORS.keys()
