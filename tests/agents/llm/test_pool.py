"""From a model's key and a session's environment to a provider: keys, addresses, notices, and what is shared."""

import ssl
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from pydantic import SecretStr

from sould.agents.base.config import Config
from sould.agents.base.errors import ConfigError, NoModelError
from sould.agents.base.liveconfig import FixedConfig
from sould.agents.llm.discovery import Found, discover, probe_server
from sould.agents.llm.openai import OpenAIProvider
from sould.agents.llm.pool import ProviderPool, key_variables, troubles
from sould.agents.llm.provider import ChatProvider
from sould.agents.llm.server import ServedModel
from soultest.llm import ModelServer
from soultest.llmclient import ask

NOWHERE = (("ollama", "http://127.0.0.1:9/v1"),)


async def no_servers(_url: str, _key: SecretStr) -> tuple[ServedModel, ...]:
    return ()


def config(**provider: object) -> Config:
    return Config.model_validate(
        {
            "models": {"m": {"provider": "p", "model": "test-model", "max_context_size": 8000}},
            "providers": {"p": {"type": "openai", **provider}},
        }
    )


def real(provider: ChatProvider) -> OpenAIProvider:
    assert isinstance(provider, OpenAIProvider)
    return provider


async def key_used(written: Config, environment: Mapping[str, str], stored: str = "") -> str:
    async def keys(_provider: str) -> SecretStr | None:
        return SecretStr(stored) if stored else None

    pool = ProviderPool(FixedConfig(written), keys=keys, probe=no_servers)
    try:
        return real(await pool.get(None, environment)).client.settings.api_key.get_secret_value()
    finally:
        await pool.aclose()


# --- keys ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("provider", "environment", "stored", "key"),
    [
        ({"api_key": "file"}, {"OPENAI_API_KEY": "env"}, "ring", "file"),
        ({}, {"OPENAI_API_KEY": "env"}, "ring", "env"),
        ({"api_key_env": "MINE"}, {"MINE": "mine", "OPENAI_API_KEY": "env"}, "ring", "mine"),
        ({}, {}, "ring", "ring"),
        ({"base_url": "http://127.0.0.1:9/v1"}, {"OPENAI_API_KEY": "env"}, "", ""),
        ({"env": {"OPENAI_API_KEY": "own"}}, {"OPENAI_API_KEY": "env"}, "", "own"),
    ],
    ids=[
        "file first",
        "then environment",
        "a named variable",
        "then keyring",
        "a vendor's key stays with the vendor",
        "the provider's own variables come before the session's",
    ],
)
async def test_the_key_comes_from_the_nearest_place(
    provider: dict[str, object], environment: dict[str, str], stored: str, key: str
) -> None:
    assert await key_used(config(**provider), environment, stored) == key


@pytest.mark.parametrize("end", ["\n", "\r\n", " \t", "\n\n"])
async def test_blanks_and_line_ends_around_a_key_are_not_part_of_it(end: str) -> None:
    given = f"{end}sk-1{end}"
    assert await key_used(config(api_key=given), {}) == "sk-1"
    assert await key_used(config(api_key_env="MINE"), {"MINE": given}) == "sk-1"
    assert await key_used(config(), {"OPENAI_API_KEY": end}, stored=given) == "sk-1"


@pytest.mark.parametrize(
    ("inside", "what"), [("\n", "a line end"), ("\r", "a line end"), ("\0", "char"), ("\N{EN DASH}", "char")]
)
async def test_what_no_key_can_hold_is_named_with_the_place_of_the_key(inside: str, what: str) -> None:
    given = f"sk-canary{inside}0123"
    for written, environment, stored, whose in (
        (config(api_key=given), {}, "", "The key of provider 'p'"),
        (config(api_key_env="MINE"), {"MINE": given}, "", "The key in MINE"),
        (config(), {}, given, "The stored key of provider 'p'"),
    ):
        with pytest.raises(ConfigError, match=f"^{whose} holds {what}.* `sould login p`") as raised:
            await key_used(written, environment, stored)
        assert "canary" not in raised.value.message


async def test_a_missing_key_says_what_to_do() -> None:
    with pytest.raises(NoModelError, match="run `sould login p`, or set OPENAI_API_KEY"):
        await key_used(config(), {})


@pytest.mark.parametrize(
    ("provider", "environment", "stored", "says"),
    [
        ({"api_key": "wrong"}, {}, "", "`providers.p.api_key` (`sould config edit`)"),
        ({"api_key_env": "MINE"}, {"MINE": "wrong"}, "", "the variable MINE in the environment"),
        ({}, {}, "ring", "Run `sould login p` with another key"),
        ({}, {}, "", "No key was sent: run `sould login p`, or set `api_key_env` of provider p to the variable"),
    ],
    ids=["file", "environment", "keyring", "none"],
)
async def test_a_refused_key_is_named_by_where_it_comes_from(
    provider: dict[str, object], environment: dict[str, str], stored: str, says: str
) -> None:
    async def keys(_provider: str) -> SecretStr | None:
        return SecretStr(stored) if stored else None

    async with ModelServer() as server:
        pool = ProviderPool(FixedConfig(config(base_url=server.url, **provider)), keys=keys, probe=no_servers)
        outcome = await ask(real(await pool.get(None, environment)), "[[s401]]")
        await pool.aclose()
    assert outcome.error is not None
    assert says in outcome.error.message


def test_every_key_variable_is_known_unless_given_back() -> None:
    written = Config.model_validate(
        {
            "providers": {"p": {"type": "openai", "api_key_env": "MINE"}},
            "environment": {"pass_keys": ["OPENAI_API_KEY"]},
        }
    )
    known = key_variables(written)
    assert {"MINE", "MOONSHOT_API_KEY", "ANTHROPIC_API_KEY"} <= known
    assert "OPENAI_API_KEY" not in known


# --- what is shared and what is not -------------------------------------------------------------------------------------------


async def test_equal_settings_share_a_client_and_others_do_not() -> None:
    pool = ProviderPool(FixedConfig(config(base_url="http://127.0.0.1:9/v1", api_key="k")), probe=no_servers)
    first = real(await pool.get("m", {}))
    same = real(await pool.get("m", {"UNRELATED": "1"}))
    proxied = real(await pool.get("m", {"HTTP_PROXY": "http://127.0.0.1:8"}))
    assert first.client is same.client
    assert first.client is not proxied.client
    await pool.aclose()


async def test_the_daemons_own_environment_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {
        "OPENAI_API_KEY": "sk-daemon",
        "OPENAI_BASE_URL": "http://127.0.0.1:9/v1",
        "OPENAI_ORG_ID": "daemon-org",
        "OPENAI_PROJECT_ID": "daemon-project",
        "OPENAI_CUSTOM_HEADERS": "X-Daemon: yes",
        "HTTP_PROXY": "http://127.0.0.1:9",
    }.items():
        monkeypatch.setenv(name, value)
    async with ModelServer() as server:
        written = config(base_url=server.url, custom_headers={"X-Ours": "yes"})
        pool = ProviderPool(FixedConfig(written), probe=no_servers)
        outcome = await ask(real(await pool.get("m", {})), "hello")
        await pool.aclose()
    assert outcome.error is None
    headers = server.requests[0].headers
    assert headers["x-ours"] == "yes"
    assert not {"authorization", "openai-organization", "openai-project", "x-daemon"} & headers.keys()


async def test_the_proxy_of_the_session_is_used() -> None:
    async with ModelServer() as proxy:
        pool = ProviderPool(FixedConfig(config(base_url="http://model.invalid/v1", api_key="k")), probe=no_servers)
        environment = {"HTTP_PROXY": proxy.url.removesuffix("/v1")}
        outcome = await ask(real(await pool.get("m", environment)), "hello")
        await pool.aclose()
    assert outcome.error is None
    assert proxy.requests[0].path == "http://model.invalid/v1/chat/completions"


@pytest.mark.parametrize("variable", ["SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "NODE_EXTRA_CA_CERTS", None])
async def test_the_certificates_of_the_session_are_trusted(variable: str | None) -> None:
    pem = str(Path(__file__).with_name("loopback.pem"))
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(pem)
    async with ModelServer(tls=tls) as server:
        pool = ProviderPool(FixedConfig(config(base_url=server.url, api_key="k")), probe=no_servers)
        outcome = await ask(real(await pool.get("m", {variable: pem} if variable else {})), "hello")
        await pool.aclose()
    if variable:
        assert outcome.error is None
    else:
        assert outcome.error is not None
        assert "its certificate is not accepted (self-signed certificate)" in outcome.error.message
        assert "SSL_CERT_FILE or NODE_EXTRA_CA_CERTS" in outcome.error.message
        assert outcome.retries == []


async def test_certificates_that_are_not_there_are_an_error_in_a_sentence() -> None:
    pool = ProviderPool(FixedConfig(config(base_url="https://127.0.0.1:9/v1", api_key="k")), probe=no_servers)
    with pytest.raises(
        ConfigError,
        match=r"Provider 'p' cannot be used: in this environment SSL_CERT_FILE names /no/such/file\.pem, which cannot be read",
    ):
        await pool.get("m", {"SSL_CERT_FILE": "/no/such/file.pem"})


# --- models ---------------------------------------------------------------------------------------------------------------------


async def test_the_default_comes_first() -> None:
    written = config(api_key="k")
    models = written.models | {"other": written.models["m"]}
    written = written.model_copy(update={"models": models, "default_model": "other"})
    pool = ProviderPool(FixedConfig(written), probe=no_servers)
    assert [info.key for info in await pool.models({})] == ["other", "m"]


async def test_an_unknown_model_names_the_nearest() -> None:
    pool = ProviderPool(
        FixedConfig(config(api_key="k").model_copy(update={"models": {"kimi": config().models["m"]}})), probe=no_servers
    )
    with pytest.raises(NoModelError, match="Did you mean 'kimi'"):
        await pool.get("kini", {})


async def test_nothing_at_all_says_how_to_begin() -> None:
    pool = ProviderPool(FixedConfig(Config()), probe=no_servers)
    assert await pool.models({}) == ()
    with pytest.raises(NoModelError, match="sould login"):
        await pool.get(None, {})


async def test_a_type_that_cannot_work_is_named_and_the_others_stay() -> None:
    written = Config.model_validate(
        {
            "models": {
                "good": {"provider": "g", "model": "a", "max_context_size": 8000},
                "bad": {"provider": "b", "model": "b", "max_context_size": 8000},
            },
            "providers": {"g": {"type": "anthropic", "api_key": "k"}, "b": {"type": "vertexai"}},
        }
    )
    pool = ProviderPool(FixedConfig(written), probe=no_servers)
    assert [info.key for info in await pool.models({})] == ["good"]
    assert [notice for notice in troubles(written) if "'bad'" in notice and "vertexai" in notice]
    await pool.aclose()


async def test_kimi_cli_s_variables_say_how_its_model_is_asked() -> None:
    environment = {
        "KIMI_API_KEY": "k",
        "KIMI_MODEL_CAPABILITIES": "image_in, video_in,flying",
        "KIMI_MODEL_TEMPERATURE": "0.6",
        "KIMI_MODEL_TOP_P": "much",
        "KIMI_MODEL_MAX_TOKENS": "4096",
    }
    [found] = await discover(environment, no_servers, local=())
    [model] = found.models.values()
    assert model.capabilities == {"image_in", "video_in"}
    assert (model.temperature, model.top_p, model.max_output_tokens) == (0.6, None, 4096)


# --- discovery ------------------------------------------------------------------------------------------------------------------


async def found(environment: Mapping[str, str]) -> tuple[Found, ...]:
    return await discover(environment, no_servers, local=NOWHERE)


async def test_services_are_found_by_their_keys_in_order() -> None:
    names = [item.name for item in await found({"OPENROUTER_API_KEY": "a", "OPENAI_API_KEY": "b", "KIMI_API_KEY": "c"})]
    assert names == ["kimi", "openai", "openrouter"]


async def test_a_base_url_without_a_key_is_not_used() -> None:
    assert await found({"OPENAI_BASE_URL": "http://evil.example/v1"}) == ()


async def test_a_base_url_goes_with_the_key_beside_it() -> None:
    (item,) = await found(
        {
            "KIMI_API_KEY": "k",
            "KIMI_BASE_URL": "https://x.example/v1",
            "KIMI_MODEL_NAME": "big",
            "KIMI_MODEL_MAX_CONTEXT_SIZE": "9000",
        }
    )
    assert item.provider.base_url == "https://x.example/v1"
    assert [(model.model, model.max_context_size) for model in item.models.values()] == [("big", 9000)]


async def test_a_local_server_is_found_and_its_models_listed() -> None:
    async with ModelServer() as server:
        (item,) = await discover({}, probe_server, local=(("ollama", server.url),))
    assert list(item.models) == ["ollama/test-model"]
    assert item.models["ollama/test-model"].max_context_size == 32_768


async def test_a_foreign_address_is_not_probed() -> None:
    assert await probe_server("https://api.example.com/v1", SecretStr("k")) == ()
    assert await probe_server("http://127.0.0.1:9/v1", SecretStr("")) == ()


async def test_a_stored_key_is_enough_and_ignores_the_environments_url() -> None:
    async def keys(provider: str) -> SecretStr | None:
        return SecretStr("stored") if provider == "kimi" else None

    (item,) = await discover({"KIMI_BASE_URL": "http://evil.example"}, no_servers, keys, NOWHERE)
    assert item.provider.base_url == "https://api.moonshot.ai/v1"


# --- what is loaded when --------------------------------------------------------------------------------------------------------

LOADED = """
import asyncio, sys
from sould.agents.base.config import Config
from sould.agents.base.liveconfig import FixedConfig
from sould.agents.llm.pool import ProviderPool
from sould.agents.llm.provider import ChatMessage, ChatRequest, ProviderError
from sould.agents.wire.content import TextPart

def loaded(when):
    print(when, sorted({"httpx2", "openai"} & set(sys.modules)))

async def main():
    pool = ProviderPool(FixedConfig(Config.model_validate({
        "models": {"m": {"provider": "p", "model": "m", "max_context_size": 8000}},
        "providers": {"p": {"type": "openai", "base_url": "https://127.0.0.1:9/v1", "api_key": "k"}},
    })))
    provider = await pool.get("m", {"HTTP_PROXY": "http://127.0.0.1:9"})
    loaded("opened")
    request = ChatRequest("", (ChatMessage("user", (TextPart(text="hi"),)),))
    try:
        async with provider.stream(request):
            pass
    except ProviderError:
        loaded("asked")
    await pool.aclose()

asyncio.run(main())
"""


def test_a_session_opens_without_an_http_library_and_its_first_prompt_needs_one() -> None:
    done = subprocess.run([sys.executable, "-c", LOADED], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["opened []", "asked ['httpx2']"]
