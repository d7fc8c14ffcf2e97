"""Mending a conversation that a model's server refuses, so that what is in it cannot make all later requests fail.

A refusal of media leaves them out, once a step; one of a tool leaves that tool out, up to `MOST_TOOLS_LEFT_OUT` a step; one of
a request that is larger than the last that passed earns a compaction, once a turn, whatever its words are (D60). A server that
goes on refusing is believed. What was done is shown in the session and counted.
"""

import re
from collections import Counter

from msgspec import Struct, field

from sould.agents.journal.log import SessionLog
from sould.agents.llm.provider import EmptyAnswerError, ProviderError, ProviderStatusError
from sould.agents.llm.provider_errors import COMPACT_SHORTENS
from sould.agents.llm.requests import media_digest
from sould.agents.soul.compaction.compactor import Compactor
from sould.agents.soul.model_call import ModelChoice
from sould.agents.soul.stepcalls import StepCalls
from sould.agents.toolapi.toolset import Toolset
from sould.agents.wire.messages import MediaLeftOut
from sould.agents.wire.notice import notice

_OF_MEDIA = re.compile(
    r"\b(?:images?|image_url|pictures?|vision|videos?|video_url|audio|input_audio|media|multi-?modal|modality|base64|png|jpe?g)\b",
    re.IGNORECASE,
)
_COUNTED_TOOL = re.compile(r"(?:tools|function_declarations)(?:\[|\.)(\d++)(?!\]\.function_declarations)")
_NAMED_TOOL = re.compile(r"(?:function|tool)s? '([A-Za-z0-9_-]{1,64})'")
_REFUSALS = frozenset({400, 404, 413, 415, 422, 500})
_TOO_LARGE = frozenset({400, 413})

MOST_TOOLS_LEFT_OUT = 8
"""In one step: a server refuses one at a time."""


class Extent(Struct, frozen=True):
    """How much of a conversation a request holds: its messages since history was last replaced."""

    generation: int
    messages: int

    def goes_beyond(self, other: "Extent") -> bool:
        """Whether it holds the other, and more."""
        return self.generation == other.generation and self.messages > other.messages


class Repairs(Struct):
    """Of one agent's conversation."""

    log: SessionLog
    models: ModelChoice
    compactor: Compactor
    toolset: Toolset
    counts: Counter[str]
    """How often each kind of repair was made, in the whole daemon."""
    _passed: dict[str, Extent] = field(default_factory=dict[str, Extent])
    """The last request that each model took."""
    _compacted: str = ""
    """The turn in which a refusal earned a compaction."""

    def step(self, turn_id: str) -> "StepRepairs":
        """For the model calls of one step."""
        return StepRepairs(self, turn_id)

    @property
    def extent(self) -> Extent:
        """Of the next request."""
        return Extent(self.log.context.generation, len(self.log.context.messages))

    def note_passed(self, extent: Extent) -> None:
        """The model took a request of this extent."""
        self._passed[self._origin] = extent

    def leave_out_media(self, error: ProviderError) -> bool:
        """Leave out all media that the model was sent, where the refusal may be of them."""
        if not isinstance(error, ProviderStatusError) or error.status not in _REFUSALS:
            return False
        if error.status != 413 and not _OF_MEDIA.search(error.said):
            return False
        known = self.log.context.left_out(self._origin)
        parts = (part for message in self.log.context.messages for part in message.content)
        digests = tuple(dict.fromkeys(digest for part in parts if (digest := media_digest(part)) not in {"", *known}))
        if not digests:
            return False
        self.log.publish(MediaLeftOut(origin=self._origin, digests=digests))
        self._tell("media", "Pictures were left out", f"The model's server refused them: {error.message}")
        return True

    def leave_out_tool(self, error: ProviderError) -> bool:
        """Leave out the tool of an MCP server, or another source, that a refusal names or counts."""
        if not isinstance(error, ProviderStatusError) or error.status not in _REFUSALS:
            return False
        specs = self.toolset.specs
        counted = _COUNTED_TOOL.search(error.said)
        number = int(counted[1]) if counted else -1
        named = _NAMED_TOOL.search(error.said)
        name = specs[number].name if 0 <= number < len(specs) else named[1] if named else ""
        if not self.toolset.leave_out(name):
            return False
        self._tell("tool", f"The tool {name} was left out", f"The model's server refused it: {error.message}")
        return True

    async def compact(self, error: ProviderError, turn_id: str) -> bool:
        """Compact the conversation, where the refusal may be of its length. It is cut only where the server says that it is.

        Raises:
            ProviderError: there is hardly anything in it, so that no summary would be shorter.
        """
        if error.kind == "context_too_long" and not self.compactor.can_shorten:
            told = error.message.removesuffix(COMPACT_SHORTENS).rstrip(".")
            raise ProviderError(
                f"{told}. Nearly all of it is the system prompt and the tools: have the server take a longer context, or choose "
                "an agent with fewer tools.",
                kind=error.kind,
                status=error.status,
            ) from error
        if self._compacted == turn_id or not self._may_be_too_large(error):
            return False
        self._compacted = turn_id
        if not await self.compactor.compact(must=error.kind == "context_too_long"):
            return False
        self._tell("compaction", "The conversation was compacted", f"The model's server refused it: {error.message}")
        return True

    def _may_be_too_large(self, error: ProviderError) -> bool:
        if error.kind == "context_too_long":
            return True
        if error.status not in _TOO_LARGE:
            return False
        passed = self._passed.get(self._origin)
        if passed is None:  # what a daemon before asked is not known, only that it was answered
            return not self._passed and self.log.context.token_count > 0
        return self.extent.goes_beyond(passed)

    @property
    def _origin(self) -> str:
        return self.models.model().provider.info.origin

    def _tell(self, kind: str, title: str, body: str) -> None:
        self.counts[kind] += 1
        self.log.publish(notice("repair", title, body, severity="warning"))


class StepRepairs:
    """Of one step."""

    def __init__(self, repairs: Repairs, turn_id: str) -> None:
        self._repairs = repairs
        self._turn_id = turn_id
        self._extent = repairs.extent
        self._media = True
        self._thoughts = True
        self._tools = MOST_TOOLS_LEFT_OUT

    def passed(self) -> None:
        """The model answered."""
        self._repairs.note_passed(self._extent)

    async def mend(self, error: ProviderError, calls: StepCalls) -> bool:
        """Whether something was done about a failure, so that it is worth asking again."""
        if calls.any_shown:
            # thoughts were shown, and the answer that should follow them did not come
            again, self._thoughts = self._thoughts and isinstance(error, EmptyAnswerError) and error.retryable, False
            return again
        if self._media and self._repairs.leave_out_media(error):
            self._media = False
            return True
        if self._tools and self._repairs.leave_out_tool(error):
            self._tools -= 1
            return True
        if await self._repairs.compact(error, self._turn_id):
            self._extent = self._repairs.extent
            return True
        return False
