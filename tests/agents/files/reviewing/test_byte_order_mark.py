"""A mark of the byte order, which editors put before a text when they save it, is no word of the user."""

from tests.agents.files.reviewing.reviewdesk import ReviewDesk

MARK = "\ufeff"
MADE = "# Plan\n- write it\n"


async def test_a_file_that_the_agent_made_goes_also_when_an_editor_put_a_mark_before_it(desk: ReviewDesk) -> None:
    await desk.agent("notes.md", MADE)
    desk.user("notes.md", MARK + MADE)
    [hunk] = await desk.hunks()
    assert not any(line.own or line.mixed for line in hunk.lines)

    assert [each.id for each in (await desk.decide("reject")).done] == [hunk.id]

    assert not (desk.root / "notes.md").exists()


async def test_words_that_the_user_typed_behind_the_mark_are_theirs(desk: ReviewDesk) -> None:
    await desk.agent("notes.md", MADE)
    desk.user("notes.md", MARK + MADE.replace("Plan", "Plan B"))

    assert [each.why for each in (await desk.decide("reject")).left] == ["needs_choice"]

    await desk.decide("reject", choice="mine")
    assert desk.text("notes.md") == MARK + "# Plan B\n"


async def test_a_mark_before_lines_of_the_user_stays_with_them(desk: ReviewDesk) -> None:
    desk.user("a.txt", "1\n2\n3\n")
    await desk.agent("a.txt", "1\ntwo\n3\n")
    desk.user("a.txt", MARK + "1\ntwo\n3\n")

    await desk.decide("reject")

    assert desk.text("a.txt") == MARK + "1\n2\n3\n"


async def test_a_file_is_reviewed_when_it_is_utf_8_again_after_another_encoding(desk: ReviewDesk) -> None:
    """As Neovim and others save it: `set fileencoding=latin1`, and back."""
    desk.user("a.txt", "café\n2\n3\n")
    await desk.agent("a.txt", "café\ntwo\n3\n")
    [hunk] = await desk.hunks()
    text = desk.text("a.txt")
    (desk.root / "a.txt").write_bytes(text.encode("latin-1"))
    assert await desk.hunks() == []
    assert not (await desk.decide("reject", hunk.id)).done
    assert (desk.root / "a.txt").read_bytes() == text.encode("latin-1")

    desk.user("a.txt", text + "mine\n")

    assert [each.id for each in await desk.hunks()] == [hunk.id]
    await desk.decide("reject")
    assert desk.text("a.txt") == "café\n2\n3\nmine\n"
