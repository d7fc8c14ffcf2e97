"""`sould kimi --wire`: programs written for kimi-cli, by what they start it with."""

from pathlib import Path

import pytest

from sould.agents.base.config import Config
from sould.agents.base.errors import OptionError
from sould.agents.llm.kimi_variables import with_kimi_variables
from sould.agents.sessions.settings.projectmemory import ProjectMemory
from sould.daemon.wire.kimi import read_kimi_arguments
from soultest.bench import Bench, call
from soultest.wireprogram import NEW, WireProgram, wire_connected

HOME = {"HOME": "/u"}


def test_options_of_kimi_cli_are_understood_under_all_their_names() -> None:
    given = ("--wire", "--work-dir", "sub", "-r", "one", "--auto-approve", "--plan", "--agent-file", "mine.yaml")
    said = read_kimi_arguments(given, "/here", HOME)
    assert (said.directory, said.session, said.agent) == (Path("/here/sub"), "one", "/here/mine.yaml")
    assert said.modes == ("full", "plan"), "where the plan ends, full access begins"
    assert read_kimi_arguments(("--wire", "--afk", "--yes"), "/here", HOME).modes == ("afk",)


def test_the_directory_of_kimi_cli_is_the_programs() -> None:
    assert read_kimi_arguments(("--wire",), "/here", HOME).share == Path("/u/.kimi")
    assert read_kimi_arguments(("--wire",), "/here", HOME | {"KIMI_SHARE_DIR": "its"}).share == Path("/here/its")


async def test_a_relative_directory_of_kimi_cli_is_seen_from_the_project(bench: Bench) -> None:
    share = bench.project / "its"
    share.mkdir()
    (share / "mcp.json").write_text('{"mcpServers": {"broken": {}}}')
    bench.script("text: hi")
    async with bench.running(), wire_connected(bench, "kimi", "--wire", env={"KIMI_SHARE_DIR": "its"}) as program:
        await program.result("initialize", **NEW)
        await program.result("prompt", user_input="/mcp")
    assert "mcpServers.broken" in str(program.lines)


@pytest.mark.parametrize(
    ("given", "named"),
    [
        (("--nonsense",), "--nonsense"),
        (("--session", "x", "--continue"), "--continue"),
        (("--agent", "okabe", "--agent-file", "x.yaml"), "--agent-file"),
        (("--config", "x", "--config-file", "y"), "--config-file"),
        (("--mcp-config-file", "none.json"), "none.json"),
        (("--max-steps-per-turn", "0"), "max-steps-per-turn"),
    ],
)
def test_a_wrong_command_line_is_named(given: tuple[str, ...], named: str) -> None:
    with pytest.raises(OptionError, match=named):
        read_kimi_arguments(given, "/here", HOME)


def scripted(scripts: str, *models: str) -> str:
    """A configuration as kimi-cli's users write it, whose model says what the file `scripts` holds."""
    env = f'env = {{ KIMI_SCRIPTED_ECHO_SCRIPTS = "{scripts}" }}'
    provider = f'[providers.p]\ntype = "_scripted_echo"\nbase_url = ""\napi_key = ""\n{env}\n'
    tables = "".join(f'[models.{name}]\nprovider = "p"\nmodel = "x"\nmax_context_size = 100000\n' for name in models)
    return f'default_model = "{models[0]}"\n{provider}{tables}'


async def said_by(program: WireProgram) -> str:
    """What the model answers."""
    before = len(program.events("ContentPart"))
    await program.result("prompt", user_input="go")
    return "".join(part["text"] for part in program.events("ContentPart")[before:] if part["type"] == "text")


async def test_a_session_has_the_configuration_that_its_program_names(bench: Bench) -> None:
    bench.script("text: the user's")
    (bench.project / "scripts.txt").write_text("text: of the text\n---\ntext: again")
    (bench.root / "mine.toml").write_text(scripted("mine.txt", "m"))
    (bench.root / "mine.txt").write_text("text: of the file")
    async with bench.running():
        async with wire_connected(bench, "kimi", "--wire", "--config-file", "../mine.toml") as program:
            assert await said_by(program) == "of the file"
        async with wire_connected(bench, "kimi", "--wire", "--config", scripted("scripts.txt", "m")) as program:
            assert await said_by(program) == "of the text"
            assert await said_by(program) == "again"
        async with wire_connected(bench, "kimi", "--wire") as program:
            assert await said_by(program) == "the user's"
        share = bench.root / "share"
        share.mkdir()
        (share / "config.toml").write_text(scripted("../mine.txt", "m"))
        async with wire_connected(bench, "kimi", "--wire", env={"KIMI_SHARE_DIR": str(share)}) as program:
            assert await said_by(program) == "of the file"


async def test_a_configuration_that_changes_is_read_again_and_a_live_session_keeps_its_own(bench: Bench) -> None:
    bench.script("text: the user's")
    file = bench.root / "mine.toml"
    file.write_text(scripted("one.txt", "m"))
    (bench.root / "one.txt").write_text("text: one")
    (bench.root / "two.txt").write_text("text: two\n---\ntext: three")
    async with bench.running(), wire_connected(bench, "kimi", "--wire", "--config-file", str(file)) as program:
        session = (await program.result("initialize", **NEW))["sould"]["session_id"]
        assert await said_by(program) == "one"
        file.write_text(scripted("two.txt", "m") + "# another size\n")
        assert await said_by(program) == "two"
        async with wire_connected(bench, "--session", session) as other:
            assert await said_by(other) == "three"


async def test_a_mistake_in_the_configuration_is_named_with_its_line_and_never_repeated(bench: Bench) -> None:
    async with bench.running():
        wrong = scripted("s.txt", "m") + 'secrt = "hush"\n'
        async with wire_connected(bench, "kimi", "--wire", "--config", wrong) as program:
            said = (await program.error("initialize", **NEW))["message"]
        assert "--config, line 11" in said
        assert "secrt" in said
        assert "hush" not in said
        async with wire_connected(bench, "kimi", "--wire", "--config-file", "nowhere.toml") as program:
            assert "nowhere.toml does not exist" in (await program.error("initialize", **NEW))["message"]


async def test_limits_of_the_command_line_hold_for_its_session(bench: Bench) -> None:
    bench.script(*[call("SetTodoList")] * 3, "text: done")
    async with bench.running(), wire_connected(bench, "kimi", "--wire", "--max-steps-per-turn", "2") as program:
        await program.result("initialize", **NEW)
        assert await program.result("prompt", user_input="go") == {"status": "max_steps_reached", "steps": 2}


async def test_a_program_is_asked_whatever_the_session_allowed_before(bench: Bench) -> None:
    bench.script(call("Shell", command="touch one"), "text: done", call("Shell", command="touch two"), "text: done")
    async with bench.running(), wire_connected(bench, "kimi", "--wire", "--yolo") as program:
        said = await program.result("initialize", **NEW)
        assert said["server"]["name"] == "sould-kimi"
        await program.result("prompt", user_input="go")
        async with wire_connected(bench, "kimi", "--wire", "--session", said["sould"]["session_id"]) as other:
            await other.result("initialize", **NEW)
            asked = other.ask("prompt", user_input="go")
            request = await other.until("ApprovalRequest")
            other.send({"id": request["id"], "result": {"request_id": request["id"], "response": "reject"}})
            await other.answer(asked)
    assert (bench.project / "one").exists()
    assert not (bench.project / "two").exists()


def mode_of(bench: Bench, session: str) -> str | bool:
    options = bench.port.sessions[session].options.all()
    return next(option.value for option in options if option.id == "mode")


async def test_its_mode_is_that_of_its_configuration_and_not_of_the_projects_editors(bench: Bench) -> None:
    ProjectMemory(bench.state / "projects.json").remember_mode(bench.project, "plan")
    async with bench.running():
        for more, mode in (((), "ask"), (("--config", "default_yolo = true"), "full")):
            async with wire_connected(bench, "kimi", "--wire", *more) as program:
                session = (await program.result("initialize", **NEW))["sould"]["session_id"]
                assert mode_of(bench, session) == mode


async def test_a_plan_of_one_program_is_not_the_projects_mode(bench: Bench) -> None:
    async with bench.running(), wire_connected(bench, "kimi", "--wire", "--yolo", "--plan") as program:
        session = (await program.result("initialize", **NEW))["sould"]["session_id"]
        assert mode_of(bench, session) == "plan"
    assert ProjectMemory(bench.state / "projects.json").mode(bench.project) is None


async def test_mcp_servers_of_the_command_line_are_the_sessions(bench: Bench) -> None:
    bench.script("text: hi")
    text = '{"mcpServers": {"broken": {}}}'
    async with bench.running(), wire_connected(bench, "kimi", "--wire", "--mcp-config", text) as program:
        await program.result("initialize", **NEW)
        await program.result("prompt", user_input="/mcp")
    assert "--mcp-config: mcpServers.broken" in str(program.lines)


def test_variables_of_kimi_cli_win_over_a_configured_provider() -> None:
    config = Config.model_validate(
        {
            "providers": {"k": {"type": "kimi", "base_url": "https://a.test", "api_key": "written"}},
            "models": {"m": {"provider": "k", "model": "x", "max_context_size": 1000}},
        }
    )
    given = {"KIMI_API_KEY": "given", "KIMI_BASE_URL": "https://b.test", "KIMI_MODEL_NAME": "y"}
    found = with_kimi_variables(config, given | {"KIMI_MODEL_MAX_CONTEXT_SIZE": "2000"})
    assert found.providers["k"].api_key.get_secret_value() == "given"
    assert found.providers["k"].base_url == "https://b.test"
    assert (found.models["m"].model, found.models["m"].max_context_size) == ("y", 2000)
    alone = with_kimi_variables(config, {"KIMI_BASE_URL": "https://b.test"})
    assert alone.providers["k"].base_url == "https://a.test", "an address goes with a key from the same environment"
