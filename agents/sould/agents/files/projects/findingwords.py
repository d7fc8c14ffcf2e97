"""Whose a change is that was made while a command ran, and what was found of a call, in sentences for its card and for the model.

A command is whatever an agent runs that can write. Decided from evidence alone; looks at nothing.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Final, Literal, TypeAlias

from msgspec import Struct, field

from sould.agents.files.directories.directory import Directory
from sould.agents.files.projects.borrowing import BorrowedProjects
from sould.agents.files.projects.changes import named
from sould.agents.files.projects.othersessions import SessionNames, described
from sould.agents.files.reviewing.buffers import Said
from sould.agents.files.reviewing.listing import ReviewedHunk
from sould.agents.permissions.visible import visible

LONGEST_TITLE: Final = 60
"""Characters of a command line that are shown."""
Whose: TypeAlias = Literal["agent", "user", "unsure"]
CertainWithin: TypeAlias = Callable[[], float]
"""`review.certain_within` as configured now, in seconds."""
MOST_MET: Final = 5
"""Hunks of others that are named."""


class Evidence(Struct, frozen=True):
    """Of one change. `seconds`: how long the command ran, None while it goes on; `guessed`: what the file held before is not known."""

    seconds: float | None
    said: Said = "nothing"
    guessed: bool = False


def whose(evidence: Evidence, certain_within: float) -> Whose:
    """The user's where a client said so; the agent's where the command was too short for the user to do much; else nobody can tell."""
    if evidence.said == "this":
        return "user"
    is_short = evidence.seconds is not None and evidence.seconds < certain_within
    return "agent" if is_short and evidence.said == "nothing" and not evidence.guessed else "unsure"


def meanwhile(title: str, seconds: float | None) -> str:
    """What ran then, in words that follow "while": "`make test` ran for 5 s". `title`: the command line, which a model wrote."""
    line = visible(" ".join(title.split())).replace("`", "'")
    shown = line if len(line) <= LONGEST_TITLE else f"{line[: LONGEST_TITLE - 1]}…"
    name = f"`{shown}`" if shown else "a program of the agent"
    if seconds is None:
        return f"{name} was running"
    return f"{name} ran for {seconds:.1f} s" if seconds < 10 else f"{name} ran for {seconds:.0f} s"


class FindingWords(Struct):
    """Of one session, that works in `projects`; of the files in a directory `most` are looked at closely."""

    projects: BorrowedProjects
    session_id: str
    most: int
    names: SessionNames
    _said_unwatched: set[Path] = field(default_factory=set[Path])
    """Directories of which it was told that they are not looked at."""

    def of(
        self,
        directories: Mapping[Path, Directory],
        lost: Sequence[Path],
        guessed: Sequence[Path],
        unsure: Sequence[Path],
    ) -> str:
        """`lost`: what the files held is not known; `guessed`: whether the call changed them is not; `unsure`: the user may have."""
        said = self._of_directories(directories)
        if lost:
            said.append(f"Changed, and going back cannot restore it because it was not saved: {named(lost)}.")
        if guessed:
            said.append(
                "Changed before sould had looked at it, so that going back leaves it as it is, because it may have been "
                f"changed by others before: {named(guessed)}."
            )
        if unsure:
            said.append(
                "Changed while it ran, which took long enough that the user may have done it, so that going back leaves it as "
                f"it is: {named(unsure)}."
            )
        return " ".join(said)

    def _of_directories(self, directories: Mapping[Path, Directory]) -> list[str]:
        said: list[str] = []
        if gone := [root for root in directories if not root.is_dir()]:
            said.append(
                f"What it changed is not known, and going back cannot restore it, because this was moved: {named(gone)}."
            )
        unsaid = [each for each in self.projects.unwatched if each not in self._said_unwatched]
        self._said_unwatched.update(unsaid)
        if unsaid:
            said.append(
                f"{named(unsaid)} is no project and is not watched: what commands change in it is not known, and going "
                "back cannot restore it."
            )
        if any(each.partial for each in directories.values()):
            said.append("Not all files of the project could be looked at, so not all that changed is known.")
        if any(each.beyond or each.changed_beyond for each in directories.values()):
            folders = [root / folder for root, each in directories.items() for folder in each.changed_beyond]
            found = f" It changed something in: {named(folders)}." if folders else ""
            said.append(f"Of the files beyond the first {self.most:,} only sizes and times are compared.{found}")
        return said

    def met(self, hunks: Collection[ReviewedHunk]) -> str:
        """Of hunks of other sessions that the call changed or ended; "" when there are none. Blocks."""
        if not hunks:
            return ""
        first = [f"{Path(each.path).name}, {described(each, self.session_id, self.names)}" for each in hunks][:MOST_MET]
        more = f"; and {len(hunks) - MOST_MET} more" if len(hunks) > MOST_MET else ""
        return f"This changed what other sessions' agents wrote and nobody reviewed yet: {'; '.join(first)}{more}."
