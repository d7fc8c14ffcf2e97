"""Flows and skills through the real daemon, as an editor and the command line see them."""

import json
from pathlib import Path

import pytest

from soultest.daemon import Sould
from soultest.faulty import Editor
from soultest.world import call

FLOW = """\
---
description: polishes
type: flow
---
```mermaid
flowchart TD
  BEGIN([BEGIN]) --> work["Work on $1, then say: $ARGUMENTS"]
  work --> good{"Is it good?"}
  good -->|yes| END([END])
  good -->|no| work
```
"""
SHIPPED = {
    "pull-request": ["", "yes", "", "no", "", "", "yes", "", "", "no", ""],
    "release": ["", "yes", "", "", "yes", "", "yes", "", ""],
}


def say(sould: Sould, *scripts: str) -> None:
    """What the model says from now on."""
    (sould.world.root / "scripts.json").write_text(json.dumps(scripts))


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def told(sould: Sould, editor: Editor) -> str:
    """Everything in the session's journal."""
    return Path(sould.paths.state, "sessions", editor.session, "wire.jsonl").read_text()


def shown_plans(editor: Editor) -> list[list[str]]:
    plans = [update for update in editor.updates if update["sessionUpdate"] == "plan"]
    return [[entry["status"] for entry in plan["entries"]] for plan in plans]


@pytest.fixture
def editor(sould: Sould) -> Editor:
    sould.world.script([], more="[flows]\nmax_moves = 20\n")
    write(sould.workspace / ".agents" / "skills" / "polish.md", FLOW)
    opened = Editor(sould, sould.acp())
    opened.open()
    return opened


def answered(editor: Editor) -> str:
    """What the conversation shows as words of the agent."""
    updates = [each["params"]["update"] for each in editor.messages if each.get("method") == "session/update"]
    return "".join(each["content"]["text"] for each in updates if each["sessionUpdate"] == "agent_message_chunk")


def test_a_flow_runs_in_an_editor_and_its_progress_is_a_plan(sould: Sould, editor: Editor) -> None:
    say(
        sould,
        *(call("WriteFile", "w", path="b.txt", content="polished\n"), "text: once", "text: perhaps"),
        *("text: <choice>No</choice>", "text: <choice>no</choice>", "text: twice", "text: <choice> yes </choice>"),
    )
    answer = editor.prompt("/flow:polish README 'and more'")
    assert answer["result"]["stopReason"] == "end_turn"
    assert (sould.workspace / "b.txt").read_text() == "polished\n"
    assert shown_plans(editor) == [
        ["in_progress", "pending"],
        ["completed", "in_progress"],
        ["in_progress", "completed"],
        ["completed", "in_progress"],
        ["completed", "completed"],
    ]
    journal = told(sould, editor)
    assert "Work on README, then say: README 'and more'" in journal
    assert "Your answer has no <choice>" in journal
    assert "'No' is not one of the choices" in journal
    assert answered(editor) == "onceperhapstwice"
    assert "choice" not in sould.cli("sessions", "export", "--format", "markdown").stdout


def test_a_flow_ends_honestly_without_a_choice_beyond_its_moves_and_by_cancel(sould: Sould, editor: Editor) -> None:
    say(sould, "text: done", *["text: hm"] * 4)
    assert editor.prompt("/flow:polish it")["result"]["stopReason"] == "end_turn"
    assert "no valid choice at good" in answered(editor)
    say(sould, *["text: <choice>no</choice>"] * 30)
    assert editor.prompt("/flow:polish it")["result"]["stopReason"] == "max_turn_requests"
    assert told(sould, editor).count("Is it good?") >= 10
    say(sould, call("Shell", "s", command="sleep 600", timeout=300))
    editor.begin("/flow:polish it", "p")
    editor.wait(lambda message: message.get("method") == "session/request_permission")
    editor.send("session/cancel", sessionId=editor.session)
    assert editor.wait(lambda message: message.get("id") == "p")["result"]["stopReason"] == "cancelled"


def test_a_flow_that_is_wrong_is_not_begun_and_every_mistake_is_placed(sould: Sould, editor: Editor) -> None:
    path = sould.workspace / ".agents" / "skills" / "polish.md"
    write(path, FLOW.replace("good -->|no| work", "good --> work\n  lost[Lost] --> END"))
    assert editor.prompt("/flow:polish it")["result"]["stopReason"] == "end_turn"
    mistakes = [
        f"{path}:10:8: this edge of the decision good has no label",
        f"{path}:11:3: lost cannot be reached from BEGIN",
    ]
    assert answered(editor).splitlines()[1:] == mistakes
    checked = sould.cli("flow", "check", str(path))
    assert (checked.returncode, checked.stderr.splitlines()) == (1, mistakes)


def test_the_shipped_flows_run_to_their_ends(sould: Sould, editor: Editor) -> None:
    for name, choices in SHIPPED.items():
        say(sould, *(f"text: done {f'<choice>{choice}</choice>' if choice else ''}" for choice in choices))
        editor.open()
        editor.messages.clear()
        assert editor.prompt(f"/flow:{name} the parser")["result"]["stopReason"] == "end_turn"
        assert len(shown_plans(editor)) == len(choices) + 1
        assert "the parser" in told(sould, editor)


def skill(description: str, body: str = "Sort $ARGUMENTS by name.") -> str:
    return f"---\ndescription: {description}\n---\n{body}\n"


def skills_listed(sould: Sould, *options: str) -> list[str]:
    """The skills of a session, as `/skills` names them: name, scope and what they are for."""
    done = sould.cli("run", *options, "/skills")
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_skills_of_every_place_win_in_order_and_directories_can_be_named(sould: Sould) -> None:
    home, project = sould.world.root, sould.workspace
    extra, mine = home / "shared", home / "mine"
    sould.world.script([])
    config = Path(sould.paths.config, "config.toml")
    config.write_text(f'extra_skill_dirs = ["{extra}"]\n{config.read_text()}')
    places = {
        "project": [project / f"{name}/skills" for name in (".sould", ".agents", ".kimi", ".claude", ".codex")],
        "user": [
            *(Path(sould.environment["XDG_CONFIG_HOME"], name, "skills") for name in ("sould", "agents")),
            *(home / f"{name}/skills" for name in (".sould", ".agents", ".kimi", ".claude", ".codex")),
        ],
        "extra": [extra],
    }
    for scope, directories in places.items():
        for number, directory in enumerate(directories):
            write(directory / "same.md", skill(f"the {scope}'s"))
            write(directory / f"{scope}-{number}" / "SKILL.md", skill(f"only the {scope}'s"))
    write(extra / "broken.md", "---\ndescription: d\n")
    listed = skills_listed(sould)
    assert "- `/skill:same` (project) the project's" in listed
    for scope, directories in places.items():
        for number in range(len(directories)):
            assert f"- `/skill:{scope}-{number}` ({scope}) only the {scope}'s" in listed
    assert [line.partition(")")[0] for line in listed[-5:-1]] == [
        *("- `/flow:pull-request` (builtin", "- `/flow:release` (builtin"),
        *("- `/skill:skill-creator` (builtin", "- `/skill:sould-help` (builtin"),
    ]
    assert listed[-1].startswith(f"- problem: {extra}/broken.md:1: the front matter that begins here is not closed")

    write(mine / "own.md", skill("the named one"))
    named = skills_listed(sould, "--skills-dir", str(mine))
    assert [line.split("`")[1] for line in named[:-1]] == [
        *("/skill:own", "/skill:extra-0", "/skill:same"),
        *("/flow:pull-request", "/flow:release", "/skill:skill-creator", "/skill:sould-help"),
    ]
    config.write_text("merge_all_available_skills = false\n" + config.read_text())
    alone = skills_listed(sould)
    assert [line for line in alone if "project-" in line or "user-" in line] == [
        "- `/skill:project-0` (project) only the project's",
        "- `/skill:user-0` (user) only the user's",
    ]


def test_a_skill_is_shown_to_the_model_used_by_command_and_taken_up_when_it_changes(sould: Sould) -> None:
    sould.world.script([])
    tidy = sould.workspace / ".agents" / "skills" / "tidy.md"
    write(tidy, skill("sorts things"))
    own = sould.world.root / "own"
    write(own / "mine.md", skill("named by the editor"))
    bridge = sould.bridge("acp", f"--skills-dir={own}")
    bridge.initialize()
    other = Editor(sould, bridge)
    other.open()
    assert "- mine: named by the editor" in told(sould, other)
    assert "- tidy:" not in told(sould, other)

    editor = Editor(sould, sould.acp())
    editor.open()
    assert f"- tidy: sorts things (`{tidy}`)" in told(sould, editor)
    say(sould, "text: sorted", "text: fine", "text: gone")
    assert "result" in editor.prompt("/skill:tidy the list")
    assert "Sort the list by name." in told(sould, editor)
    write(tidy, skill("sorts things well"))
    write(tidy.with_name("fresh.md"), skill("is new"))
    editor.prompt("go on")
    assert "The skills have changed (new: fresh; changed: tidy)" in told(sould, editor)
    offered = [update for update in editor.updates if update["sessionUpdate"] == "available_commands_update"][-1]
    commands = {command["name"]: command for command in offered["availableCommands"]}
    assert commands["skill:fresh"]["description"] == "is new"
    assert commands["skill:fresh"]["input"]["hint"]
    tidy.unlink()
    editor.prompt("and on")
    assert "gone: tidy" in told(sould, editor)
