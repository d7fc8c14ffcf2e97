"""Whatever happens to a text under review, and to a project with two sessions, a user and an editor, in thousands of stories.

`make test` runs some of them with the examples. At full size each run tells other stories; on two idle cores the 10,000 of a
text take 4 minutes, those of a log 20, the 1,000 of whole projects, which run git and commands, 15, the daemons that are killed 6.
"""

import os
import sys

import pytest
from hypothesis import HealthCheck, seed, settings
from hypothesis.stateful import RuleBasedStateMachine, run_state_machine_as_test
from tests.agents.files.review.machine import Reviewing
from tests.agents.files.reviewing.projectmachine import WholeProject
from tests.agents.files.reviewing.test_property import Reviewing as ReviewingProject
from tests.editors.lsp.killedstory import told

from soultest import luck
from soultest.daemon import Sould

FULL = os.environ.get("SOULD_FAULTS") == "full"
PARTS = pytest.mark.parametrize("part", range(10 if FULL else 1))


def tell(machine: type[RuleBasedStateMachine], part: int, stories: int, steps: int) -> None:
    """So many stories; what is printed tells the same ones again."""
    number = luck.seed() + part
    sys.stdout.write(f"@seed({number})\n")
    chosen = settings(
        max_examples=stories, stateful_step_count=steps, deadline=None, suppress_health_check=[HealthCheck.too_slow]
    )
    run_state_machine_as_test(seed(number)(type(machine.__name__, (machine,), {})), settings=chosen)


@PARTS
def test_nothing_typed_is_lost_and_what_was_rejected_is_gone(part: int) -> None:
    tell(Reviewing, part, 1_000 if FULL else 10, 15)


@PARTS
def test_a_log_says_after_a_restart_what_it_said_before(part: int) -> None:
    tell(ReviewingProject, part, 1_000 if FULL else 3, 12)


@PARTS
def test_whatever_happens_in_a_project_nothing_typed_is_lost_and_nothing_of_an_agent_is_taken_for_the_users(
    part: int,
) -> None:
    tell(WholeProject, part, 100 if FULL else 3, 12)


@pytest.mark.parametrize("number", range(100, 150 if FULL else 101))
async def test_two_clients_see_the_same_after_each_death_of_their_daemon(sould: Sould, number: int) -> None:
    await told(sould, number, lives=6 if FULL else 2)
