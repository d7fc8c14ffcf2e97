"""`sould debug wire`, with the real program, sessions of a scripted model, and files as others left them."""

import json
import subprocess
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from soultest.cliuser import User
from soultest.terminal import terminal
from soultest.world import SOULD

READ = 'tool_call: {"id": "c1", "name": "ReadFile", "arguments": "{\\"path\\": \\"a.txt\\"}"}'


@pytest.fixture
def user(next_user: User) -> User:
    return next_user


def worked(user: User) -> str:
    """A session in which a file was read."""
    (user.project / "a.txt").write_text("hello\n")
    user.scripted(f"{READ}\nusage: input_other=10 output=5", "text: It says hello.")
    return str(user.result("What does it say?")["session_id"])


def journal(user: User, session: str) -> Path:
    return user.state / "sessions" / session / "wire.jsonl"


def record(kind: str, timestamp: float = 1_700_000_000.0, **payload: Any) -> str:
    """A line as kimi-cli writes it: without a number and a checksum."""
    return json.dumps({"timestamp": timestamp, "message": {"type": kind, "payload": payload}})


def kimi(user: User, *lines: str) -> Path:
    path = user.project / "wire.jsonl"
    path.write_text("".join(f"{line}\n" for line in ('{"type": "metadata", "protocol_version": "1.9"}', *lines)))
    return path


@contextmanager
def reading(user: User, *arguments: str) -> "Generator[subprocess.Popen[str]]":
    """The command while it runs."""
    command = [str(SOULD), "debug", "wire", *arguments]
    with subprocess.Popen(
        command, env=user.environment, cwd=user.project, stdout=subprocess.PIPE, text=True
    ) as running:
        try:
            yield running
        finally:
            running.kill()


def lines_until(running: "subprocess.Popen[str]", text: str) -> Sequence[str]:
    assert running.stdout is not None
    seen = list[str]()
    for line in running.stdout:
        seen.append(line)
        if text in line:
            return seen
    raise AssertionError(f"no {text!r} in {seen}")


def types(text: str) -> list[str]:
    return [json.loads(line)["message"]["type"] for line in text.splitlines()]


def test_a_session_is_read_message_by_message(user: User) -> None:
    session = worked(user)
    done = user.sould("debug", "wire", session[:-2])
    assert (done.returncode, done.stderr) == (0, "")
    shown = {line.split()[2]: line for line in done.stdout.splitlines()[1:]}
    assert shown["TurnBegin"].endswith("  What does it say?")
    assert shown["ToolCall"].endswith('  ReadFile {"path": "a.txt"}')
    assert "ReadFile, 0." in shown["ToolResult"]
    assert " s: ok " in shown["ToolResult"]
    assert shown["ContentPart"].endswith("  It says hello.")
    assert shown["TurnEnd"].endswith("  finished")
    assert "\x1b" not in done.stdout


def test_without_a_name_it_is_the_latest_session_of_this_directory(user: User) -> None:
    assert "There is no session in" in user.sould("debug", "wire").stderr
    worked(user)
    user.scripted("text: hi")
    other = user.result("Another one")["session_id"]
    assert "Another one" in user.sould("debug", "wire").stdout
    user.sould("sessions", "archive", str(other))
    assert "What does it say?" in user.sould("debug", "wire").stdout


def test_what_is_no_session_is_said(user: User) -> None:
    worked(user)
    for session, why in (("nobody", "No session begins with 'nobody'"), ("0", "Several sessions begin with '0'")):
        if session == "0":
            worked(user)
        done = user.sould("debug", "wire", session)
        assert (done.returncode, done.stdout) == (1, "")
        assert why in done.stderr
    (user.project / "notes.txt").write_text("Buy milk.\n")
    done = user.sould("debug", "wire", "notes.txt")
    assert (done.returncode, "is no journal" in done.stderr) == (1, True)
    assert user.sould("debug", "wire", "./missing.jsonl").returncode == 1


def test_no_daemon_is_needed(newcomer: User) -> None:
    session = worked(newcomer)
    newcomer.sould("stop")
    assert "It says hello." in newcomer.sould("debug", "wire", session).stdout
    assert "not running" in newcomer.sould("status").stdout


def test_types_are_chosen_and_left_out(user: User) -> None:
    session = worked(user)
    calls = user.sould("debug", "wire", session, "--raw", "--type", "toolcall", "--type", "ToolResult,TurnEnd")
    assert types(calls.stdout) == ["ToolCall", "ToolResult", "TurnEnd"]
    rest = user.sould("debug", "wire", session, "--raw", "--not", "ToolCall,StatusUpdate", "--last", "3").stdout
    assert types(rest) == ["StepBegin", "ContentPart", "TurnEnd"]
    wrong = user.sould("debug", "wire", session, "--type", "ToolCal")
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert "Did you mean 'ToolCall'?" in wrong.stderr


def test_raw_records_are_the_lines_of_the_journal(user: User) -> None:
    session = worked(user)
    done = user.sould("debug", "wire", session, "--raw")
    assert done.stdout == journal(user, session).read_text().partition("\n")[2]


def test_records_and_bytes_are_counted_by_type(user: User) -> None:
    path = kimi(user, record("StepBegin", n=1), record("StepBegin", n=2), record("TurnEnd", 1_700_000_600.0))
    done = user.sould("debug", "wire", "./wire.jsonl", "--stats")
    rows = [line.split() for line in done.stdout.splitlines()]
    lines = path.read_text().splitlines(keepends=True)[1:]
    assert ["StepBegin", "2", str(len(lines[0] + lines[1]))] in rows
    assert ["TurnEnd", "1", str(len(lines[2]))] in rows
    assert ["in", "all", "3", str(len("".join(lines)))] in rows
    assert done.stdout.endswith(" within 10 min\n")
    assert user.sould("debug", "wire", "./wire.jsonl", "--stats", "--raw").returncode == 2


def test_files_of_kimi_cli_are_read_also_with_types_that_nobody_knows(user: User) -> None:
    kimi(
        user, record("TurnBegin", user_input="Mend it"), record("Surprise", colour="red", empty=None), record("TurnEnd")
    )
    done = user.sould("debug", "wire", "./wire.jsonl")
    assert [" ".join(line.split()[2:]) for line in done.stdout.splitlines()[1:]] == [
        "TurnBegin Mend it",
        "Surprise colour: red",
        "TurnEnd finished",
    ]
    assert types(user.sould("debug", "wire", "wire.jsonl", "--type", "Surprise", "--raw").stdout) == ["Surprise"]


def test_damage_is_named_and_passed_over(user: User) -> None:
    session = worked(user)
    path = journal(user, session)
    lines = path.read_bytes().splitlines(keepends=True)
    copy = user.project / "damaged.jsonl"
    copy.write_bytes(b"".join([*lines[:3], b"\x00garbage\n", *lines[3:], lines[-1][:20]]))
    done = user.sould("debug", "wire", "damaged.jsonl", "--raw")
    assert done.returncode == 0
    assert done.stdout.encode() == b"".join(lines[1:])
    assert f"8 damaged bytes at {len(b''.join(lines[:3]))}" in done.stderr
    assert "the last 20 bytes are no whole record" in done.stderr


def test_a_message_that_was_cut_is_shown_as_far_as_it_is_kept(user: User) -> None:
    session = worked(user)
    whole, _, _ = journal(user, session).read_text().partition(" hello.")
    (user.project / "cut.jsonl").write_text(whole)
    done = user.sould("debug", "wire", "cut.jsonl")
    assert done.stdout.splitlines()[-1].endswith("ContentPart       (not whole) It says")
    assert "the last message is not whole" in done.stderr
    (last,) = user.sould("debug", "wire", "cut.jsonl", "--raw", "-n", "1").stdout.splitlines()
    assert json.loads(last)["message"]["payload"]["text"] == "It says"


def test_nothing_that_is_shown_drives_the_terminal(user: User) -> None:
    hostile = "\x1b]0;title\x07\u202e\x9bdone\nnext"
    kimi(user, record("TurnBegin", user_input=hostile), record("\x1b[2J", x=hostile), record("StepBegin", 1e300, n=1))
    for options in ((), ("--raw",), ("--stats",)):
        with terminal(user, "debug", "wire", "wire.jsonl", *options, size=(24, 60)) as screen:
            screen.read_to_end()
        for code in ("\x1b]", "\x07", "\x9b", "\u202e", "\x1b[2J"):
            assert code not in screen.seen


def test_a_line_fits_the_terminal_and_is_coloured_there(user: User) -> None:
    kimi(user, record("TurnBegin", user_input="word " * 100), record("ContentPart", type="text", text="漢字" * 100))
    with terminal(user, "debug", "wire", "wire.jsonl", size=(24, 60)) as screen:
        screen.read_to_end()
    assert "\x1b[32mTurnBegin" in screen.seen
    assert "…" in screen.seen
    assert "word " * 6 not in screen.seen
    assert "漢字" * 5 in screen.seen
    assert "漢字" * 6 not in screen.seen


def test_what_happens_is_followed_while_it_happens(user: User) -> None:
    session = worked(user)
    with reading(user, session, "--follow", "--type", "TurnBegin") as running:
        lines_until(running, "What does it say?")
        user.scripted("text: hi")
        user.result("--session", session, "And now?")
        lines_until(running, "And now?")
        user.sould("sessions", "delete", "--yes", session)
        assert running.wait(40) == 0


def test_following_begins_with_the_last_records_and_ends_with_ctrl_c(user: User) -> None:
    session = worked(user)
    with terminal(user, "debug", "wire", session, "-f", "--last", "1") as screen:
        screen.read_until("finished")
        screen.interrupt()
        assert screen.wait() == 130
    assert "TurnBegin" not in screen.seen


def test_following_waits_for_the_end_of_a_line(user: User) -> None:
    path = kimi(user, record("StepBegin", n=1))
    with reading(user, str(path), "--follow", "--raw") as running:
        lines_until(running, "StepBegin")
        begun, ended = (
            record("TurnBegin", user_input="in two pieces")[:30],
            record("TurnBegin", user_input="in two pieces")[30:],
        )
        with path.open("a") as file:
            file.write(begun)
            file.flush()
            file.write(f"{ended}\n{record('TurnEnd')}\n")
        assert types("".join(lines_until(running, "TurnEnd"))) == ["TurnBegin", "TurnEnd"]


def test_a_replay_takes_its_time(user: User) -> None:
    kimi(user, record("TurnBegin", user_input="now"), record("TurnEnd", 1_700_003_600.0))
    with reading(user, "wire.jsonl", "--speed", "1") as running:
        lines_until(running, "TurnBegin")
        assert running.poll() is None
    done = user.sould("debug", "wire", "wire.jsonl", "--speed", "1000000")
    assert "TurnEnd" in done.stdout
    assert user.sould("debug", "wire", "wire.jsonl", "--speed", "0").returncode == 2


def test_a_reader_that_leaves_early_is_no_error(user: User) -> None:
    kimi(user, *(record("StepBegin", n=n) for n in range(20_000)))
    head: Mapping[str, Any] = {"prefix": ("bash", "-o", "pipefail", "-c", '"$@" | head -n 1', "sh")}
    done = user.sould("debug", "wire", "wire.jsonl", "--raw", **head)
    assert (done.returncode, done.stderr) == (141, "")
