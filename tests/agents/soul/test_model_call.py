"""Asking a model: what of its answer is published at once."""

from hypothesis import given
from hypothesis import strategies as st

from sould.agents.llm.provider import Finish
from sould.agents.soul.model_call import Part, runs
from sould.agents.wire.content import FunctionCall, TextPart, ThinkPart
from sould.agents.wire.messages import ToolCall, ToolCallPart

DELTAS: st.SearchStrategy[Part] = st.one_of(
    st.builds(TextPart, text=st.text(min_size=1)),
    st.builds(ThinkPart, think=st.text(min_size=1)),
    st.builds(ThinkPart, think=st.text(), encrypted=st.just("sealed")),
    st.just(ToolCall(id="1", function=FunctionCall(name="Shell"))),
    st.builds(ToolCallPart, arguments_part=st.text(min_size=1)),
    st.just(Finish("stop")),
)


@given(st.lists(DELTAS))
def test_neighbours_of_one_text_are_published_at_once_and_nothing_else_is_joined(batch: list[Part]) -> None:
    parted: list[Part] = []
    previous: Part | None = None
    for delta, pieces in runs(batch):
        match delta:
            case TextPart() if pieces:
                assert delta.text == "".join(pieces)
                parted += [TextPart(text=piece) for piece in pieces]
            case ThinkPart() if pieces:
                assert delta.think == "".join(pieces)
                parted += [ThinkPart(think=piece) for piece in pieces]
            case _:
                parted.append(delta)
        sealed = isinstance(delta, ThinkPart) and delta.encrypted is not None
        assert type(previous) is not type(delta) or not isinstance(delta, TextPart | ThinkPart) or sealed
        previous = None if sealed else delta
    assert parted == batch
