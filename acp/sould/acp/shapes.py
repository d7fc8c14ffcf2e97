"""What our own requests about sessions are answered with (`_sould/session`): docs/schemas is made of these. Values only."""

from typing import Any

from msgspec import Struct


class ShownUpdate(Struct, frozen=True):
    """An update of the conversation, whole: as `session/update` has it, in its present state."""

    sequence: int
    """Where in the session what it shows begins."""
    update: dict[str, Any]


class Transcript(Struct, frozen=True):
    """A page of a conversation, oldest first."""

    updates: list[ShownUpdate]
    before: int | None
    """What to ask for the page before it; null: there is none."""
    sequence: int
    """Of live updates, those up to this one are included."""


class Archived(Struct, frozen=True):
    """Where a session is now."""

    archived: bool
