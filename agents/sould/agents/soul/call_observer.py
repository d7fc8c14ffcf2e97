"""The calls of a step as something that watches them sees them, and what their arguments are when they are whole. Starts nothing."""

from collections.abc import Sequence
from typing import Any, Final, Protocol, cast

import orjson

from sould.agents.soul.turn import Turn
from sould.agents.wire.messages import ToolReturn


class WatchedCall(Protocol):
    """One call."""

    id: str
    name: str
    model: str
    result: ToolReturn | None

    @property
    def arguments(self) -> str:
        """As far as the model wrote them."""
        ...


class CallWatcher:
    """Of one step: subclass it and override what is heard."""

    __slots__ = ()

    def whole(self, call: WatchedCall) -> None:
        """The model has written all of its arguments."""

    def over(self, call: WatchedCall) -> None:
        """It has its result, or will never run."""

    def close(self, calls: Sequence[WatchedCall]) -> None:
        """Nothing of the step goes on any more; these were its calls."""


UNWATCHED: Final = CallWatcher()


class WatchingCalls:
    """Makes what watches the calls of an agent's steps: subclass it. As it is, nobody does."""

    __slots__ = ()

    def of(self, turn: Turn) -> CallWatcher:
        """For a step of this turn that begins."""
        return UNWATCHED


def parse_arguments(text: str) -> dict[str, Any] | None:
    """The arguments as an object; empty text is an empty object, anything else that is not an object is None."""
    if not text.strip():
        return {}
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError:
        return None
    return cast("dict[str, Any]", value) if isinstance(value, dict) else None
