"""The dialogue of `sould review` and `sould review -p`: hunk after hunk, in the manner of `git add -p`.

Each answer is carried out at once, about what was shown and nothing else: a hunk that is another by now is shown anew. What
is pending is asked for again after each answer, so others may decide meanwhile.
"""

import sys
import termios
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import click

from sould.agents.base.text import plural
from sould.agents.files.reviewing.shapes import LeftHunk, ReviewOutcome, ShownHunk
from sould.agents.sessions.operations import reviewtext
from sould.agents.sessions.operations.reviewtext import Names
from sould.daemon.cli.conversation import InterruptedRequestError
from sould.daemon.cli.output import CANCELLED
from sould.daemon.cli.review.client import Chosen, How, ReviewClient, SurroundingLines, files_of, outcome_of
from sould.daemon.cli.review.parts import Fineness, Part, finer, parts
from sould.daemon.cli.review.screen import SPEECH, hunk_lines
from sould.daemon.cli.terminal import pager
from sould.daemon.cli.terminal.screenfuls import fitting, height, screen

if TYPE_CHECKING:
    from sould.agents.files.review.decisions import Verdict

HELP: Final = {
    "y": "keep this hunk",
    "n": "reject this hunk; with text behind it, the agent is told why: n use the parser we have",
    "a": "keep this hunk and all later hunks in the file",
    "d": "reject this hunk and all later hunks in the file",
    "j": "leave this hunk undecided, see the next one",
    "k": "see the previous hunk",
    "s": "split this hunk into smaller ones",
    "u": "take the last answer back",
    "p": "show all of this hunk page by page, through $PAGER",
    "q": "quit; what is undecided stays to be reviewed",
    "?": "print help",
}
SHARE: Final = 4
"""Of a screen, the part that one line may take: of longer lines what differs is shown, and `p` shows all."""
_ASKED: Final = "drop", "mine", "replace"


class Pages:
    """One dialogue. `chosen`: what it is about."""

    def __init__(self, client: ReviewClient, chosen: Chosen, names: Names, *, colour: bool) -> None:
        self._client = client
        self._chosen = chosen
        self._names = names
        self._colour = colour
        self._pages: Sequence[Part] = ()
        self._whole: Sequence[str] = ()
        """What is to be read of the one that is shown."""
        self._rest: Sequence[str] = ()
        """Of it, what did not fit the screen."""
        self._is_all = True
        """All of it was shown at once."""
        self._said = 0
        """Rows that were written since the last answer, and are to be read, too."""
        self._at = 0
        self._fineness: dict[int, Fineness] = {}
        """Of hunks that were split, by their numbers."""
        self._passed: set[tuple[object, ...]] = set()
        """Left undecided."""
        self._skipped: set[tuple[object, ...]] = set()
        """Of these, those that were passed by with `j`."""
        self._is_again = False
        """They are asked about for the second time."""
        self._answered: list[Sequence[int]] = []
        """The hunks of each answer, the last one at the end; none of one about a part, which has no number to be taken back by."""
        self._elsewhere = 0
        """Hunks that an editor lets its user review already: nobody is asked twice."""

    def run(self) -> None:
        """Ask about each, until the last one or `q`. What was answered is done, also when Ctrl-C ends it."""
        try:
            self._ask_about_each()
        except KeyboardInterrupt:
            click.echo()
            self._end()
            raise SystemExit(CANCELLED) from None

    def _ask_about_each(self) -> None:
        self._load()
        if not self._pages:
            self._say("Nothing is to be reviewed." if not self._elsewhere else "")
        _forget_typed()
        is_new = True
        while self._at < len(self._pages) or self._begins_again():
            page = self._pages[self._at]
            if is_new:
                self._show(page)
            key, _, words = self._ask(page).partition(" ")
            if key == "q":
                break
            try:
                is_new = self._act(page, key, words.strip())
            except InterruptedRequestError:
                self._look_again(page)
                is_new = True
        self._end()

    def _look_again(self, page: Part) -> None:
        """Whether the answer was carried out is seen in what is pending now."""
        self._say("The daemon was stopped before it answered. This is pending now:")
        _forget_typed()
        self._load()
        pending = {page.hunk.id for page in self._pages}
        self._answered = [numbers for numbers in self._answered if not numbers or not pending.issuperset(numbers)]
        self._go_to(page.place)

    def _begins_again(self) -> bool:
        """What was passed by with `j` is asked about once more before the end."""
        skipped = [n for n, page in enumerate(self._pages) if page.name in self._skipped]
        self._passed -= self._skipped
        if self._is_again or not skipped:
            return False
        self._is_again = True
        self._at = skipped[0]
        return True

    # --- what is shown --------------------------------------------------------------------------------------------------

    def _load(self) -> None:
        """What is pending now; what is new where a hunk was split is as fine as that one was."""
        known = {page.hunk.id for page in self._pages}
        hunks = [hunk for file in files_of(self._client.pending(self._chosen)) for hunk in file.hunks]
        pending = [hunk for hunk in hunks if hunk.state == "pending"]
        self._elsewhere = sum(bool(hunk.shown_in) for hunk in pending)
        pages: list[Part] = []
        for hunk in pending:
            if not hunk.shown_in:
                if known and hunk.id not in known:
                    self._inherit(hunk)
                pages += parts(hunk, self._fineness.get(hunk.id, 0))
        self._pages = sorted(pages, key=lambda page: page.place)

    def _inherit(self, hunk: ShownHunk) -> None:
        """A part that became a hunk of its own, when the one beside it was decided, is split as it was."""
        split = [page for page in self._pages if page.lines is not None and page.hunk.path == hunk.path]
        before = {line.text for page in split for line in page.hunk.lines}
        if split and all(line.text in before for line in hunk.lines):
            self._fineness[hunk.id] = max(self._fineness.get(page.hunk.id, 0) for page in split)

    def _show(self, page: Part) -> None:
        """As much of it as the screen holds."""
        answered = sum(map(len, self._answered))
        place = f"({answered + self._at + 1}/{answered + len(self._pages)}) hunk "
        text = SurroundingLines(self._client).text(page.hunk)
        self._whole = list(hunk_lines(self._names, page.shown, text, place=place))
        now = screen()
        longest = now.columns * now.rows // SHARE if now is not None else sys.maxsize
        shown = list(hunk_lines(self._names, page.shown, text, place=place, longest=longest))
        self._rest = ["", *shown]
        self._show_more()
        self._is_all = shown == self._whole and not self._rest

    def _show_more(self) -> None:
        """The next screenful, with room for the question."""
        count, now = len(self._rest), screen()
        if now is not None:
            rows = max(now.rows - 1 - self._said, now.rows // 2)
            count = fitting(self._rest, now.columns, rows)
            count = count if count == len(self._rest) else fitting(self._rest, now.columns, rows - 1)
        shown, self._rest = self._rest[:count], self._rest[count:]
        self._say("\n".join(shown))
        if self._rest:
            more = f"{plural(len(self._rest), 'more line')}: Enter shows them, p all of it page by page"
            self._say(click.style(more, dim=True))

    def _say(self, text: str) -> None:
        if text:
            click.echo(text, color=self._colour)
            now = screen()
            self._said += sum(height(line, now.columns) for line in text.split("\n")) if now is not None else 0

    def _end(self) -> None:
        if self._elsewhere:
            self._say(f"{plural(self._elsewhere, 'hunk')} in review in an editor: `sould review list` shows them.")
        left = len({page.hunk.id for page in self._pages})
        if left:
            self._say(f"{plural(left, 'hunk')} left to be reviewed.")

    # --- what is answered -----------------------------------------------------------------------------------------------

    def _ask(self, page: Part) -> str:
        """The line that was typed; "q" at the end of input."""
        keys = self._keys(page)
        what = "Keep this hunk" if page.hunk.kind == "text" else "Keep this change"
        return self._line(f"{what} [{','.join(keys)},?]? ")

    def _keys(self, page: Part) -> list[str]:
        keys = ["y", "n", "q", "a", "d", "j"]
        return (
            keys
            + ["k"] * (self._at > 0)
            + ["s"] * (self._finer(page) is not None)
            + (["u"] * self._can_undo + ["p"] * (not self._is_all))
        )

    def _line(self, prompt: str) -> str:
        click.echo(click.style(prompt, fg="blue", bold=True), nl=False, color=self._colour)
        line = sys.stdin.readline()
        self._said = 0
        if not line:
            click.echo()
            return "q"
        return line.strip()

    def _act(self, page: Part, key: str, words: str) -> bool:
        """Whether another hunk is to be shown, or this one again."""
        match key.lower():
            case "y":
                self._decide("keep", [page])
            case "n":
                self._decide("reject", [page], words)
            case "a":
                self._decide_rest("keep", page)
            case "d":
                self._decide_rest("reject", page, words)
            case "j":
                self._passed.add(page.name)
                self._skipped.add(page.name)
                self._at += 1
            case "k" if self._at > 0:
                self._at -= 1
            case "s" if (fineness := self._finer(page)) is not None:
                self._split(page, fineness)
            case "u" if self._can_undo:
                self._undo()
            case "p":
                pager.show("\n".join(self._whole), colour=self._colour)
                return False
            case "":
                self._show_more() if self._rest else None
                return False
            case _:
                return self._explain(page, key)
        return True

    def _explain(self, page: Part, key: str) -> bool:
        sentences = {
            "k": "There is no previous hunk.",
            "s": "This hunk cannot be split.",
            "u": "There is no answer to take back.",
        }
        offered = [*self._keys(page), "?"]
        self._say(sentences.get(key) or "\n".join(f"{each} - {does}" for each, does in HELP.items() if each in offered))
        return False

    @property
    def _can_undo(self) -> bool:
        return bool(self._answered)

    def _finer(self, page: Part) -> Fineness | None:
        return finer(page.hunk, self._fineness.get(page.hunk.id, 0)) if page.hunk.kind == "text" else None

    def _split(self, page: Part, fineness: Fineness) -> None:
        self._fineness[page.hunk.id] = fineness
        before = len(self._pages)
        self._load()
        self._go_to(page.place)
        self._say(f"Split into {len(self._pages) - before + 1} hunks.")

    # --- what is done ---------------------------------------------------------------------------------------------------

    def _decide_rest(self, verdict: "Verdict", page: Part, reason: str = "") -> None:
        """This one and those behind it in its file: a part by itself, what is whole together. To be taken back as one answer.

        What may be the user's is rejected by itself only.
        """
        before = len(self._answered)
        self._decide(verdict, [page], reason)
        while rest := [each for each in self._pages[self._at :] if self._goes_with(each, page, verdict)]:
            whole = [each for each in rest if each.lines is None]
            self._passed -= {each.name for each in rest}
            if not self._decide(verdict, whole if rest[0].lines is None else rest[:1], reason):
                break
        given = self._answered[before:]
        self._answered[before:] = [[number for answer in given for number in answer]] if given else []

    def _goes_with(self, other: Part, page: Part, verdict: "Verdict") -> bool:
        is_behind = other.hunk.path == page.hunk.path and other.place >= page.place
        return is_behind and not (verdict == "reject" and other.hunk.unsure)

    def _decide(self, verdict: "Verdict", pages: Sequence[Part], reason: str = "", choice: str | None = None) -> bool:
        """Carry it out and say what came of it; whether all of it was done."""
        hunks = {page.hunk.id: page.hunk.digest for page in pages}
        answer = self._client.decide(verdict, Chosen(hunks), How(choice, reason, pages[0].lines, pages[0].base_lines))
        outcome = outcome_of(answer)
        asked = [left for left in outcome.left if set(left.choices).intersection(_ASKED)]
        others = tuple(left for left in outcome.left if left not in asked)
        told = ReviewOutcome(outcome.done, others)
        if outcome.done or others:
            self._say(reviewtext.answer([(self._names, told)], SPEECH))
        if outcome.done:
            self._answered.append([done.undone_by for done in outcome.done])
        undone = [left for left in asked if not self._choose(verdict, pages, left, reason)]
        if choice is None:
            self._move_on(pages[0], stale=any(left.why == "hunk_stale" for left in others))
        return not others and not undone

    def _choose(self, verdict: "Verdict", pages: Sequence[Part], left: LeftHunk, reason: str) -> bool:
        """Ask what becomes of what the user has there; whether it was decided."""
        offered = [choice for choice in left.choices if choice in _ASKED]
        what = reviewtext.shortened("".join(left.mixed)) if left.mixed else self._names.file(left.path)
        self._say(f"{left.message[:1].upper()}{left.message[1:]}: {what}" if left.mixed else f"{left.message}.")
        _forget_typed()
        choice = self._choice(offered)
        page = next(page for page in pages if page.hunk.id == left.id)
        if choice is None:
            self._passed.add(page.name)
            return False
        return self._decide(verdict, [page], reason, choice)

    def _choice(self, offered: Sequence[str]) -> str | None:
        """One of these, by its first letters; None: the hunk is left as it is."""
        while (answer := self._line(f"[{','.join(offered)},leave]? ").lower()) not in ("", "q"):
            found = [each for each in (*offered, "leave") if each.startswith(answer)]
            if found:
                return None if found[0] == "leave" else found[0]
        return None

    def _undo(self) -> None:
        outcome = outcome_of(self._client.undo(self._answered[-1]))
        self._answered.pop()
        self._say(reviewtext.answer([(self._names, outcome)], SPEECH))
        if refused := [left.id for left in outcome.left]:
            self._answered.append(refused)  # it can be taken back when what is in the way is gone
        self._load()
        back = [page.place for page in self._pages if page.hunk.id in {done.id for done in outcome.done}]
        self._passed -= {page.name for page in self._pages if page.place in back}
        self._go_to(min(back, default=("", False, 0, 0)))

    # --- where we are ---------------------------------------------------------------------------------------------------

    def _move_on(self, page: Part, *, stale: bool) -> None:
        """To what comes behind it and is undecided; to itself when it is another by now."""
        self._load()
        if stale:
            self._passed.discard(page.name)
        self._go_to(page.place)

    def _go_to(self, place: tuple[str, bool, int, int]) -> None:
        """The first undecided one from there on."""
        behind = (n for n, page in enumerate(self._pages) if page.place >= place and page.name not in self._passed)
        self._at = next(behind, len(self._pages))


def _forget_typed() -> None:
    """What was typed before something is shown is no answer to it. What is piped in stays."""
    if sys.stdin.isatty():
        termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)
