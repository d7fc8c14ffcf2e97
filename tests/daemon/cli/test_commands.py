"""The command line without a daemon: help, usage, configuration, logs, trust."""

import json
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner

from sould.daemon.cli.main import cli
from soultest.cliuser import User
from soultest.terminal import terminal
from soultest.world import SOULD

COMMANDS = [
    "run",
    "acp",
    "lsp",
    "wire",
    "kimi",
    "review",
    "inbox",
    "approve",
    "reject",
    "answer",
    "flow",
    "loop",
    "sessions",
    "debug",
    "worktree",
    "agents",
    "mcp",
    "editor-mcp",
    "status",
    "stop",
    "restart",
    "service",
    "logs",
    "doctor",
    "fsck",
    "setup",
    "config",
    "login",
    "logout",
    "rules",
    "trust",
    "daemon",
]
GROUPS = [
    *(("review", name) for name in ("list", "show", "keep", "reject", "undo")),
    *(("service", name) for name in ("install", "remove", "status")),
    *(("sessions", name) for name in ("list", "show", "timeline", "export", "delete", "rename")),
    ("debug", "wire"),
    *(("worktree", name) for name in ("list", "merge", "restore", "remove", "prune")),
    *(("agents", name) for name in ("list", "explain")),
    *(("mcp", name) for name in ("add", "list", "remove", "test", "auth", "reset-auth")),
    *(("flow", name) for name in ("check", "show")),
    *(("loop", name) for name in ("list", "resume", "stop")),
    *(("config", name) for name in ("check", "path", "edit")),
]


def test_help_lists_every_command(user: User) -> None:
    done = user.sould("--help")
    assert done.returncode == 0
    listed = [line.split()[0] for line in done.stdout.partition("Commands:\n")[2].split("\n\n")[0].splitlines()]
    assert listed == COMMANDS


@pytest.mark.parametrize("command", [(name,) for name in COMMANDS] + GROUPS, ids="-".join)
def test_every_command_explains_itself_with_examples(command: tuple[str, ...]) -> None:
    done = CliRunner().invoke(cli, [*command, "--help"], prog_name="sould")
    assert done.exit_code == 0, done.output
    assert "sould" in done.output
    assert "Example" in done.output or command == ("acp",)
    assert "\b" not in done.output


@pytest.mark.parametrize("command", [("acp",), ("daemon",), ("mcp", "add")], ids="-".join)
def test_the_program_explains_its_faces_and_commands(user: User, command: tuple[str, ...]) -> None:
    done = user.sould(*command, "--help")
    assert done.returncode == 0, done.stderr
    assert f"sould {' '.join(command)}" in done.stdout


def test_version(user: User) -> None:
    assert user.sould("--version").stdout == "sould 0.1.0\n"


def test_a_mistyped_command_names_the_nearest_one(user: User) -> None:
    done = user.sould("statsu")
    assert done.returncode == 2
    assert "Did you mean 'status'?" in done.stderr


def test_status_does_not_start_a_daemon(user: User) -> None:
    done = user.sould("status")
    assert done.returncode == 1
    assert "not running" in done.stdout
    assert json.loads(user.sould("status", "--json").stdout) == {"running": False}
    assert user.sould("stop").returncode == 0
    assert not user.runtime.exists()


RUN = {
    # the least that click needs
    "ast", "click", "contextlib", "copy", "copyreg", "dataclasses", "datetime", "dis", "enum", "functools", "gettext",
    "inspect", "keyword", "linecache", "locale", "math", "opcode", "operator", "platform", "re", "reprlib", "struct",
    "threading", "token", "tokenize", "types", "typing", "uuid", "warnings", "weakref", "collections", "itertools",
    "org",  # what `copy` looks for, in vain
    "annotationlib", "io",  # what Python 3.14 needs for dataclasses
    # ours
    "errno", "fcntl", "importlib", "json", "select", "signal", "time", "unicodedata",
    "sould", "sould.agents", "sould.agents.base", "sould.agents.base.errors", "sould.agents.base.filelock",
    "sould.agents.base.privatefile", "sould.agents.base.rpc", "sould.agents.base.rpc.errors", "sould.agents.base.text",
    "sould.daemon", "sould.daemon.bridge", "sould.daemon.cli",
    "sould.daemon.cli.run.headless", "sould.daemon.cli.output", "sould.daemon.cli.conversation", "sould.daemon.cli.main",
    "sould.daemon.cli.daemon_client", "sould.daemon.cli.run.render", "sould.daemon.cli.run.command",
    "sould.daemon.cli.run.request", "sould.daemon.dial", "sould.daemon.hello", "sould.daemon.launch", "sould.daemon.paths",
}  # fmt: skip
"""Every module that `sould run` may import: no loop, no model of data, nothing of the soul. Each costs some of its time."""


def imported(user: User, *program: str) -> set[str]:
    """The modules that a Python program imported until it ended: all of ours, of others the packages."""
    done = subprocess.run(
        [str(SOULD.with_name("python")), "-X", "importtime", *program],
        env=user.environment,
        cwd=user.project,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
    )
    names = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines() if line.startswith("import time:")}
    return {name if name.startswith("sould") else name.partition(".")[0] for name in names}


def test_a_run_imports_what_it_needs_to_send_a_prompt_and_print_an_answer(user: User) -> None:
    user.scripted("text: hi")
    user.sould("run", "start the daemon")
    bare = imported(user, "-c", "pass")
    new = {name for name in imported(user, str(SOULD), "run", "hi") - bare if not name.startswith("_")}
    assert "sould.daemon.cli.run.headless" in new
    assert new <= RUN, new - RUN


@pytest.mark.parametrize("module", ["service", "sessions", "answering"])
def test_a_short_command_loads_neither_pydantic_nor_asyncio(user: User, module: str) -> None:
    slow = {"openai", "httpx2", "asyncio", "keyring", "orjson", "pydantic"}
    code = f"import sys, sould.daemon.cli.{module}; print(sorted({slow!r} & set(sys.modules)))"
    done = subprocess.run(
        [str(SOULD.with_name("python")), "-c", code], env=user.environment, capture_output=True, text=True
    )
    assert done.stdout == "[]\n", done.stderr


# --- configuration --------------------------------------------------------------------------------------------------------


def test_config_check_names_key_file_line_and_nearest_key(user: User) -> None:
    path = user.configure('default_model = "m"\n\n[loop_control]\nmax_steps_per_trun = 5\n')
    done = user.sould("config", "check")
    assert done.returncode == 1
    for part in (str(path), "line 4", "max_steps_per_trun", "max_steps_per_turn"):
        assert part in done.stderr


def test_config_check_lists_the_models(user: User) -> None:
    user.scripted("text: hi")
    done = user.sould("config", "check")
    assert done.returncode == 0, done.stderr
    assert "* scripted" in done.stdout


TWO_PROVIDERS = """\
default_model = "near"
[models.near]
provider = "near"
model = "n"
max_context_size = 8000
[models.far]
provider = "far"
model = "f"
max_context_size = 8000
[providers.near]
type = "openai"
base_url = "127.0.0.1:8080/v1"
[providers.far]
type = "openai"
base_url = "https://model.invalid/v1"
"""


def test_config_check_names_each_provider_that_cannot_be_reached_from_this_terminal(user: User) -> None:
    user.configure(TWO_PROVIDERS)
    done = user.sould("config", "check", env={"SSL_CERT_FILE": "/nowhere/ca.pem"})
    assert done.returncode == 1
    assert "'near' cannot be used: its base_url '127.0.0.1:8080/v1' must begin with http://" in done.stderr
    assert "'far' cannot be used: in this environment SSL_CERT_FILE names /nowhere/ca.pem" in done.stderr
    assert "is valid" not in done.stdout
    said = json.loads(user.sould("config", "check", "--json").stdout)
    assert said["ok"] is False
    assert len(said["problems"]) == 1


def test_config_check_names_a_key_variable_that_is_not_set(user: User) -> None:
    user.configure(TWO_PROVIDERS.replace("127.0.0.1:8080", "http://127.0.0.1:8080") + 'api_key_env = "ACME_KEY"\n')
    said = "providers.far.api_key_env names ACME_KEY, which is not set in this environment"
    unset = user.sould("config", "check")
    assert (unset.returncode, said in unset.stdout) == (0, True)
    assert said not in user.sould("config", "check", env={"ACME_KEY": "k"}).stdout


def test_config_check_names_the_variable_of_an_address_that_cannot_be_one(user: User) -> None:
    done = user.sould("config", "check", env={"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": "gateway:4000"})
    assert "OPENAI_BASE_URL 'gateway:4000' must begin with http://" in done.stderr


def test_config_path_follows_sould_config(user: User, tmp_path: Path) -> None:
    assert user.sould("config", "path").stdout.strip() == str(user.config / "config.toml")
    other = tmp_path / "kimi.toml"
    assert user.sould("config", "path", env={"SOULD_CONFIG": str(other)}).stdout.strip() == str(other)


def edit(user: User, **env: str) -> tuple[int, str]:
    """`sould config edit` at a terminal: how it ended, and what was seen."""
    user.environment.update(env)
    with terminal(user, "config", "edit") as screen:
        screen.read_to_end(answer="n")
        return screen.wait(), screen.seen


def test_config_edit_begins_with_an_example_that_is_valid(user: User) -> None:
    code, seen = edit(user, VISUAL="cat")
    assert code == 0, seen
    assert "# default_model" in seen
    path = user.config / "config.toml"
    assert path.stat().st_mode & 0o777 == 0o600


def test_the_example_is_valid_when_everything_in_it_is_used(user: User) -> None:
    edit(user, VISUAL="cat")
    lines = (user.config / "config.toml").read_text().splitlines()
    used = [
        line.removeprefix("# ") if line.startswith(("# [", "# ")) and ("=" in line or "[" in line) else line
        for line in lines
    ]
    user.configure(
        "\n".join(line for line in used if not line.startswith("# ") and "said" not in line and "`" not in line[:30])
    )
    done = user.sould("config", "check")
    assert done.returncode == 0, done.stderr


def test_config_edit_reports_what_the_user_broke(user: User, tmp_path: Path) -> None:
    editor = tmp_path / "editor"
    editor.write_text('#!/bin/sh\necho "nonsense" > "$1"\n')
    editor.chmod(0o755)
    code, seen = edit(user, EDITOR=str(editor))
    assert code == 1
    assert "line 1" in seen


def test_config_edit_without_any_editor_says_what_to_do(user: User) -> None:
    code, seen = edit(user, PATH="/nowhere")
    assert code == 1
    assert "set EDITOR" in seen


def test_config_edit_without_a_terminal_starts_no_editor(user: User, tmp_path: Path) -> None:
    done = user.sould("config", "edit", env={"EDITOR": f"touch {tmp_path / 'started'}"})
    assert done.returncode == 1
    assert f"no terminal here for an editor; edit {user.config / 'config.toml'} yourself" in done.stderr
    assert not (tmp_path / "started").exists()
    assert not user.config.exists()


# --- logs, trust --------------------------------------------------------------------------------------------------------------


def test_log_lines_name_the_session_they_are_about(user: User) -> None:
    user.scripted("error: 402 no credit")
    session = user.result("hi")["session_id"]
    failed = [line for line in user.daemon.log().splitlines() if "a turn failed" in line]
    assert len(failed) == 1
    assert f"[{session}]" in failed[0]


def test_logs_shows_the_end_and_nothing_that_drives_a_terminal(user: User) -> None:
    log = Path(user.daemon.paths.log)
    log.parent.mkdir(parents=True)
    log.write_text("one\ntwo \x1b[31mred\nthree\n")
    assert user.sould("logs", "-n", "2").stdout == "two \\x1b[31mred\nthree\n"
    assert user.sould("logs", "--grep", "one").stdout == "one\n"


def test_logs_follows_the_file_also_when_it_is_rotated(user: User) -> None:
    log = Path(user.daemon.paths.log)
    log.parent.mkdir(parents=True)
    log.write_text("old\n")
    tail = subprocess.Popen([str(SOULD), "logs", "-f"], env=user.environment, stdout=subprocess.PIPE, text=True)
    try:
        assert tail.stdout is not None
        assert tail.stdout.readline() == "old\n"
        with log.open("a") as file:
            file.write("new\n")
        assert tail.stdout.readline() == "new\n"
        with log.open("a") as file:
            file.write("last\n")
        log.rename(log.with_name("daemon.log.1"))
        log.write_text("fresh\n")
        assert tail.stdout.readline() == "last\n"
        assert tail.stdout.readline() == "fresh\n"
    finally:
        tail.kill()
        tail.communicate()


def test_no_log_yet_is_said(user: User) -> None:
    done = user.sould("logs")
    assert done.returncode == 1
    assert "no log yet" in done.stderr


def test_a_reader_that_leaves_early_is_no_error(user: User) -> None:
    log = Path(user.daemon.paths.log)
    log.parent.mkdir(parents=True)
    log.write_text("a line\n" * 100_000)
    done = user.sould("logs", "-n", "100000", prefix=("bash", "-o", "pipefail", "-c", '"$@" | head -n 1', "sh"))
    assert (done.returncode, done.stdout, done.stderr) == (141, "a line\n", "")


def test_trust_is_given_shown_and_taken_back(user: User) -> None:
    assert "is not trusted" in user.sould("trust", "--show").stdout
    assert "is trusted" in user.sould("trust").stdout
    assert "is trusted" in user.sould("trust", "--show").stdout
    assert "is not trusted" in user.sould("trust", "--forget").stdout


def test_what_is_about_to_be_trusted_is_shown_and_a_terminal_is_asked(user: User) -> None:
    text = '{"mcpServers": {"x": {"command": "./evil.sh"}}}'
    (user.project / ".mcp.json").write_text(text + "\n")
    (user.project / "evil.sh").write_text("\n".join(f"echo {number}" for number in range(100)))
    with terminal(user, "trust") as screen:
        screen.expect("Trust this?")
        screen.type("n")
        assert screen.wait() == 130
    assert text in screen.seen
    assert "is not trusted" in user.sould("trust", "--show").stdout
    said = user.sould("trust").stdout
    assert text in said
    assert "echo 59" in said
    assert "the rest is not shown: less" in said
    (user.project / "evil.sh").write_text("echo changed\n")
    again = user.sould("trust", "--show").stdout
    assert "echo changed" in again
    assert text not in again


def test_a_whole_home_cannot_be_trusted(user: User) -> None:
    done = user.sould("trust", str(user.home))
    assert done.returncode == 1
    assert "too wide" in done.stderr


def test_trust_asks_about_what_others_can_write(user: User) -> None:
    path = user.project / "AGENTS.md"
    path.write_text("Answer in verse.\n")
    path.chmod(0o666)
    assert "AGENTS.md: there NOT ONLY YOURS, it can be written by everybody" in user.sould("trust", "--show").stdout
    refused = user.sould("trust")
    assert "Nothing was trusted: others than you can write some of these files." in refused.stderr
    assert "is not trusted" in user.sould("trust", "--show").stdout
    assert "is trusted" in user.sould("trust", "--yes").stdout


def test_doctor_says_that_an_unknown_project_s_configuration_is_ignored(user: User) -> None:
    (user.project / ".mcp.json").write_text("{}")
    found = user.finding("trust")
    assert found["level"] == "warn"
    assert "sould trust" in found["fix"]


def test_doctor_says_that_a_trusted_project_s_configuration_changed(user: User) -> None:
    user.sould("trust")
    assert user.finding("trust")["level"] == "ok"
    (user.project / ".mcp.json").write_text("{}")
    assert "1 file of this project's configuration changed" in user.finding("trust")["text"]
