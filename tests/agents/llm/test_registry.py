"""Providers as data: vendors by their names, what a configuration adds to them, and a wire protocol of one's own."""

import asyncio
import json
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from msgspec import Struct
from msgspec.structs import replace
from pydantic import SecretStr

from sould.agents.base.config import Config
from sould.agents.base.errors import NoModelError
from sould.agents.base.liveconfig import FixedConfig
from sould.agents.llm.openai import OpenAIProvider
from sould.agents.llm.pool import PROTOCOLS, ProviderPool, remarks, troubles
from sould.agents.llm.provider import (
    ChatMessage,
    ChatRequest,
    DeltaStream,
    Finish,
    ModelInfo,
    ProviderConnectionError,
    ProviderStatusError,
)
from sould.agents.llm.registry import TYPES, ProviderType
from sould.agents.llm.requests import RequestStyle
from sould.agents.llm.server import Check, ProviderSettings, ServedModel, Server
from sould.agents.wire.content import TextPart
from sould.daemon.cli.doctor.finding import Finding, SetUp, fail, ok
from sould.daemon.cli.doctor.models import usable
from sould.daemon.cli.modeltrial import try_model
from soultest.llmclient import ask


async def no_servers(_url: str, _key: SecretStr) -> tuple[ServedModel, ...]:
    return ()


def config(provider: str, **said: object) -> Config:
    model = {"provider": provider, "model": "test-model", "max_context_size": 8000}
    return Config.model_validate({"models": {"m": model}, "providers": {provider: said} if said else {}})


async def opened(written: Config, environment: Mapping[str, str]) -> OpenAIProvider:
    pool = ProviderPool(FixedConfig(written), probe=no_servers)
    try:
        provider = await pool.get("m", environment)
        assert isinstance(provider, OpenAIProvider)
        return provider
    finally:
        await pool.aclose()


@pytest.mark.parametrize(
    ("provider", "said", "environment", "address", "key", "dialect"),
    [
        ("openrouter", {}, {"OPENROUTER_API_KEY": "env"}, "https://openrouter.ai/api/v1", "env", "openrouter"),
        ("openrouter", {"api_key": "own"}, {}, "https://openrouter.ai/api/v1", "own", "openrouter"),
        ("anthropic", {}, {"ANTHROPIC_API_KEY": "env"}, "https://api.anthropic.com/v1", "env", "plain"),
        ("work", {"vendor": "kimi"}, {"KIMI_API_KEY": "env"}, "https://api.moonshot.ai/v1", "env", "kimi"),
        (
            "work",
            {"type": "openai_compatible", "vendor": "google"},
            {"GEMINI_API_KEY": "env"},
            "https://generativelanguage.googleapis.com/v1beta/openai",
            "env",
            "plain",
        ),
        (
            "openai",
            {"base_url": "http://llm.example/v1"},
            {"OPENAI_API_KEY": "env"},
            "http://llm.example/v1",
            "",
            "plain",
        ),
        (
            "acme",
            {"base_url": "http://llm.example/v1"},
            {"OPENAI_API_KEY": "env"},
            "http://llm.example/v1",
            "",
            "plain",
        ),
        (
            "openai",
            {"base_url": "https://api.openai.com/v1/chat/completions/"},
            {"OPENAI_API_KEY": "env"},
            "https://api.openai.com/v1",
            "env",
            "openai",
        ),
    ],
    ids=[
        "no entry",
        "an entry adds a key",
        "a vendor without a model of its own",
        "under another name",
        "by its vendor",
        "an address replaces the vendor's, whose key stays away",
        "nobody we know",
        "the vendor's address as it was copied",
    ],
)
async def test_what_an_entry_does_not_say_is_the_vendors(
    provider: str, said: dict[str, object], environment: dict[str, str], address: str, key: str, dialect: str
) -> None:
    found = await opened(config(provider, **said), environment)
    settings = found.client.settings
    assert (settings.base_url, settings.api_key.get_secret_value(), found.style.dialect) == (address, key, dialect)


async def test_a_vendors_address_is_not_asked_without_a_key_whatever_the_type() -> None:
    written = config("p", type="openai", base_url="https://api.moonshot.ai/v1")
    with pytest.raises(NoModelError, match="There is no key for provider 'p'"):
        await opened(written, {"OPENAI_API_KEY": "another vendor's"})


async def test_a_key_of_a_vendor_without_a_model_is_answered_with_what_to_do() -> None:
    with pytest.raises(NoModelError, match=r'ANTHROPIC_API_KEY is set.* provider = "anthropic".* 200000'):
        await opened(Config(), {"ANTHROPIC_API_KEY": "k"})


def test_a_type_that_cannot_work_is_refused_by_its_name() -> None:
    for name in ("vertexai", "grpc"):
        (said,) = troubles(config("p", type=name))
        assert f"a provider of type {name!r} does not work here" in said


def test_an_old_type_works_with_one_notice() -> None:
    (said,) = remarks(config("p", type="anthropic"))
    assert 'write `type = "openai_compatible"` and `vendor = "anthropic"` instead' in said
    assert remarks(config("p", type="openai_compatible", vendor="anthropic")) == ()


# --- a protocol of one's own: one line of JSON there, one back, and a key in a header of its own -----------------------------


NOBODY = "Nobody listens there."
NOTHING = ModelInfo(key="", model="", provider="", max_context_size=8000)
QUESTION = ChatRequest("", (ChatMessage("user", (TextPart(text="hello"),)),))


class LineModel(Struct, frozen=True):
    info: ModelInfo
    server: Server

    @asynccontextmanager
    async def stream(self, request: ChatRequest) -> AsyncGenerator[DeltaStream, None]:
        yield self._answer(request)

    async def _answer(self, request: ChatRequest) -> DeltaStream:
        place = urlsplit(self.server.url)
        try:
            reader, writer = await asyncio.open_connection(place.hostname, place.port)
        except OSError:
            raise ProviderConnectionError(NOBODY) from None
        said = [part.text for each in request.messages for part in each.content if isinstance(part, TextPart)]
        asked = {"to": place.path, "model": self.info.model, "said": said, "headers": self.server.headers}
        writer.write(json.dumps(asked).encode() + b"\n")
        answer = json.loads(await reader.readline())
        writer.close()
        if "refused" in answer:
            raise ProviderStatusError(answer["refused"], kind="auth")
        yield [TextPart(text=answer["text"])]
        yield [Finish("stop")]


class LineClient:
    needs = ""

    def __init__(self, settings: ProviderSettings) -> None:
        self.server = Server(settings, "/lines", {"x-api-key": settings.api_key.get_secret_value()})

    def signed(self, key: SecretStr) -> "LineClient":
        return LineClient(replace(self.server.settings, api_key=key))

    def model(self, info: ModelInfo, style: RequestStyle) -> LineModel:
        return LineModel(info, self.server)

    async def check(self, provider: str, timeout_s: float) -> Check:
        try:
            async with asyncio.timeout(timeout_s), self.model(NOTHING, RequestStyle()).stream(QUESTION) as stream:
                async for _ in stream:
                    pass
        except ProviderStatusError as error:
            return Check(problem=error.message, remedy=f"Ask the owner of {provider} for a key.")
        except ProviderConnectionError as error:
            return Check(problem=error.message, remedy=f"Start {self.server.address}.")
        return Check()

    async def aclose(self) -> None: ...


@asynccontextmanager
async def line_server() -> AsyncGenerator[str, None]:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked = json.loads(await reader.readline())
        text = f"{asked['model']} at {asked['to']} heard {asked['said'][-1]}"
        known = asked["headers"]["x-api-key"] == "k" and "authorization" not in asked["headers"]
        writer.write(json.dumps({"text": text} if known else {"refused": "This key is not known."}).encode() + b"\n")
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v7/"


line_pool = partial(
    ProviderPool,
    probe=no_servers,
    types={**TYPES, "lines": ProviderType("lines"), "anthropic": ProviderType("lines")},
    protocols={**PROTOCOLS, "lines": LineClient},
)


async def test_a_protocol_is_a_client_and_a_row() -> None:
    async with line_server() as address:
        pool = line_pool(FixedConfig(config("p", type="lines", base_url=address, api_key="k")))
        outcome = await ask(await pool.get("m", {}), "hello")
        trial = await try_model(await pool.get("m", {}))
        await pool.aclose()
    assert outcome.shown == "test-model at /v7/lines heard hello"
    assert (trial.server, dict(trial.lines)["tool"][:10]) == (address.rstrip("/"), "not called")


async def test_the_doctor_has_a_protocol_say_what_failed_and_what_to_do(tmp_path: Path) -> None:
    file = tmp_path / "sould" / "config.toml"
    file.parent.mkdir()
    setup = SetUp({"HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path)}, tmp_path)

    async def found(address: str, key: str) -> Finding:
        file.write_text(
            f'[providers.p]\ntype = "anthropic"\nbase_url = "{address}"\napi_key = "{key}"\n'
            '[models.m]\nprovider = "p"\nmodel = "test-model"\nmax_context_size = 8000\n'
        )
        return (await asyncio.to_thread(lambda: list(usable(setup, line_pool))))[-1]

    async with line_server() as address:
        assert await found(address, "k") == ok("models", "Model 'm': it answers.")
        assert await found(address, "j") == fail("models", "This key is not known.", "Ask the owner of p for a key.")
    assert await found(address, "k") == fail("models", NOBODY, f"Start {address.rstrip('/')}.")
