"""`sould kimi` for people and scripts: what kimi-cli's command line does besides Wire."""

import json
import subprocess

import pytest

from sould.agents.wire.messages import PROTOCOL_VERSION
from soultest.cliuser import User
from soultest.world import SOULD


@pytest.fixture
def user(next_user: User) -> User:
    return next_user


def test_programs_are_told_the_versions_and_nothing_else(user: User) -> None:
    line = [SOULD.with_name("sould-kimi"), "info", "--json"]
    done = subprocess.run(line, env=user.environment, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    info = json.loads(done.stdout)
    assert info.keys() == {"kimi_cli_version", "agent_spec_versions", "wire_protocol_version", "python_version"}
    assert tuple(map(int, info["kimi_cli_version"].split("."))) >= (0, 82), "editors ask for so much"
    assert (info["agent_spec_versions"], info["wire_protocol_version"]) == (["1"], PROTOCOL_VERSION)
    assert f"wire protocol: {PROTOCOL_VERSION}" in user.sould("kimi", "info").stdout
    assert user.sould("kimi", "--version").stdout.startswith("sould-kimi ")


def test_one_prompt_is_run_without_questions(user: User) -> None:
    made = user.project / "made"
    write = {"id": "1", "name": "WriteFile", "arguments": json.dumps({"path": str(made), "content": "new"})}
    user.scripted(f"text: Looking.\ntool_call: {json.dumps(write)}", "text: Done.")
    done = user.sould("kimi", "--print", "--prompt", "write", "--final-message-only")
    assert (done.returncode, done.stdout) == (0, "Done.\n"), done.stderr
    assert made.read_text() == "new"


def test_a_prompt_alone_asks_first(user: User) -> None:
    made = user.project / "made"
    write = {"id": "1", "name": "WriteFile", "arguments": json.dumps({"path": str(made), "content": "new"})}
    user.scripted(f"tool_call: {json.dumps(write)}", "text: Done.")
    done = user.sould("kimi", "--prompt", "write")
    assert done.returncode == 1, "nobody could be asked"
    assert not made.exists()


def test_a_message_of_a_program_is_a_prompt_and_events_are_lines(user: User) -> None:
    user.scripted("text: Hi.")
    given = '{"role":"user","content":[{"type":"text","text":"hello"}]}\n'
    done = user.sould("kimi", "--print", "--input-format=stream-json", "--output-format=stream-json", stdin=given)
    assert json.loads(done.stdout.splitlines()[-1])["text"] == "Hi."
    twice = user.sould("kimi", "--print", "--input-format=stream-json", stdin=given * 2)
    assert (twice.returncode, "takes one message, not 2" in twice.stderr) == (2, True)


def test_exit_codes_are_those_of_kimi_cli(user: User) -> None:
    user.scripted("error: 400 no", "error: 400 no")
    assert user.sould("kimi", "--quiet", "-p", "go").returncode == 1
    user.scripted(*["error: 429 later"] * 10)
    assert user.sould("kimi", "--quiet", "-p", "go").returncode == 75


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ((), "--wire"),
        (("web",), "no `web`"),
        (("--print", "--config-file", "x", "-p", "go"), "--config-file needs --wire"),
    ],
)
def test_what_there_is_not_is_said_in_a_sentence(user: User, given: tuple[str, ...], said: str) -> None:
    done = user.sould("kimi", *given)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr


def test_commands_of_kimi_cli_are_ours(user: User) -> None:
    assert "no MCP servers" in user.sould("kimi", "mcp", "list").stdout
    assert "gone" in user.sould("kimi", "mcp", "test", "gone").stderr
