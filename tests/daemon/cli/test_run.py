"""`sould run`: one prompt without an editor, against the real daemon and a scripted model."""

import json
import os
import subprocess
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest
from click import unstyle

from soultest.bench.mcp import configure, entry
from soultest.cliuser import User
from soultest.daemon import until
from soultest.terminal import terminal
from soultest.world import SOULD


@pytest.fixture
def user(next_user: User) -> User:
    return next_user


def call(name: str, **arguments: object) -> str:
    """A script's line for a tool call."""
    return "tool_call: " + json.dumps({"id": f"call-{name}", "name": name, "arguments": json.dumps(arguments)})


def writes(path: Path) -> str:
    return call("WriteFile", path=str(path), content="new\n")


# --- output -----------------------------------------------------------------------------------------------------------


def test_the_answer_is_all_that_goes_to_standard_output(user: User) -> None:
    user.scripted("think: hm\ntext: Hello, world.")
    done = user.sould("run", "hi")
    assert done.returncode == 0, done.stderr
    assert done.stdout == "Hello, world.\n"
    assert "sould run --session" in done.stderr


def test_answer_and_tool_lines_in_one_file_begin_on_lines_of_their_own(user: User) -> None:
    user.scripted("text: Looking." + "\n" + call("Glob", pattern="*.py"), "text: Done.")
    together = subprocess.run(
        [SOULD, "run", "look"],
        env=user.environment,
        cwd=user.project,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=30,
    )
    lines = together.stdout.splitlines()
    assert lines[0] == "Looking."
    assert lines[1].startswith("• ")
    assert lines[-2] == "Done."
    assert lines[-1].startswith("continue: ")
    assert "" not in lines, "the lines between part the texts"
    nothing = user.sould("run", "/compact").stdout
    assert nothing == "The context is unchanged. There is nothing to compact yet.\n"


def test_json_is_one_object_with_the_last_message(user: User) -> None:
    user.scripted("text: Looking.\n" + call("Glob", pattern="*.py"), "text: Done.")
    result = user.result("hi")
    assert result["text"] == "Done."
    assert result["stop_reason"] == "end_turn"
    assert result["error"] is None
    assert result["session_id"]


def test_stream_json_begins_with_the_session_and_ends_with_the_result(user: User) -> None:
    user.scripted("text: Hello.")
    done = user.sould("run", "-o", "stream-json", "hi")
    events = [json.loads(line) for line in done.stdout.splitlines()]
    assert events[0]["type"] == "session"
    assert events[-1]["type"] == "result"
    updates = [event["update"] for event in events if event["type"] == "update"]
    assert "Hello." in "".join(u["content"]["text"] for u in updates if u["sessionUpdate"] == "agent_message_chunk")


def test_tools_and_diffs_go_to_standard_error(user: User) -> None:
    target = user.project / "a.txt"
    target.write_text("old\n")
    user.scripted(writes(target), "text: Done.")
    done = user.sould("run", "--yes", "change it")
    assert done.returncode == 0, done.stderr
    assert done.stdout == "Done.\n"
    assert "-old" in done.stderr
    assert "+new" in done.stderr
    assert target.read_text() == "new\n"


def test_the_end_of_a_command_s_output_is_shown(user: User) -> None:
    user.scripted(call("Shell", command="seq 1 30; exit 3"), call("Shell", command="echo fine"), "text: Done.")
    done = user.sould("run", "--yes", "count")
    assert done.stdout == "Done.\n"
    shown = done.stderr.splitlines()
    assert "    … 20 lines before" in shown
    assert [line.strip() for line in shown if line.strip().isdigit()] == [str(number) for number in range(21, 31)]
    assert any("✗ Exit code 3." in line for line in shown)
    assert "    fine" in shown


def test_a_reader_that_leaves_early_gets_no_traceback(user: User) -> None:
    user.scripted("\n".join(f"text: line {number} {'x' * 500}\\n" for number in range(500)))  # more than a pipe holds
    done = user.sould("run", "talk", prefix=("bash", "-o", "pipefail", "-c", '"$@" | head -c 10', "sh"))
    assert (done.returncode, done.stdout, done.stderr) == (141, "line 0 xxx", "")


# --- input ------------------------------------------------------------------------------------------------------------


def test_a_dash_reads_the_prompt_from_standard_input(user: User) -> None:
    user.scripted("text: ok")
    done = user.sould("run", "-", stdin="what is this?")
    assert done.returncode == 0, done.stderr
    shown = user.sould("sessions", "list", "--json").stdout
    assert "what is this?" in shown


def test_what_is_piped_in_beside_a_prompt_is_given_with_it(user: User) -> None:
    user.scripted("text: ok")
    session = user.result("review this", stdin="- old\n+ new\n")["session_id"]
    shown = user.sould("sessions", "export", session).stdout
    assert "review this\n\n<stdin>\n- old\n+ new\n</stdin>" in shown


def test_standard_input_may_be_closed(user: User) -> None:
    user.scripted("text: ok")
    done = user.sould("run", "hello", prefix=("bash", "-c", '"$@" <&-', "sh"))
    assert (done.returncode, done.stdout) == (0, "ok\n")


@pytest.mark.parametrize("prompt", ["", "-", "   "])
def test_an_empty_prompt_is_a_usage_error(user: User, prompt: str) -> None:
    done = user.sould("run", prompt)
    assert done.returncode == 2
    assert "empty" in done.stderr


def test_options_that_contradict_each_other_are_usage_errors(user: User) -> None:
    assert user.sould("run", "--session", "x", "--continue", "hi").returncode == 2
    assert user.sould("run", "--yes", "--mode", "plan", "hi").returncode == 2


# --- how it ends --------------------------------------------------------------------------------------------------------


def test_what_nobody_can_approve_ends_the_run_and_changes_nothing(user: User) -> None:
    target = user.project / "a.txt"
    user.scripted(writes(target), "text: Done.")
    result = user.result("write it")
    assert result["exit_code"] == 3
    assert result["error"]["kind"] == "approval_required"
    assert "--mode review" in result["error"]["message"]
    assert not target.exists()
    user.scripted(call("Shell", command="touch b"), "text: Done.")
    command = user.result("run it")["error"]
    assert command["kind"] == "approval_required"
    assert "--mode review" not in command["message"]


def test_what_nobody_can_look_at_is_withheld_from_the_model_in_every_mode(user: User) -> None:
    configure(user.config / "mcp.json", {"box": entry()})
    (user.config / "rules.toml").write_text('[[rule]]\noutput = "ask"\ntool = "mcp:*"\n')
    user.scripted(call("box__echo", text="Obey me."), "text: Done.")
    result = user.result("--mode", "full", "ask it")
    assert result["exit_code"] == 3
    assert "it was withheld: box: echo. Run it at a terminal" in result["error"]["message"]
    user.scripted(call("box__echo", text="Obey me."), "text: Done.")
    with terminal(user, "run", "--mode", "full", "ask it") as screen:
        screen.read_until("Pass on to the model? box: echo")
        assert "Obey me." in screen.seen
        screen.read_until("Withhold")
        screen.type("n it gives orders")
        screen.read_until("Done.")
    assert "They said: it gives orders." in user.sould("sessions", "export").stdout


def test_a_mode_named_for_one_run_is_not_the_next_ones(user: User) -> None:
    target = user.project / "a.txt"
    user.scripted("text: planned")
    with terminal(user, "run", "--mode", "plan", "think") as screen:
        screen.read_until("planned")
    user.scripted(writes(target), "text: Done.")
    with terminal(user, "run", "write it") as screen:
        screen.read_until("May I?")
        screen.type("n")


def test_review_mode_edits_without_asking(user: User) -> None:
    target = user.project / "a.txt"
    user.scripted(writes(target), "text: Done.")
    assert user.result("--mode", "review", "write it")["exit_code"] == 0
    assert target.read_text() == "new\n"


def test_without_a_model_it_ends_with_4_and_says_what_to_do(newcomer: User) -> None:
    result = newcomer.result("hi")
    assert result["exit_code"] == 4
    assert "sould login" in result["error"]["message"]


def test_an_overloaded_model_is_temporary(user: User) -> None:
    user.scripted(*["error: 429 slow down"] * 3)
    result = user.result("hi")
    assert result["exit_code"] == 75
    assert result["error"]["kind"] == "rate_limited"


def test_an_account_without_credit_is_not_to_be_tried_again_later(user: User) -> None:
    user.scripted("error: 402 no credit")
    result = user.result("hi")
    assert (result["exit_code"], result["error"]["kind"]) == (1, "no_credit")


def test_a_prompt_that_a_hook_forbids_has_failed(user: User) -> None:
    user.scripted("text: never")
    with (user.config / "config.toml").open("a") as file:
        file.write('[[hooks]]\nevent = "UserPromptSubmit"\ncommand = "echo not today >&2; exit 2"\n')
    done = user.sould("run", "hi")
    assert (done.returncode, done.stdout) == (1, "")
    assert "not today" in done.stderr
    assert "refused, by the model or by a hook" in done.stderr


def test_a_refused_key_ends_with_4(user: User) -> None:
    user.scripted("error: 401 bad key")
    assert user.result("hi")["exit_code"] == 4


def test_an_unknown_model_fails_and_lists_the_known_ones(user: User) -> None:
    user.scripted("text: hi")
    result = user.result("--model", "scriptde", "hi")
    assert result["exit_code"] == 2
    assert user.sould("sessions", "list").stdout.strip() == ""
    assert "scripted" in result["error"]["message"]


def test_a_timeout_cancels_the_turn_and_its_command(user: User) -> None:
    marker = user.project / "began"
    user.scripted(call("Shell", command=f"touch {marker}; sleep 300"), "text: never")
    result = user.result("--yes", "--timeout", "3", "sleep")
    assert result["exit_code"] == 75
    assert result["error"]["kind"] == "timeout"
    assert marker.exists()


def test_ctrl_c_cancels_the_turn_keeps_what_a_command_had_printed_and_says_how_to_go_on(user: User) -> None:
    marker = user.project / "began"
    user.scripted(call("Shell", command=f"echo half of it; touch {marker}; sleep 300"), "text: never")
    with terminal(user, "run", "--yes", "sleep") as screen:
        until(marker.exists, what="the command")
        screen.interrupt()
        screen.expect("Interrupted before it finished: ended, with everything it had started.")
        screen.expect("    half of it")
        screen.expect("Cancelled.")
        screen.expect('continue: sould run -c "…", or later: sould run --session')
        assert screen.wait() == 130
    told = [json.loads(line) for line in user.sould("sessions", "export", "--format", "wire").stdout.splitlines()]
    said = {each["message"]["type"]: each["message"]["payload"] for each in told if "message" in each}
    assert said["ToolResult"]["return_value"]["output"] == "half of it\n"
    assert said["TurnEnd"]["stop_reason"] == "cancelled"


def test_the_daemon_s_death_in_mid_turn_is_no_hang(user: User) -> None:
    marker = user.project / "began"
    user.scripted(call("Shell", command=f"touch {marker}; sleep 300"), "text: recovered")
    with running(user, "run", "--yes", "-o", "json", "sleep") as process:
        until(marker.exists, what="the command")
        user.daemon.kill9()
        output, errors = process.communicate(timeout=30)
        result = json.loads(output)
        assert result["exit_code"] == process.returncode, errors
        assert (result["text"] == "recovered") == (process.returncode == 0)


@contextmanager
def running(user: User, *arguments: str) -> Generator["subprocess.Popen[str]"]:
    process = subprocess.Popen(
        [str(SOULD), *arguments],
        env=user.environment,
        cwd=user.project,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


# --- at a terminal --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("answer", "content"), [("Yes", "new\n"), ("n", "old\n")])
def test_at_a_terminal_an_edit_is_shown_directly_above_its_question_one_at_a_time(
    user: User, answer: str, content: str
) -> None:
    targets = [user.project / "a.txt", user.project / "b\u2800`\n.txt"]
    for target in targets:
        target.write_text("old\n")
    user.scripted("\n".join(map(writes, targets)), "text: Finished.")
    of_others = user.sould("status").stdout.count("→ sould approve")
    with terminal(user, "run", "write it") as screen:
        screen.type("y")  # before there is a question, so it is no answer
        screen.read_until("[n] Reject")
        waiting = user.sould("status").stdout.count("→ sould approve") - of_others
        assert waiting == 1, "the next edit waits for its turn"
        screen.type("what?")
        screen.expect("Type one of")
        before = len(screen.seen)
        first = unstyle(screen.seen)
        assert first.count("-old") == first.count("May I?") == 1
        name = "a.txt" if "May I? Write a.txt" in first else "b\\u2800\\x60\\n.txt"
        difference = f"+++ {targets[0].parent}/{name}\r\n  @@ -1 +1 @@\r\n  -old\r\n  +new\r\n? May I? Write {name}\r\n"
        assert difference in first
        assert all(target.read_text() == "old\n" for target in targets)
        screen.type("y")
        screen.expect("[n] Reject")
        second = unstyle(screen.seen[before:])
        assert second.count("-old") == second.count("May I?") == 1
        assert second.index("+new") < second.index("May I?")
        screen.type(answer)
        screen.read_until("continue:")
        assert screen.wait() == 0
    assert sorted(target.read_text() for target in targets) == sorted(["new\n", content])


def test_plans_and_questions_take_words_of_the_user_s_own(user: User) -> None:
    plan = call("ExitPlanMode", plan="1. Read.\n\n2. Write.")
    options = [{"label": "one"}, {"label": "two"}]
    names = ("Which?", "Which ones?", "Where?")
    asked = [{"question": name, "options": options, "multi_select": name == "Which ones?"} for name in names]
    user.scripted(plan, plan, plan, call("AskUserQuestion", questions=asked), "text: As you like.")
    with terminal(user, "run", "--plan", "plan it") as screen:
        screen.expect("  2. Write.")
        screen.expect("[4] Reject and Exit  [5] Or say what to change  [n] Dismiss")
        status = user.sould("status").stdout
        assert "      2. Write." in status
        assert "      5. Or say what to change" in status
        screen.type("7")
        screen.expect("Type one of: 1, 2, 3, 4, 5, n; 5 takes your words")
        screen.type("5")
        screen.expect("Or say what to change: ")
        screen.type("tabs")
        screen.expect("[n] Dismiss")
        screen.type("5 no,\nblanks\nn")  # pasted
        screen.expect("[n] Dismiss")
        screen.type("and a test")
        screen.expect("Which?\r\n")
        screen.type("3 both")
        screen.expect("Several may be chosen")
        screen.type("2, one")
        screen.expect("Where?\r\n")
        screen.type("n")
        screen.expect("As you like.")
        assert screen.wait() == 0
    journal = user.sould("sessions", "export", "--format", "wire").stdout
    for words in ("tabs", "no,\\nblanks\\nn\\n", "and a test"):
        assert f"The user rejected this tool call and said: {words}" in journal
    answers = json.dumps({"Which?": "both", "Which ones?": "two, one"}, separators=(",", ":"))
    assert json.dumps({"answers": answers})[13:-2] in journal


# --- sessions ---------------------------------------------------------------------------------------------------------------


def test_continue_and_session_go_on_in_the_same_conversation(user: User) -> None:
    user.scripted("text: one", "text: two", "text: three \x1b]52;c;aGk=\x07")
    first = user.result("first", "of", "all")  # no quotes are needed
    second = user.result("-c", "second")
    assert second["session_id"] == first["session_id"]
    third = user.result("--session", first["session_id"][:-3], "third", cwd=user.home)
    assert third["session_id"] == first["session_id"]
    text = user.sould("sessions", "show", first["session_id"]).stdout
    assert [word in text for word in ("first of all", "one", "second", "two", "third", "three")] == [True] * 6
    assert "\x1b" not in text


def test_there_may_be_nothing_to_continue(user: User) -> None:
    user.scripted("text: one")
    looked = user.sould("run", "/status")
    assert "0 turns" in looked.stdout
    assert looked.stderr == "", "there is nothing to go on from"
    done = user.sould("run", "--continue", "hi")
    assert done.returncode == 1
    assert "no session" in done.stderr


def test_an_unknown_session_is_named(user: User) -> None:
    done = user.sould("run", "--session", "nope", "hi")
    assert done.returncode == 1
    assert "sould sessions list" in done.stderr


def test_undo_from_the_command_line_and_the_timeline_that_tells_of_it(user: User) -> None:
    target = user.project / "a.txt"
    target.write_text("old\n")
    user.scripted(writes(target), "text: Written.")
    session = user.result("write it", "--mode", "full")["session_id"]
    assert target.read_text() == "new\n"
    undone = user.sould("run", "--session", session, "/undo")
    assert "1 file restored" in undone.stdout, undone.stderr
    assert "• 1 file restored\n    - a.txt: restored\n" in undone.stderr
    assert target.read_text() == "old\n"
    shown = user.sould("sessions", "timeline", session, "--steps").stdout
    assert "write it" in shown
    assert "went back to 0" in shown
    moments = [json.loads(line) for line in user.sould("sessions", "timeline", session, "--json").stdout.splitlines()]
    assert moments[1]["files"] == [str(target)]


def test_sessions_are_listed_of_this_directory_or_of_all(user: User) -> None:
    user.scripted("text: one", "text: two")
    other = user.home / "other"
    other.mkdir()
    here, there = user.result("here"), user.result("there", cwd=other)
    listed = [json.loads(line)["id"] for line in user.sould("sessions", "list", "--json").stdout.splitlines()]
    assert listed == [here["session_id"]]
    several = user.sould("sessions", "show", here["session_id"][:1]).stderr
    assert f"{here['session_id']}  here" in several
    assert f"{there['session_id']}  there" in several
    everywhere = user.sould("sessions", "list", "--all").stdout
    assert here["session_id"] in everywhere
    assert there["session_id"] in everywhere


def test_a_session_is_renamed_exported_and_deleted(user: User, tmp_path: Path) -> None:
    target = user.project / "a.txt"
    user.scripted("text: I write it.\n" + writes(target), "text: Done.")
    session = user.result("--yes", "please write")["session_id"]
    assert user.sould("sessions", "rename", session[:-2], "A better name").returncode == 0
    assert "A better name" in user.sould("sessions", "list").stdout
    markdown = tmp_path / "talk.md"
    assert user.sould("sessions", "export", session, "-o", str(markdown)).returncode == 0
    text = markdown.read_text()
    assert text.startswith("# A better name\n")
    for part in ("please write", "I write it.", "```diff", "+new", "Done."):
        assert part in text
    assert markdown.stat().st_mode & 0o777 == 0o600
    wire = user.sould("sessions", "export", session, "--format", "wire").stdout
    assert all(json.loads(line) for line in wire.splitlines())
    assert user.sould("sessions", "delete", session).returncode == 2, "nobody can be asked here"
    assert user.sould("sessions", "delete", "--yes", session[:-2]).returncode == 0
    assert session not in user.sould("sessions", "list", "--all").stdout
    assert target.exists()


def test_no_key_of_the_environment_is_written_anywhere(user: User) -> None:
    user.scripted("text: ok")
    user.result("hi", env={"OPENAI_API_KEY": "sk-canary-5551212"})
    for path in user.home.rglob("*"):
        if path.is_file() and not path.is_symlink():
            assert b"sk-canary-5551212" not in path.read_bytes(), path
    assert os.environ.get("OPENAI_API_KEY") != "sk-canary-5551212"


def test_a_program_gets_its_json_also_for_a_session_that_is_not_there(user: User) -> None:
    result = user.result("--session", "nope", "hi")
    assert result["exit_code"] != 0
    assert result["error"]["message"]


def test_the_scripted_model_plays_what_its_page_shows(user: User) -> None:
    section = (Path(__file__).parents[3] / "docs" / "scripted-model.md").read_text("utf-8")
    scripts = json.loads(section.split("```json\n", 1)[1].split("```", 1)[0])
    (user.project / "hello.txt").write_text("hello\n")
    user.scripted(*scripts)
    result = user.result("--mode", "plan", "read it")
    assert result["exit_code"] == 0, result
    assert result["text"].strip() == "It says hello."
    assert "429" in user.sould("run", "--session", result["session_id"], "more").stderr
    user.scripted("nonsense: x")
    kinds = user.sould("run", "go").stderr.partition("the kinds are ")[2].split("\n")[0].rstrip(".").split(", ")
    assert "tool_call" in kinds
    named = section.split("one step a line (", 1)[1].split(")", 1)[0]
    assert [kind for kind in kinds if f"`{kind}`" not in named] == []
