"""A review looks at a file just while another program saves it: what is missing at that moment nobody deleted."""

import asyncio
import os
import time

import pytest
from tests.agents.files.reviewing.reviewdesk import ReviewDesk


@pytest.mark.parametrize(
    "way", ["moves it away first", "empties it first", "empties it first, and its time changes last"]
)
async def test_a_file_that_is_looked_at_in_the_middle_of_a_save_is_as_it_was_saved(desk: ReviewDesk, way: str) -> None:
    desk.user("a.py", "def area(w, h):\n    return w * h\n")
    await desk.agent("a.py", "def area(w, h):\n    return abs(w * h)   \n")
    [hunk] = await desk.hunks()
    path = desk.root / "a.py"
    if way.startswith("moves"):
        path.unlink()
    else:
        os.truncate(path, 0)
    at = 0 if way.endswith("last") else time.time() + 86_400  # tomorrow: this is young, however long the test takes
    os.utime(path if path.exists() else desk.root, (at, at))
    looking = asyncio.create_task(desk.hunks())
    for _ in range(8):
        await asyncio.to_thread(os.stat, desk.root)  # it sees meanwhile that there is less

    path.write_text("# mine\ndef area(w, h):\n    return abs(w * h)\n")

    assert [each.id for each in await looking] == [hunk.id]
    await desk.decide("reject", hunk.id)
    assert desk.text("a.py") == "# mine\ndef area(w, h):\n    return w * h\n"


async def test_a_file_that_stays_empty_is_what_the_user_made_of_it(desk: ReviewDesk) -> None:
    desk.user("a.py", "a\n")
    await desk.agent("a.py", "a\nb\n")

    (desk.root / "a.py").write_text("")

    assert not await desk.hunks()
