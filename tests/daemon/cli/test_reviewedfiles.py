"""`sould review` about what happened to a file as a whole."""

import json

from soultest.cliuser import User
from soultest.terminal import terminal
from soultest.world import call


def test_a_new_file_that_is_no_text_is_not_said_to_be_empty(next_user: User) -> None:
    made = call("Shell", "c1", command="printf '\\000\\377' > picture.png; : > empty")
    next_user.scripted(made, "text: Done.")
    next_user.result("--mode", "full", "go")
    listed = next_user.sould("review", "list").stdout
    assert "new file, not text" in listed.partition("picture.png")[2]
    assert "new empty file" in listed.partition("\nempty ")[2].partition("\n\n")[0]


def test_what_was_deleted_is_shown_bounded(next_user: User) -> None:
    (next_user.project / "old.txt").write_text("one\n\nthree")
    (next_user.project / "sold.txt").write_text("line\n" * 1000)
    next_user.scripted(call("Shell", "c1", command="rm old.txt sold.txt"), "text: Done.", "text: unused")
    next_user.result("--mode", "full", "go")
    listed = json.loads(next_user.sould("review", "--json").stdout)
    old, sold = (str(file["hunks"][0]["id"]) for file in listed["files"])
    _, *diff = next_user.sould("review", "show", old).stdout.splitlines()
    assert diff == ["@@ -1,3 +0,0 @@", "-one", "-", "-three", "\\ No newline at end of file"]
    long = next_user.sould("review", "show", sold).stdout
    assert long.count("\n-line") == 200
    assert long.endswith("\\ 800 more lines\n")
    with terminal(next_user, "review") as screen:
        screen.expect("-three")
        screen.expect("Keep this change")
        screen.type("q")
        assert screen.wait() == 0
    said = next_user.result("--mode", "full", f"/review {old}")
    assert "-one\n-\n-three" in str(said["text"])


def test_what_is_not_there_is_said_and_a_range_is_taken_back(next_user: User) -> None:
    writes = [call("WriteFile", f"c{n}", path=f"{n}.txt", content="x\n") for n in range(3)]
    next_user.scripted("\n".join(writes), "text: Done.")
    next_user.result("--mode", "full", "go")
    for arguments in (("list", "nosuch"), ("keep", "nosuch"), ("reject", "nosuch", "1")):
        wrong = next_user.sould("review", *arguments)
        assert wrong.returncode == 2
        assert "nosuch' neither exists nor is under review." in wrong.stderr
    assert next_user.sould("review", "keep", "1").returncode == 0
    assert next_user.sould("review", "reject", "2").returncode == 0
    back = next_user.sould("review", "undo", "1-9")
    assert (back.returncode, back.stdout) == (0, "To be reviewed again: hunks 1 in `0.txt` and 2 in `1.txt`.\n")
    none = next_user.sould("review", "undo", "7-9")
    assert (none.returncode, none.stdout) == (0, "Nothing was decided there that can be taken back.\n")
