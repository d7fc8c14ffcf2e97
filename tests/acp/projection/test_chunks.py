"""Text as it streams: the quick way writes what the slow one would."""

from hypothesis import given
from hypothesis import strategies as st

from sould.acp.content import PIECE, chunk, text_block
from sould.agents.journal.channel import Record
from sould.agents.wire.content import TextPart, ThinkPart
from soultest.acpscreen import Screen, lawful


def test_text_is_streamed_as_it_comes_under_one_message_id_for_each_message() -> None:
    screen = Screen()
    feed = screen.updates.feed
    shown = lawful(
        feed(Record(4, 0, TextPart(text='a"\n'), 0.0))
        + feed(Record(4, 3, TextPart(text="😀\u2028"), 0.0))
        + feed(Record(5, 0, ThinkPart(think="hm"), 0.0))
        + feed(Record(6, 0, TextPart(text="c"), 0.0))
    )
    assert [(update["sessionUpdate"][6:], update["messageId"], update["content"]["text"]) for update in shown] == [
        ("message_chunk", "m4", 'a"\n'),
        ("message_chunk", "m4", "😀\u2028"),
        ("thought_chunk", "m5", "hm"),
        ("message_chunk", "m6", "c"),
    ]


@given(st.text(min_size=1), st.integers(min_value=0, max_value=3))
def test_merged_text_is_cut_into_pieces_that_say_the_same(text: str, times: int) -> None:
    long = text * (1 + times * (PIECE // len(text) + 1))
    shown = lawful(Screen().updates.feed(Record(1, 0, TextPart(text=long), 0.0)))
    assert "".join(update["content"]["text"] for update in shown) == long
    assert all(len(update["content"]["text"]) <= PIECE for update in shown)


@given(st.lists(st.text(min_size=1), min_size=1), st.sampled_from([TextPart, ThinkPart]), st.booleans())
def test_text_that_came_at_once_is_shown_delta_by_delta_as_any_update_is_written(
    deltas: list[str], kind: type[TextPart | ThinkPart], long: bool
) -> None:
    if long:
        deltas = [*deltas, "x" * (PIECE + 1)]
    text = "".join(deltas)
    message = TextPart(text=text) if kind is TextPart else ThinkPart(think=text)
    updates = Screen().updates
    lines = updates.feed(Record(7, 3, message, 0.0, pieces=tuple(deltas)))
    said = "agent_message_chunk" if kind is TextPart else "agent_thought_chunk"
    texts = [delta[at : at + PIECE] for delta in deltas for at in range(0, len(delta), PIECE)]
    assert lines == b"".join(updates.line(chunk(said, text_block(each), "m7")) for each in texts)
    assert len(lawful(lines)) == len(texts)
