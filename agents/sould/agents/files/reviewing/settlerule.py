"""Whose changes are, and when they need no review any more, as the user has chosen it by now."""

from sould.agents.base.config import ReviewSettings, SettleRule
from sould.agents.base.errors import ConfigError
from sould.agents.base.liveconfig import LiveConfig


def settle_rule(config: LiveConfig) -> SettleRule:
    """The rule that holds now; the usual one where the configuration was never read without a mistake."""
    try:
        return config.look().review.settle
    except ConfigError:
        return "decision"


def certain_within(config: LiveConfig) -> float:
    """See `settle_rule`: the seconds of a command from which on what changed meanwhile may be the user's."""
    try:
        return config.look().review.certain_within
    except ConfigError:
        return ReviewSettings().certain_within
