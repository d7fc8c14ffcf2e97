"""A kimi-cli configuration is accepted as it stands: every key it may hold is used, or is said not to be (D22)."""

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import pytest
from pydantic import BaseModel

from sould.agents.base.config import NOT_USED, Config
from soultest.cliuser import User
from soultest.daemon import Sould

ROOT = Path(__file__).parents[3]

KIMI = """\
default_model = "kimi-code/kimi-for-coding"
default_thinking = true
default_yolo = false
skip_afk_prompt_injection = false
default_plan_mode = false
default_editor = "vim"
theme = "dark"
show_thinking_stream = true
merge_all_available_skills = true
extra_skill_dirs = []
telemetry = true

[models."kimi-code/kimi-for-coding"]
provider = "managed:kimi-code"
model = "kimi-for-coding"
max_context_size = 262144
capabilities = ["image_in", "video_in", "thinking", "always_thinking"]
display_name = "Kimi for Coding"

[providers."managed:kimi-code"]
type = "kimi"
base_url = "https://api.kimi.com/coding/v1"
api_key = ""
reasoning_key = "reasoning_content"
[providers."managed:kimi-code".env]
KIMI_MODEL_TEMPERATURE = "0.6"
[providers."managed:kimi-code".custom_headers]
X-Team = "a"
[providers."managed:kimi-code".oauth]
storage = "file"
key = "oauth/kimi-code"

[loop_control]
max_steps_per_run = 100
max_retries_per_step = 3
max_ralph_iterations = 0
reserved_context_size = 50000
compaction_trigger_ratio = 0.85

[background]
max_running_tasks = 4
read_max_bytes = 30000
notification_tail_lines = 20
notification_tail_chars = 3000
wait_poll_interval_ms = 500
worker_heartbeat_interval_ms = 5000
worker_stale_after_ms = 15000
kill_grace_period_ms = 2000
keep_alive_on_exit = false
agent_task_timeout_s = 900
print_wait_ceiling_s = 3600

[notifications]
claim_stale_after_ms = 15000

[services.moonshot_search]
base_url = "https://api.kimi.com/coding/v1/search"
api_key = ""
[services.moonshot_search.custom_headers]
X-Team = "a"
[services.moonshot_search.oauth]
storage = "file"
key = "oauth/kimi-code"

[services.moonshot_fetch]
base_url = "https://api.kimi.com/coding/v1/fetch"
api_key = ""
oauth = { storage = "file", key = "oauth/kimi-code" }

[mcp.client]
tool_call_timeout_ms = 60000

[[hooks]]
event = "PreToolUse"
command = "true"
matcher = "Shell"
timeout = 30
"""
"""Every key of kimi-cli 1.52, once."""
TYPES = (
    *("kimi", "openai_legacy", "openai_responses", "anthropic", "google_genai", "gemini", "vertexai"),
    *("_echo", "_scripted_echo", "_chaos"),
)


def test_every_key_of_kimi_cli_is_accepted_and_those_without_effect_are_named(sould: Sould) -> None:
    user = User(sould)
    user.configure(KIMI)
    done = user.sould("config", "check")
    assert done.returncode == 0, done.stderr
    [note] = [line for line in done.stdout.splitlines() if "accepted but not used" in line]
    named = set(note.partition("not used: ")[2].rstrip(".").split(", "))
    assert named == NOT_USED


def test_every_provider_type_of_kimi_cli_is_accepted(sould: Sould) -> None:
    user = User(sould)
    user.configure("".join(f'[providers."{kind}"]\ntype = "{kind}"\nbase_url = ""\napi_key = ""\n' for kind in TYPES))
    done = user.sould("config", "check")
    assert done.returncode == 0, done.stderr


@pytest.mark.long
def test_every_key_is_read_by_something_of_ours_or_is_said_not_to_be() -> None:
    read = set(_names())
    assert [path for path, name in _keys(Config) if path not in NOT_USED and name not in read] == []


def _names() -> Iterator[str]:
    """What our code reads: attributes, and keyword-like strings."""
    for root in ("agents", "acp", "daemon", "editors"):
        for path in (ROOT / root).rglob("*.py"):
            if path.parts[-2:] != ("agents", "config.py"):
                for node in ast.walk(ast.parse(path.read_text())):
                    if isinstance(node, ast.Attribute):
                        yield node.attr
                    elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                        yield node.value


def _keys(model: type[BaseModel], before: str = "") -> Iterator[tuple[str, str]]:
    for name, field in model.model_fields.items():
        path = f"{before}{name}"
        yield path, name
        if path not in NOT_USED:
            for inner in _models(field.annotation):
                yield from _keys(inner, f"{path}.")


def _models(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for argument in get_args(annotation):
        yield from _models(argument)
