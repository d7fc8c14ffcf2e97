"""What users are told of their model's server: by `sould config check --try`, and of what it refused."""

import asyncio
import json
from collections.abc import Iterator

import pytest

from soultest.bench.mcp import configure as servers
from soultest.bench.mcp import entry
from soultest.cliuser import User
from soultest.families.kinds import DeepSeek, Gemini, OpenAI
from soultest.families.server import Call, Complaint, Family, FamilyServer, Json, Said
from soultest.pictures import png

RED = Said(calls=(Call("report_colour", {"colour": "Red"}),), thoughts="It is red.")


def configure(user: User, server: FamilyServer, *capabilities: str) -> None:
    lines = [
        'default_model = "mine"',
        "[models.mine]",
        'provider = "here"',
        'model = "m"',
        "max_context_size = 32768",
        f"capabilities = {json.dumps(capabilities)}",
        "[providers.here]",
        f'type = "{server.family.type}"',
        f'base_url = "{server.url}"',
        'api_key = "sk-0123456789abcdef"',
    ]
    user.config.mkdir(parents=True, exist_ok=True)
    (user.config / "config.toml").write_text("\n".join(lines))
    (user.config / "config.toml").chmod(0o600)


async def tried(user: User, family: Family, *answers: Said, status: int = 0, model: str = "mine") -> str:
    async with FamilyServer(family) as server:
        configure(user, server, "thinking")
        server.say(*answers)
        done = await asyncio.to_thread(user.sould, "config", "check", "--try", model)
    assert done.returncode == status, done.stderr
    return done.stdout + done.stderr


async def test_all_that_works_is_said_and_what_to_add_for_it(user: User) -> None:
    told = await tried(user, Gemini(), RED, Said("Done."))
    assert "called, and its result was taken" in told
    assert 'seen; add "image_in" to the capabilities of the model' in told


async def test_thoughts_are_told(user: User) -> None:
    class Open(DeepSeek):
        sees = True

    assert "thoughts came" in await tried(user, Open(), RED, Said("Done."))


async def test_a_refused_picture_costs_the_trial_nothing_else(user: User) -> None:
    told = await tried(user, DeepSeek(), RED, Said("Done."))
    assert "called, and its result was taken" in told
    assert "unknown variant `image_url`" in told


async def test_a_model_that_calls_no_tool_fails(user: User) -> None:
    assert "an agent cannot work with it" in await tried(user, OpenAI(), Said("It is red."), status=1)


@pytest.mark.parametrize("model", ["their", "mine2"])
async def test_an_unknown_model_is_named(user: User, model: str) -> None:
    assert f"There is no usable model '{model}'" in await tried(user, OpenAI(), status=1, model=model)


async def test_a_model_that_the_server_does_not_have_names_the_setting_and_what_lists_them(user: User) -> None:
    class NoSuchModel(OpenAI):
        def complaints(self, body: Json) -> Iterator[Complaint]:
            yield Complaint("The model `m` does not exist or you do not have access to it.", status=404)

    told = await tried(user, NoSuchModel(), status=1)
    assert "Correct `models.mine.model` (`sould config edit`); `sould doctor models` names what the server has." in told


def test_a_model_that_cannot_be_asked_is_told_before_servers_have_started(user: User) -> None:
    servers(user.config / "mcp.json", {"slow": entry("hang")})
    user.configure("[mcp.client]\nturn_wait_ms = 600000\n")  # which the run would not outlast
    assert user.result("go")["error"]["kind"] == "no_model"


async def test_https_to_a_plain_server_is_recognised(user: User) -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as plain:
        place = f"127.0.0.1:{plain.sockets[0].getsockname()[1]}"
        async with FamilyServer(OpenAI()) as server:
            configure(user, server)
            path = user.config / "config.toml"
            path.write_text(path.read_text().replace(server.url, f"https://{place}/v1"))
        done = await asyncio.to_thread(user.sould, "config", "check", "--try")
    assert (
        f"Cannot reach {place}: it does not speak https there; the address may have to begin with http://"
        in done.stderr
    )


async def test_a_server_that_answers_nothing_is_told_in_its_words(user: User) -> None:
    told = await tried(user, OpenAI(limit=10), status=1)
    assert "maximum context length" in told


async def test_json_has_the_same(user: User) -> None:
    async with FamilyServer(OpenAI()) as server:
        configure(user, server, "thinking", "image_in")
        server.say(RED, Said("Done."))
        done = await asyncio.to_thread(user.sould, "config", "check", "--json", "--try")
    assert json.loads(done.stdout)["trial"]["picture"] == "seen"


async def test_a_repair_is_told_in_the_session_and_counted_in_the_status(user: User) -> None:
    (user.project / "shot.png").write_bytes(png())
    async with FamilyServer(DeepSeek()) as server:
        configure(user, server, "image_in")
        server.say(Said(calls=(Call("ReadMediaFile", {"path": "shot.png"}),)), Said("I cannot see it."))
        ran = await asyncio.to_thread(user.sould, "run", "--mode", "full", "What is in shot.png?")
        status = await asyncio.to_thread(user.sould, "status")
    assert ran.returncode == 0, ran.stderr
    assert "Pictures were left out" in ran.stdout + ran.stderr
    assert "I cannot see it." in ran.stdout
    assert "repairs of conversations: media 1" in status.stdout
