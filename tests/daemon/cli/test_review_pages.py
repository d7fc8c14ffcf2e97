"""The dialogue of `sould review` at a terminal: hunk after hunk."""

import os
import signal
from threading import Timer

import pytest
from tests.daemon.cli.reviewing import AREA, CHECKED, edited, pending, texts, two_files, write

from soultest.bench import call
from soultest.cliuser import User
from soultest.daemon import until
from soultest.terminal import terminal

NOTHING = "Nothing is to be reviewed.\n"


@pytest.fixture
def user(next_user: User) -> User:
    return next_user


def ask(*keys: str) -> str:
    return f"[{','.join(keys)},?]? "


def test_hunk_after_hunk_is_answered_at_a_terminal(user: User) -> None:
    lines = [f"{n}\n" for n in range(40)]
    (user.project / "a.txt").write_text("".join(lines))
    after = [*lines]
    for n in (2, 12, 22, 32):
        after[n] = f"new {n}\n"
    edited(user, {"a.txt": "".join(after), "b.txt": "b\n"})
    with terminal(user, "review") as screen:
        screen.expect("(1/5) ")
        screen.expect("+new 2")
        screen.expect("Keep this hunk " + ask("y", "n", "q", "a", "d", "j"))
        screen.type("?")
        screen.expect("q - quit; what is undecided stays to be reviewed")
        assert "take the last answer back" not in screen.seen
        screen.type("y")
        screen.expect("Kept hunk 1 in `a.txt`.")
        screen.expect("(2/5) ")
        screen.expect("+new 12")
        assert len(pending(user)) == 4, "each answer is done at once"
        screen.expect(ask("y", "n", "q", "a", "d", "j", "u"))
        screen.type("n the old one was right")
        screen.expect("Rejected hunk 2 in `a.txt`.")
        screen.expect("(3/5) ")
        screen.expect("+new 22")
        screen.type("j")
        screen.expect("(4/5) ")
        screen.expect("+new 32")
        screen.type("k")
        screen.expect("(3/5) ")
        screen.type("d")
        screen.expect("Rejected hunk 3 in `a.txt`.")
        screen.expect("Rejected hunk 4 in `a.txt`.")
        screen.expect("(5/5) ")
        screen.expect("b.txt")
        screen.type("u")
        screen.expect("To be reviewed again: hunks 3 and 4 in `a.txt`.")
        screen.expect("(3/5) ")
        screen.expect("+new 22")
        screen.type("j")
        screen.expect("(4/5) ")
        screen.type("a")
        screen.expect("Kept hunk 4 in `a.txt`.")
        screen.expect("+b")
        screen.type("j")
        screen.expect("+new 22")
        screen.type("q")
        screen.expect("2 hunks left to be reviewed.")
        assert screen.wait() == 0
    lines[2], lines[22], lines[32] = after[2], after[22], after[32]
    assert (user.project / "a.txt").read_text() == "".join(lines)
    assert texts(user) == ["new 22\n", "b\n"]


def test_a_hunk_is_split_into_paragraphs_and_those_into_lines(user: User) -> None:
    (user.project / "a.txt").write_text("top\nend\n")
    edited(user, {"a.txt": "top\none\n\ntwo\nthree\n\nfour\nend\n"})
    with terminal(user, "review", "-p") as screen:
        screen.expect("(1/1) ")
        screen.expect(ask("y", "n", "q", "a", "d", "j", "s"))
        screen.type("s")
        screen.expect("Split into 3 hunks.")
        screen.expect("(1/3) ")
        screen.expect("+one")
        screen.type("j")
        screen.expect("(2/3) hunk 1  a.txt, line 4, +3")
        screen.expect("@@ -1,5 +1,8 @@")
        screen.expect("+two\r\n+three")
        screen.type("n")
        screen.expect("Rejected hunk 2 (a part of 1) in `a.txt`.")
        screen.expect("(3/3) ")
        screen.expect("+four")
        assert (user.project / "a.txt").read_text() == "top\none\n\nfour\nend\n"
        screen.type("u")
        screen.expect("To be reviewed again: hunk 2 in `a.txt`.")
        screen.expect("(2/3) hunk 2  a.txt, line 4, +3")
        screen.expect("+two\r\n+three")
        screen.type("n")
        screen.expect("Rejected hunk 2 in `a.txt`.")
        screen.expect("(3/3) ")
        screen.type("k")
        screen.expect("(2/3) ")
        screen.expect("+one")
        screen.type("s")
        screen.expect("Split into 2 hunks.")
        screen.expect("+one")
        screen.type("y")
        screen.expect("Kept hunk")
        screen.type("n")
        screen.expect("Rejected hunk")
        screen.expect("+four")
        screen.type("y")
        assert screen.wait() == 0
    assert (user.project / "a.txt").read_text() == "top\none\nfour\nend\n"
    assert user.sould("review").stdout == NOTHING


def test_a_split_leaves_removed_lines_beside_those_that_came_for_them(user: User) -> None:
    before = "def first():\n    return 1\ndef second():\n    return 2\n"
    after = "def first(x):\n    return 1 + x\n    # done\n\ndef second(y):\n    return 2 + y\n"
    (user.project / "a.py").write_text(f"top\n{before}end\n")
    edited(user, {"a.py": f"top\n{after}end\n"})
    with terminal(user, "review") as screen:
        screen.expect("(1/1) ")
        screen.expect(ask("y", "n", "q", "a", "d", "j", "s"))
        screen.type("s")
        screen.expect("Split into 2 hunks.")
        screen.expect("-def first():\r\n-    return 1")
        screen.expect("+def first(x):")
        screen.expect("? ")
        assert "-def second" not in screen.seen.rpartition("Split")[2]
        screen.type("n")
        screen.expect("Rejected hunk")
        screen.expect("-def second():\r\n-    return 2\r\n+def second(y):\r\n+    return 2 + y")
        screen.expect("? ")
        assert (user.project / "a.py").read_text() == (
            "top\ndef first():\n    return 1\ndef second(y):\n    return 2 + y\nend\n"
        )
        screen.type("y")
        assert screen.wait() == 0
    assert user.sould("review").stdout == NOTHING


def test_a_deletion_is_split_into_paragraphs(user: User) -> None:
    (user.project / "a.txt").write_text("top\none\n\ntwo\n\nthree\nend\n")
    edited(user, {"a.txt": "top\nend\n"})
    with terminal(user, "review") as screen:
        screen.expect("(1/1) ")
        screen.type("s")
        screen.expect("Split into 3 hunks.")
        screen.expect("-one")
        screen.type("y")
        screen.expect("Kept hunk")
        screen.expect("-two")
        screen.type("n")
        screen.expect("Rejected hunk")
        screen.expect("-three")
        screen.type("y")
        assert screen.wait() == 0
    assert (user.project / "a.txt").read_text() == "top\ntwo\n\nend\n"


def test_what_becomes_of_words_of_the_user_is_asked(user: User) -> None:
    two_files(user)
    (user.project / "area.py").write_text(CHECKED.replace('"neg"', 'f"neg {w}"'))
    with terminal(user, "review", "-p", "area.py") as screen:
        screen.expect("your words in 1 line")
        screen.type("n")
        screen.expect('raise ValueError(f"neg {w}")')
        screen.expect("[drop,mine,leave]? ")
        screen.type("what?")
        screen.expect("[drop,mine,leave]? ")
        screen.type("leave")
        screen.expect("1 hunk left to be reviewed.")
        assert screen.wait() == 0
    with terminal(user, "review", "-p", "area.py") as screen:
        screen.expect("(1/1) ")
        screen.type("n")
        screen.expect("[drop,mine,leave]? ")
        screen.type("m")
        screen.expect("Rejected hunk 1")
        assert screen.wait() == 0
    assert (
        user.project / "area.py"
    ).read_text() == 'def area(w, h):\n        raise ValueError(f"neg {w}")\n    return w * h\n'


def test_a_hunk_that_is_another_by_now_is_shown_anew_and_who_was_first_is_named(user: User) -> None:
    two_files(user)
    with terminal(user, "review") as screen:
        screen.expect(ask("y", "n", "q", "a", "d", "j", "s"))
        (user.project / "area.py").write_text(CHECKED.replace("w < 0", "w <= 0"))
        screen.type("y")
        screen.expect("It was changed since you saw it.")
        screen.expect("(1/2) ")
        screen.expect("+    if w <= 0:")
        screen.expect("? ")
        assert user.sould("review", "reject", "1", "--choice", "drop").returncode == 0
        screen.type("y")
        screen.expect("sould review rejected it (")
        screen.expect("(1/1) ")
        screen.expect("+# Plan")
        screen.type("q")
        screen.expect("1 hunk left to be reviewed.")
        assert screen.wait() == 0
    assert (user.project / "area.py").read_text() == AREA


def test_answers_that_are_piped_in_are_taken_until_they_end(user: User) -> None:
    two_files(user)
    done = user.sould("review", "-p", stdin="y\n")
    assert done.returncode == 0
    assert "Kept hunk 1 in `area.py`." in done.stdout
    assert done.stdout.endswith("1 hunk left to be reviewed.\n")


@pytest.mark.parametrize("end", ["killed", "restarted"])
def test_the_dialogue_goes_on_when_the_daemon_is_another(newcomer: User, end: str) -> None:
    two_files(newcomer)
    with terminal(newcomer, "review") as screen:
        screen.expect(ask("y", "n", "q", "a", "d", "j", "s"))
        owner = newcomer.daemon.owner
        assert owner is not None
        if end == "killed":
            os.kill(owner.pid, signal.SIGKILL)
        else:
            assert newcomer.sould("restart").returncode == 0
        until(lambda: not owner.alive())
        screen.type("y")
        screen.expect("Kept hunk 1 in `area.py`.")
        screen.expect("+# Plan")
        screen.type("n")
        assert screen.wait() == 0
    assert (newcomer.project / "area.py").read_text() == CHECKED
    assert not (newcomer.project / "plan.md").exists()


def test_a_daemon_killed_before_it_answers_ends_no_dialogue(newcomer: User) -> None:
    """At moments from before it has read the answer until it has carried it out."""
    edited(newcomer, {f"{number}.md": "# Plan\n" for number in range(9)})
    with terminal(newcomer, "review") as screen:
        for milliseconds in range(8):
            screen.expect("]? ")
            owner = newcomer.daemon.owner
            assert owner is not None
            screen.type("y")
            Timer(milliseconds / 1000, os.kill, (owner.pid, signal.SIGKILL)).start()
            until(lambda owner=owner: not owner.alive())
        screen.expect("]? ")
        screen.type("q")
        assert screen.wait() == 0
        screen.read_to_end()
    left = len(pending(newcomer))
    assert screen.seen.endswith(f"{left} hunk{'' if left == 1 else 's'} left to be reviewed.\r\n")


# --- more than a screen ---------------------------------------------------------------------------------------------------


def test_a_hunk_longer_than_the_screen_is_shown_screen_by_screen(user: User) -> None:
    edited(user, {"a.txt": "".join(f"line {n}\n" for n in range(1, 41))})
    with terminal(user, "review", env={"TERM": "xterm", "PAGER": "sed s/^/page:/"}, size=(12, 80)) as screen:
        screen.expect("+line 7")
        screen.expect("33 more lines: Enter shows them, p all of it page by page")
        screen.expect(ask("y", "n", "q", "a", "d", "j", "s", "p"))
        assert "line 8" not in screen.seen
        assert screen.rows_since("(1/1)") <= 12
        screen.type("")
        screen.expect("+line 17")
        screen.expect("23 more lines")
        screen.expect("? ")
        screen.resize(50, 80)
        screen.type("")
        screen.expect("+line 40")
        screen.expect("? ")
        assert screen.seen.count("more lines") == 2, "the rest fits the window as it is now"
        screen.type("p")
        screen.expect("page:\x1b[1m(1/1) hunk 1  a.txt, line 1, +40")
        screen.expect("page:\x1b[32m+line 40")
        screen.type("y")
        screen.expect("Kept hunk 1")
        assert screen.wait() == 0


def test_what_an_answer_came_to_stays_on_the_screen_above_the_next_hunk(user: User) -> None:
    edited(user, {name: "".join(f"line {n}\n" for n in range(1, 41)) for name in ("a.txt", "b.txt")})
    with terminal(user, "review", size=(12, 80)) as screen:
        screen.expect(" more lines")
        screen.expect("? ")
        screen.type("y")
        screen.expect("Kept hunk 1")
        screen.expect(" more lines")
        screen.expect("? ")
        assert screen.rows_since("Kept hunk 1") <= 12
        screen.type("q")
        assert screen.wait() == 0


@pytest.mark.parametrize("count", [1000, 20_000])
def test_of_a_very_long_line_what_differs_is_shown_and_all_of_it_in_the_pager(user: User, count: int) -> None:
    words = [f"word{n}" for n in range(count)]
    (user.project / "a.txt").write_text(" ".join(words) + "\n")
    words[500] = "DIFFERENT"
    edited(user, {"a.txt": " ".join(words) + "\n"})
    with terminal(user, "review", env={"TERM": "xterm", "PAGER": "sed s/^/page:/"}, size=(24, 80)) as screen:
        screen.expect("word499 ")
        screen.expect("word500")
        screen.expect("DIFFERENT")
        screen.expect(" word501")
        screen.expect(ask("y", "n", "q", "a", "d", "j", "p"))
        assert screen.rows_since("(1/1)") <= 24
        assert "word250" not in screen.seen
        screen.type("p")
        screen.expect("page:\x1b[32m+word0 word1 ")
        screen.expect("word250")
        screen.type("q")
        screen.read_to_end()
        assert screen.wait() == 0


def test_an_empty_answer_decides_nothing(user: User) -> None:
    two_files(user)
    with terminal(user, "review") as screen:
        screen.expect("(1/2) ")
        screen.expect("? ")
        screen.type("")
        screen.expect("Keep this hunk ")
        screen.type("q")
        screen.expect("2 hunks left")
        assert screen.wait() == 0


def test_ctrl_c_ends_it_and_says_how_many_are_left(user: User) -> None:
    two_files(user)
    with terminal(user, "review") as screen:
        screen.expect("(1/2) ")
        screen.expect("Keep this hunk")
        screen.type("y")
        screen.expect("(2/2) ")
        screen.expect("Keep this hunk")
        screen.interrupt()
        screen.expect("1 hunk left to be reviewed.")
        assert screen.wait() == 130
        assert "Traceback" not in screen.seen
    assert len(pending(user)) == 1


def test_what_may_be_the_users_is_rejected_by_itself_only(user: User) -> None:
    before = [f"{n}\n" for n in range(20)]
    after = ["new\n", *before[1:]]
    (user.project / "a.txt").write_text("".join(before))
    shell = call("Shell", command="sed -i s/12/twelve/ a.txt; echo mine > mine.txt")
    scripts = (write("a.txt", "".join(after)), shell, "text: Done.")
    user.daemon.world.script(scripts, "[review]\ncertain_within = 0\n")
    user.result("--mode", "full", "go")
    with terminal(user, "review") as screen:
        screen.expect("(1/3) ")
        screen.type("d")
        screen.expect("Rejected hunk 1 in `a.txt`.")
        screen.expect("may be yours")
        screen.expect("+twelve")
        screen.type("q")
        assert screen.wait() == 0
    done = user.sould("review", "reject", "all")
    assert done.returncode == 1
    assert "in `mine.txt`. Changed while `sed -i s/12/twelve/ a.txt; echo mine > mine.txt` ran for" in done.stdout
    before[12] = "twelve\n"
    assert (user.project / "a.txt").read_text() == "".join(before)
    assert (user.project / "mine.txt").read_text() == "mine\n"
