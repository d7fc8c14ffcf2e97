"""Which call of a step waits for which (D51): effects keep the model's order, what only looks goes beside them.

Pure: it judges by what each call says of itself, and starts and waits for nothing. A call waits for at most one call, and
that one stands before it, so no two calls can wait for each other.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

from sould.agents.toolapi.toolset import CheckedCall
from sould.agents.wire.messages import ToolKind

Places: TypeAlias = tuple[Path, ...] | None
"""Files, and directories with all that is in them; None: it may be anywhere."""

_NOWHERE: frozenset[ToolKind] = frozenset({"think", "fetch", "switch_mode"})
"""Kinds of tools that neither look at files nor change them."""


class StepOrder:
    """The calls of one step, taken in the model's order. `project`: the directories that a command works on."""

    def __init__(self, project: Sequence[Path]) -> None:
        self._project = tuple(project)
        self._effects: list[tuple[str, Places]] = []

    def add(self, call_id: str, call: CheckedCall) -> str:
        """Take the next call. The id of the call that it begins after; "" when it waits for none.

        An effect begins after the effect before it, a look after the last effect before it at the same place. Effects
        wait for each other, so what comes after one comes after all that stand before that.
        """
        places = self._places(call)
        before = reversed(self._effects)
        after = next((known for known, where in before if call.has_effects or _meet(places, where)), "")
        if call.has_effects:
            self._effects.append((call_id, places))
        return after

    def _places(self, call: CheckedCall) -> Places:
        if call.kind in _NOWHERE:
            return ()
        if call.kind == "execute":
            return self._project
        return tuple(Path(place.path) for place in call.view.locations) or None


def _meet(look: Places, effect: Places) -> bool:
    """Whether the look could see what the effect does."""
    if look is None:
        return True
    if effect is None:
        return bool(look)
    return any(one.is_relative_to(other) or other.is_relative_to(one) for one in look for other in effect)


def not_begun(calls: Iterable[str], after: Mapping[str, str], asking: Collection[str]) -> set[str]:
    """Of the calls without a result of a step that was cut off, in the model's order, those that had not begun.

    Known are those that come after one that was `asking` the user, or after another of them.
    """
    found: set[str] = set()
    for call_id in calls:
        if after.get(call_id, "") in asking or after.get(call_id, "") in found:
            found.add(call_id)
    return found
