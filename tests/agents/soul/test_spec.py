"""Agent specs: merging, mistakes with their places, conditional tools, files written for the reference."""

import os
from pathlib import Path

import pytest

from sould.agents.base.environment import Environment
from sould.agents.base.errors import ConfigError
from sould.agents.soul.instructions import render_prompt
from sould.agents.soul.spec import AgentSpec, builtin_path, builtin_spec, load_spec
from sould.agents.soul.tool_conditions import Situation
from sould.agents.tools import InvalidToolError


def write(path: Path, agent: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("version: 1\nagent:\n" + "".join(f"  {line}\n" for line in agent.strip().splitlines()))
    return path


def offered(spec: AgentSpec, now: Situation | None = None) -> list[str]:
    return [tool.path.rpartition(":")[2] for tool in spec.tools(now) if not tool.reason]


def test_what_a_spec_leaves_out_is_its_parents(tmp_path: Path) -> None:
    spec = load_spec(write(tmp_path / "mine.yaml", "extend: default\nmodel: fast"))
    parent = builtin_spec("default")
    assert spec.fields.system_prompt_path == parent.fields.system_prompt_path
    assert offered(spec) == offered(parent)
    assert (spec.fields.model, parent.fields.model) == ("fast", "")


def test_a_file_that_was_written_in_place_with_its_old_time_is_read_again(tmp_path: Path) -> None:
    path = write(tmp_path / "mine.yaml", "extend: default\nmodel: fast")
    assert load_spec(path).fields.model == "fast"
    before = path.stat()
    write(path, "extend: default\nmodel: slow")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert load_spec(path).fields.model == "slow"


def test_inherit_is_the_same_as_leaving_it_out(tmp_path: Path) -> None:
    spec = load_spec(write(tmp_path / "mine.yaml", "extend: default\ntools: inherit"))
    assert offered(spec) == offered(builtin_spec("default"))


def test_inherit_in_a_list_is_what_the_parent_has_there(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("")
    path = write(
        tmp_path / "mine.yaml",
        "extend: default\ntools:\n  - sould.agents.tools.think:Think\n  - inherit\n  - ./mine.py:shout\n"
        "exclude_tools: [inherit, Shell]",
    )
    spec, parent = load_spec(path), builtin_spec("default")
    first, *inherited, last = spec.tools()
    assert [tool.path for tool in inherited] == [tool.path for tool in parent.tools()]
    assert (first.place, last.place) == (f"{path}:5", f"{path}:7")
    assert inherited[0].place == parent.tools()[0].place
    assert spec.own_tools == ("sould.agents.tools.think:Think", str(tmp_path / "mine.py") + ":shout")
    assert "Shell" not in offered(spec)


def test_what_a_list_names_itself_is_not_inherited_once_more(tmp_path: Path) -> None:
    grep = "{tool: 'sould.agents.tools.grep:Grep', when: {os: Linux}}"
    spec = load_spec(write(tmp_path / "mine.yaml", f"extend: default\ntools: [{grep}, inherit]"))
    names = [tool.path.rpartition(":")[2] for tool in spec.tools()]
    assert names.count("Grep") == 1
    assert (names[0], spec.tools()[0].condition) == ("Grep", "os: Linux")


def test_a_subagent_is_named_by_its_file_or_as_a_builtin_one(tmp_path: Path) -> None:
    write(tmp_path / "mine" / "sub.yaml", "extend: default")
    agent = "extend: coder\nsubagents: {a: sub.yaml, b: explore, c: {path: plan, description: Plans.}}"
    kinds = load_spec(write(tmp_path / "mine" / "mine.yaml", agent)).fields.subagents
    assert kinds["a"].path == tmp_path / "mine" / "sub.yaml"
    assert (kinds["b"].path, kinds["c"].path) == (builtin_path("explore"), builtin_path("plan"))


def test_arguments_merge_by_name_and_lists_are_replaced(tmp_path: Path) -> None:
    write(tmp_path / "base.yaml", "extend: default\nsystem_prompt_args: {A: one, B: two}\nexclude_tools: [Shell]")
    spec = load_spec(
        write(
            tmp_path / "mine.yaml", "extend: base.yaml\nsystem_prompt_args: {B: 'three', A: inherit}\nexclude_tools: []"
        )
    )
    assert {"A": "one", "B": "three"}.items() <= spec.fields.system_prompt_args.items()
    assert "Shell" in offered(spec)


def test_paths_belong_to_the_file_that_wrote_them(tmp_path: Path) -> None:
    (tmp_path / "base").mkdir()
    (tmp_path / "base" / "prompt.md").write_text("hello")
    write(tmp_path / "base" / "base.yaml", "extend: default\nsystem_prompt_path: ./prompt.md")
    spec = load_spec(write(tmp_path / "mine.yaml", "extend: ./base/base.yaml"))
    assert spec.fields.system_prompt_path == (tmp_path / "base" / "prompt.md").resolve()


@pytest.mark.parametrize(
    ("agent", "line", "said"),
    [
        ("extend: default\ntool: []", 4, "tool: is not a key of an agent"),
        ("name: x\ntools: []", 2, "system_prompt_path: is required"),
        ("extend: default\n\nsystem_prompt_path: gone.md", 5, "system_prompt_path: there is no file"),
        ("extend: default\nsubagents:\n  a: {path: gone.yaml}", 5, r"subagents\.a\.path: there is no file"),
        ("system_prompt_path: inherit", 3, "system_prompt_path: there is nothing to inherit"),
        ("tools: [inherit]", 3, "tools: there is nothing to inherit"),
        ("extend: nobody", 3, "extend: there is no agent 'nobody'"),
        (
            "extend: default\ntools:\n  - tool: x:Y\n    when: {moon: full}",
            6,
            r"tools\.0\.when\.moon: is not a key of a condition; .*file",
        ),
        (
            "extend: default\ntools:\n  - {tool: 'x:Y', of: 1}",
            5,
            r"tools\.0\.of: is not a key of a tool; its keys are tool, when",
        ),
        (
            "extend: default\nsubagents:\n  a: {path: explore, of: 1}",
            5,
            r"subagents\.a\.of: is not a key of a subagent; .*path",
        ),
        ("extend: default\nsystem_prompt_args: {A: [1]}", 4, "system_prompt_args.A: must be text"),
    ],
)
def test_a_mistake_names_file_line_and_key(tmp_path: Path, agent: str, line: int, said: str) -> None:
    path = write(tmp_path / "mine.yaml", agent)
    with pytest.raises(ConfigError, match=rf"{path}:{line}: {said}"):
        load_spec(path)


def test_a_tool_the_reference_does_not_have_is_named_with_its_place(tmp_path: Path) -> None:
    path = write(tmp_path / "mine.yaml", "extend: default\ntools:\n  - kimi_cli.tools.file:Telepathy")
    with pytest.raises(InvalidToolError, match=rf"{path}:5: tools\.0: .*Telepathy: no such tool"):
        load_spec(path)


def test_broken_yaml_is_named_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text("version: 1\nagent:\n  tools: [\n")
    with pytest.raises(ConfigError, match=rf"{path}:\d+: "):
        load_spec(path)


@pytest.mark.long
@pytest.mark.parametrize("value", ["2020-13-45", "9" * 5000, "[" * 2000 + "]" * 2000], ids=["date", "number", "depth"])
def test_what_the_yaml_library_stumbles_over_is_a_mistake_too(tmp_path: Path, value: str) -> None:
    path = tmp_path / "x.yaml"
    path.write_text(f"version: {value}\n")
    with pytest.raises(ConfigError, match=r"x\.yaml: the agent file cannot be read"):
        load_spec(path)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]\n", r":2: an agent file has no aliases"),
        ("a: [" + "x," * 10_000 + "]\n", ": the agent file has too many values"),
        ("# " + "x" * 300_000, ": the agent file cannot be read: "),
    ],
    ids=["aliases", "values", "bytes"],
)
def test_a_file_that_would_unfold_without_an_end_is_named_and_not_built(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "gift.yaml"
    path.write_text(text)
    with pytest.raises(ConfigError, match=rf"^{path}{said}"):
        load_spec(path)


def test_a_mistake_in_the_parent_names_the_parents_file(tmp_path: Path) -> None:
    base = write(tmp_path / "base.yaml", "extend: default\nsystem_prompt_path: gone.md")
    mine = write(tmp_path / "mine.yaml", "extend: base.yaml\nname: mine")
    with pytest.raises(ConfigError, match=rf"{base}:4: system_prompt_path"):
        load_spec(mine)


def test_a_circle_is_an_error_that_names_its_files(tmp_path: Path) -> None:
    write(tmp_path / "a.yaml", "extend: b.yaml")
    write(tmp_path / "b.yaml", "extend: a.yaml")
    with pytest.raises(ConfigError, match=r"cycle: .*a\.yaml -> .*b\.yaml -> .*a\.yaml"):
        load_spec(tmp_path / "a.yaml")


def test_tools_are_allowed_and_excluded_by_path_or_name(tmp_path: Path) -> None:
    spec = load_spec(
        write(
            tmp_path / "mine.yaml",
            "extend: default\nallowed_tools: [Grep, 'kimi_cli.tools.file:ReadFile', Shell]\n"
            "exclude_tools: ['sould.agents.tools.shell:Shell']",
        )
    )
    assert sorted(offered(spec)) == ["Grep", "ReadFile"]
    assert spec.idle() == ()
    other = write(tmp_path / "other.yaml", "extend: default\nexclude_tools: [Shel, Shell]")
    assert load_spec(other).idle() == ("Shel",)
    assert "Shell" not in offered(load_spec(other))


def situation(root: Path, **changes: frozenset[str]) -> Situation:
    variables = {"PATH": str(root / "bin"), "CI": "1"}
    return Situation(root, Environment(variables, provider_keys=()), variables, **changes)


@pytest.mark.parametrize(
    ("when", "reason"),
    [
        ("{os: [Linux, macOS]}", ""),
        ("{os: Amiga}", "not Amiga"),
        ("{command_exists: there}", ""),
        ("{command_exists: [there, gone]}", "there is no command gone"),
        ("{env: CI}", ""),
        ("{env: CI=2}", "the environment lacks CI=2"),
        ("{model_capability: image_in}", "the model lacks image_in"),
        ("{client_capability: terminal}", "no client offers terminal"),
        ("{file_exists: a.txt}", ""),
        ("{file_exists: b.txt}", "there is no file b.txt"),
    ],
)
def test_a_tool_is_offered_when_its_condition_holds(tmp_path: Path, when: str, reason: str) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "there").write_text("#!/bin/sh\n")
    (tmp_path / "bin" / "there").chmod(0o755)
    (tmp_path / "a.txt").write_text("")
    path = write(
        tmp_path / "mine.yaml", f"extend: default\ntools:\n  - {{tool: 'sould.agents.tools.grep:Grep', when: {when}}}"
    )
    (tool,) = load_spec(path).tools(situation(tmp_path))
    assert reason in tool.reason
    assert bool(tool.reason) == bool(reason)


def test_capabilities_of_model_and_client_are_those_of_now(tmp_path: Path) -> None:
    path = write(
        tmp_path / "mine.yaml",
        "extend: default\ntools:\n  - {tool: 'sould.agents.tools.grep:Grep', "
        "when: {model_capability: image_in, client_capability: terminal}}",
    )
    spec = load_spec(path)
    assert offered(spec, situation(tmp_path)) == []
    now = situation(tmp_path, model=frozenset({"image_in"}), client=frozenset({"terminal"}))
    assert offered(spec, now) == ["Grep"]


def test_a_prompt_is_filled_strictly_and_dollars_are_only_dollars() -> None:
    text = render_prompt("${KIMI_OS} costs $5 in $HOME ${ ROLE }", {"KIMI_OS": "Linux", "ROLE": "$x"}, Path("p.md"))
    assert text == "Linux costs $5 in $HOME $x"
    with pytest.raises(ConfigError, match=r"p\.md:2: \$\{NO\} has no value"):
        render_prompt("a\n${NO}", {}, Path("p.md"))


REFERENCE = """\
version: 1
agent:
  name: "reviewer"
  system_prompt_path: ./system.md
  system_prompt_args:
    ROLE_ADDITIONAL: "You review."
  tools:
    - "kimi_cli.tools.multiagent:Task"
    # - "kimi_cli.tools.think:Think"
    - "kimi_cli.tools.todo:SetTodoList"
    - "kimi_cli.tools.shell:Shell"
    - "kimi_cli.tools.file:ReadFile"
    - "kimi_cli.tools.file.read:ReadFile"
    - "kimi_cli.tools.file:Glob"
    - "kimi_cli.tools.web:SearchWeb"
    - "kimi_cli.tools.file:StrReplaceFile"
  exclude_tools:
    - "kimi_cli.tools.file.read:ReadFile"
  subagents:
    coder:
      path: ./sub.yaml
      description: "Good at general software engineering tasks."
"""
REFERENCE_SUB = """\
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


def test_agent_files_written_for_the_reference_load_as_they_stand(tmp_path: Path) -> None:
    (tmp_path / "agent.yaml").write_text(REFERENCE)
    (tmp_path / "sub.yaml").write_text(REFERENCE_SUB)
    (tmp_path / "system.md").write_text("You are on ${KIMI_OS} at ${KIMI_NOW}. ${ROLE_ADDITIONAL}")
    spec = load_spec(tmp_path / "agent.yaml")
    assert {"SetTodoList", "Shell", "Glob", "StrReplaceFile"} <= set(offered(spec))
    assert "ReadFile" not in offered(spec)
    assert spec.fields.subagents["coder"].path == (tmp_path / "sub.yaml").resolve()
    sub = load_spec(spec.fields.subagents["coder"].path)
    assert "ReadFile" in offered(sub)
    assert "Task" not in offered(sub)
