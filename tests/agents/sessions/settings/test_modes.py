"""The modes of a session: the table of transitions, and what holds whatever happens."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sould.agents.base.config import Config
from sould.agents.base.errors import OptionError
from sould.agents.permissions.policy import Mode
from sould.agents.sessions.settings.modes import POSITIONS, TRANSITIONS, Event, Modes, ModeState, Position, usual_mode

FIRST: tuple[Mode, ...] = ("plan", "ask", "review", "full")
events = st.lists(st.sampled_from(tuple(TRANSITIONS)))


@pytest.mark.parametrize(("position", "choice"), list(product(POSITIONS, POSITIONS)))
def test_what_is_chosen_holds_whatever_was_before(position: Position, choice: Position) -> None:
    assert ModeState(position).after(choice).position == choice


@pytest.mark.parametrize(
    ("before", "event", "after"),
    [
        ("plan", "plan ends", "review"),
        ("ask", "plan ends", "ask"),
        ("review", "plan ends", "review"),
        ("full", "plan ends", "full"),
        ("away", "plan ends", "away"),
        ("plan", "full access ends", "plan"),
        ("ask", "full access ends", "ask"),
        ("review", "full access ends", "review"),
        ("full", "full access ends", "ask"),
        ("away", "full access ends", "ask"),
    ],
)
def test_an_end_leads_back_and_what_is_not_there_does_not_end(before: Position, event: Event, after: Position) -> None:
    assert ModeState(before, before_plan="review", usual="ask").after(event).position == after


@given(st.sampled_from(FIRST), st.sampled_from(FIRST), events)
def test_full_access_ends_in_the_mode_that_asked_last(first: Mode, usual: Mode, happened: list[Event]) -> None:
    modes = Modes(first, usual)
    expected: Mode | None = None
    for event in happened:
        expected = modes.mode if modes.mode in ("ask", "review") else expected
        modes.take(event)
    expected = modes.mode if modes.mode in ("ask", "review") else expected
    modes.take("full")
    modes.take("full access ends")
    assert modes.mode in ("ask", "review")
    assert expected is None or modes.mode == expected


@given(st.sampled_from(FIRST), st.sampled_from(FIRST), events)
def test_a_plan_ends_in_the_mode_before_it(first: Mode, usual: Mode, happened: list[Event]) -> None:
    modes = Modes(first, usual)
    for event in happened:
        modes.take(event)
    before = modes.mode
    modes.take("plan")
    assert modes.planning
    modes.take("plan ends")
    assert not modes.planning
    assert before == "plan" or modes.mode == before


@given(st.sampled_from(FIRST), st.sampled_from(FIRST), events)
def test_the_user_is_away_only_with_full_access_which_nothing_remembers(
    first: Mode, usual: Mode, happened: list[Event]
) -> None:
    modes = Modes(first, usual)
    for event in happened:
        modes.take(event)
        assert modes.mode == "full" or not modes.away
        assert modes.remembered != "full"
        assert modes.remembered in (modes.mode, None)


def test_a_plan_that_is_made_first_ends_in_the_usual_mode() -> None:
    assert Modes("plan", "review").before_plan == "review"
    assert Modes("plan", "full").before_plan == "full"
    assert Modes("plan", "plan").before_plan == "ask"


def test_auto_is_refused_without_a_sandbox() -> None:
    with pytest.raises(OptionError, match="sandbox"):
        Modes("auto")


@pytest.mark.parametrize(
    ("settings", "remembered", "usual"),
    [
        ({}, None, "review"),
        ({"default_yolo": True}, None, "full"),
        ({"default_mode": "ask", "default_yolo": True}, None, "ask"),
        ({"default_mode": "ask"}, "plan", "plan"),
    ],
)
def test_what_the_user_chose_last_counts_before_what_they_configured(
    settings: dict[str, object], remembered: Mode | None, usual: Mode
) -> None:
    assert usual_mode(Config.model_validate(settings), remembered, "review") == usual
