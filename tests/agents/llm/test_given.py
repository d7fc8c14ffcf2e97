"""A model server that a client gives: what it leaves of the user's configuration, and what is never said of it."""

import pytest
from pydantic import SecretStr

from sould.agents.base.config import Config
from sould.agents.base.errors import ConfigError
from sould.agents.llm.given import GivenServer, ask, with_given
from sould.agents.llm.openai import OpenAIClient
from sould.agents.llm.pool import key_variables
from sould.agents.llm.server import ProviderSettings, ServedModel
from soultest.llm import ModelServer

URL = "http://127.0.0.1:9/v1"
CONFIG = Config.model_validate(
    {
        "default_model": "mine",
        "models": {"mine": {"provider": "p", "model": "two", "max_context_size": 8000}},
        "providers": {"p": {"type": "openai", "api_key_env": "MY_KEY"}},
    }
)


def given(*models: str) -> GivenServer:
    return GivenServer(URL, {}, URL, tuple(map(ServedModel, models)))


@pytest.mark.parametrize(
    ("models", "default"),
    [(("one", "two"), "acp-client/two"), (("one", "three"), "acp-client/one"), (("embed-1", "one"), "acp-client/one")],
    ids=["the user's default model is the default there", "else the first", "which can answer"],
)
def test_only_its_models_are_offered(models: tuple[str, ...], default: str) -> None:
    config = with_given(CONFIG, given(*models))
    assert config.default_model == default
    assert {model.provider for model in config.models.values()} == {"acp-client"}


def test_the_users_keys_stay_out_of_commands() -> None:
    assert "MY_KEY" in key_variables(with_given(CONFIG, given("one")))


async def test_it_says_how_much_its_models_read() -> None:
    async with ModelServer() as server:
        found = await ask(server.url, {"X-Key": SecretStr("k")}, {})
    assert found.models == (ServedModel("test-model", 32768),)
    assert server.looks[0]["x-key"] == "k"


async def test_one_that_does_not_answer_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"http://127\.0\.0\.1:9/v1 cannot be reached"):
        await ask(URL, {}, {})


def test_a_key_is_hidden_without_its_scheme_too() -> None:
    headers = {"Authorization": SecretStr("Bearer canary-0123"), "X-Client": SecretStr("an editor")}
    redact = OpenAIClient(ProviderSettings(URL, headers=headers)).server.redact
    assert redact.line("no key canary-0123 of your editor") == "no key *** of your editor"
