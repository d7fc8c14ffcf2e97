"""`sould agents`, and `--agent` of `sould run`, as a user runs them."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from soultest.world import SOULD, World


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path)
    agents = tmp_path / "config" / "sould" / "agents"
    agents.mkdir(parents=True)
    (agents / "mine.md").write_text("You are mine.")
    (agents / "mine.yaml").write_text(
        "version: 1\nagent:\n  extend: default\n  when_to_use: For tests.\n  system_prompt_path: mine.md\n"
        "  tools:\n    - sould.agents.tools.grep:Grep\n"
        "    - {tool: 'sould.agents.tools.shell:Shell', when: {env: NO_SUCH_VARIABLE}}\n"
    )
    (agents / "broken.yaml").write_text("version: 3\n")
    yield made
    made.close()


def sould(world: World, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [SOULD, *arguments], cwd=world.project, env=world.environment, capture_output=True, text=True, timeout=60
    )


def test_list_shows_every_agent_and_what_is_wrong_with_a_broken_one(world: World) -> None:
    done = sould(world, "agents", "list")
    lines = {line.split()[0]: line for line in done.stdout.splitlines()}
    assert "builtin" in lines["default"]
    assert "user" in lines["mine"]
    assert "version: must be 1" in lines["broken"]


def test_explain_says_why_a_tool_is_missing(world: World) -> None:
    done = sould(world, "agents", "explain", "mine")
    assert "mine: For tests." in done.stdout
    assert "Shell -- not offered: the environment lacks NO_SUCH_VARIABLE" in done.stdout
    failed = sould(world, "agents", "explain", "nobody")
    assert failed.returncode == 1
    assert "there are" in failed.stderr


def test_run_works_with_the_agent_it_is_told(world: World) -> None:
    world.script(["text: hello", "text: again"])
    assert sould(world, "run", "--agent", "mine", "hi").stdout.strip() == "hello"
    refused = sould(world, "run", "--agent", "nobody", "hi")
    assert refused.returncode != 0
    assert "no agent 'nobody'" in refused.stderr
