"""Two real clients of a daemon that is killed at random moments see the same afterwards, and nothing typed is lost."""

import pytest
from tests.editors.lsp.killedstory import told

from soultest.daemon import Sould


@pytest.mark.parametrize("seed", [1, 2])
async def test_after_each_death_of_the_daemon_two_clients_see_the_same_and_nothing_typed_is_lost(
    sould: Sould, seed: int
) -> None:
    await told(sould, seed, lives=3)
