"""A file under review, told as a story: who writes which text, what is kept and rejected."""

from collections.abc import Collection
from dataclasses import dataclass, field

from sould.agents.files.review.decisions import Choice, Decided, Decision, Refusal, Verdict, decided, taken_back
from sould.agents.files.review.difference import edits_between
from sould.agents.files.review.hunk import AgentCall
from sould.agents.files.review.lines import split
from sould.agents.files.review.text import ReviewedText
from sould.agents.files.review.undo import Undone, without_calls
from sould.agents.files.review.useredit import How
from sould.agents.files.review.weave import WeaveStep


def agent(turn: str, session: str = "S1", call: str = "") -> AgentCall:
    """A call of a turn."""
    return AgentCall(session, turn, call or f"call of {turn}")


class Past:
    """What became of a text, for undo: the text after each thing that happened."""

    def __init__(self) -> None:
        self._texts: list[tuple[ReviewedText, AgentCall | None]] = []
        self.calls: list[AgentCall] = []
        """Those that wrote and were not undone, from the first to the last."""

    def note(self, text: ReviewedText, by: AgentCall | None = None) -> None:
        """It is another one by now; `by`: the call that wrote."""
        self._texts.append((text, by))
        self.calls += [by] if by is not None else []

    def without(self, calls: Collection[str]) -> Undone:
        """The text that it came to without some calls."""
        (first, _), *rest = self._texts
        steps = [
            WeaveStep(text.parts, by.call_id if by else "", by is not None and by.call_id in calls) for text, by in rest
        ]
        return without_calls(self._texts[-1][0], first.parts, steps)

    def forget(self, calls: Collection[str]) -> None:
        """These calls were undone, as far as they could be."""
        self.calls = [by for by in self.calls if by.call_id not in calls]


@dataclass
class Story:
    """What happens to one text. Hunks are told by their ids, texts by strings with a line each."""

    text: ReviewedText
    past: Past = field(default_factory=Past)

    def __post_init__(self) -> None:
        self.past.note(self.text)

    @classmethod
    def of(cls, base: str) -> "Story":
        """A file as the user has it."""
        return cls(ReviewedText.of(split(base), 1))

    @property
    def base(self) -> str:
        """What was accepted."""
        return "".join(self.text.base)

    @property
    def current(self) -> str:
        """What is in the file."""
        return "".join(self.text.current)

    @property
    def hunks(self) -> dict[int, tuple[str, str, set[str]]]:
        """What is pending, from the top: base and current lines, and the turns."""
        return {
            each.hunk.id: ("".join(each.hunk.base), "".join(each.hunk.texts), set(each.hunk.turns))
            for each in self.text.hunks
        }

    def places(self, hunk_id: int) -> tuple[range, range]:
        """The lines of a hunk in base and in the file, from 1."""
        each = self.text.pending(hunk_id)
        assert each is not None
        base = range(each.base_start + 1, each.base_start + 1 + len(each.hunk.base))
        return base, range(each.start + 1, each.stop + 1)

    def agent(self, turn: str, current: str, session: str = "S1", *, call: str = "", allowed: bool = False) -> None:
        """A call of a turn leaves the file with this text."""
        edits = edits_between(self.text.current, split(current))
        by = agent(turn, session, call)
        self._become(self.text.agent_wrote(edits, by, allowed=allowed), by)

    def user(self, current: str, how: How = "typed", *, returning: bool = True) -> None:
        """The user leaves the file with this text."""
        edits = edits_between(self.text.current, split(current))
        self._become(self.text.user_wrote(edits, how, returning=returning))

    def decide(
        self, verdict: Verdict, hunk_id: int, choice: Choice | None = None, lines: tuple[int, int] | None = None
    ) -> Decided | Refusal:
        """Keep or reject a hunk as it is now; `lines` of the file, from 1, the last included."""
        found = self.text.pending(hunk_id)
        digest = found.hunk.digest if found is not None else ""
        part = (lines[0] - 1 - found.start, lines[1] - found.start) if lines is not None and found is not None else None
        return self._answer(decided(self.text, Decision(verdict, hunk_id, digest, part, choice)))

    def reject(self, hunk_id: int, choice: Choice | None = None) -> Decided | Refusal:
        """Reject it as it is now."""
        return self.decide("reject", hunk_id, choice)

    def keep(self, hunk_id: int, lines: tuple[int, int] | None = None) -> Decided | Refusal:
        """Keep it as it is now."""
        return self.decide("keep", hunk_id, lines=lines)

    def reject_everything(self) -> list[Refusal]:
        """Reject all that is pending; what was left, and why."""
        answers = [self.reject(each) for each in self.hunks]
        return [answer for answer in answers if not isinstance(answer, Decided)]

    def take_back(self, hunk_id: int) -> Decided | Refusal:
        """Undo a decision."""
        return self._answer(taken_back(self.text, hunk_id))

    def undo(self, turn: str) -> Undone:
        """Take a turn back."""
        return self.undo_calls(*(by.call_id for by in self.past.calls if by.turn_id == turn))

    def undo_calls(self, *calls: str) -> Undone:
        """Take some calls back."""
        answer = self.past.without(calls)
        self.past.forget(calls)
        self._become(answer.text)
        return answer

    def states(self) -> dict[int, str]:
        """The hunks that are not pending, and why."""
        return {each.hunk.id: each.state for each in self.text.away}

    def _answer(self, answer: Decided | Refusal) -> Decided | Refusal:
        if isinstance(answer, Decided):
            self._become(answer.text)
        return answer

    def _become(self, text: ReviewedText, by: AgentCall | None = None) -> None:
        self.text = text
        self.past.note(text, by)


AREA = "def area(w, h):\n    return w * h\n"
AREA_T1 = 'def area(w, h):\n    if w < 0 or h < 0:\n        raise ValueError("neg")\n    return w * h\n'
AREA_TYPED = AREA_T1.replace("        raise", "        log(w, h)\n        raise")
FORMATTER = "x = {'a':1}\n\ndef f():\n    return x\n\nz=3\n"
FORMATTER_T2 = 'x = {"a": 1}\n\ndef f():\n    return x["a"]\n\nz = 3\ny = 2\n'


def area() -> Story:
    """Two lines added to a function."""
    story = Story.of(AREA)
    story.agent("T1", AREA_T1)
    return story


def formatted() -> Story:
    """A formatter ran over lines of the user and of the turn before."""
    story = Story.of(FORMATTER)
    story.agent("T1", FORMATTER.replace("return x", "return x['a']"))
    story.user(FORMATTER.replace("return x", "return x['a']") + "y=2\n")
    story.agent("T2", FORMATTER_T2)
    return story
