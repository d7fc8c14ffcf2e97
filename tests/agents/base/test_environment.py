"""The environment of commands: the session's, without keys and without what makes programs load code (D14)."""

from pathlib import Path

from sould.agents.base.environment import Environment
from sould.agents.llm.registry import KEY_VARIABLES

SESSION = {"PATH": "/usr/bin:/bin", "HOME": "/people/u", "LANG": "C.UTF-8", "EDITOR": "vi"}


def test_a_session_keeps_its_own_variables() -> None:
    assert Environment(SESSION, provider_keys=()).variables == SESSION


def test_provider_keys_are_taken_out_and_given_back_by_name() -> None:
    session = SESSION | dict.fromkeys(KEY_VARIABLES, "secret") | {"MY_KEY": "secret"}
    assert Environment(session, provider_keys=[*KEY_VARIABLES, "MY_KEY"]).variables == SESSION
    given = Environment(session, provider_keys=[*KEY_VARIABLES, "MY_KEY"], pass_keys=["OPENAI_API_KEY"])
    assert given.variables == SESSION | {"OPENAI_API_KEY": "secret"}


def test_variables_that_make_programs_load_code_are_taken_out() -> None:
    names = """BASH_ENV ENV PROMPT_COMMAND LD_PRELOAD LD_LIBRARY_PATH DYLD_INSERT_LIBRARIES PYTHONPATH PYTHONSTARTUP
        GIT_SSH_COMMAND GIT_DIR NODE_OPTIONS SHELLOPTS BASHOPTS IFS PS4 CDPATH PERL5OPT RUBYOPT RIPGREP_CONFIG_PATH
        BASH_FUNC_ls%% SOULD_TOKEN"""
    assert Environment(SESSION | dict.fromkeys(names.split(), "x"), provider_keys=KEY_VARIABLES).variables == SESSION


def test_what_no_process_can_have_is_left_out() -> None:
    assert Environment(SESSION | {"": "x", "A=B": "x", "C": "x\0y", "D\0": "x"}, provider_keys=()).variables == SESSION


def test_programs_are_found_on_the_sessions_path(tmp_path: Path) -> None:
    program = tmp_path / "tool"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    environment = Environment({"PATH": f"relative::{tmp_path}:/bin"}, provider_keys=())
    assert environment.which("tool") == str(program)
    assert environment.which("no-such-tool") is None
    assert environment.path == (tmp_path, Path("/bin"))
    assert environment.shell.endswith("/bash")


def test_a_session_without_a_path_gets_the_systems() -> None:
    assert Environment({}, provider_keys=()).which("sh") is not None


def test_what_sould_runs_by_itself_is_no_program_of_the_project(tmp_path: Path) -> None:
    for name in ("bash", "git"):
        program = tmp_path / "bin" / name
        program.parent.mkdir(exist_ok=True)
        program.write_text("#!/bin/sh\n")
        program.chmod(0o755)
    (tmp_path / "links").symlink_to(tmp_path / "bin")
    for entry in ("bin", "./bin", "", ".", f"{tmp_path}/bin", f"{tmp_path}/links"):
        environment = Environment({"PATH": f"{entry}:/usr/bin:/bin"}, provider_keys=(), outside=[tmp_path])
        assert environment.shell in ("/usr/bin/bash", "/bin/bash"), entry
