"""What of an MCP result reaches the model: each thing once, and no picture as text."""

import base64
import json
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp_types import CallToolResult

from sould.agents.mcp.results import converted
from sould.agents.wire.content import ImagePart, TextPart

DATA = base64.b64encode(bytes(range(1, 256)) * 2).decode()
IMAGE = {"type": "image", "data": DATA, "mimeType": "image/png"}
SMALL = {"type": "image", "data": "QUJD", "mimeType": "image/png"}
BLOB = {"type": "resource", "resource": {"uri": "docs://a", "mimeType": "image/png", "blob": DATA}}


def read(blocks: list[dict[str, Any]], structured: dict[str, Any]) -> tuple[list[type], str]:
    """The kinds of the parts that the model gets, and all their text."""
    result = CallToolResult.model_validate({"content": blocks, "structuredContent": structured})
    output = converted(result, 100_000).output
    parts = [TextPart(text=output)] if isinstance(output, str) else output
    return [type(part) for part in parts], "\n".join(part.text for part in parts if isinstance(part, TextPart))


@pytest.mark.parametrize("block", [IMAGE, SMALL, BLOB], ids=["picture", "small picture", "resource"])
def test_structured_content_that_repeats_the_blocks_is_left_out(block: dict[str, Any]) -> None:
    assert read([block], {"content": [{**block, "annotations": None}]}) == ([ImagePart], "")


def test_what_structured_content_says_besides_is_kept() -> None:
    kinds, text = read([IMAGE], {"picture": {**IMAGE, "alt": "a cat"}, "width": 3, "empty": []})
    assert kinds == [ImagePart, TextPart]
    assert json.loads(text) == {"picture": {"alt": "a cat"}, "width": 3, "empty": []}


def test_a_picture_that_a_text_repeats_is_not_read_as_letters() -> None:
    kinds, text = read([IMAGE, {"type": "text", "text": json.dumps({"content": [IMAGE]})}], {"content": [IMAGE]})
    assert kinds == [ImagePart, TextPart]
    assert json.loads(text)["content"][0]["data"] == "[image/png, beside this text]"


WORDS = st.text("abc def", max_size=20)
STRUCTURES = st.recursive(
    WORDS | st.sampled_from([DATA, f"data:image/png;base64,{DATA}"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3),
)


def words(value: Any) -> list[str]:
    """The texts in it that are no data."""
    if isinstance(value, str):
        return [] if DATA in value else [value]
    members = list(cast("dict[str, Any]", value).values()) if isinstance(value, dict) else value
    return [word for each in members for word in words(each)]


@given(STRUCTURES, st.booleans())
def test_base64_never_is_text_and_no_words_are_lost(value: Any, shown: bool) -> None:
    kinds, text = read([IMAGE] if shown else [], {"value": value})
    assert DATA not in text
    assert kinds.count(ImagePart) == shown
    said: Any = json.loads(text or "{}")
    assert [word for word in words(said) if "not shown" not in word] == words({"value": value})
