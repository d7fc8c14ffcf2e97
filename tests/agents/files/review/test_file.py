"""The review by example: what happens to a file as a whole."""

import msgspec
from tests.agents.files.review.reviewing import agent

from sould.agents.files.review.decisions import Decision, NeedsChoice, Refusal, Verdict
from sould.agents.files.review.difference import LineEdit, edits_between
from sould.agents.files.review.file import FileChange, TrackedFile
from sould.agents.files.review.filedecisions import (
    Conflict,
    DecidedFile,
    Move,
    PutContent,
    PutText,
    SetMode,
    decide_change,
    decide_hunk,
)
from sould.agents.files.review.lines import Lines, line_end, split, with_end
from sould.agents.files.review.text import ReviewedText

T1 = agent("T1")


def test_a_file_that_an_agent_made_goes_when_nothing_of_the_user_is_in_it() -> None:
    file = _absent().agent_made(split("# Plan\n- write it\n"), T1)

    answer = _done(_decide(file, "reject"))

    assert puts(answer) == [("notes.md", split("# Plan\n- write it\n"), None)]
    assert not answer.file.exists
    assert not answer.file.changes


def test_a_file_that_an_agent_made_stays_with_what_the_user_wrote() -> None:
    file = _typed(_absent().agent_made(split("# Plan\n- write it\n"), T1), "# Plan\n- write it\n- call Ann\n")

    answer = _done(_decide(file, "reject"))

    assert puts(answer) == [("notes.md", file.text.current, ("- call Ann\n",))]
    assert answer.file.exists
    assert answer.file.in_base
    assert answer.stayed == ()  # the line is outside of the hunk: it was never in question


def test_words_of_the_user_in_a_file_that_an_agent_made_are_asked_about() -> None:
    file = _typed(_absent().agent_made(split("# Plan\n- write it\n"), T1), "# Plan\n- write it soon\n")
    assert isinstance(_decide(file, "reject"), NeedsChoice)


def test_a_file_without_bytes_is_there_again_without_bytes() -> None:
    file = _file("").agent_wrote(edits_between((), split("one\n")), T1)

    answer = _done(_decide(file, "reject"))

    assert puts(answer) == [("notes.md", ("one\n",), ())]
    assert answer.file.exists


def test_an_empty_file_that_an_agent_made_can_be_decided_about() -> None:
    file = _absent().agent_made((), T1)
    [change] = file.changes

    assert puts(_settled(file, change, "reject")) == [("notes.md", (), None)]
    assert _settled(file, change, "keep").file.in_base


def test_keeping_one_hunk_of_a_new_file_keeps_the_file() -> None:
    file = _absent().agent_made(split("p\nq\n"), T1)
    hunk = file.text.hunks[0].hunk
    kept = _done(decide_hunk(file, Decision("keep", hunk.id, hunk.digest, (0, 1)))).file

    answer = _done(_decide(kept, "reject"))

    assert answer.file.exists
    assert answer.file.text.current == ("p\n",)


def test_rejecting_a_deletion_writes_the_file_with_its_hunks() -> None:
    file = _file("x\ny\n").agent_wrote(edits_between(split("x\ny\n"), split("x\nY\n")), T1)
    gone = file.agent_deleted(agent("T2"))
    assert not gone.text.hunks

    answer = _settled(gone, gone.changes[0], "reject")

    assert puts(answer) == [("notes.md", None, split("x\nY\n"))]
    assert answer.file.text.hunks == file.text.hunks


def test_a_deletion_is_not_rejected_over_what_the_user_wrote_since() -> None:
    file = _file("x\ny\n").agent_deleted(T1).user_made(split("new\n"))
    [change] = file.changes

    assert decide_change(file, change, "reject") == Conflict(change, "notes.md", replaceable=True)
    answer = decide_change(file, change, "reject", choice="replace")
    assert isinstance(answer, DecidedFile)
    assert puts(answer) == [("notes.md", ("new\n",), split("x\ny\n"))]


def test_a_deletion_that_the_user_undid_is_nothing_to_review() -> None:
    file = _file("x\ny\n").agent_deleted(T1).user_made(split("x\ny\n"))
    assert not file.changes
    assert file.text.current == split("x\ny\n")


def test_a_file_that_agents_made_and_deleted_never_was() -> None:
    file = _absent().agent_made(("x\n",), T1).agent_deleted(agent("T2"))
    assert not file.changes
    assert not file.exists


def test_a_file_that_agents_made_and_a_user_typed_into_is_not_deleted_or_replaced_without_a_word() -> None:
    file = _absent().agent_made(split("x\ny\n"), T1)
    for typed in ("x\nmine\ny\n", "x\ny of mine\n"):
        theirs = _typed(file, typed)

        gone = theirs.agent_deleted(agent("T2"))
        answer = _settled(gone, gone.changes[0], "reject")
        assert puts(answer) == [("notes.md", None, split(typed))]
        assert answer.file.text.hunks == theirs.text.hunks

        replaced = theirs.agent_replaced("digest of text", "digest of bytes", agent("T2"))
        answer = _settled(replaced, replaced.changes[0], "reject")
        assert answer.file.text.current == split(typed)


def test_a_rename_and_an_edit_are_decided_apart() -> None:
    file = _file("a\nb\n").agent_renamed("helpers.py", T1)
    file = file.agent_wrote(edits_between(split("a\nb\n"), split("a\nB\n")), T1)
    [rename] = file.changes

    assert _done(_decide(file, "reject")).file.changes == (rename,)
    answer = _settled(file, rename, "reject")
    assert answer.effects == (Move("helpers.py", "notes.md"),)
    assert answer.file.path == "notes.md"
    assert answer.file.text.hunks == file.text.hunks
    assert decide_change(file, rename, "reject", in_the_way="notes.md") == Conflict(
        rename, "notes.md", replaceable=False
    )


def test_a_file_that_was_moved_back_was_not_renamed() -> None:
    assert not _file("a\n").agent_renamed("b.py", T1).agent_renamed("notes.md", T1).changes


def test_permissions_are_a_change_of_their_own() -> None:
    file = _file("a\n").agent_set_mode(0o644, 0o755, T1)
    assert _settled(file, file.changes[0], "reject").effects == (SetMode("notes.md", "644"),)
    assert not file.agent_set_mode(0o755, 0o644, agent("T2")).changes


def test_line_ends_are_one_change_and_come_back_for_lines_typed_since() -> None:
    file = _file("a\r\nb\r\nc").agent_changed_line_ends("\n", "\r\n", T1)
    assert file.text.current == split("a\nb\nc")
    assert not file.text.hunks
    file = _typed(file, "a\nd\nb\nc")

    answer = _settled(file, file.changes[0], "reject")

    assert answer.file.text.current == split("a\r\nd\r\nb\r\nc")
    assert not answer.file.changes


def test_bytes_that_are_no_text_are_restored_by_their_digest() -> None:
    file = TrackedFile("logo.png", ReviewedText.of((), 1), content="old").agent_replaced("old", "new", T1)
    [change] = file.changes

    assert _settled(file, change, "reject").effects == (PutContent("logo.png", "new", "old"),)
    changed = file.user_replaced("theirs")
    assert isinstance(decide_change(changed, changed.changes[0], "reject"), Conflict)


def test_a_text_that_became_bytes_is_a_text_again_with_its_hunks() -> None:
    file = _file("a\nb\n").agent_wrote(edits_between(split("a\nb\n"), split("a\nB\n")), T1)
    file = file.agent_replaced("digest of a B", "digest of bytes", agent("T2"))

    answer = _settled(file, file.changes[0], "reject")

    assert answer.effects == (PutContent("notes.md", "digest of bytes", "digest of a B"),)
    assert answer.file.content == ""
    assert [each.hunk.texts for each in answer.file.text.hunks] == [("B\n",)]


def test_ids_are_shared_by_hunks_and_changes() -> None:
    file = _file("a\n").agent_renamed("b", T1).numbered(7).agent_wrote(edits_between(("a\n",), ("A\n",)), T1)
    assert [change.id for change in file.changes] == [1]
    assert [each.hunk.id for each in file.text.hunks] == [7]


def test_a_file_with_changes_of_every_kind_is_kept_and_read_again_as_it_is() -> None:
    file = _file("a\r\nb\r\nc").agent_renamed("b", T1).agent_set_mode(0o644, 0o755, T1)
    file = file.agent_changed_line_ends("\n", "\r\n", T1).agent_wrote([LineEdit(0, 1, ("A\n",))], T1)
    file = file.agent_replaced("digest of text", "digest of bytes", T1).agent_deleted(agent("T2"))
    assert {change.kind for change in file.changes} == {"rename", "mode", "line_ends", "content", "delete"}

    assert msgspec.msgpack.decode(msgspec.msgpack.encode(file), type=TrackedFile) == file
    assert msgspec.json.decode(msgspec.json.encode(file), type=TrackedFile) == file


def test_only_cr_and_lf_end_a_line() -> None:
    assert split("a\u2028b\fc\x85d\r\re\r\n\nf") == ("a\u2028b\fc\x85d\r", "\r", "e\r\n", "\n", "f")


def test_the_end_of_lines_is_told_when_all_have_the_same() -> None:
    assert line_end(split("a\r\nb\r\nc")) == "\r\n"
    assert line_end(split("a\r\nb\n")) is None
    assert line_end(("a",)) is None
    assert with_end(split("a\r\nb\nc"), "\n") == split("a\nb\nc")


def _file(text: str) -> TrackedFile:
    return TrackedFile("notes.md", ReviewedText.of(split(text), 1))


def _absent() -> TrackedFile:
    return TrackedFile("notes.md", ReviewedText.of((), 1), exists=False, in_base=False)


def _typed(file: TrackedFile, text: str) -> TrackedFile:
    lines: Lines = split(text)
    return file.user_wrote(edits_between(file.text.current, lines))


def _decide(file: TrackedFile, verdict: Verdict) -> DecidedFile | Refusal:
    hunk = file.text.hunks[0].hunk
    return decide_hunk(file, Decision(verdict, hunk.id, hunk.digest))


def _done(answer: DecidedFile | Refusal) -> DecidedFile:
    assert isinstance(answer, DecidedFile)
    return answer


def puts(done: DecidedFile | Conflict | Refusal) -> list[tuple[str, Lines | None, Lines | None]]:
    """Path, expected and wanted text of what is to be written."""
    assert isinstance(done, DecidedFile)
    return [(each.path, each.expected, each.wanted) for each in done.effects if isinstance(each, PutText)]


def _settled(file: TrackedFile, change: FileChange, verdict: Verdict) -> DecidedFile:
    answer = decide_change(file, change, verdict)
    assert isinstance(answer, DecidedFile)
    return answer


def test_a_file_that_an_agent_deletes_and_makes_again_is_an_edit_of_what_it_was() -> None:
    file = _file("a\nb\nc\n").agent_deleted(agent("T1")).agent_made(split("a\nB\nc\n"), agent("T2"))

    assert [(each.hunk.base, each.hunk.texts) for each in file.text.hunks] == [(("b\n",), ("B\n",))]
    assert not file.changes
    assert "".join(file.text.base) == "a\nb\nc\n"


def test_a_new_file_that_was_taken_away_and_is_back_is_as_it_was_with_its_hunk() -> None:
    made = _absent().agent_made(split("x\nx\n"), T1)
    away = made.user_deleted()
    assert not away.text.hunks
    back = away.user_made(split("x\nx\n"))
    assert back == made
