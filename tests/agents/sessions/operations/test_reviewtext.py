"""How a review is put in words, and a hunk as a diff."""

from pathlib import Path

from sould.agents.files.review.hunk import AgentCall, Line
from sould.agents.files.reviewing.answers import DecidedHunk, LeftHunk, Outcome
from sould.agents.files.reviewing.listing import FileReview, ReviewedHunk
from sould.agents.files.reviewing.shown import shown_file, shown_hunk, shown_outcome
from sould.agents.sessions.operations.reviewdiff import DiffLine, Piece, diff_of
from sould.agents.sessions.operations.reviewtext import MOST_LISTED, Names, Speech, answer, listing, news_of

CALL = AgentCall("S1", "T1", "c1")
NAMES = Names(Path("/project"), session_id="S1")


def hunk(
    number: int = 1, base: tuple[str, ...] = (), lines: tuple[str, ...] = ("x\n",), start: int = 0
) -> ReviewedHunk:
    made = tuple(Line(line, CALL) for line in lines)
    return ReviewedHunk(
        number, "d", "/project/a.py", "text", "pending", (CALL,), start=start, base_start=start, base=base, lines=made
    )


def test_a_diff_has_lines_around_it_and_says_which_words_differ() -> None:
    lines = diff_of(
        shown_hunk(hunk(base=("return w * h\n",), lines=("return w + h\n",), start=1)),
        ["def f():\n", "return w + h\n", "\n"],
    )
    assert [line.text for line in lines] == ["@@ -1,3 +1,3 @@", " def f():", "-return w * h", "+return w + h", " "]
    assert lines[2] == DiffLine("-", (Piece("return w "), Piece("*", differs=True), Piece(" h")))
    assert lines[3] == DiffLine("+", (Piece("return w "), Piece("+", differs=True), Piece(" h")))


def test_a_diff_says_where_a_file_ends_without_a_newline_and_which_line_ends_changed() -> None:
    assert [line.text for line in diff_of(shown_hunk(hunk(base=("a\n",), lines=("a",))), ())] == [
        "@@ -1,1 +1,1 @@",
        "-a",
        "+a",
        "\\ No newline at end of file",
    ]
    windows = [line.text for line in diff_of(shown_hunk(hunk(base=("a\r\n",), lines=("b\r\n",))), ["b\r\n", "c\r\n"])]
    assert windows == ["@@ -1,2 +1,2 @@", "-a", "+b", " c"]
    without_end = [line.text for line in diff_of(shown_hunk(hunk(base=("b",), lines=("c",), start=1)), ["a\r\n", "c"])]
    assert without_end[1:4] == [" a", "-b", "\\ No newline at end of file"]
    mixed = [line.text for line in diff_of(shown_hunk(hunk(base=("a\n",), lines=("a\r\n",))), ())]
    assert mixed[1:] == ["-a", "+a\\u000d"]


def test_nothing_in_a_list_is_invisible_and_it_has_an_end() -> None:
    hidden = hunk(lines=("safe\u202e\n",))
    assert "`safe\\u202e`" in listing([(NAMES, [shown_file(FileReview("/project/a.py", True, (hidden,)))])], Speech())
    many = FileReview("/project/a.py", True, tuple(hunk(n) for n in range(1, MOST_LISTED + 11)))
    said = listing([(NAMES, [shown_file(many)])], Speech())
    assert said.count("\n- ") == MOST_LISTED
    assert said.endswith("And 10 more: `/review FILE` lists those of a file or directory.")


def test_a_terminal_says_the_same_in_its_own_words() -> None:
    speech = Speech("", "sould review show", "sould review keep", "sould review reject", "sould review undo")
    left = LeftHunk(1, "/project/a.py", "needs_choice", "", mixed=("my words\n",))
    said = answer(
        [(NAMES, shown_outcome(Outcome((DecidedHunk(2, hunk(2), "keep", path="/project/a.py"),), (left,))))], speech
    )
    assert said == (
        "Kept hunk 2 in a.py.\n\nLeft: hunk 1 in a.py. You changed words in lines of the agent (my words): "
        "sould review reject 1 mine keeps those lines, sould review reject 1 drop drops them."
    )


def test_much_is_counted_rather_than_named() -> None:
    done = tuple(DecidedHunk(n, hunk(n), "keep", path=f"/project/{n % 3}.py") for n in range(1, 21))
    assert answer([(NAMES, shown_outcome(Outcome(done)))], Speech()) == "Kept 20 hunks in 3 files."


def test_what_others_decided_is_one_line() -> None:
    done = tuple(DecidedHunk(n, hunk(n), "reject", ("mine\n",) * (n == 1), path="/project/a.py") for n in (1, 2))
    [(title, body)] = news_of("Zed", shown_outcome(Outcome(done)), NAMES, waited=False)
    assert title == "Zed rejected hunks 1 and 2 in a.py"
    assert body == "1 line of yours (mine) stays in a.py."
