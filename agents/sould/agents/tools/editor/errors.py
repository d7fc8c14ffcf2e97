"""How a call of an editor tool fails: a code that programs know, one sentence, and what helps to call it better. Values only."""

from collections.abc import Sequence
from typing import Literal, TypeAlias, get_args

from msgspec import Struct

ErrorCode: TypeAlias = Literal[
    "no_editor",
    "not_found",
    "ambiguous",
    "stale",
    "denied",
    "not_supported",
    "busy",
    "timeout",
    "untrusted_workspace",
    "invalid",
    "failed",
]
"""`no_editor`: nobody can do it here, or who could is gone. `failed`: who was asked failed, or said nonsense. `invalid`: the arguments."""

CODES: frozenset[str] = frozenset(get_args(ErrorCode))


class Candidate(Struct, frozen=True, omit_defaults=True):
    """One of several things that may have been meant: what to say to mean it."""

    file: str
    line: int
    text: str = ""
    name_path: str = ""


class EditorToolError(Exception):
    """The call came to nothing; `candidates` with `ambiguous` and `not_found` only. The text is one sentence for the model."""

    def __init__(self, code: ErrorCode, message: str, candidates: Sequence[Candidate] = ()) -> None:
        super().__init__(message)
        self.code: ErrorCode = code
        self.candidates = tuple(candidates)

    @property
    def worded(self) -> str:
        """With its code and candidates, as the model is told."""
        said = f"{self.code}: {self}"
        lines = [f"- {each.file}:{each.line}{_more(each)}" for each in self.candidates[:20]]
        return "\n".join([said, *lines])


def _more(candidate: Candidate) -> str:
    named = f" {candidate.name_path}" if candidate.name_path else ""
    return f"{named}: {candidate.text.strip()[:200]}" if candidate.text else named
