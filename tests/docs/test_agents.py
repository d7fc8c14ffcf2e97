"""docs/agents.md, tools.md and subagents.md followed as written, and what must have come of it."""

import json
from pathlib import Path

from soultest.daemon import Sould
from soultest.docs import follow
from soultest.world import call

DOCS = Path(__file__).parents[2] / "docs"


def test_the_page_about_agents(sould: Sould) -> None:
    shown = follow(DOCS / "agents.md", sould).shown
    for said in ("okabe", "sould.agents.tools.shell:Shell", "Hello to you.", "is not trusted", "is trusted"):
        assert said in shown


def test_the_page_about_tools_whose_project_must_be_trusted_first(sould: Sould) -> None:
    shown = follow(DOCS / "tools.md", sould).shown
    assert "count.py:count_words" in shown
    (journal,) = Path(sould.paths.state).glob("sessions/*/wire.jsonl")
    told = journal.read_text()
    assert '"output":"3 words"' in told
    assert '"output":"project is on staging"' in told
    assert "README.md" in told[told.index('"name":"Grep"') :]


def test_the_page_about_subagents(sould: Sould) -> None:
    """One example for each way: leader and workers, in parallel, pipeline, hierarchy (D32)."""
    follow(DOCS / "subagents.md", sould)
    assert (sould.workspace / "test_parser.py").exists()
    kinds = [json.loads(path.read_text())["lineage"] for path in Path(sould.paths.state).glob("**/agent_*/agent.json")]
    assert sorted(kinds) == [
        ["coder"],
        ["explore"],
        ["explore"],
        ["explore"],
        ["foreman"],
        ["foreman", "coder"],
        ["plan"],
    ]


KIMI = """\
version: 1
agent:
  name: "kimi"
  system_prompt_path: ./system.md
  system_prompt_args:
    ROLE_ADDITIONAL: ""
  tools:
    - "kimi_cli.tools.multiagent:Task"
    - "kimi_cli.tools.file:ReadFile"
    - "kimi_cli.tools.bash:CMD"
  subagents:
    coder:
      path: ./sub.yaml
      description: "Good at general software engineering tasks."
"""
KIMI_SUB = """\
version: 1
agent:
  extend: ./agent.yaml
  system_prompt_args:
    ROLE_ADDITIONAL: |
      You are now running as a subagent.
  exclude_tools:
    - "kimi_cli.tools.multiagent:Task"
  subagents:
"""


def test_agent_files_written_for_kimi_cli_run_as_they_stand(sould: Sould) -> None:
    """D15, and the words of docs/agents.md about them."""
    world = sould.world
    folder = world.root / "kimi"
    folder.mkdir()
    (folder / "agent.yaml").write_text(KIMI)
    (folder / "sub.yaml").write_text(KIMI_SUB)
    (folder / "system.md").write_text("${ROLE_ADDITIONAL} You are on ${KIMI_OS} in ${KIMI_WORK_DIR}.")
    (world.project / "a.txt").write_text("hello\n")
    world.script(
        [
            call("Task", "1", description="Look", subagent_name="coder", prompt="read a.txt"),
            call("ReadFile", "2", path="a.txt"),
            "text: It says hello.",
            "text: Read.",
        ]
    )
    explained = sould.cli("agents", "explain", f"{folder}/agent.yaml").stdout
    assert "CMD -- not offered: this version does not have it" in explained
    assert sould.cli("run", "--agent", f"{folder}/agent.yaml", "go").stdout == "Read.\n"
    (journal,) = (world.root / "state").glob("**/sessions/*/subagents/*/wire.jsonl")
    assert "You are now running as a subagent.\\n You are on Linux" in journal.read_text()
