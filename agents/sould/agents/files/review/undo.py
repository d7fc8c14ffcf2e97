"""Taking calls back: what their writes changed is as it was before them, but for what the user decided or typed since. Pure.

A reject is about base, an undo about the log: each line has what happened to it (`weave`), and is as it would be had it not been
for the calls. A replacement that others worked on since stays as it is, and is told as a conflict.
"""

from collections.abc import Collection, Iterable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from sould.agents.files.review.hunk import AgentCall, Hunk, Part
from sould.agents.files.review.lines import without_ends
from sould.agents.files.review.splice import Away
from sould.agents.files.review.stretches import ShortTexts
from sould.agents.files.review.text import ReviewedText
from sould.agents.files.review.unwoven import Fate, unwoven
from sould.agents.files.review.weave import LineReplacement, Weave, WeaveStep, WovenLine


class Undone(Struct, frozen=True):
    """`hunks`: ids of those that are pending no more by it; `kept`: of those of the calls that stay because they were kept.

    `conflicts`: how many changes could not go back.
    """

    text: ReviewedText
    hunks: tuple[int, ...]
    kept: tuple[int, ...]
    conflicts: int


def without_calls(
    text: ReviewedText, before: Sequence[Part], steps: Iterable[WeaveStep], *, with_kept: bool = False
) -> Undone:
    """The text without the writes that are `undone` among the steps that led to it from the parts `before`.

    Steps may be left out, as long as each write has the text before it and after it. `with_kept`: what was kept goes back, too.
    """
    done = [*steps, WeaveStep(text.parts)]
    short = ShortTexts.of([before, *(step.parts for step in done)])
    first, *texts = short.texts
    done = [replace(step, parts=parts) for step, parts in zip(done, texts, strict=True)]
    weave = Weave(first, short.marks)
    for step in done:
        weave.follow(step)
    undoing = _Undoing(weave, text.away, [step for step in done if step.undone], with_kept=with_kept)
    pieces, edits = unwoven(texts[-1], undoing.fates(), undoing.calls)
    now = text.changed(short.pieces(pieces), [*short.edits(edits)])
    pending = {number for each in now.hunks for number in each.hunk.ids}
    gone = tuple(each.hunk.id for each in text.hunks if each.hunk.id not in pending)
    return Undone(now, gone, tuple(sorted(undoing.kept)), undoing.conflicts)


class _Undoing:
    """What becomes of each line of a weave. `kept` and `conflicts` are known when the fates are."""

    def __init__(self, weave: Weave, away: Sequence[Away], steps: Collection[WeaveStep], *, with_kept: bool) -> None:
        self._weave = weave
        self._away = [each for each in away if each.state == "kept"]
        self._overwritten = {number for each in away if each.state == "stale" for number in each.hunk.ids}
        self._with_kept = with_kept
        self.calls = frozenset(step.call_id for step in steps)
        self.kept: set[int] = set()
        self.conflicts = 0
        self._agents: set[AgentCall] = set()
        """The calls in full, as far as they wrote lines that are reviewed: an id may be that of another session's call, too."""
        self._staying: set[int] = set()
        """Lines that stay as they are, as somebody else worked on them, or on what stood there."""

    def fates(self) -> list[Fate]:
        """Each line of the weave with the state it has then."""
        undone = [each for each in self._weave.replacements if each.step.undone]
        families = [self._weave.family(each) for each in undone]
        written = (line.line for each in undone for line in each.appeared if line.call_id == each.step.call_id)
        self._agents |= {line.agent for line in written if line is not None and line.agent is not None}
        others = [self._is_others(*pair) for pair in zip(undone, families, strict=True)]
        for each, family, is_others in zip(undone, families, others, strict=True):
            if is_others:
                self.conflicts += 1
                self._staying |= {id(line) for line in (*each.vanished, *family)}
        fates = [self._fate(line) for line in self._weave.lines]
        for each, family, is_others in zip(undone, families, others, strict=True):
            left = [self._is_left(line) for line in (*each.vanished, *family)]
            self.conflicts += any(left) and not is_others
        return fates

    def _is_others(self, replacement: LineReplacement, family: Sequence[WovenLine]) -> bool:
        """Whether calls that stay, or words of the user, changed what was written."""
        written = {id(line) for line in replacement.appeared}
        if any(self._is_changed(line) and (line.is_mixed or id(line) not in written) for line in family):
            return True
        return bool(replacement.vanished) and any(_was_taken(line) for line in family)

    def _is_changed(self, line: WovenLine) -> bool:
        """Whether it is an agent's line that is not the calls' alone."""
        return line.state == "written" and bool(line.call_id) and (line.is_mixed or line.call_id not in self.calls)

    def _fate(self, line: WovenLine) -> Fate:
        """What a line is without the calls."""
        if id(line) in self._staying:
            return Fate(line, line.state, line.text, line.ended)
        if self._with_kept and self._kept_with(line):
            return Fate(line, "gone" if line.state == "same" else "same", line.text, line.ended)
        fate = _before(line)
        is_theirs = line.line is not None and line.line.agent in self._agents and not line.is_mixed
        return replace(fate, state="gone") if fate.state == "written" and is_theirs else fate

    def _is_left(self, line: WovenLine) -> bool:
        """Whether what the calls did to a line is in base since, or was overwritten. Where it was kept, that is told."""
        if line.is_settled:
            return line.hunks[-1].id in self._overwritten
        if not self._is_accepted(line):
            return False
        kept = self._kept_with(line)
        self.kept |= {hunk.id for hunk in kept if not self._with_kept}
        return not kept

    def _is_accepted(self, line: WovenLine) -> bool:
        """Whether it became the user's, as the calls had written it, or went for good, as they had taken it."""
        last = line.changes[-1] if line.changes else None
        if last is None or last.step.undone:
            return False
        match last.was, last.now:
            case "written", "same":
                return line.call_id in self.calls or any(change.step.undone for change in line.changes[-2:-1])
            case "base", "gone":
                return line.taken is not None and line.taken.undone
            case _:
                return False

    def _kept_with(self, line: WovenLine) -> list[Hunk]:
        """The hunks with which that was kept."""
        if not self._is_accepted(line):
            return []
        [text] = without_ends((line.text,))
        calls = self.calls | {line.call_id}
        hunks = (each.hunk for each in self._away if not each.hunk.calls.isdisjoint(calls))
        return [hunk for hunk in hunks if text in without_ends(hunk.texts if line.state == "same" else hunk.base)]


def _before(line: WovenLine) -> Fate:
    """A line without what was undone."""
    fate = Fate(line, line.state, line.text, line.ended)
    for end in reversed(line.end_changes) if line.state == "same" else ():
        if not end.step.undone:
            break
        ended = end.ended or line.ended or line.text
        fate = Fate(line, line.state, end.text, ended if len(ended) > len(end.text) else "")
    for change in reversed(line.causes):
        if not change.step.undone:
            break
        fate = Fate(line, change.was, change.text, change.ended)
    return fate


def _was_taken(line: WovenLine) -> bool:
    """Whether a call that stays took a line out of the text."""
    out = (each for each in reversed(line.changes) if each.was in ("same", "written") and each.now in ("base", "gone"))
    change = None if line.is_current else next(out, None)
    return change is not None and bool(change.step.call_id) and not change.step.undone
