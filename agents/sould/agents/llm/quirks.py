"""What one model of one server turned out not to take, so that it is asked again in another way, and so from then on.

A refusal that names a field which we may leave out or send otherwise is learned from, once; any other is believed. It knows
words only, and asks nobody.
"""

import re

from msgspec import Struct
from msgspec.structs import replace

from sould.agents.llm.provider import ProviderStatusError

OPTIONAL = (
    "stream_options",
    "prompt_cache_key",
    "temperature",
    "top_p",
    "reasoning_effort",
    "max_tokens",
    "max_completion_tokens",
)
"""Fields of a request that can be left out."""
_LIMITS = {"max_tokens": "max_completion_tokens", "max_completion_tokens": "max_tokens"}
"""The two names of the limit on an answer."""
_STATUSES = frozenset({400, 404, 422})
_REFUSED = re.compile(
    r"support|not (?:be )?(?:permitted|allowed|available|accepted)|unrecognized|unknown|unexpected"
    r"|extra|only|invalid|forbidden|deprecated|validation",
    re.IGNORECASE,
)
_STATE = re.compile(
    r"reasoning_content|reasoning_details|\breasoning\b|extra_content|thought_signature|thinking_blocks"
)
_MISSED = re.compile(r"missing|must be (?:passed|preserved|provided|included)|required", re.IGNORECASE)
_ORDER = re.compile(r"role '?user'? after role '?tool'?", re.IGNORECASE)
_OUTPUT = re.compile(r"output tokens|max_tokens|max_completion_tokens|completion", re.IGNORECASE)


class Quirks(Struct, frozen=True):
    """How requests to a model differ from the usual ones."""

    left_out: frozenset[str] = frozenset()
    """Of `OPTIONAL`."""
    renamed: bool = False
    """The limit on an answer is sent under its other name."""
    stateless: bool = False
    """It hands out what it does not take back."""
    placeholder: str | None = None
    """Sent as `reasoning_content` with answers that have none; None: the field is not sent."""
    answer_after_tools: bool = False
    """Words of the model stand between the result of a tool and what a user says."""

    def learned(self, error: ProviderStatusError) -> "Quirks | None":
        """With what a refusal tells; None where it tells nothing new."""
        if error.status not in _STATUSES:
            return None
        for known in (self._order, self._limit, self._field, self._state):
            quirks = known(error)
            if quirks is not None and quirks != self:
                return quirks
        return None

    def _order(self, error: ProviderStatusError) -> "Quirks | None":
        return replace(self, answer_after_tools=True) if _ORDER.search(error.said) else None

    def _state(self, error: ProviderStatusError) -> "Quirks | None":
        if not _STATE.search(error.said):
            return None
        if _MISSED.search(error.said):
            return replace(self, placeholder="" if self.placeholder is None else "(not kept)")
        return replace(self, stateless=True) if _REFUSED.search(error.said) else None

    def _limit(self, error: ProviderStatusError) -> "Quirks | None":
        """The limit on an answer under its other name."""
        is_told = any(_names(error, name) for name in _LIMITS.values()) and "use '" in error.said.lower()
        return replace(self, renamed=True) if is_told and not self.renamed else None

    def _field(self, error: ProviderStatusError) -> "Quirks | None":
        found = next((name for name in OPTIONAL if name not in self.left_out and _names(error, name)), None)
        if found is None or not _REFUSED.search(error.said):
            return None
        return replace(self, left_out=self.left_out | {found})

    def fields(self, sent: dict[str, object]) -> dict[str, object]:
        """The fields of a request, as this model takes them."""
        if self.renamed:
            sent = {_LIMITS.get(name, name): value for name, value in sent.items()}
        return {name: value for name, value in sent.items() if name not in self.left_out}


def leaves_no_room(error: ProviderStatusError) -> bool:
    """Whether the limit on an answer does not fit into the window beside the conversation."""
    return error.kind == "context_too_long" and _OUTPUT.search(error.said) is not None


def _names(error: ProviderStatusError, field: str) -> bool:
    return re.search(rf"\b{field}\b", error.said) is not None
