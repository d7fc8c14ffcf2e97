"""What files held, as lines: what was used last is at hand, and large texts do not add up."""

from pathlib import Path

from sould.agents.base.diskfile import digest_of
from sould.agents.files.edits.blobs import BlobStore
from sould.agents.files.edits.texts import MOST_HELD, MOST_LINES, Texts


def content(number: int, lines: int) -> bytes:
    return "".join(f"{number} {n}\n" for n in range(lines)).encode()


def held(texts: Texts, *contents: bytes) -> list[bool]:
    """Which of them are at hand; the store has none of them."""
    return [texts.lines(digest_of(each)) is not None for each in contents]


def test_small_texts_are_at_hand_the_last_used_ones(tmp_path: Path) -> None:
    texts = Texts(BlobStore(tmp_path))
    contents = [content(number, 10) for number in range(MOST_HELD + 1)]
    for each in contents:
        texts.hold(each)

    assert held(texts, *contents) == [False, *[True] * MOST_HELD]


def test_of_large_texts_only_those_before_and_after_a_write_are_at_hand(tmp_path: Path) -> None:
    texts = Texts(BlobStore(tmp_path))
    contents = [content(number, MOST_LINES) for number in range(3)]
    for each in contents:
        texts.hold(each)

    assert held(texts, *contents) == [False, True, True]


def test_a_text_that_is_at_hand_is_not_made_anew(tmp_path: Path) -> None:
    texts = Texts(BlobStore(tmp_path))

    assert texts.hold(content(1, 10)) is texts.hold(content(1, 10))
    assert texts.hold(b"\xff") is None
