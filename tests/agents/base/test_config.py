"""The configuration model: its defaults are the table of D7, and it knows every key of a kimi-cli file."""

import subprocess
import sys

import pytest

from sould.agents.base.config import NOT_USED, Config

D7 = {
    "loop_control.max_steps_per_turn": 1000,
    "loop_control.max_retries_per_step": 3,
    "loop_control.retry_first_wait_s": 0.3,
    "loop_control.retry_max_wait_s": 8,
    "loop_control.retry_jitter_s": 0.5,
    "loop_control.retry_total_s": 45,
    "loop_control.retry_after_max_s": 60,
    "loop_control.repeat_remind": (3, 5),
    "loop_control.repeat_ask": 8,
    "loop_control.repeat_stop": 12,
    "loop_control.parallel_tools": 16,
    "tools.shell_timeout_s": 60,
    "tools.shell_max_timeout_s": 300,
    "tools.shell_max_background_s": 86_400,
    "tools.output_chars": 50_000,
    "tools.line_chars": 2_000,
    "mcp.client.tool_call_timeout_ms": 60_000,
    "mcp.client.output_chars": 100_000,
    "flows.max_moves": 1000,
    "flows.choice_reprompts": 3,
    "subagents.max_depth": 2,
    "background.max_running_tasks": 4,
    "background.agent_task_timeout_s": 900,
    "background.kill_grace_period_ms": 2_000,
    "daemon.idle_exit_s": 30 * 60,
}


def value_of(config: Config, key: str) -> object:
    here: object = config
    for part in key.split("."):
        here = getattr(here, part)
    return here


@pytest.mark.parametrize(("key", "default"), D7.items())
def test_a_default_is_the_one_of_the_table(key: str, default: object) -> None:
    assert value_of(Config(), key) == default


def test_stream_timeouts_are_those_of_the_fault_catalogue() -> None:
    timeouts = Config().timeouts
    assert (timeouts.connect_s, timeouts.first_byte_s, timeouts.progress_s) == (10, 60, 90)


@pytest.mark.parametrize("key", sorted(NOT_USED))
def test_a_key_listed_as_not_used_exists(key: str) -> None:
    value_of(Config(), key)  # an unknown one is an error


def test_secrets_are_not_in_the_representation() -> None:
    config = Config.model_validate(
        {"providers": {"p": {"type": "kimi", "api_key": "sk-canary-1", "env": {"A": "sk-canary-2"}}}}
    )
    assert "canary" not in repr(config)
    assert "canary" not in str(config)


def test_importing_the_model_loads_no_heavy_library() -> None:
    program = (
        "import sys, sould.agents.base.config, sould.daemon.configuration.configuration;"
        "print([m for m in ('openai', 'httpx2', 'keyring', 'yaml', 'sqlite3', 'anyio') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
