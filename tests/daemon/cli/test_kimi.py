"""`sould kimi` for people and scripts: what kimi-cli's command line does besides Wire."""

import hashlib
import json
import signal
import subprocess
from pathlib import Path

import pytest

from sould.agents.wire.messages import PROTOCOL_VERSION
from soultest.cliuser import User
from soultest.daemon import until
from soultest.terminal import HEARS_CTRL_C
from soultest.world import SOULD, call

MODEL = """\
default_model = "m"
[providers.p]
type = "_scripted_echo"
base_url = ""
api_key = ""
env = { KIMI_SCRIPTED_ECHO_SCRIPTS = "answers" }
[models.m]
provider = "p"
model = "x"
max_context_size = 100000
"""
"""A configuration as kimi-cli's users write it, whose model says what the file `answers` holds."""


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


def test_a_prompt_goes_by_the_files_of_kimi_cli_and_is_kept_where_it_keeps_sessions(user: User) -> None:
    share = user.home / ".kimi"
    share.mkdir(exist_ok=True)
    user.scripted("text: the user's own")
    (share / "config.toml").write_text(MODEL)
    (share / "answers").write_text("text: of kimi-cli's file\n---\ntext: again")
    (share / "mcp.json").write_text('{"mcpServers": {"broken": {}}}')
    try:
        done = user.sould("kimi", "--quiet", "-p", "hello", "--session", "of-a-script", "--no-thinking")
        assert (done.returncode, done.stdout) == (0, "of kimi-cli's file\n"), done.stderr
        assert done.stderr.endswith("To resume this session: sould-kimi -r of-a-script\n")
        kept = share / "sessions" / hashlib.md5(str(user.project).encode()).hexdigest() / "of-a-script"
        assert b"hello" in (kept / "wire.jsonl").read_bytes()
        [known] = [
            each
            for each in json.loads((share / "kimi.json").read_text())["work_dirs"]
            if each["path"] == str(user.project)
        ]
        assert known["last_session_id"] == "of-a-script"
        again = user.sould("kimi", "--quiet", "-C", "-p", "/mcp")
        assert (again.returncode, "mcpServers.broken" in again.stderr) == (0, True), again.stderr
        assert "of-a-script" in again.stderr
    finally:
        (share / "config.toml").unlink()
        (share / "mcp.json").unlink()


def test_the_configuration_is_what_the_command_line_names(user: User) -> None:
    user.scripted("text: the user's own")
    (user.project / "mine.toml").write_text(MODEL)
    (user.project / "answers").write_text("text: of the file")
    assert user.sould("kimi", "--quiet", "--config-file", "mine.toml", "-p", "go").stdout == "of the file\n"
    (user.project / "answers").write_text("text: of the text")
    assert user.sould("kimi", "--quiet", "--config", MODEL, "-p", "go").stdout == "of the text\n"


def test_messages_and_calls_are_lines_as_kimi_cli_prints_them(user: User) -> None:
    made = user.project / "made"
    write = {"id": "c1", "name": "WriteFile", "arguments": json.dumps({"path": str(made), "content": "new"})}
    user.scripted(f"think: hm\ntext: Lo\ntext: oking.\ntool_call: {json.dumps(write)}", "text: Dönè.")
    done = user.sould("kimi", "--print", "--output-format=stream-json", "-p", "write")
    assert done.returncode == 0, done.stderr
    calling, called, last = map(json.loads, done.stdout.splitlines())
    function = {"name": "WriteFile", "arguments": write["arguments"]}
    assert calling["role"] == "assistant"
    assert calling["content"] == [
        {"type": "think", "think": "hm", "encrypted": None},
        {"type": "text", "text": "Looking."},
    ]
    assert calling["tool_calls"] == [{"type": "function", "id": "c1", "function": function}]
    assert list(called) == ["role", "content", "tool_call_id"]
    assert (called["role"], called["tool_call_id"]) == ("tool", "c1")
    assert called["content"].startswith("<system>")
    assert last == {"role": "assistant", "content": "Dönè."}
    assert done.stdout.endswith('{"role":"assistant","content":"Dönè."}\n'), "in kimi-cli's own spelling"


def test_each_message_of_a_program_is_a_prompt_in_one_session(user: User) -> None:
    user.scripted("text: One.", "text: Two.")
    given = [
        {"role": "user", "content": [{"type": "text", "text": "first"}, {"type": "text", "text": "line"}]},
        {"role": "assistant", "content": "not a prompt"},
        {"role": "user", "content": "second"},
    ]
    stdin = "\n".join(["", *map(json.dumps, given), "no JSON", "[]", ""])
    done = user.sould("kimi", "--print", "--input-format=stream-json", "--output-format=stream-json", stdin=stdin)
    assert [json.loads(line)["content"] for line in done.stdout.splitlines()] == ["One.", "Two."], done.stderr
    assert done.returncode == 0
    assert done.stderr.count("is passed over") == 3
    user.scripted("text: Hi.")
    final = ("kimi", "--print", "--input-format=stream-json", "--output-format=stream-json", "--final-message-only")
    assert user.sould(*final, stdin=json.dumps(given[2])).stdout == '{"role":"assistant","content":"Hi."}\n'


def test_the_end_of_another_programs_turn_is_no_answer(user: User) -> None:
    user.scripted("text: Begun.\nwait: 2\ntext: Ended.")  # each program hears it from its beginning
    line = [SOULD, "kimi", "--print", "--session", "taken-over", "-p", "first"]
    with subprocess.Popen(line, env=user.environment, cwd=user.project, stdout=subprocess.PIPE, text=True) as first:
        assert first.stdout is not None
        while "Begun." not in first.stdout.readline():
            pass
        first.terminate()
    done = user.sould("kimi", "--print", "--output-format=stream-json", "--session=taken-over", "-p", "second")
    assert done.stdout == '{"role":"assistant","content":"Begun.Ended."}\n', done.stderr


def test_who_stays_in_a_session_is_asked_again_when_nobody_was_there_for_a_prompt(user: User) -> None:
    user.scripted("text: One.", call("Shell", "c", command="touch made"), "text: Two.")
    line = [SOULD, "kimi", "--wire", "--session", "shared"]
    with subprocess.Popen(
        line, env=user.environment, cwd=user.project, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdin is not None
        assert other.stdout is not None
        other.stdin.write('{"jsonrpc":"2.0","id":"1","method":"initialize","params":{"protocol_version":"1.10"}}\n')
        other.stdin.flush()
        assert "result" in json.loads(other.stdout.readline())
        assert user.sould("kimi", "--quiet", "--session=shared", "-p", "go").stdout == "One.\n"
        until(lambda: mode_of(user, "shared") == "ask", what="mode ask")
        other.stdin.write('{"jsonrpc":"2.0","id":"2","method":"prompt","params":{"user_input":"go on"}}\n')
        other.stdin.flush()
        while "ApprovalRequest" not in other.stdout.readline():
            pass
        other.stdin.close()


def sessions_of(user: User) -> set[Path]:
    return {*Path(user.environment["HOME"]).glob(".kimi/sessions/*/*")}


def mode_of(user: User, session: str) -> object:
    [directory] = [path for path in sessions_of(user) if path.name == session]
    return json.loads((directory / "state.json").read_text()).get("mode")


def test_with_closed_standard_input_nothing_is_asked_and_nothing_is_left(user: User) -> None:
    user.scripted("text: One.")
    line = ["sh", "-c", f"exec {SOULD} kimi --print <&-"]
    before = sessions_of(user)
    done = subprocess.run(line, env=user.environment, cwd=user.project, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert sessions_of(user) == before


def test_a_program_is_answered_before_it_asks_again(user: User) -> None:
    user.scripted("text: One.", "text: Two.")
    line = [SOULD, "kimi", "--print", "--input-format", "stream-json", "--output-format", "stream-json"]
    with subprocess.Popen(
        line, env=user.environment, cwd=user.project, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for answer in ("One.", "Two."):
            process.stdin.write('{"role":"user","content":"go"}\n')
            process.stdin.flush()
            assert json.loads(process.stdout.readline()) == {"role": "assistant", "content": answer}
        process.stdin.close()
        assert process.wait() == 0


def test_text_shows_the_prompt_and_each_event(user: User) -> None:
    user.scripted("text: Hi.")
    lines = user.sould("kimi", "--print", stdin="hello\n").stdout.splitlines()
    assert lines[:3] == ["hello", "TurnBegin(user_input='hello')", "StepBegin(n=1)"]
    assert "TextPart(type='text', text='Hi.')" in lines
    assert lines[-1] == "TurnEnd()"


def test_ctrl_c_cancels_the_turn(user: User) -> None:
    user.scripted("text: Working.\n" + call("Shell", "1", command="sleep 600"), "text: Never.")
    line = [*HEARS_CTRL_C, str(SOULD), "kimi", "--print", "-p", "go"]
    with subprocess.Popen(
        line, env=user.environment, cwd=user.project, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        for said in process.stdout:
            if said.startswith("ToolCall("):
                break
        process.send_signal(signal.SIGINT)
        assert process.wait() == 1


def test_nothing_to_ask_is_no_failure(user: User) -> None:
    done = user.sould("kimi", "--print", stdin=" \n")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


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
        (("--print", "--config-file", "x", "--config", "y", "-p", "go"), "cannot be combined"),
        (("--print", "--mcp-config-file", "none.json", "-p", "go"), "none.json"),
        (("--quiet", "--output-format", "stream-json", "-p", "go"), "--quiet"),
        (("--final-message-only", "-p", "go"), "need --print"),
        (("--print", "-p", " "), "empty"),
    ],
)
def test_what_there_is_not_is_said_in_a_sentence(user: User, given: tuple[str, ...], said: str) -> None:
    done = user.sould("kimi", *given)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr


def test_commands_of_kimi_cli_are_ours(user: User) -> None:
    assert "no MCP servers" in user.sould("kimi", "mcp", "list").stdout
    assert "gone" in user.sould("kimi", "mcp", "test", "gone").stderr
