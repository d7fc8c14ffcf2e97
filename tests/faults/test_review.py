"""Whatever happens to a text under review, and to a project with two sessions, a user and an editor, in thousands of stories.

`make test` runs some of them with the examples.
"""

import os

from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test
from tests.agents.review.machine import Reviewing
from tests.agents.reviewing.projectmachine import WholeProject
from tests.agents.reviewing.test_property import Reviewing as ReviewingProject

FULL = os.environ.get("SOULD_FAULTS") == "full"


def test_nothing_typed_is_lost_and_what_was_rejected_is_gone() -> None:
    stories = 10_000 if FULL else 10
    run_state_machine_as_test(Reviewing, settings=settings(max_examples=stories, stateful_step_count=15))


def test_a_log_says_after_a_restart_what_it_said_before() -> None:
    stories = 8_000 if FULL else 3  # a quarter of an hour
    chosen = settings(
        max_examples=stories, stateful_step_count=12, deadline=None, suppress_health_check=[HealthCheck.too_slow]
    )
    run_state_machine_as_test(ReviewingProject, settings=chosen)


def test_whatever_happens_in_a_project_nothing_typed_is_lost_and_nothing_of_an_agent_is_taken_for_the_users() -> None:
    stories = 1_000 if FULL else 3  # a quarter of an hour
    chosen = settings(
        max_examples=stories,
        stateful_step_count=12,
        deadline=None,
        derandomize=not FULL,
        suppress_health_check=[HealthCheck.too_slow],
    )
    run_state_machine_as_test(WholeProject, settings=chosen)
