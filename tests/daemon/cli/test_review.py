"""`sould review`: what agents changed, listed, shown, kept and rejected from a terminal, without a session and without a model."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from click import unstyle
from tests.daemon.cli.reviewing import AREA, CHECKED, PLAN, edited, pending, texts, two_files, write

from soultest.cliuser import User
from soultest.daemon import until
from soultest.terminal import terminal
from soultest.world import SOULD, call

NOTHING = "Nothing is to be reviewed.\n"


@pytest.fixture
def user(next_user: User) -> User:
    return next_user


# --- lists ------------------------------------------------------------------------------------------------------------


def test_what_is_pending_is_listed_by_file_with_numbers_sizes_and_authors(user: User) -> None:
    session = two_files(user)
    done = user.sould("review")
    assert done.returncode == 0, done.stderr
    [turn] = {agent["turnId"][:10] for hunk in pending(user) for agent in hunk["agents"]}
    by = f"session {session[:10]}, turn {turn}, scripted"
    assert done.stdout == (
        "2 hunks to review in 2 files.\n\n"
        f"area.py  {by}\n  1  line 2, +2: if w < 0:\n\n"
        f"plan.md (new)  {by}\n  2  line 1, +2: # Plan\n"
    )


def test_a_part_is_chosen_by_paths_sessions_and_turns(user: User) -> None:
    (user.project / "sub").mkdir()
    one = edited(user, {"a.py": "a\n"})
    edited(user, {"sub/b.py": "b\n"})
    assert texts(user, "sub") == ["b\n"]
    assert texts(user, "sub/b.py", "a.py") == ["a\n", "b\n"]
    assert texts(user, "--session", one) == ["a\n"]
    turn = pending(user, "sub")[0]["agents"][0]["turnId"]
    assert texts(user, "--turn", turn[:12]) == ["b\n"]
    inside = user.sould("review", "b.py", cwd=user.project / "sub")
    assert "\nb.py (new)  session" in inside.stdout
    many = user.sould("review", "keep", "--session", one[:2])
    assert many.returncode == 2
    assert "Several sessions begin with" in many.stderr
    assert len(pending(user)) == 2


@pytest.mark.parametrize("arguments", [("list", "-S"), ("-p", "-S"), ("keep", "-S"), ("reject", "all", "-S")])
def test_a_session_that_there_is_not_is_an_error_and_one_with_nothing_pending_is_none(
    user: User, arguments: tuple[str, ...]
) -> None:
    session = edited(user, {"a.py": "a\n"})
    wrong = user.sould("review", *arguments, "nonsense")
    assert wrong.returncode == 1
    assert "nonsense" in wrong.stderr
    assert "sould sessions list" in wrong.stderr
    assert len(pending(user)) == 1
    assert user.sould("review", "keep", "all").returncode == 0
    done = user.sould("review", *arguments, session[:12])
    assert (done.returncode, done.stdout[:25]) == (0, NOTHING[:25])


def test_all_shows_what_is_not_in_its_file_now(user: User) -> None:
    two_files(user)
    (user.project / "area.py").write_text("# all new\n")
    assert "area.py" not in user.sould("review", "list").stdout
    assert "not in the file now" in user.sould("review", "--all").stdout


@pytest.mark.parametrize(
    "arguments", [("review",), ("review", "list"), ("review", "-p"), ("review", "keep", "all"), ("review", ".")]
)
def test_nothing_to_review_is_a_sentence(user: User, arguments: tuple[str, ...]) -> None:
    done = user.sould(*arguments)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("Nothing is to be reviewed")


def test_a_directory_that_is_no_project_has_only_what_lies_in_it(user: User, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere.txt"
    edited(user, {str(user.home / "here.txt"): "h\n", str(elsewhere): "e\n"}, "--add-dir", str(user.home))
    assert texts(user, "--cwd", str(user.home)) == ["h\n"]
    assert "\nhere.txt (new)" in user.sould("review", cwd=user.home).stdout
    assert user.sould("review", "reject", "all", cwd=user.home).returncode == 0
    assert not (user.home / "here.txt").exists()
    assert elsewhere.exists()


def test_without_a_daemon_one_is_started(newcomer: User) -> None:
    assert newcomer.daemon.owner is None
    assert newcomer.sould("review").stdout == NOTHING
    assert newcomer.daemon.owner is not None


def test_a_shell_completes_the_names_of_its_commands(user: User) -> None:
    asked = {"_SOULD_COMPLETE": "bash_complete", "COMP_WORDS": "sould review ", "COMP_CWORD": "2"}
    completed = user.sould(env=asked).stdout.split()
    assert completed == ["plain,keep", "plain,list", "plain,reject", "plain,show", "plain,undo", "plain,unsaved"]


def test_it_starts_without_what_takes_long_to_load() -> None:
    modules = ", ".join(f"sould.daemon.cli.review.{part}" for part in ("command", "pages", "screen"))
    shown = f"import sys, sould.daemon.cli.main, {modules}; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", shown], capture_output=True, text=True, check=True)
    slow = {"asyncio", "dataclasses", "httpx2", "orjson", "pydantic", "rapidfuzz", "regex", "subprocess", "yaml"}
    assert slow.intersection(done.stdout.split()) == set()


# --- hunks ------------------------------------------------------------------------------------------------------------


def test_a_hunk_is_shown_as_a_diff(user: User) -> None:
    two_files(user)
    shown = user.sould("review", "show", "1")
    head, *diff = shown.stdout.splitlines()
    assert head.startswith("1  area.py, line 2, +2  session ")
    assert diff == [
        "@@ -1,2 +1,4 @@",
        " def area(w, h):",
        "+    if w < 0:",
        '+        raise ValueError("neg")',
        "     return w * h",
    ]
    gone = user.sould("review", "show", "2", "7")
    assert gone.returncode == 1
    assert "+# Plan" in gone.stdout
    assert gone.stderr == "sould: Not to be reviewed (any more): 7.\n"


def test_words_that_differ_are_marked_and_colours_are_as_wished(user: User) -> None:
    (user.project / "a.py").write_text("one two three\n")
    edited(user, {"a.py": "one 2 three\n"})
    always = user.sould("review", "show", "1", "--color", "always").stdout
    assert "\x1b[31m-one \x1b[0m\x1b[31m\x1b[7mtwo\x1b[0m\x1b[31m three\x1b[0m" in always
    assert "\x1b[32m+one \x1b[0m\x1b[32m\x1b[7m2\x1b[0m\x1b[32m three\x1b[0m" in always
    assert user.sould("review", "show", "1").stdout == unstyle(always), "not at a terminal"
    screen = {"TERM": "xterm", "PAGER": "sed s/^/page:/"}
    assert "page:\x1b[31m-one" in seen(user, screen, "show", "1")
    assert "page:+one 2 three" in seen(user, screen, "show", "1", "--color", "never")
    plain = seen(user, screen | {"NO_COLOR": "1"}, "show", "1")
    assert "page:+one 2 three" in plain
    assert "\x1b" not in plain


def seen(user: User, env: dict[str, str], *arguments: str) -> str:
    """What a command shows at a terminal."""
    with terminal(user, "review", *arguments, env=env) as screen:
        screen.read_to_end()
        return screen.seen


def test_nothing_in_a_file_drives_the_terminal(user: User) -> None:
    edited(user, {"a\x1b[31m.py": "\x1b]0;owned\x07 \u202ereversed\n"})
    for arguments in ((), ("show", "1"), ("--json",), ("keep", "1")):
        done = user.sould("review", *arguments)
        assert done.returncode == 0, done.stderr
        assert not {"\x1b", "\x07", "\u202e"}.intersection(done.stdout), arguments


# --- decisions --------------------------------------------------------------------------------------------------------


def test_hunks_are_kept_rejected_and_taken_back(user: User) -> None:
    two_files(user)
    rejected = user.sould("review", "reject", "1", "plan.md", "--reason", "later")
    assert rejected.returncode == 0, rejected.stderr
    assert rejected.stdout == (
        "Rejected hunks 1 in `area.py` and 2 in `plan.md`.\n`plan.md` is deleted: nothing of yours was in it.\n"
    )
    assert (user.project / "area.py").read_text() == AREA
    assert not (user.project / "plan.md").exists()
    assert user.sould("review", "undo", "1", "2").stdout.startswith("To be reviewed again: hunks 1")
    assert (user.project / "plan.md").read_text() == PLAN
    assert user.sould("review", "keep", "all").stdout == "Kept hunks 1 in `area.py` and 2 in `plan.md`.\n"
    assert (user.project / "area.py").read_text() == CHECKED
    assert user.sould("review").stdout == NOTHING


def test_what_was_left_is_named_with_its_next_step(user: User) -> None:
    two_files(user)
    mixed = CHECKED.replace('"neg"', 'f"neg {w}"')
    (user.project / "area.py").write_text(mixed)
    left = user.sould("review", "reject", "1", "9")
    assert left.returncode == 1
    assert left.stdout == (
        'Left: hunk 1 in `area.py`. You changed words in lines of the agent (`raise ValueError(f"neg {w}")`): '
        "`sould review reject 1 --choice mine` keeps those lines, `sould review reject 1 --choice drop` drops them.\n\n"
        "There is no hunk 9.\n"
    )
    assert (user.project / "area.py").read_text() == mixed
    mine = user.sould("review", "reject", "1", "--choice", "mine")
    assert mine.returncode == 0, mine.stderr
    assert 'raise ValueError(f"neg {w}")' in (user.project / "area.py").read_text()
    again = user.sould("review", "keep", "1")
    assert again.returncode == 1
    undone = user.sould("review", "undo", "2")
    assert undone.returncode == 1
    assert undone.stdout == (
        "Left: hunk 2 in `plan.md`. It is still to be reviewed, so there is no decision to take back.\n"
    )
    assert "Left: hunk 1 in `area.py`. sould review rejected it (" in again.stdout
    assert "`sould review undo 1` takes that back." in again.stdout


def test_a_hunk_named_with_its_digest_is_left_when_it_is_another_by_now(user: User) -> None:
    two_files(user)
    [hunk] = pending(user, "plan.md")
    typed = PLAN.replace("write it", "write it tomorrow")
    (user.project / "plan.md").write_text(typed)
    stale = user.sould("review", "reject", f"{hunk['id']}:{hunk['digest']}")
    assert stale.returncode == 1
    assert "It was changed since you saw it. `sould review show 2` shows it as it is now." in stale.stdout
    assert (user.project / "plan.md").read_text() == typed
    kept = user.sould("review", "keep", "2")
    assert (kept.returncode, kept.stdout) == (0, "Kept hunk 2 in `plan.md`.\n")


def test_json_is_the_daemon_s_answer(user: User) -> None:
    two_files(user)
    listed = json.loads(user.sould("review", "--json").stdout)
    assert listed["root"] == str(user.project)
    assert [file["path"] for file in listed["files"]] == [str(user.project / "area.py"), str(user.project / "plan.md")]
    shown = json.loads(user.sould("review", "show", "2", "--json").stdout)
    assert shown == {**listed, "files": listed["files"][1:]}
    rejected = json.loads(user.sould("review", "reject", "2", "--json").stdout)
    [done] = rejected["done"]
    assert (done["id"], done["verdict"], done["newFile"], rejected["left"]) == (2, "reject", "gone", [])
    left = user.sould("review", "keep", "2", "--json")
    assert left.returncode == 1
    assert [each["why"] for each in json.loads(left.stdout)["left"]] == ["already_decided"]
    undone = json.loads(user.sould("review", "undo", "2", "--json").stdout)
    assert [each["id"] for each in undone["done"]] == [2]


@pytest.mark.parametrize(
    "arguments",
    [
        ("keep",),
        ("keep", "all", "3"),
        ("keep", "all", "docs"),
        ("show", "area.py"),
        ("undo", "3-1"),
        ("undo", "a-b"),
        ("reject", "1", "--choice", "perhaps"),
        ("-p", "--json"),
        ("--colour",),
    ],
)
def test_wrong_arguments_change_nothing(user: User, arguments: tuple[str, ...]) -> None:
    wrong = user.sould("review", *arguments)
    assert wrong.returncode == 2
    assert "Usage: sould review" in wrong.stderr


# --- while an agent runs ----------------------------------------------------------------------------------------------


HOOK = """
[[hooks]]
event = "PreToolUse"
matcher = "^WriteFile$"
command = "grep -q wait.md && touch {marks}/begun && until [ -e {marks}/go ]; do sleep 0.05; done"
timeout = 60
"""


def test_a_reject_waits_for_the_running_step_and_goes_when_it_has_ended(newcomer: User, tmp_path: Path) -> None:
    user = newcomer
    (user.project / "area.py").write_text(AREA)
    steps = write("area.py", CHECKED) + "\n" + write("wait.md", "w\n")
    user.daemon.world.script([steps, "text: Done."], HOOK.format(marks=tmp_path))
    with terminal(user, "run", "--mode", "full", "go") as turn:
        until((tmp_path / "begun").exists)
        said = user.sould("review", "reject", "area.py")
        assert said.returncode == 0, said.stderr
        assert said.stdout == "Rejected hunk 1 in `area.py`: it goes when the agent's running step has ended.\n"
        assert (user.project / "area.py").read_text() == CHECKED
        listed = user.sould("review").stdout
        assert "rejected, goes when the step has ended" in listed
        assert "wait.md\n  about to be written: line 1, +1: w\n" in unstyle(listed).replace("`", "")
        (tmp_path / "go").touch()
        turn.read_to_end()
    assert (user.project / "area.py").read_text() == AREA
    assert texts(user) == ["w\n"]


def test_an_agent_does_not_review_its_own_changes(user: User) -> None:
    words = [f"{SOULD} review {word} > {word.split()[0]}.txt 2>&1" for word in ("keep all", "undo 1", "list")]
    user.scripted(write("plan.md", PLAN), call("Shell", "c2", command="; ".join(words)), "text: Done.")
    user.result("--mode", "full", "go")
    for name in ("keep", "undo", "list"):
        assert "because it would answer for you" in (user.project / f"{name}.txt").read_text()
    assert "# Plan\n" in texts(user)
