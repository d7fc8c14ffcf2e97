"""The commands about what is to be reviewed: `/review`, `/keep`, `/reject`. They are no turns: see `CommandsAtOnce`.

What they say is read here; what it comes to is worded in `reviewtext`. No model takes part.
"""

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from sould.agents.base.errors import OptionError, SouldError
from sould.agents.base.workspace import WorkspaceError
from sould.agents.files.review.decisions import Choice
from sould.agents.files.review.filedecisions import ConflictChoice
from sould.agents.files.reviewing.answers import Outcome
from sould.agents.files.reviewing.listing import FileReview, ReviewedHunk
from sould.agents.files.reviewing.shapes import Verdict
from sould.agents.files.reviewing.shown import shown_file, shown_hunk, shown_outcome
from sould.agents.sessions.commands.slash import Conversation
from sould.agents.sessions.operations.reviews import HunkName, ReviewedProject, SessionReview
from sould.agents.sessions.operations.reviewtext import Names, Speech, answer, described, left_line, listing
from sould.agents.sessions.turns.immediate_commands import CommandAnswer, CommandAtOnce
from sould.agents.soul.attachedclients import AttachedClients
from sould.agents.soul.loop import Ending
from sould.agents.soul.turn import Turn

SPEECH: Final = Speech()
_CHOICES: Final[Mapping[str, Choice | ConflictChoice]] = {
    "drop": "drop",
    "mine": "mine",
    "replace": "replace",
    "leave": "leave",
}
_REASON: Final = re.compile(r"(?:^|\s)(?:--?|\N{EN DASH}|\N{EM DASH})(?:\s+|$)")
_NUMBERS: Final = re.compile(r"(?P<prefix>(?:[^:\s]+:)?)(?P<first>\d+)(?:-(?P<last>\d+))?")
_WHAT: Final = "Say which: numbers (`3`), ranges (`3-5`), files, directories or `all`. `/review` lists what there is."


class Wish(Struct, frozen=True):
    """What stands behind `/keep` or `/reject`: `words` name hunks, `choice` and `reason` belong to a reject."""

    words: tuple[str, ...]
    choice: Choice | ConflictChoice | None = None
    reason: str = ""


def read_wish(argument: str) -> Wish:
    """Numbers and files, then a choice, then a reason behind a dash."""
    named, *reason = _REASON.split(argument, maxsplit=1)
    words = _words(named)
    choice = _CHOICES.get(words[-1]) if words else None
    return Wish(tuple(words[:-1] if choice else words), choice, reason[0].strip() if reason else "")


def _words(named: str) -> list[str]:
    """With names of files in quotes, or with commas between numbers."""
    try:
        words = shlex.split(named)
    except ValueError:  # a quote without its end
        words = named.split()
    return [part for word in words for part in (word.split(",") if re.fullmatch(r"[\d,:-]+", word) else [word]) if part]


class ReviewCommands(Struct, frozen=True):
    """Of one session, in whose `directory` files are named."""

    conversation: Conversation
    review: SessionReview
    clients: AttachedClients
    directory: Path

    @property
    def at_once(self) -> Mapping[str, CommandAtOnce]:
        """By the word that a prompt begins with; the answer is Markdown."""
        return {"/review": self._show_all, "/keep": self._keep, "/reject": self._reject}

    async def in_turn(self, word: str, turn: Turn, argument: str) -> Ending:
        """The same within a turn: for a loop or a flow that says such a command."""
        answered = await self.at_once[word](argument, turn.client_id)
        return (self.conversation.refuse if answered.failed else self.conversation.say)(answered.text)

    async def _show_all(self, argument: str, client_id: str) -> CommandAnswer:
        """Without words, everything; a hunk by its number, or what is in some files."""
        words = _words(argument)
        if words[:1] == ["undo"] and (words[1:] == [] or "all" in words):
            raise OptionError(
                "`/review undo` takes the numbers of hunks that were decided about, as in `/review undo 3`."
            )
        if words[:1] == ["undo"]:
            return await self._undo(words[1:], client_id)
        projects = await self._pending()
        if not words or words == ["all"]:
            return CommandAnswer(self._list(projects))
        chosen = self._chosen(words, projects)
        if all(_NUMBERS.fullmatch(word) for word in words):
            return await self._show(chosen, projects)
        return CommandAnswer(self._list([_only(project, chosen) for project in projects]))

    async def _undo(self, words: Sequence[str], client_id: str) -> CommandAnswer:
        projects = await self._pending()
        decided = await self.review.decided()
        chosen: dict[HunkName, None] = {}
        for word in words:
            numbers = _named_numbers(word, projects)
            named = _in_range(numbers, decided, "was decided about") if numbers else self._named(word, projects)
            chosen |= dict.fromkeys(named)
        return _answered(await self._ordered("undo", list(chosen), Wish(tuple(words)), client_id))

    async def _keep(self, argument: str, client_id: str) -> CommandAnswer:
        wish = read_wish(argument)
        if wish.choice is not None:
            raise OptionError(f"`{wish.choice}` is a choice of `/reject`; `/keep` keeps a hunk as it is in the file.")
        return await self._decide("keep", wish, client_id)

    async def _reject(self, argument: str, client_id: str) -> CommandAnswer:
        return await self._decide("reject", read_wish(argument), client_id)

    async def _decide(self, verdict: Verdict, wish: Wish, client_id: str) -> CommandAnswer:
        if not wish.words:
            raise OptionError(_WHAT)
        chosen = self._chosen(wish.words, await self._pending())
        outcomes = await self._ordered(verdict, chosen, wish, client_id)
        if "all" in wish.words:  # a deleted file that is back has the hunks it had
            more = [name for name in self._named("all", await self._pending()) if name not in chosen]
            outcomes = [*outcomes, *(await self._ordered(verdict, more, wish, client_id) if more else ())]
        return _answered(outcomes)

    async def _ordered(
        self, verdict: Verdict, chosen: Sequence[HunkName], wish: Wish, client_id: str
    ) -> Sequence[tuple[Names, Outcome]]:
        by = self.clients.name(client_id)
        try:
            return await self.review.decide(verdict, chosen, by, choice=wish.choice, reason=wish.reason)
        except OSError as error:
            raise _unreadable(error) from error

    async def _pending(self) -> Sequence[ReviewedProject]:
        try:
            return await self.review.pending()
        except OSError as error:
            raise _unreadable(error) from error

    # --- what is shown --------------------------------------------------------------------------------------------------

    def _list(self, projects: Sequence[ReviewedProject]) -> str:
        for project in projects:
            self.review.note_shown(project, project.hunks)
        listed = listing([(each.names, [*map(shown_file, each.files)]) for each in projects], SPEECH)
        left = [left_line(each.names, path, text.by, SPEECH) for each in projects for path, text in each.left.items()]
        return "\n\n".join([listed, *left])

    async def _show(self, chosen: Sequence[HunkName], projects: Sequence[ReviewedProject]) -> CommandAnswer:
        known = {HunkName(each.names.prefix, hunk.id): (each, hunk) for each in projects for hunk in each.hunks}
        parts: list[str] = []
        for name in chosen:
            if name in known:
                project, hunk = known[name]
                self.review.note_shown(project, [hunk])
                parts.append(await self._hunk(project, hunk))
            else:
                parts.append(f"Hunk {name.prefix}{name.id} is not to be reviewed (any more).")
        return CommandAnswer("\n\n".join(parts), failed=not known.keys() >= set(chosen))

    async def _hunk(self, project: ReviewedProject, hunk: ReviewedHunk) -> str:
        names = project.names
        head = f"`{names.number(hunk.id)}` `{names.file(hunk.path)}`, {described(shown_hunk(hunk), names)}"
        lines = await self._diff(hunk)
        fence = "`" * max([3, *(1 + len(run) for line in lines for run in re.findall("`+", line))])
        return "\n".join([head, "", f"{fence}diff", *lines, fence] if lines else [head])

    async def _diff(self, hunk: ReviewedHunk) -> Sequence[str]:
        from sould.agents.sessions.operations.reviewdiff import deletion_of, diff_of  # noqa: PLC0415 -- compares words: with the first diff

        if hunk.kind == "delete":
            return [line.text for line in deletion_of(await self.review.deleted(hunk.path))]
        if hunk.kind != "text":
            return ()
        try:
            text = await self.review.text(hunk.path)
        except WorkspaceError:
            text = ()
        return [line.text for line in diff_of(shown_hunk(hunk), text)]

    # --- which are meant --------------------------------------------------------------------------------------------------

    def _chosen(self, words: Sequence[str], projects: Sequence[ReviewedProject]) -> Sequence[HunkName]:
        """Raises OptionError: a word names nothing that is to be reviewed."""
        found: dict[HunkName, None] = {}
        for word in words:
            found |= dict.fromkeys(self._named(word, projects))
        return list(found)

    def _named(self, word: str, projects: Sequence[ReviewedProject]) -> Iterable[HunkName]:
        everything = [name for each in projects for file in each.files for name in _in(each, file)]
        if word == "all":
            return everything
        numbers = _named_numbers(word, projects)
        if numbers is not None:
            return _in_range(numbers, everything, "is to be reviewed")
        path = Path(self.directory, Path(word).expanduser()).resolve()
        files = [(each, file) for each in projects for file in each.files if Path(file.path).is_relative_to(path)]
        if not files:
            raise OptionError(f"Nothing is to be reviewed in `{word}`. {_WHAT}")
        return [name for each, file in files for name in _in(each, file)]


def _answered(outcomes: Sequence[tuple[Names, Outcome]]) -> CommandAnswer:
    said = answer([(names, shown_outcome(outcome)) for names, outcome in outcomes], SPEECH)
    return CommandAnswer(said, failed=any(outcome.left for _, outcome in outcomes))


def _named_numbers(word: str, projects: Iterable[ReviewedProject]) -> re.Match[str] | None:
    """A number or a range, of one of the projects."""
    numbers = _NUMBERS.fullmatch(word)
    known = numbers is not None and any(each.names.prefix == numbers["prefix"] for each in projects)
    return numbers if known else None


def _in_range(numbers: re.Match[str], known: Iterable[HunkName], which: str) -> Iterable[HunkName]:
    """One number, whatever it is: what became of it is the answer; of a range those that are `known`."""
    prefix, first, last = numbers["prefix"], int(numbers["first"]), numbers["last"]
    if last is None:
        return [HunkName(prefix, first)]
    found = [each for each in known if each.prefix == prefix and first <= each.id <= int(last)]
    if not found:
        raise OptionError(f"No hunk from {prefix}{first} to {last} {which}. {_WHAT}")
    return found


def _in(project: ReviewedProject, file: FileReview) -> Iterator[HunkName]:
    """What is to be reviewed in a file, and what is about to be."""
    return (HunkName(project.names.prefix, hunk.id) for hunk in (*file.hunks, *file.streaming))


def _only(project: ReviewedProject, chosen: Sequence[HunkName]) -> ReviewedProject:
    files: list[FileReview] = []
    for file in project.files:
        hunks = tuple(hunk for hunk in file.hunks if HunkName(project.names.prefix, hunk.id) in chosen)
        streaming = tuple(hunk for hunk in file.streaming if HunkName(project.names.prefix, hunk.id) in chosen)
        if hunks or streaming:
            files.append(replace(file, hunks=hunks, streaming=streaming))
    return ReviewedProject(project.names, files)


def _unreadable(error: OSError) -> SouldError:
    return OptionError(f"The project's log could not be opened: {error.strerror or error}.")
