"""What a model server hands out with an answer and wants back with it: reasoning, signatures, encrypted thoughts.

Servers refuse a conversation whose answers come back without it, and strict ones refuse what another server handed out. So it
is put together from the pieces of a stream, kept as it came, and given back to its own server alone. The fields are those of
DeepSeek and Kimi (`reasoning_content`), OpenRouter (`reasoning_details`), Gemini (`extra_content`), Copilot
(`reasoning_opaque`) and LiteLLM (`thinking_blocks`, `provider_specific_fields`).
"""

from collections.abc import Iterator, Mapping
from typing import Any, cast

import orjson

from sould.agents.wire.messages import ServerState

JsonObject = dict[str, Any]

MOST_BYTES = 4 * 1024 * 1024
"""Of an answer's state, as JSON; one with more is not kept, and its server may refuse the next request."""
_DEEPEST = 32
_OF_ANSWER = frozenset({"thinking_blocks", "extra_content", "provider_specific_fields"})
_OF_CALL = frozenset({"index", "id", "type", "function"})
"""What every call has; a server wants the rest back."""
_GROWING = frozenset({"text", "thinking", "summary", "data", "signature"})
"""Keys of a list's parts that come in pieces."""


class HandedOut:
    """What one answer brought. The text that came under `reasoning_key` is not repeated here: it is the answer's thoughts."""

    __slots__ = ("_answer", "_calls", "_room", "reasoning_key")

    def __init__(self) -> None:
        self.reasoning_key = ""
        self._answer: dict[str, list[Any]] = {}
        self._calls: dict[str, dict[str, list[Any]]] = {}
        self._room = MOST_BYTES

    def __bool__(self) -> bool:
        return bool(self.reasoning_key or (self._room >= 0 and (self._answer or self._calls)))

    @property
    def answer(self) -> JsonObject:
        """Keys of the answer's message."""
        return _joined(self._answer) if self._room >= 0 else {}

    @property
    def calls(self) -> dict[str, JsonObject]:
        """Keys of its calls, by the ids that these have in the answer."""
        return {call_id: _joined(kept) for call_id, kept in self._calls.items()} if self._room >= 0 else {}

    def state(self, origin: str, ids: Mapping[str, str]) -> ServerState:
        """The same as it is kept; `ids`: the ids that calls have here, by those of the answer."""
        calls = {ids[call_id]: fields for call_id, fields in self.calls.items() if call_id in ids}
        return ServerState(origin=origin, reasoning_key=self.reasoning_key, answer=self.answer, calls=calls)

    def thought(self, key: str) -> None:
        """Thoughts came under this key."""
        self.reasoning_key = self.reasoning_key or key

    def read(self, key: str, value: Any) -> None:
        """A key of a delta that is neither text nor a call."""
        if value is not None and (key.startswith("reasoning") or key in _OF_ANSWER):
            self._keep(self._answer, key, value)

    def read_call(self, call_id: str, entry: JsonObject) -> None:
        """A fragment of a call."""
        for key in entry.keys() - _OF_CALL:
            if entry[key] is not None:
                self._keep(self._calls.setdefault(call_id, {}), key, entry[key])

    def _keep(self, kept: dict[str, list[Any]], key: str, value: Any) -> None:
        self._room -= len(orjson.dumps(value)) if _is_flat(value, _DEEPEST) else MOST_BYTES + 1
        if self._room >= 0:
            kept.setdefault(key, []).append(value)


def _is_flat(value: Any, depth: int) -> bool:
    """Whether nothing in it is deeper than so many levels."""
    if isinstance(value, dict):
        return depth > 0 and all(_is_flat(each, depth - 1) for each in cast("JsonObject", value).values())
    if isinstance(value, list):
        return depth > 0 and all(_is_flat(each, depth - 1) for each in cast("list[Any]", value))
    return True


def _joined(pieces: dict[str, list[Any]]) -> JsonObject:
    return {key: _whole(values) for key, values in pieces.items()}


def _whole(values: list[Any]) -> Any:
    """Texts and lists grow, objects take up keys, and of anything else the last counts."""
    if all(isinstance(value, str) for value in values):
        return "".join(values)
    if all(isinstance(value, dict) for value in values):
        pieces: dict[str, list[Any]] = {}
        for fields in cast("list[JsonObject]", values):
            for key, value in fields.items():
                pieces.setdefault(key, []).append(value)
        return _joined(pieces)
    if all(isinstance(value, list) for value in values):
        return [_part(pieces) for pieces in _grouped(part for value in values for part in cast("list[Any]", value))]
    return values[-1]


def _grouped(parts: Iterator[Any]) -> list[list[Any]]:
    """The pieces of each part of a list. A piece goes on with the one of its type and index, or with the last."""
    groups: list[list[Any]] = []
    by_index: dict[tuple[object, object], list[Any]] = {}
    for part in parts:
        fields = cast("JsonObject", part) if isinstance(part, dict) else {}
        place = (str(fields.get("type")), str(fields["index"])) if fields.get("index") is not None else None
        known = (
            by_index.get(place)
            if place is not None
            else groups[-1]
            if groups and _goes_on(groups[-1], fields)
            else None
        )
        if known is not None:
            known.append(part)
            continue
        groups.append([part])
        if place is not None:
            by_index[place] = groups[-1]
    return groups


def _goes_on(pieces: list[Any], part: JsonObject) -> bool:
    """Whether a piece without an index belongs to the part before it: of its type, and not signed yet."""
    last: Any = pieces[-1]
    if not part or not isinstance(last, dict):
        return False
    before = cast("JsonObject", last)
    is_open = before.get("index") is None and not before.get("signature")
    return is_open and before.get("type") == part.get("type") and "data" not in part


def _part(pieces: list[Any]) -> Any:
    if len(pieces) == 1:
        return pieces[0]
    made: JsonObject = {}
    grown: dict[str, list[str]] = {}
    for piece in cast("list[JsonObject]", pieces):
        for key, value in piece.items():
            if key in _GROWING and isinstance(value, str):
                grown.setdefault(key, []).append(value)
                made.setdefault(key, "")
            elif value is not None or key not in made:
                made[key] = value
    return made | {key: "".join(texts) for key, texts in grown.items()}
