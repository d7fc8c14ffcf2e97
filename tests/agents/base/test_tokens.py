"""Token estimates beside what five providers counted: each record names the recording its text and figure come from (D27)."""

import json
from dataclasses import dataclass
from pathlib import Path

import pytest

from sould.agents.base.text import MEDIA_TOKENS, tokens, weight
from sould.agents.journal.context import Context
from sould.agents.wire.content import ImagePart, MediaUrl, TextPart
from sould.agents.wire.messages import StatusUpdate, TokenUsage, TurnBegin


@dataclass(frozen=True)
class Counted:
    """A text a model wrote, and the tokens its provider counted for it. `counted`: the figures as they were reported."""

    provider: str
    model: str
    source: str
    counted: str
    tokens: int
    text: str


RECORDED = [
    Counted(**record)
    for record in json.loads((Path(__file__).parent / "recorded" / "usage.json").read_text(encoding="utf-8"))
]
PROSE = [each for each in RECORDED if each.provider != "Anthropic"]
SPELLED = next(each for each in RECORDED if each.provider == "Anthropic")
"""A word spelled letter by letter: the worst a text can be for an estimate from bytes."""


def test_there_are_recordings_of_at_least_three_providers() -> None:
    assert len({each.provider for each in RECORDED}) == len(RECORDED) >= 3
    assert all(each.source.startswith("https://github.com/") for each in RECORDED)


@pytest.mark.parametrize("recorded", PROSE, ids=lambda each: each.provider)
def test_prose_is_estimated_within_a_quarter_of_what_the_provider_counted(recorded: Counted) -> None:
    assert recorded.tokens * 0.9 <= tokens(recorded.text) <= recorded.tokens * 1.25


def test_the_worst_text_is_estimated_within_a_half() -> None:
    assert SPELLED.tokens * 0.5 <= tokens(SPELLED.text) <= SPELLED.tokens


def reported(context: Context, total: int) -> None:
    context.apply(StatusUpdate(token_usage=TokenUsage(input_other=total, output=0)))


@pytest.mark.parametrize("recorded", RECORDED, ids=lambda each: each.provider)
def test_what_a_provider_counted_corrects_the_next_estimate_of_such_text(recorded: Counted) -> None:
    context = Context()
    times = 1 + 1000 // recorded.tokens
    text = recorded.text * times
    context.apply(TurnBegin(user_input="go"))
    reported(context, 10)
    context.apply(TurnBegin(user_input=text))
    before = abs(context.pending_estimate - recorded.tokens * times)
    for more in range(1, 5):
        reported(context, 10 + more * recorded.tokens * times)
        context.apply(TurnBegin(user_input=text))
    after = abs(context.pending_estimate - recorded.tokens * times)
    assert after <= before / 2
    assert after <= recorded.tokens * times * 0.1


def test_media_and_symbols_count_by_class() -> None:
    context = Context()
    context.apply(
        TurnBegin(user_input=(TextPart(text=""), ImagePart(image_url=MediaUrl(url="data:image/png;base64,"))))
    )
    assert context.pending_estimate == MEDIA_TOKENS
    assert weight("a") < weight("я") < weight("字") < weight("🌍")
