"""`sould approve|reject|answer` and what `sould status` says of what waits: against the real daemon and an editor."""

import json
import re
import subprocess
import sys
from collections.abc import Callable
from subprocess import PIPE
from typing import Any

import pytest

from sould.agents.mcp.naming import tool_name
from soultest.bench.mcp import SERVER, configure
from soultest.cliuser import User
from soultest.daemon import until
from soultest.faulty import Editor
from soultest.terminal import terminal
from soultest.world import SOULD, call


@pytest.fixture
def user(next_user: User) -> User:
    return next_user


def waits(user: User, *scripts: str, method: str = "session/request_permission") -> tuple[Editor, dict[str, Any]]:
    """An editor that leaves the question open, and the question."""
    user.scripted(*scripts)
    editor = Editor(user.daemon, user.daemon.acp(), answer="")
    editor.open()
    editor.begin("go", "turn")
    return editor, editor.wait(lambda message: message.get("method") == method)


def request_id(user: User) -> str:
    found = re.search(r"→ sould (?:approve|answer) (\w+)", user.sould("status").stdout)
    assert found
    return found[1]


def question(identifier: str, text: str, *labels: str) -> str:
    options = [{"label": label} for label in labels]
    return call("AskUserQuestion", identifier, questions=[{"question": text, "header": "db", "options": options}])


def asked_about(text: str) -> Callable[[dict[str, Any]], bool]:
    return lambda message: message.get("method") == "session/request_permission" and text in json.dumps(message)


def ended(editor: Editor) -> dict[str, Any]:
    return editor.wait(lambda message: message.get("id") == "turn" and "method" not in message)


def test_sould_alone_says_what_waits_and_how_to_go_on(user: User) -> None:
    alone = user.sould()
    assert (alone.returncode, "nothing waits for you" in alone.stdout) == (0, True)
    editor, _ = waits(user, call("Shell", "c1", command="echo one > a.txt"), "text: Done.")
    alone = user.sould()
    assert (alone.returncode, "$ echo one > a.txt" in alone.stdout) == (0, True)
    assert "sould run" in alone.stdout
    assert user.sould("approve", request_id(user)).returncode == 0
    ended(editor)


def test_sould_alone_says_what_is_to_be_reviewed_here_and_what_a_closed_session_asks(user: User) -> None:
    user.scripted(call("WriteFile", "w1", path="new.txt", content="one\n"), "text: Done.")
    user.daemon.start()
    assert user.sould("run", "--mode", "review", "write it").returncode == 0
    waits(user, call("Shell", "c1", command="echo one > a.txt"), "text: Done.")
    asked = request_id(user)
    assert user.sould("stop").returncode == 0
    alone = user.sould()
    assert "1 hunk to review in this project: sould review" in alone.stdout
    assert "1 question of a closed session: sould inbox" in alone.stdout
    assert "nothing waits" not in alone.stdout
    assert user.sould("reject", asked).returncode == 0


def test_status_shows_what_is_asked_and_approving_it_there_closes_the_editor_s_dialog(user: User) -> None:
    editor, asked = waits(user, call("Shell", "c1", command="echo one > a.txt\necho two > b.txt"), "text: Done.")
    editor.begin("and then this", "second")
    status = user.sould("status").stdout
    assert "waits for you" in status
    assert "in memory, waits for you, ask" in user.sould("sessions", "show").stdout
    assert "$ echo one > a.txt" in status
    assert "$ echo two > b.txt" in status
    assert "queued 1: and then this" in status
    assert f'sould run --session {editor.session} "/queue remove 1"' in status
    assert user.sould("approve", request_id(user)[:2]).returncode == 1
    done = user.sould("approve", request_id(user)[:4])
    assert done.returncode == 0, done.stderr
    assert done.stderr.startswith("Allowed: ")
    withdrawn = editor.wait(lambda message: message.get("method") == "$/cancel_request")
    assert withdrawn["params"]["requestId"] == asked["id"]
    assert ended(editor)["result"]["stopReason"] == "end_turn"
    assert (user.project / "b.txt").read_text() == "two\n"


def test_on_a_narrow_terminal_status_parts_lines_between_words_and_no_command_in_two(user: User) -> None:
    editor, _ = waits(user, call("Shell", "c1", command="echo one > a.txt"), "text: Done.")
    name = request_id(user)
    with terminal(user, "status", size=(30, 40)) as screen:
        screen.read_to_end()
        rows = [row.rstrip() for row in screen.seen.split("\r\n")]
    for whole in ("waits for you", "$ echo one > a.txt", f"→ sould approve {name}", f"sould reject {name}"):
        assert any(whole in row for row in rows), whole
    wide = {row.split()[0] for row in rows if len(row) > 40 and " " in row.strip()}
    assert wide <= {"log", "configuration", "asked"}, "what is asked about stands as it is"
    assert user.sould("reject", name).returncode == 0
    ended(editor)


def test_a_refusal_with_a_reason_reaches_the_agent(user: User) -> None:
    target = user.project / "a.txt"
    editor, _ = waits(
        user, call("WriteFile", "c1", path=str(target), content="x\n" * 40 + "evil\n"), "text: As you like."
    )
    status = user.sould("status").stdout
    assert "+x" in status
    assert "+evil" in status
    assert "more lines: sould approve" in status
    assert user.sould("approve", request_id(user), "--show").stdout.count("+x") == 40
    assert user.sould("reject", request_id(user), "--because", "not there").returncode == 0
    assert ended(editor)["result"]["stopReason"] == "end_turn"
    assert editor.said() == "As you like."
    assert not target.exists()


def test_a_run_with_afk_leaves_what_waits_in_the_session_to_its_user(user: User) -> None:
    editor, _ = waits(user, call("Shell", "c1", command="touch a"), "text: Done.")
    asked = request_id(user)
    run = user.sould("run", "--afk", "--session", editor.session, "go on")
    assert (run.returncode, f"`sould approve {asked}`" in run.stderr) == (2, True)
    assert user.sould("approve", asked).returncode == 0
    ended(editor)
    assert (user.project / "a").exists()


def test_words_with_an_approval_reach_the_agent_with_what_came_of_the_call(user: User) -> None:
    editor, _ = waits(user, call("Shell", "c1", command="echo one > a.txt"), "text: Done.")
    assert user.sould("approve", request_id(user), "--message", "and tell me its size").returncode == 0
    assert ended(editor)["result"]["stopReason"] == "end_turn"
    assert (user.project / "a.txt").exists()
    assert "**You, meanwhile:**\n\nand tell me its size" in user.sould("sessions", "show").stdout


def test_whoever_comes_second_is_told(user: User) -> None:
    editor, asked = waits(user, call("Shell", "c1", command="touch a"), "text: Done.")
    name = request_id(user)
    chosen = next(option["optionId"] for option in asked["params"]["options"] if option["kind"] == "allow_once")
    outcome = {"outcome": {"outcome": "selected", "optionId": chosen}}
    editor.bridge.send({"jsonrpc": "2.0", "id": asked["id"], "result": outcome})
    ended(editor)
    done = user.sould("reject", name)
    assert done.returncode == 1
    assert "answered already" in done.stderr


def test_a_question_is_answered_by_number(user: User) -> None:
    asks = question("q1", "Which database?", "SQLite", "PostgreSQL")
    editor, _ = waits(user, asks, "text: Good.")
    status = user.sould("status").stdout
    assert "Which database?" in status
    assert "2. PostgreSQL" in status
    assert user.sould("approve", request_id(user)).returncode == 1  # that is no permission
    beyond = user.sould("answer", request_id(user), "7")
    assert beyond.returncode == 1
    assert "1. SQLite, 2. PostgreSQL" in beyond.stderr
    done = user.sould("answer", request_id(user), "2")
    assert done.returncode == 0
    assert "Which database? → PostgreSQL" in done.stderr
    assert ended(editor)["result"]["stopReason"] == "end_turn"
    [result] = [update for update in editor.updates if update.get("status") == "completed"]
    assert "PostgreSQL" in json.dumps(result)


def test_the_only_thing_that_waits_needs_no_id(user: User) -> None:
    both = call("ReadFile", "c1", path="/etc/hostname") + "\n" + call("ReadFile", "c2", path="/etc/hosts")
    asks = [question(f"q{number}", "Which database?", "SQLite", "PostgreSQL") for number in (1, 2)]
    editor, _ = waits(user, both, *asks, "text: Done.")
    editor.wait(asked_about("/etc/hosts`"))
    several = user.sould("approve")
    assert several.returncode == 2
    assert several.stdout.count("→ sould approve") == 2
    assert "2 requests wait; say which one: sould approve " in several.stderr
    assert user.sould("approve", request_id(user)).returncode == 0
    other = user.sould("answer", "2")
    assert other.returncode == 2
    assert "→ sould approve" in other.stdout
    unseen = user.sould("approve")  # nobody is there to say that they mean it
    assert unseen.returncode == 2
    assert "/etc/hosts" in unseen.stderr
    with terminal(user, "approve") as screen:
        screen.expect("/etc/hosts")
        screen.expect("Allow it?")
        screen.type("y")
        assert screen.wait() == 0
    editor.wait(asked_about("Which database?"))
    assert "add your words, as in '3 your words'" in user.sould("answer", "3").stderr
    assert user.sould("answer", "3 a file").returncode == 0
    editor.wait(asked_about("Which database?"))
    with terminal(user, "answer") as screen:
        screen.expect("Which database?\r\n")
        screen.expect("[3] Other")
        screen.type("3")
        screen.expect("Other: ")
        screen.type("2")  # words, no number
        screen.expect("Answered: Which database? → 2 ")
        assert screen.wait() == 0
    ended(editor)
    assert "Nothing waits" in user.sould("approve").stderr
    given = [json.dumps(update) for update in editor.updates if update.get("status") == "completed"]
    assert "a file" in given[-2]


def test_a_call_is_refused_with_words_at_the_terminal_and_the_agent_goes_on(user: User) -> None:
    user.scripted(call("Shell", "c1", command="touch a"), "text: Then in another way.")
    with terminal(user, "run", "touch it") as screen:
        screen.expect("[n] Reject")
        screen.type("what?")
        screen.expect("Type one of: y, a, w, n; text after y or n is for the agent")
        screen.type("n use mktemp")
        screen.expect("Then in another way.")
        assert screen.wait() == 0
    assert "use mktemp" in user.sould("sessions", "show").stdout


def test_a_call_is_allowed_with_words_at_the_terminal(user: User) -> None:
    user.scripted(call("Shell", "c1", command="touch a"), "text: Done.")
    with terminal(user, "run", "touch it") as screen:
        screen.expect("[n] Reject")
        screen.type("y then list it")
        screen.expect("Done.")
        assert screen.wait() == 0
    assert (user.project / "a").exists()
    assert "then list it" in user.sould("sessions", "show").stdout


def test_a_dialog_that_was_answered_elsewhere_says_by_whom_and_how(user: User) -> None:
    user.scripted(call("Shell", "c1", command="touch a"))  # what the model says after every start
    with terminal(user, "run", "touch it") as screen:
        screen.expect("[n] Reject")
        user.daemon.kill9()
        screen.expect("(asked again, because sould was restarted)")
        screen.expect("[n] Reject")
        with terminal(user, "approve") as other:
            other.expect("$ touch a")
            other.expect("Allow it? [y/N]")
            other.type("y")
            other.expect("Allowed: ")
        screen.expect("(answered elsewhere, by the command line: allowed)")
        screen.expect("[n] Reject")
        assert user.sould("reject", "--because", "not now").returncode == 0
        screen.expect("(answered elsewhere, by the command line: rejected: not now)")
        assert "withdrawn" not in screen.seen


def test_the_agent_s_own_commands_answer_nothing(user: User) -> None:
    find = "import json,sys; print(next(w['id'] for s in json.load(sys.stdin)['sessions'] for w in s['waiting']))"
    tries = f'{SOULD} approve "$({SOULD} status --json | {sys.executable} -c {json.dumps(find)!s})" 2>&1'
    editor, _ = waits(user, call("Shell", "c1", command=tries), "text: Done.")
    other = Editor(user.daemon, user.daemon.acp())
    other.open()
    other.request("session/set_config_option", sessionId=other.session, configId="mode", value="full")
    assert other.prompt("go")["result"]["stopReason"] == "end_turn"
    assert "would answer for you" in json.dumps(other.updates)
    assert "waits for you" in user.sould("status").stdout
    assert user.sould("reject", request_id(user)).returncode == 0
    ended(editor)


def test_a_run_that_waited_prints_its_own_answer_only_and_leaves_the_other_turn_its_question(user: User) -> None:
    editor, _ = waits(user, "text: Mine.\n" + call("Shell", "c1", command="touch a"), "text: First.", "text: Second.")
    command = [str(SOULD), "run", "-S", editor.session, "then this"]
    with subprocess.Popen(
        command, env=user.environment, cwd=user.project, stdin=subprocess.DEVNULL, stdout=PIPE, stderr=PIPE, text=True
    ) as second:
        until(lambda: "queued 1: then this" in user.sould("status").stdout, what="the second prompt")
        looked = user.sould("run", "-S", editor.session, "/queue")
        assert looked.stdout == "Queued prompts\n\n1. then this\n"
        assert "Your prompt waits" not in looked.stderr
        assert user.sould("approve", request_id(user)).returncode == 0
        output, errors = second.communicate(timeout=20)
    assert second.returncode == 0, errors
    assert output == "Second.\n"
    assert "touch a" not in errors
    assert ended(editor)["result"]["stopReason"] == "end_turn"


def test_the_arguments_of_an_mcp_call_are_shown_where_it_is_asked_about(user: User) -> None:
    configure(user.config / "mcp.json", {"box": {"command": sys.executable, "args": [SERVER, "ok"]}})
    user.scripted(call(tool_name("box", "echo"), "c1", text="Ada"), "text: Done.")
    with terminal(user, "run", "say it") as screen:
        screen.read_until("[y]")
        assert "text: Ada" in screen.seen
        screen.type("y")
        screen.read_until("continue:")


def test_stop_names_a_turn_that_waits_for_an_approval_and_carries_it_over(newcomer: User) -> None:
    newcomer.scripted(call("Shell", "c1", command="touch marker"), "text: done")
    newcomer.daemon.start()
    editor = Editor(newcomer.daemon, newcomer.daemon.acp(), answer="")
    editor.open()
    editor.begin("a title", "turn")
    editor.wait(lambda message: message.get("method") == "session/request_permission")
    stopped = newcomer.sould("stop")
    assert stopped.returncode == 0
    assert f"{newcomer.project.name}: “a title” asks: Run a command in" in stopped.stderr
    assert "marker" in stopped.stderr
    assert not (newcomer.project / "marker").exists()
    assert "marker" in newcomer.sould("inbox").stdout


def test_stop_carries_a_question_over_and_waits_for_no_prompt_behind_it(user: User) -> None:
    user.scripted(question("c1", "Which database?", "SQLite", "PostgreSQL"), "text: With it, then.")
    user.daemon.start()
    editor = Editor(user.daemon, user.daemon.acp(), answer="")
    editor.open()
    editor.begin("a title", "turn")
    editor.wait(asked_about("Which database?"))
    editor.begin("and then this", "queued")
    asked = request_id(user)
    stopped = user.sould("stop")
    assert stopped.returncode == 0
    assert "Which database?" in stopped.stderr
    assert "Which database?" in user.sould("inbox").stdout
    user.scripted("text: With it, then.")
    assert user.sould("approve", asked, "--show").stdout.count("Which database?") == 1
    again = Editor(user.daemon, user.daemon.acp(), answer="")
    again.request("initialize", protocolVersion=1, clientCapabilities={})
    again.request("session/load", sessionId=editor.session, cwd=str(user.project), mcpServers=[])
    again.wait(asked_about("Which database?"))
    assert request_id(user) == asked
    done = user.sould("answer", asked, "2")
    assert "Which database? → PostgreSQL" in done.stderr
    until(lambda: "With it, then." in user.sould("sessions", "show", editor.session).stdout, what="the turn goes on")
    assert "PostgreSQL" in (user.state / "sessions" / editor.session / "wire.jsonl").read_text()


def test_what_waited_when_sould_was_stopped_is_answered_from_the_terminal_with_no_editor(user: User) -> None:
    user.scripted(question("c1", "Which database?", "SQLite", "PostgreSQL"), "text: With it, then.")
    user.daemon.start()
    editor = Editor(user.daemon, user.daemon.acp(), answer="")
    editor.open()
    editor.begin("a title", "turn")
    editor.wait(asked_about("Which database?"))
    asked = request_id(user)
    assert user.sould("stop").returncode == 0
    user.scripted("text: With it, then.")
    done = user.sould("answer", "2")
    assert "Which database? → PostgreSQL" in done.stderr
    until(lambda: "With it, then." in user.sould("sessions", "show", editor.session).stdout, what="the turn goes on")
    late = user.sould("answer", asked, "1")
    assert (late.returncode, "it was answered already" in late.stderr) == (1, True)


def test_a_question_that_is_carried_to_where_nobody_can_answer_leaves_the_model_to_ask_in_words(user: User) -> None:
    user.scripted(question("c1", "Which database?", "SQLite", "PostgreSQL"))
    user.daemon.start()
    editor = Editor(user.daemon, user.daemon.acp(), answer="")
    editor.open()
    editor.begin("a title", "turn")
    editor.wait(asked_about("Which database?"))
    assert user.sould("stop").returncode == 0
    user.scripted("text: SQLite or PostgreSQL?", "text: So be it.")
    ran = user.sould("run", "-S", editor.session, "SQLite")
    assert ran.returncode == 0, ran.stderr
    shown = user.sould("sessions", "show", editor.session).stdout
    assert shown.index("SQLite or PostgreSQL?") < shown.index("So be it.")
    assert "ask in plain words" in (user.state / "sessions" / editor.session / "wire.jsonl").read_text()
    assert "Nothing waits" in user.sould("inbox").stdout
