"""Long sessions with model servers as strict as those that people use."""

import pytest

from soultest.bench import Bench
from soultest.families.kinds import FAMILIES
from soultest.families.server import Family
from soultest.families.story import tell


@pytest.mark.parametrize("family", FAMILIES, ids=[each.name for each in FAMILIES])
async def test_a_session_of_thirty_turns_works_with_each_kind_of_server(bench: Bench, family: type[Family]) -> None:
    await tell(bench, family)
