"""When a blank session becomes one to keep: with the first thing in it that somebody would miss.

A prompt does that by itself. A slash command does it only by what it leaves behind; one that shows something, or acts
outside the session, leaves nothing but words for people.
"""

from collections.abc import Callable, Generator
from contextlib import contextmanager

from sould.agents.journal.channel import Channel, Record
from sould.agents.wire.messages import ContextNote, DirectoryAdded, SessionChanged, StepBegin

_LASTING = (ContextNote, DirectoryAdded, SessionChanged, StepBegin)
"""The model is told or asked something, or the user chose something."""


@contextmanager
def noticing(channel: Channel, used: Callable[[], None]) -> Generator[None]:
    """Call `used` once, as soon as what happens inside leaves something in the session."""

    def take(_: Record) -> None:
        listening.close()
        used()

    listening = channel.listen(_LASTING, take)
    try:
        yield
    finally:
        listening.close()
