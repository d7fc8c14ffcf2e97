"""Loops through the real daemon: in an editor, over kills of the daemon, and with a key that needs no client."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from soultest.daemon import Sould, until
from soultest.faulty import CONFIG, KEY, Editor, asked_of, model_server
from soultest.world import call

SLEEP = call("Shell", "s", command="sleep 600", timeout=300)
USAGE = "\nusage: input_other=60 output=10"
PRICED = """
[models.priced]
provider = "script"
model = "scripted"
max_context_size = 100000
input_price = 1000.0
output_price = 10000.0
"""


def say(sould: Sould, *scripts: str) -> None:
    """What the model says from now on."""
    (sould.world.root / "scripts.json").write_text(json.dumps(scripts))


def loops(sould: Sould) -> list[dict[str, Any]]:
    return [json.loads(path.read_text()) for path in Path(sould.paths.state, "loops").glob("*.json")]


def standing(sould: Sould, session: str) -> tuple[str, int]:
    (loop,) = [loop for loop in loops(sould) if loop["session_id"] == session]
    return loop["status"], loop["completed"]


def plans(editor: Editor) -> list[list[tuple[str, str]]]:
    shown = [update for update in editor.updates if update["sessionUpdate"] == "plan"]
    return [[(entry["content"], entry["status"]) for entry in plan["entries"]] for plan in shown]


@pytest.fixture
def editor(sould: Sould) -> Editor:
    sould.world.script([])
    opened = Editor(sould, sould.acp())
    opened.open()
    return opened


def test_an_editor_sees_iterations_as_a_plan_and_adjusts_pauses_and_resumes(sould: Sould, editor: Editor) -> None:
    say(
        sould,
        *("text: begun", "text: other way <choice>ADJUST</choice>", "text: first the tests"),
        *("text: Which colour? <choice>PAUSE</choice>", "text: done <choice>STOP</choice>"),
    )
    assert "result" in editor.prompt("/loop 5 paint it")
    assert standing(sould, editor.session) == ("paused", 3)
    assert plans(editor)[0] == [("Iteration 1 of 6", "in_progress")]
    assert ("Adjust the plan", "in_progress") in plans(editor)[2]
    assert plans(editor)[3][-1] == ("Iteration 3 of 6", "in_progress")
    assert "Which colour?" in sould.cli("loop", "list").stdout
    editor.prompt("/loop resume")
    assert standing(sould, editor.session) == ("finished", 4)
    journal = next(Path(sould.paths.state, "sessions", editor.session).glob("wire.jsonl")).read_text()
    assert "Your plan as you last adjusted it:\\nfirst the tests" in journal


def test_the_option_of_the_editor_makes_a_prompt_loop_and_a_rollback_undoes_its_files(
    sould: Sould, editor: Editor
) -> None:
    (sould.workspace / "a.txt").write_text("good\n")
    write = [call("WriteFile", "w", path=name, content="bad\n") for name in ("a.txt", "b.txt")]
    back = "text: worse <choice>ROLLBACK</choice>"
    say(sould, "text: begun", *write, back, "text: fine <choice>CONTINUE</choice>", back, back)
    set_option = editor.request(
        "session/set_config_option", sessionId=editor.session, configId="loop", value="unlimited"
    )
    (shown,) = [option for option in set_option["result"]["configOptions"] if option["id"] == "loop"]
    assert shown["currentValue"] == "unlimited"
    editor.prompt("tidy up")
    assert (sould.workspace / "a.txt").read_text() == "good\n"
    assert not (sould.workspace / "b.txt").exists()
    (loop,) = loops(sould)
    assert (loop["status"], loop["reason"]) == ("paused", "the same iteration was rolled back twice")
    assert loop["completed"] == 5


def test_a_used_up_budget_is_asked_about_in_the_editor_and_without_anybody_ends_the_run(
    sould: Sould, editor: Editor
) -> None:
    more = f"text: <choice>CONTINUE</choice>{USAGE}"
    say(sould, f"text: 1{USAGE}", more, f"text: <choice>STOP</choice>{USAGE}")
    editor.prompt("/loop unlimited --tokens 100 tidy up")  # the editor takes the first option: continue
    asked = [message for message in editor.messages if message.get("method") == "session/request_permission"]
    assert [each["params"]["toolCall"]["title"] for each in asked] == [
        "The loop has used up its budget: 140 of 100 tokens. Continue?"
    ]
    assert standing(sould, editor.session) == ("finished", 3)

    say(sould, f"text: 1{USAGE}", more, more)
    run = sould.cli("run", "/loop unlimited --tokens 100 sweep")
    assert run.returncode == 3
    assert "nobody can give it here: The loop has used up its budget: 140 of 100 tokens" in run.stderr
    (loop,) = [loop for loop in loops(sould) if loop["prompt"] == "sweep"]
    assert (loop["status"], loop["completed"]) == ("paused", 2)
    say(sould, "text: all done <choice>STOP</choice>")
    resumed = sould.cli("loop", "resume", "--tokens", "1k", loop["session_id"])
    assert resumed.returncode == 0, resumed.stderr
    assert standing(sould, loop["session_id"]) == ("finished", 3)


def test_without_a_client_the_question_about_a_budget_waits_and_is_answered_from_a_terminal(
    sould: Sould, editor: Editor
) -> None:
    say(sould, f"text: 1{USAGE}", "text: <choice>STOP</choice>")
    editor.answer = ""
    editor.begin("/loop unlimited --tokens 50 tidy up", "p")
    editor.wait(lambda message: message.get("method") == "session/request_permission")
    editor.bridge.kill()
    shown = sould.cli("status").stdout
    assert "The loop has used up its budget: 70 of 50 tokens. Continue?" in shown
    assert standing(sould, editor.session) == ("paused", 1)
    (request,) = re.findall(r"sould answer (\w+)", shown)
    assert sould.cli("answer", request, "1k").returncode == 0
    until(lambda: standing(sould, editor.session) == ("finished", 2))


def test_money_time_and_what_subagents_use_are_budgets_too(sould: Sould) -> None:
    sould.world.script([], PRICED)
    editor = Editor(sould, sould.acp(), answer="reject_once")  # no more of anything
    say(sould, f"text: 1{USAGE}", f"text: <choice>CONTINUE</choice>{USAGE}")
    assert budget_asked_for(editor, "/loop 9 --cost 0.3 tidy up") == "0.32 of 0.30 in money"
    assert standing(sould, editor.session) == ("paused", 2)
    child = call("Agent", "a", prompt="look", subagent_type="explore", description="Look")
    say(sould, child, *[call("Glob", "g", pattern="*") + USAGE] * 9)
    assert budget_asked_for(editor, "/loop 9 --tokens 100 look around") == "140 of 100 tokens"
    assert standing(sould, editor.session) == ("paused", 0)
    say(sould, call("Glob", "g", pattern="*"), SLEEP)
    assert budget_asked_for(editor, "/loop 9 --time 0.5s wait", mode="full").endswith(" of 0.5 seconds")


def budget_asked_for(editor: Editor, command: str, mode: str = "ask") -> str:
    """What a new session says that the loop has used up."""
    editor.open()
    editor.request("session/set_config_option", sessionId=editor.session, configId="model", value="priced")
    editor.request("session/set_mode", sessionId=editor.session, modeId=mode)
    editor.messages.clear()
    editor.prompt(command)
    (asked,) = [message for message in editor.messages if message.get("method") == "session/request_permission"]
    title: str = asked["params"]["toolCall"]["title"]
    return title.removeprefix("The loop has used up its budget: ").removesuffix(". Continue?")


def test_the_budgets_of_the_configuration_end_a_run_that_nobody_can_answer(sould: Sould) -> None:
    sould.world.script([], "[budget.session]\ntokens = 100\n\n[budget.day]\ntokens = 200\n")
    sould.start()
    look = call("Glob", "g", pattern="*") + USAGE
    say(sould, look, look, look)
    first = sould.cli("run", "look around")
    assert first.returncode == 3
    assert "nobody can give it here: The budget of this session is used up: 140 of 100 tokens" in first.stderr
    say(sould, f"text: seen{USAGE}", look)
    assert sould.cli("run", "look once").returncode == 0
    third = sould.cli("run", "look once more")
    assert third.returncode == 3
    assert "The budget of this day is used up: 210 of 200 tokens" in third.stderr


def test_cancel_keeps_progress_and_a_deleted_session_takes_its_loop_along(sould: Sould, editor: Editor) -> None:
    say(sould, "text: begun", SLEEP)
    editor.begin("/loop 5 tidy up", "p")
    until(lambda: loops(sould) and standing(sould, editor.session) == ("running", 1))
    assert f"{editor.session}  running  1/6" in sould.cli("status").stdout
    editor.send("session/cancel", sessionId=editor.session)
    assert editor.wait(lambda message: message.get("id") == "p")["result"]["stopReason"] == "cancelled"
    assert standing(sould, editor.session) == ("stopped", 1)
    assert sould.cli("sessions", "delete", "--yes", editor.session).returncode == 0
    assert loops(sould) == []


def test_after_a_kill_a_loop_waits_for_its_project_and_goes_on_where_it_stood(sould: Sould, editor: Editor) -> None:
    say(
        sould,
        "text: begun",
        "text: <choice>CONTINUE</choice>",
        call("WriteFile", "w", path="b.txt", content="x"),
        SLEEP,
    )
    editor.request("session/set_mode", sessionId=editor.session, modeId="full")
    editor.begin("/loop 5 tidy up", "p")
    until((sould.workspace / "b.txt").exists)
    editor.bridge.kill()
    sould.kill9()
    assert standing(sould, editor.session) == ("running", 2)

    elsewhere = sould.world.root / "elsewhere"
    elsewhere.mkdir()
    other = Editor(sould, sould.acp())
    other.request("session/new", cwd=str(elsewhere), mcpServers=[])
    waiting = f"{editor.session}  waiting for project's environment  2/6"
    for shown in (sould.cli("status").stdout, sould.cli("loop", "list").stdout):
        assert waiting in shown
    say(sould, "text: all done <choice>STOP</choice>")
    other.open()
    until(lambda: standing(sould, editor.session) == ("finished", 3))


def test_with_a_stored_key_a_loop_goes_on_without_a_client(sould: Sould) -> None:
    with model_server() as url:
        folder = Path(sould.paths.config)
        folder.mkdir(parents=True)
        patient = CONFIG.replace("_s = 0.5", "_s = 60")
        (folder / "config.toml").write_text(patient.format(url=url))
        stored = Path(sould.paths.state, "credentials.json")
        stored.parent.mkdir(mode=0o700, parents=True)
        stored.touch(0o600)
        stored.write_text(json.dumps({"server": {"where": "file", "key": KEY}}))
        editor = Editor(sould, sould.acp())
        editor.open()
        editor.begin("/loop 5 [[hang]] tidy up", "p")
        until(lambda: len(asked_of(url)) == 1)
        editor.bridge.kill()
        sould.kill9()

        assert sould.cli("sessions", "list").returncode == 0  # any command starts the next daemon
        until(lambda: len(asked_of(url)) == 2)
        again = asked_of(url)[1]
        assert again["headers"]["authorization"] == f"Bearer {KEY}"
        assert again["body"]["messages"][-1]["content"].endswith("<system>[[hang]] tidy up</system>")
        assert f"{editor.session}  running  0/6" in sould.cli("loop", "list").stdout
        assert sould.cli("loop", "stop").returncode == 0
        until(lambda: standing(sould, editor.session) == ("stopped", 0))


def test_under_an_open_editor_a_loop_goes_on_after_a_restart_and_after_a_kill(sould: Sould, editor: Editor) -> None:
    say(sould, "text: begun", SLEEP)
    editor.begin("/loop 5 tidy up", "p")
    sleeping(editor)
    say(sould, SLEEP)
    assert sould.cli("restart", "--force").returncode == 0
    assert editor.wait(lambda message: message.get("id") == "p")["result"]["_meta"]["sould"]["kind"] == "interrupted"
    sleeping(editor)
    assert standing(sould, editor.session) == ("running", 1)
    say(sould, "text: all done <choice>STOP</choice>")
    sould.kill9()
    editor.wait(lambda message: "all done" in json.dumps(message))
    until(lambda: standing(sould, editor.session) == ("finished", 2))


def sleeping(editor: Editor) -> None:
    """Wait until the command runs, which the editor allows on the way."""
    editor.wait(lambda message: message.get("method") == "session/request_permission")
    editor.wait(lambda message: message.get("params", {}).get("update", {}).get("status") == "in_progress")
