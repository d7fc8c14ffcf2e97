"""docs/tour.md: every command works as written and prints what the page says, without a key and without network."""

from pathlib import Path

import pytest

from soultest.daemon import Sould
from soultest.docs import follow

TOUR = Path(__file__).parents[2] / "docs" / "tour.md"


@pytest.mark.timeout(180)  # a hundred commands, one after another
def test_the_tour_can_be_followed_from_its_beginning_to_its_end(sould: Sould) -> None:
    follow(TOUR, sould)
    room = sould.world.root / "sould-tour"
    assert (room / "library" / "books.txt").read_text() == "Emma\nMansfield Park\nPersuasion\nSanditon\n"
    assert not list(room.rglob("sock"))  # the daemon of the tour has gone
    assert not (sould.world.root / ".config").exists()  # and nothing of it is outside of its room
