"""`sould agents`, and `--agent` of `sould run`, as a user runs them."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from sould.agents.toolapi.decorator import SERVICES
from soultest.world import World


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
    (agents / "round.yaml").write_text("version: 1\nagent: {extend: about.yaml}\n")
    (agents / "about.yaml").write_text("version: 1\nagent:\n  extend: round.yaml\n")
    (agents / "lost.yaml").write_text("version: 1\nagent:\n  extend: default\n  system_prompt_path: gone.md\n")
    yield made
    made.close()


def test_list_shows_every_agent_and_what_is_wrong_with_a_broken_one(world: World) -> None:
    done = world.sould("agents", "list")
    lines = {line.split()[0]: line for line in done.stdout.splitlines()}
    assert "builtin" in lines["default"]
    assert "user" in lines["mine"]
    folder = world.root / "config" / "sould" / "agents"
    assert f"{folder}/broken.yaml:1: version: must be 1" in lines["broken"]
    assert f"{folder}/about.yaml:3: extend: the agents extend each other in a cycle" in lines["round"]
    assert f"{folder}/lost.yaml:4: system_prompt_path: there is no file {folder}/gone.md" in lines["lost"]


def test_explain_says_why_a_tool_is_missing(world: World) -> None:
    done = world.sould("agents", "explain", "mine")
    assert "mine: For tests." in done.stdout
    assert "Shell -- not offered: the environment lacks NO_SUCH_VARIABLE" in done.stdout
    failed = world.sould("agents", "explain", "nobody")
    assert failed.returncode == 1
    assert "there are" in failed.stderr


def test_explain_says_which_tools_are_one_and_which_have_one_name(world: World) -> None:
    path = world.root / "config" / "sould" / "agents" / "twice.yaml"
    path.with_name("own.py").write_text(
        "from sould.agents.tools import tool\n\n@tool(name='Grep')\ndef own() -> str: ...\n"
    )
    tools = ["sould.agents.tools.grep:Grep", "kimi_cli.tools.file:Grep", "./own.py:own"]
    path.write_text("version: 1\nagent:\n  extend: default\n  tools:\n" + "".join(f"    - {tool}\n" for tool in tools))
    shown = world.sould("agents", "explain", "twice").stdout
    assert "kimi_cli.tools.file:Grep -- not offered: it is listed earlier, by this or another of its names" in shown
    assert "own.py:own -- cannot be used: two tools are called Grep: sould.agents.tools.grep:Grep and" in shown


def test_explain_says_what_of_servers_models_and_subagents_an_agent_really_has(world: World) -> None:
    path = world.root / "config" / "sould" / "agents" / "mine.yaml"
    shown = world.sould("agents", "explain", "mine").stdout
    assert "MCP tools: all of the session\n" in shown
    assert "subagents: none, because it does not have the tool Agent (" in shown
    assert "- explore" not in shown
    path.write_text(path.read_text() + "  mcp_tools: ['box__*', docs__search]\n  model: gone\n")
    shown = world.sould("agents", "explain", "mine").stdout
    assert "MCP tools: box__*, docs__search\n" in shown
    line = len(path.read_text().splitlines())
    assert "model: gone -- not in the configuration" in shown
    assert f"({path}:{line})" in shown


CONDITIONS = {
    "ReadFile": ("os: Amiga", "the system is Linux, not Amiga"),
    "WriteFile": ("command_exists: no-such-command", "there is no command no-such-command"),
    "StrReplaceFile": ("env: WANTED=yes", "the environment lacks WANTED=yes"),
    "Glob": ("model_capability: video_in", "the model lacks video_in"),
    "Grep": ("client_capability: terminal", "no client offers terminal"),
    "Shell": ("file_exists: ready.txt", "there is no file ready.txt"),
}
MODULES = {
    "StrReplaceFile": "strreplace",
    "Glob": "globtool",
}


def test_explain_judges_every_kind_of_condition_as_things_are_here(world: World) -> None:
    path = world.root / "config" / "sould" / "agents" / "picky.yaml"
    tools = [
        f"    - {{tool: 'sould.agents.tools.{MODULES.get(name, name.lower())}:{name}', when: {{{when}}}}}"
        for name, (when, _) in CONDITIONS.items()
    ]
    path.write_text("version: 1\nagent:\n  extend: default\n  tools:\n" + "\n".join(tools) + "\n")
    lines = world.sould("agents", "explain", "picky").stdout.splitlines()
    for number, (name, (_, reason)) in enumerate(CONDITIONS.items(), 5):
        assert any(f":{name} -- not offered: {reason} ({path}:{number})" in line for line in lines), name
    path.write_text(path.read_text().replace("Amiga", "Linux").replace("no-such-command", "sh"))
    (world.project / "ready.txt").touch()
    world.environment["WANTED"] = "yes"
    shown = world.sould(
        "agents", "explain", "picky", "--model-capability", "video_in", "--client-capability", "terminal"
    ).stdout
    assert "not offered" not in shown
    assert "ReadFile -- when os: Linux" in shown


def test_explain_judges_by_the_default_model_and_the_configured_services(world: World) -> None:
    world.script([], '[services.searxng]\nbase_url = "http://127.0.0.1:1"\n')
    shown = world.sould("agents", "explain", "default").stdout
    assert "SearchWeb -- when service: web_search" in shown
    assert "ReadMediaFile -- when model_capability: image_in" in shown
    assert "AskUserQuestion -- not offered: no client offers questions" in shown
    assert "- explore: Finds things out in the project" in shown


ASKS = """\
from sould.agents.tools import tool

class Clock:
    pass

@tool
def ask(clock: Clock) -> str:
    return ""
"""


def test_a_tool_that_does_not_exist_or_asks_for_what_there_is_not_is_named_with_its_place(world: World) -> None:
    path = world.root / "config" / "sould" / "agents" / "wrong.yaml"
    path.write_text(
        "version: 1\nagent:\n  extend: default\n  tools:\n    - sould.agents.tools.grep:Grap\n    - inherit\n"
        "    - sould.agents.tools.nothing:Nothing\n"
    )
    shown = world.sould("agents", "explain", "wrong").stdout
    assert f"has no tool class Grap ({path}:5)" in shown
    assert f"No module named 'sould.agents.tools.nothing' ({path}:7)" in shown
    world.script([])
    done = world.sould("run", "--agent", "wrong", "hi")
    assert done.returncode == 2
    assert f"{path}:5: tools.0: sould.agents.tools.grep:Grap" in done.stderr
    path.with_name("ask.py").write_text(ASKS)
    path.write_text("version: 1\nagent:\n  extend: default\n  tools: [inherit, './ask.py:ask']\n")
    path.with_name("above.yaml").write_text("version: 1\nagent: {extend: default, subagents: {low: ./wrong.yaml}}\n")
    path.with_name("code.yaml").write_text("version: 1\nagent: {extend: default, tools: ['./code.py:code']}\n")
    path.with_name("code.py").write_text("def code(:\n")
    listed = {line.split()[0]: line for line in world.sould("agents", "list").stdout.splitlines()}
    assert "cannot be used: Ask: parameter `clock` asks for Clock" in listed["wrong"]
    assert f"({path}:4)" in listed["wrong"]
    assert f"cannot be used: {path.with_name('code.py')}:code: invalid syntax" in listed["code"]
    assert "cannot be used" not in listed["above"]
    assert "- low: cannot be used: Ask: parameter `clock`" in world.sould("agents", "explain", "above").stdout
    assert "ask.py:ask -- cannot be used: Ask: parameter `clock`" in world.sould("agents", "explain", "wrong").stdout
    done = world.sould("run", "--agent", "wrong", "hi")
    assert done.returncode == 2
    assert f"{path}:4: tools." in done.stderr
    assert "parameter `clock` asks for Clock" in done.stderr
    assert f"the services are {SERVICES}" in done.stderr


def test_explain_gives_each_broken_tool_its_reason_and_fails(world: World) -> None:
    path = world.root / "config" / "sould" / "agents" / "worn.yaml"
    path.write_text("version: 1\nagent: {extend: default, tools: [inherit, './nowhere.py:one', './there.py:two']}\n")
    path.with_name("there.py").write_text("x = 1 +\n")
    done = world.sould("agents", "explain", "worn")
    broken = [line for line in done.stdout.splitlines() if "cannot be used" in line]
    assert ["No such file" in line for line in broken] == [True, False]
    assert ["invalid syntax" in line for line in broken] == [False, True]
    assert (done.returncode, "2 tools of it cannot be loaded" in done.stderr) == (1, True)


def test_run_works_with_the_agent_it_is_told(world: World) -> None:
    world.script(["text: hello", "text: again"])
    assert world.sould("run", "--agent", "mine", "hi").stdout.strip() == "hello"
    refused = world.sould("run", "--agent", "nobody", "hi")
    assert refused.returncode != 0
    assert "no agent 'nobody'" in refused.stderr
