"""Many hunks of one file, decided about at once: what becomes of the file, of hunks that wait, and of all that after a restart."""

from tests.agents.files.reviewing.reviewdesk import ReviewDesk

LINES = 6_000
EVERY = 6


def numbered(*, capital: bool = False) -> str:
    return "".join(f"{'LINE' if capital and n % EVERY == 0 else 'line'} {n}\n" for n in range(LINES))


async def test_a_thousand_hunks_are_rejected_brought_back_and_kept_also_over_a_restart(desk: ReviewDesk) -> None:
    desk.user("a.txt", numbered())
    await desk.agent("a.txt", numbered(capital=True))
    hunks = await desk.hunks()
    assert len(hunks) == LINES // EVERY
    desk.user("a.txt", desk.text("a.txt") + "mine\n")

    done = (await desk.decide("reject")).done

    assert [each.id for each in done] == [each.id for each in hunks]
    assert desk.text("a.txt") == numbered() + "mine\n"
    await desk.restart()
    assert not await desk.hunks()
    latest = [each.id for each in hunks[-200:]]
    assert len((await desk.decide("undo", *latest)).done) == len(latest)
    await desk.restart()
    assert [each.id for each in await desk.hunks()] == latest
    await desk.decide("keep", *latest)
    assert not await desk.hunks()
    words = [line.split()[0] for line in desk.text("a.txt").splitlines()]
    assert words == [*["line"] * (LINES - 200 * EVERY), *["LINE", *["line"] * (EVERY - 1)] * 200, "mine"]


async def test_hunks_that_wait_for_a_step_hold_up_no_others_of_their_file(desk: ReviewDesk) -> None:
    desk.user("a.txt", "1\n2\n3\n4\n5\n6\n7\n")
    await desk.agent("a.txt", "1\ntwo\n3\n4\n5\n6\n7\n", "T1", "S1")
    await desk.agent("a.txt", "1\ntwo\n3\nfour\n5\n6\n7\n", "T2", "S2")
    await desk.agent("a.txt", "1\ntwo\n3\nfour\n5\nsix\n7\n", "T1", "S1")
    review = await desk.review()
    review.step_begins("S1")

    outcome = await desk.decide("reject")

    assert not outcome.left
    assert desk.text("a.txt") == "1\ntwo\n3\n4\n5\nsix\n7\n"
    assert sorted(each.waits for each in outcome.done) == [False, True, True]
    await review.step_ended("S1")
    assert desk.text("a.txt") == "1\n2\n3\n4\n5\n6\n7\n"
