"""What decisions come to, one after the other: as few writes of a file as there can be. Pure."""

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from sould.agents.files.edits.editlog import Decided
from sould.agents.files.review.filedecisions import Done, Effect, PutText
from sould.agents.files.reviewing.answers import DecidedHunk
from sould.agents.files.reviewing.listing import ReviewedHunk


class DecisionStep(Struct, frozen=True):
    """A decision with what the file is after it."""

    event: Decided
    hunk: ReviewedHunk | None
    done: Done
    was_in_base: bool

    def told(self, part: int) -> DecidedHunk:
        """What whoever decided is told of it; see `DecidedHunk.part`."""
        event, after = self.event, self.done.file
        last = event.verdict == "reject" and not self.was_in_base and (after.in_base or not after.exists)
        fate = "" if not last else "stays" if after.exists else "gone"
        stayed = self.done.stayed
        return DecidedHunk(event.hunk_id, self.hunk, event.verdict, stayed, path=event.path, new_file=fate, part=part)

    @property
    def only_text(self) -> bool:
        """Nothing but text is written."""
        return all(isinstance(effect, PutText) for effect in self.done.effects)


def in_one_write(steps: Sequence[DecisionStep]) -> Sequence[DecisionStep]:
    """As many of the first as come to one write at most."""
    count = next((n for n, step in enumerate(steps) if not step.only_text), len(steps))
    return steps[: max(1, count)]


def effects_of(steps: Sequence[DecisionStep]) -> list[Effect]:
    """What is to happen on disk; writes of one text after the other are the last one."""
    merged: list[Effect] = []
    for effect in (effect for step in steps for effect in step.done.effects):
        last = merged[-1] if merged else None
        if isinstance(effect, PutText) and isinstance(last, PutText) and last.path == effect.path:
            merged[-1] = replace(last, after=effect.after)
        else:
            merged.append(effect)
    return merged
